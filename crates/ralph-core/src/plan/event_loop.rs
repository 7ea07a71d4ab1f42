//! `event_loop`: when the loop goes on, waits and stops.

use std::time::Duration;

use super::section::section;
use super::value::{Count, Delay, Factor, Limit, PatternText, Text, Timeout, Tokens, TopicText, Usd};

section! {
    pub struct EventLoop, changed by EventLoopChange {
        /// Stop after this many iterations. `none` lifts the limit, as long as `max_runtime` holds.
        max_iterations: Limit<Count> = Some(100),
        /// Stop after this much time of work, also in the middle of an iteration. Waits and pauses do not count.
        /// `none` lifts the limit, as long as `max_iterations` holds.
        max_runtime: Limit<Timeout> = Some(hours(4)),
        /// Stop after this much time in all, waits and pauses included. It cannot be lifted.
        max_wall_time: Timeout = hours(7 * 24),
        /// Stop when the agents have cost this many US dollars, as they report it.
        max_cost_usd: Limit<Usd> = None,
        /// Stop when the agents have used this many tokens of all kinds. For when prices are not known.
        max_tokens: Limit<Tokens> = None,
        /// The longest wait for a usage limit to end; a longer one ends the run as blocked.
        max_wait: Timeout = hours(24),
        /// Outages of the agent's service in a row that are waited out before they count as failed iterations.
        max_outages: Count = 8,
        /// Stop after this many failed iterations in a row.
        max_consecutive_failures: Count = 5,
        /// Kill an agent that works longer than this on one iteration; the iteration has failed.
        iteration_timeout: Timeout = hours(2),
        /// Kill an agent that prints nothing for this long; the iteration has failed. Not set: 10m for an agent whose
        /// output shows its work, `none` for a plain command.
        silence_timeout: Option<Limit<Timeout>> = None,
        /// Wait this long between two iterations.
        delay: Delay = Duration::ZERO,
        /// How long to wait after a failed iteration.
        failure_backoff: Backoff = Backoff::default(),
        /// Stop at the first failed iteration.
        stop_on_error: bool = false,
        /// How often an iteration that was interrupted by a crash is run again under its number.
        max_attempts: Count = 3,
        /// A line that the agent prints, alone on a line, to say that the task is done. The line
        /// `<ralph>COMPLETE</ralph>` always says so.
        completion_promise: Option<Text> = None,
        /// Kill processes that an agent, a gate or a command leaves behind when it ends.
        kill_leftovers: bool = true,
        /// With hats: the topic that is published when the run starts, with the task as its payload. Not set: `task.start`.
        starting_event: Option<TopicText> = None,
        /// With hats: topics that must have been published since files last changed before the run can be complete.
        required_events: Vec<PatternText> = Vec::new(),
        /// With hats: stop as failed when a hat publishes a topic that ends in `.blocked` this often in a row about the same
        /// task.
        max_consecutive_blocked: Count = 3,
        /// Compare outputs line by line. `true`: an output that is as good as the same as one of the last ends the run. `false`: nobody
        /// compares. Not set: a match is told, and supports what `loop_detection` decides.
        enable_similarity_detection: Option<bool> = None,
    }
}

section! {
    /// A wait that grows with each failure in a row.
    pub struct Backoff, changed by BackoffChange {
        /// The wait after the first failure.
        initial: Timeout = Duration::from_secs(1),
        /// Each further failure in a row waits this many times longer.
        factor: Factor = 2.0,
        /// No wait is longer than this.
        max: Timeout = Duration::from_secs(60),
    }
}

fn hours(count: u64) -> Duration {
    Duration::from_secs(count * 3600)
}

impl EventLoop {
    /// The settings of a run that stay as they were when it began: a change of the task or of its hats would be another run.
    pub const FIXED: [&'static str; 5] = [
        "completion_promise",
        "kill_leftovers",
        "max_consecutive_blocked",
        "required_events",
        "starting_event",
    ];

    /// The time without output after which an agent is killed.
    pub fn silence(&self) -> Option<Duration> {
        self.silence_timeout.flatten()
    }
}

