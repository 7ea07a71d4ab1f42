//! Waits for an agent that prints nothing while nothing is known to keep it busy, or that does not end after its last word.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Activity;
use crate::{lock, standing};

/// The slowest agent that was measured ends 24 seconds after its last word: qwen, with a process in the background, on a
/// machine that had nothing else to do.
const AFTER_END: Duration = Duration::from_secs(120);

#[derive(Clone)]
pub(crate) struct Silence {
    timeout: Option<Duration>,
    shared: Arc<(Mutex<State>, Condvar)>,
}

struct State {
    since: Instant,
    activity: Activity,
    over: bool,
}

impl State {
    /// How long the agent may be silent as things stand; None: until they change.
    fn limit(&self, timeout: Option<Duration>) -> Option<Duration> {
        match (self.activity.ended, self.activity.tool_runs) {
            (true, _) => Some(timeout.map_or(AFTER_END, |timeout| timeout.min(AFTER_END))),
            (false, true) => None,
            (false, false) => timeout,
        }
    }
}

impl Silence {
    pub(crate) fn watch(timeout: Option<Duration>) -> Self {
        let state = State { since: standing::now(), activity: Activity::default(), over: false };
        Self { timeout, shared: Arc::new((Mutex::new(state), Condvar::new())) }
    }

    /// The agent printed something. While a tool of its own runs it may be silent.
    pub(crate) fn heard(&self, activity: Activity) {
        let mut state = lock(&self.shared.0);
        state.since = standing::now();
        if state.activity != activity {
            state.activity = activity;
            self.shared.1.notify_all();
        }
    }

    pub(crate) fn over(&self) {
        lock(&self.shared.0).over = true;
        self.shared.1.notify_all();
    }

    /// Returns when the agent has ended, or has been reported: how long it was silent, and whether after its last word.
    pub(crate) fn wait(&self, silent: impl FnOnce(Duration, bool)) {
        let mut state = lock(&self.shared.0);
        while !state.over {
            let quiet = standing::since(state.since);
            let limit = state.limit(self.timeout);
            state = match limit {
                Some(limit) if quiet >= limit => return silent(quiet, state.activity.ended),
                Some(limit) => {
                    self.shared.1.wait_timeout(state, limit - quiet).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.shared.1.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alarm(silence: &Silence) -> Option<bool> {
        let mut alarm = None;
        silence.wait(|_, ended| alarm = Some(ended));
        alarm
    }

    #[test]
    fn a_silent_agent_is_told_of_and_one_that_ended_is_not() {
        let silence = Silence::watch(Some(Duration::from_millis(10)));
        assert_eq!(alarm(&silence), Some(false));
        silence.over();
        assert_eq!(alarm(&silence), None);
    }

    #[test]
    fn an_agent_that_said_its_last_word_has_no_more_time_than_a_silent_one() {
        let silence = Silence::watch(Some(Duration::from_millis(1)));
        silence.heard(Activity { tool_runs: true, ended: true });
        assert_eq!(alarm(&silence), Some(true));
    }

    #[test]
    fn an_agent_whose_tool_runs_may_be_silent_until_the_tool_or_the_agent_ends() {
        let limit = |tool_runs, ended, timeout| {
            let activity = Activity { tool_runs, ended };
            let state = State { since: Instant::now(), activity, over: false };
            state.limit(timeout)
        };
        let (short, long) = (Some(Duration::from_secs(1)), Some(AFTER_END * 2));
        assert_eq!([limit(true, false, short), limit(true, false, None)], [None, None]);
        assert_eq!([limit(false, false, short), limit(false, false, None)], [short, None]);
        for tool_runs in [false, true] {
            assert_eq!(limit(tool_runs, true, short), short);
            assert_eq!([limit(tool_runs, true, long), limit(tool_runs, true, None)], [Some(AFTER_END); 2]);
        }
    }

    #[test]
    fn the_end_of_a_tool_wakes_a_wait_that_had_no_limit() {
        // Whether the wait or the end of the tool comes first is up to the system: both have to do, so both are tried.
        for _ in 0..100 {
            let silence = Silence::watch(Some(Duration::ZERO));
            silence.heard(Activity { tool_runs: true, ended: false });
            let waiting = silence.clone();
            let thread = std::thread::spawn(move || alarm(&waiting));
            std::thread::yield_now();
            silence.heard(Activity::default());
            assert_eq!(thread.join().ok(), Some(Some(false)));
        }
    }
}
