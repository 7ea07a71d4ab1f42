//! Time that stands still: a person has stopped ralph (Ctrl-Z), and everything below it with it. What is measured with this
//! clock does not notice.
//!
//! Threads wake up before anybody can say how long they slept. So the clock stands from before the stop until that is known.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::lock;

#[derive(Default)]
struct Clock {
    /// All the time that it stood.
    stood: Duration,
    /// It stands since then.
    since: Option<Instant>,
}

impl Clock {
    fn show(&self, now: Instant) -> Instant {
        let at = self.since.unwrap_or(now);
        at.checked_sub(self.stood).unwrap_or(at)
    }

    fn stand(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    fn go_on(&mut self, now: Instant) {
        let stood = self.since.take().map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.stood = self.stood.saturating_add(stood);
    }
}

static CLOCK: Mutex<Clock> = Mutex::new(Clock { stood: Duration::ZERO, since: None });
static GOES_ON: Condvar = Condvar::new();

/// What the clock of the work shows: like the monotonic one, without the time that stood still.
pub(crate) fn now() -> Instant {
    lock(&CLOCK).show(Instant::now())
}

/// The work that was done since then.
pub(crate) fn since(then: Instant) -> Duration {
    now().saturating_duration_since(then)
}

/// What is left until then.
pub(crate) fn until(then: Instant) -> Duration {
    then.saturating_duration_since(now())
}

pub(crate) fn stands() -> bool {
    lock(&CLOCK).since.is_some()
}

/// From here on the clock stands.
pub(crate) fn stand() {
    lock(&CLOCK).stand(Instant::now());
}

/// How long it has been standing so far.
pub(crate) fn stood() -> Duration {
    lock(&CLOCK).since.map_or(Duration::ZERO, |since| since.elapsed())
}

pub(crate) fn go_on() {
    lock(&CLOCK).go_on(Instant::now());
    GOES_ON.notify_all();
}

/// Returns when the clock goes: at once, or after whoever stopped it has told of that.
pub(crate) fn wait() {
    let goes = GOES_ON.wait_while(lock(&CLOCK), |clock| clock.since.is_some());
    drop(goes.unwrap_or_else(PoisonError::into_inner));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stood_still_is_not_seen_on_the_clock() {
        let (mut clock, start) = (Clock::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(clock.show(at(5)), at(5));
        clock.stand(at(5));
        clock.stand(at(7));
        assert_eq!(clock.show(at(100)), at(5), "it stands until it is known for how long");
        clock.go_on(at(100));
        assert_eq!(clock.show(at(103)), at(8));
        clock.go_on(at(104));
        clock.stand(at(105));
        clock.go_on(at(110));
        assert_eq!(clock.show(at(111)), at(11));
    }
}
