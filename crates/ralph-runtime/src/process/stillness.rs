//! All keepers at once: everything below them stands still while a person has stopped ralph, and nothing new is started.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::link::SharedLink;

/// A shell waits for ralph to stop: what has not stopped by then is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Stillness {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    stands: bool,
    /// Programs on their way to a keeper.
    starting: u32,
    links: Vec<Weak<SharedLink>>,
}

impl State {
    fn links(&mut self) -> Vec<Arc<SharedLink>> {
        self.links.retain(|link| link.strong_count() > 0);
        self.links.iter().filter_map(Weak::upgrade).collect()
    }
}

/// A program is being started: until this is dropped nothing is told to stand still.
pub(super) struct Starting<'a>(&'a Stillness);

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.starting = state.starting.saturating_sub(1);
        drop(state);
        self.0.changed();
    }
}

impl Stillness {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while everything stands still.
    pub(super) fn start(&self, link: &Arc<SharedLink>) -> Starting<'_> {
        let state = self.changed.wait_while(self.state(), |state| state.stands);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.starting = state.starting.saturating_add(1);
        state.links.retain(|link| link.strong_count() > 0);
        state.links.push(Arc::downgrade(link));
        Starting(self)
    }

    /// A keeper has said something, or is gone.
    pub(super) fn changed(&self) {
        // Whoever waits looks at the links, which are not below this lock: taken, it is between two looks or in a wait.
        drop(self.state());
        self.changed.notify_all();
    }

    pub(super) fn stand(&self) {
        let mut state = self.state();
        state.stands = true;
        let waited = self.changed.wait_timeout_while(state, PATIENCE, |state| state.starting > 0);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let links = state.links();
        links.iter().for_each(|link| link.let_stand(true));
        let moves = |_: &mut State| !links.iter().all(|link| link.is_still());
        let _ = self.changed.wait_timeout_while(state, PATIENCE, moves);
    }

    pub(super) fn go_on(&self) {
        let mut state = self.state();
        state.stands = false;
        state.links().iter().for_each(|link| link.let_stand(false));
        drop(state);
        self.changed();
    }
}
