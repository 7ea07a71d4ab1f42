//! Timers: one thread that sleeps until the next one is due. A timer takes the place of an older one in its slot.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ralph_core::effect::When;
use ralph_core::event::TimerId;
use ralph_core::time::Timestamp;

use crate::clock;
use crate::platform::WallClockAlarm;
use crate::standing;

pub struct Timers {
    shared: Arc<Mutex<Vec<Pending>>>,
    /// A byte wakes the thread; closing it ends the thread.
    wake: UnixStream,
}

struct Pending {
    timer: TimerId,
    due: Due,
}

#[derive(Clone, Copy)]
enum Due {
    Monotonic(Instant),
    WallClock(Timestamp),
}

impl Due {
    fn has_come(self) -> bool {
        match self {
            Due::Monotonic(at) => standing::now() >= at,
            Due::WallClock(at) => clock::now() >= at,
        }
    }
}

impl Timers {
    /// `fired` is called on the timers' own thread.
    pub fn start(fired: impl Fn(TimerId) + Send + 'static) -> std::io::Result<Self> {
        let shared = Arc::new(Mutex::new(Vec::new()));
        let (wake, woken) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let alarm = WallClockAlarm::new()?;
        let pending = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("timers".into())
            .spawn(move || run(&pending, &woken, &alarm, &fired))?;
        Ok(Self { shared, wake })
    }

    pub fn set(&self, timer: TimerId, when: When) {
        let due = match when {
            // A time too far away to be counted is as good as never; years will do.
            When::After(after) => Due::Monotonic(
                standing::now()
                    .checked_add(after)
                    .unwrap_or_else(|| standing::now() + Duration::from_secs(1 << 30)),
            ),
            When::At(at) => Due::WallClock(at),
        };
        let mut pending = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        pending.retain(|old| old.timer.slot != timer.slot);
        pending.push(Pending { timer, due });
        drop(pending);
        let _ = (&self.wake).write(&[0]);
    }
}

fn run(
    shared: &Mutex<Vec<Pending>>,
    mut woken: &UnixStream,
    alarm: &WallClockAlarm,
    fired: &dyn Fn(TimerId),
) {
    loop {
        standing::wait();
        let due = take_due(shared);
        if !due.is_empty() {
            due.into_iter().for_each(fired);
            continue;
        }
        let (at, after) = next_due(shared);
        if alarm.wait(&woken, at, after).is_err() {
            // Poll fails only for want of memory; looking again is all one can do.
            std::thread::sleep(Duration::from_millis(100));
        }
        let mut bytes = [0; 64];
        if matches!(woken.read(&mut bytes), Ok(0)) {
            return;
        }
    }
}

fn take_due(shared: &Mutex<Vec<Pending>>) -> Vec<TimerId> {
    let mut pending = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let (due, rest) = pending.drain(..).partition(|pending: &Pending| pending.due.has_come());
    *pending = rest;
    due.into_iter().map(|pending: Pending| pending.timer).collect()
}

fn next_due(shared: &Mutex<Vec<Pending>>) -> (Option<Timestamp>, Option<Duration>) {
    let pending = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let wall =
        pending.iter().filter_map(|p| if let Due::WallClock(at) = p.due { Some(at) } else { None }).min();
    let monotonic =
        pending.iter().filter_map(|p| if let Due::Monotonic(at) = p.due { Some(at) } else { None }).min();
    (wall, monotonic.map(standing::until))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    use ralph_core::event::TimerSlot;
    use ralph_core::stop::StopKey;

    fn timer(slot: TimerSlot, epoch: u64) -> TimerId {
        TimerId { slot, epoch }
    }

    #[test]
    fn timers_fire_by_both_clocks_and_the_newest_of_a_slot_wins() {
        let (tx, rx) = mpsc::channel();
        let timers = Timers::start(move |timer| tx.send(timer).unwrap_or_default()).expect("timers");
        let guard = |key: &str| TimerSlot::Guard(StopKey::by_name(key).expect("a guard"));
        timers.set(timer(TimerSlot::IterationTimeout, 1), When::After(Duration::from_secs(3600)));
        timers.set(timer(guard("max_runtime"), 1), When::After(Duration::from_millis(1)));
        timers.set(timer(guard("max_wall_time"), 3), When::At(Timestamp::from_millis(0)));
        timers.set(timer(TimerSlot::Wait, 1), When::At(clock::now().plus(Duration::from_secs(3600))));
        timers.set(timer(TimerSlot::Wait, 2), When::At(clock::now().plus(Duration::from_millis(20))));
        let mut fired: Vec<TimerId> = (0..3).map(|_| rx.recv().expect("a timer")).collect();
        fired.sort_by_key(|timer| timer.epoch);
        assert_eq!(
            fired,
            [timer(guard("max_runtime"), 1), timer(TimerSlot::Wait, 2), timer(guard("max_wall_time"), 3)]
        );
        drop(timers);
        assert!(rx.recv().is_err(), "the thread ends with its owner");
    }
}