impl Backoff {
    /// Servers that are overloaded now may be well in a minute.
    pub fn outage() -> Self {
        Self { initial: Duration::from_secs(10), factor: 2.0, max: Duration::from_secs(600) }
    }

    /// Limits last minutes or hours, and every try is a launch for nothing: three tries in five hours.
    pub fn limit() -> Self {
        Self { initial: Duration::from_secs(600), factor: 6.0, max: Duration::from_secs(4 * 3600) }
    }

    /// The wait before the try that follows the `streak`th failure in a row, counted from 1.
    pub fn delay(&self, streak: u32) -> Duration {
        let factor = if self.factor.is_finite() { self.factor.max(1.0) } else { 1.0 };
        let grown = self.initial.as_secs_f64()
            * factor.powi(i32::try_from(streak.saturating_sub(1)).unwrap_or(i32::MAX));
        // Compared before it is converted: a long streak grows past what a Duration holds. Whole milliseconds: the journal
        // holds no more, and a replay has to decide the same wait.
        if grown >= self.max.as_secs_f64() {
            self.max
        } else {
            Duration::from_millis((grown * 1000.0).round() as u64)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_its_maximum_and_never_overflows() {
        let backoff = Backoff::default();
        let secs = |streak| backoff.delay(streak).as_secs();
        assert_eq!([secs(1), secs(2), secs(3), secs(6), secs(7)], [1, 2, 4, 32, 60]);
        assert_eq!(secs(2000), 60);
        assert_eq!(secs(u32::MAX), 60);
    }

    #[test]
    fn backoff_waits_whole_milliseconds_as_the_journal_records_them() {
        let backoff = Backoff { initial: Duration::from_millis(3), factor: 1.5, ..Backoff::default() };
        assert_eq!(backoff.delay(2), Duration::from_millis(5));
        assert_eq!(backoff.delay(3), Duration::from_millis(7));
    }

    #[test]
    fn a_section_is_written_and_read_by_the_rules_of_its_fields() {
        let text = r#"{"max_iterations":"none","max_runtime":"1h30m","silence_timeout":"none","delay":0.5}"#;
        let read: EventLoop = serde_json::from_str(text).expect("a section");
        assert_eq!((read.max_iterations, read.max_runtime), (None, Some(Duration::from_secs(5400))));
        assert_eq!((read.silence_timeout, read.delay), (Some(None), Duration::from_millis(500)));
        assert_eq!(read.max_attempts, EventLoop::default().max_attempts);
        let again = serde_json::to_string(&read).expect("text");
        assert!(again.contains(r#""max_runtime":"1h30m""#), "{again}");
        assert_eq!(serde_json::from_str::<EventLoop>(&again).expect("the same section"), read);
        for wrong in [r#"{"max_iterations":0}"#, r#"{"max_wall_time":"none"}"#] {
            assert!(serde_json::from_str::<EventLoop>(wrong).is_err(), "{wrong}");
        }
        let newer = r#"{"max_iterations":3,"max_regrets":7}"#;
        assert_eq!(serde_json::from_str::<EventLoop>(newer).expect("a section").max_iterations, Some(3));
    }

    #[test]
    fn a_change_holds_what_was_set_and_leaves_everything_else_alone() {
        let text = r#"{"max_iterations":200,"failure_backoff":{"max":"2m"}}"#;
        let change: EventLoopChange = serde_json::from_str(text).expect("a change");
        assert_eq!(serde_json::to_string(&change).expect("text"), text);
        let mut section = EventLoop { stop_on_error: true, ..EventLoop::default() };
        let expected = EventLoop {
            max_iterations: Some(200),
            failure_backoff: Backoff { max: Duration::from_secs(120), ..Backoff::default() },
            ..section.clone()
        };
        change.apply(&mut section);
        assert_eq!(section, expected);
        let mut other = EventLoop::default();
        EventLoopChange::from(&section).apply(&mut other);
        assert_eq!(other, section);
    }

    #[test]
    fn a_nonsensical_factor_does_not_shrink_the_wait() {
        let backoff = Backoff { factor: f64::NAN, ..Backoff::default() };
        assert_eq!(backoff.delay(5), Duration::from_secs(1));
    }
}
