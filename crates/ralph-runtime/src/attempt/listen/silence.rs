//! Waits for an agent that prints nothing while nothing is known to keep it busy, or that does not end after its last word.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Activity;
use super::life::{Life, Look};
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

impl State {
    /// Whether something else may show that it works.
    fn looks(&self) -> bool {
        self.activity.may_run_a_tool && !self.activity.ended
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
    /// What runs below an agent whose tools cannot be heard is looked at half way to the limit and at the limit.
    pub(crate) fn wait<F: FnMut() -> Option<Look>>(
        &self,
        life: &mut Life<F>,
        silent: impl FnOnce(Duration, bool),
    ) {
        let mut state = lock(&self.shared.0);
        // The silence in which it was looked below the agent, and when it is looked there again.
        let mut looked: Option<(Instant, Duration)> = None;
        while !state.over {
            let (since, quiet) = (state.since, standing::since(state.since));
            let again = looked.filter(|(silence, _)| *silence == since).map(|(_, again)| again);
            let limit = state.limit(self.timeout);
            let due = limit.map(|limit| if state.looks() { again.unwrap_or(limit / 2) } else { limit });
            state = match (due, limit) {
                (Some(due), _) if quiet < due => {
                    self.shared.1.wait_timeout(state, due - quiet).unwrap_or_else(PoisonError::into_inner).0
                }
                (Some(_), Some(limit)) if state.looks() => {
                    // Nobody who brings output waits for a look.
                    drop(state);
                    let alive = again.map(|_| life.was_there());
                    if alive.is_none() {
                        life.begin();
                        looked = Some((since, limit.max(quiet + limit / 2)));
                    }
                    let mut state = lock(&self.shared.0);
                    match alive.filter(|_| state.since == since && !state.over) {
                        Some(true) => state.since = standing::now(),
                        Some(false) => return silent(quiet, false),
                        None => {}
                    }
                    state
                }
                (Some(_), _) => return silent(quiet, state.activity.ended),
                (None, _) => self.shared.1.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::life::Process;
    use super::*;

    fn alarm(silence: &Silence) -> Option<bool> {
        let mut alarm = None;
        silence.wait(&mut Life::new(|| None), |_, ended| alarm = Some(ended));
        alarm
    }

    #[test]
    fn an_agent_whose_tools_are_not_heard_is_silent_when_nothing_below_it_works_any_more() {
        let silence = Silence::watch(Some(Duration::from_millis(10)));
        silence.heard(Activity { may_run_a_tool: true, ..Activity::default() });
        let tool =
            |bytes| Process { pid: 3, parent: 2, started: 1, cpu: Duration::ZERO, bytes, program: None };
        let agent = Process { pid: 2, parent: 1, ..tool(0) };
        // It writes twice, and then no more.
        let mut looks = 0;
        let mut life = Life::new(|| {
            looks += 1;
            let written = u64::min(looks, 4) * 8192;
            Some(Look::of(2, &[agent.clone(), tool(written)]))
        });
        let mut alarm = None;
        silence.wait(&mut life, |quiet, ended| alarm = Some((quiet >= Duration::from_millis(10), ended)));
        assert_eq!((alarm, looks), (Some((true, false)), 6));
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
        silence.heard(Activity { tool_runs: true, ended: true, ..Activity::default() });
        assert_eq!(alarm(&silence), Some(true));
    }

    #[test]
    fn an_agent_whose_tool_runs_may_be_silent_until_the_tool_or_the_agent_ends() {
        let limit = |tool_runs, ended, timeout| {
            let activity = Activity { tool_runs, ended, ..Activity::default() };
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
            silence.heard(Activity { tool_runs: true, ..Activity::default() });
            let waiting = silence.clone();
            let thread = std::thread::spawn(move || alarm(&waiting));
            std::thread::yield_now();
            silence.heard(Activity::default());
            assert_eq!(thread.join().ok(), Some(Some(false)));
        }
    }
}
