//! Waits for an agent that prints nothing.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::lock;

#[derive(Clone)]
pub(crate) struct Silence {
    timeout: Duration,
    state: Arc<(Mutex<(Instant, bool)>, Condvar)>,
}

impl Silence {
    pub(crate) fn watch(timeout: Duration) -> Self {
        Self { timeout, state: Arc::new((Mutex::new((Instant::now(), false)), Condvar::new())) }
    }

    pub(crate) fn heard(&self) {
        lock(&self.state.0).0 = Instant::now();
    }

    pub(crate) fn over(&self) {
        lock(&self.state.0).1 = true;
        self.state.1.notify_all();
    }

    /// Returns when the agent has ended, or has been reported as silent.
    pub(crate) fn wait(&self, silent: impl FnOnce(Duration)) {
        let mut state = lock(&self.state.0);
        loop {
            let quiet = state.0.elapsed();
            if state.1 {
                return;
            }
            if quiet >= self.timeout {
                return silent(quiet);
            }
            let waited = self.state.1.wait_timeout(state, self.timeout - quiet);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
