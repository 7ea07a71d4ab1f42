//! Processes that are ended together: an agent and the commands before it, the gates of a round, the command that looks
//! for work.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::process::Handle;
use crate::{lock, standing};

/// Killed processes are gone long before.
const SHUT_DOWN: Duration = Duration::from_secs(20);

#[derive(Default)]
pub(crate) struct Group {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    busy: u32,
    running: Vec<(u64, Handle)>,
    next: u64,
    /// Counts the times that work has ended.
    turn: u64,
    /// The group was told to end, with this grace. What is started after that is ended as well.
    ending: Option<Duration>,
}

/// While one is held the group is at work.
pub(crate) struct Busy(Arc<Group>);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.busy = state.busy.saturating_sub(1);
        if state.busy == 0 {
            // The next work is not to pay for this one.
            (state.ending, state.running) = (None, Vec::new());
            state.turn += 1;
        }
        self.0.changed.notify_all();
    }
}

impl Group {
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        lock(&self.state).busy += 1;
        Busy(Arc::clone(self))
    }

    /// Ends every process of the group. Work that has just ended by itself needs no end.
    pub(crate) fn end(&self, grace: Duration) {
        let mut state = lock(&self.state);
        if state.busy == 0 {
            return;
        }
        state.ending = Some(state.ending.map_or(grace, |earlier| earlier.min(grace)));
        state.running.iter().for_each(|(_, handle)| end(handle, grace));
    }

    /// Ends everything at once and returns when it is gone, or when it is plain that a thread of it never comes back.
    pub(crate) fn shut_down(&self) {
        self.end(Duration::ZERO);
        self.wait(SHUT_DOWN);
    }

    /// Returns when the group is not at work any more, or the time is over. Tells which.
    pub(crate) fn wait(&self, at_most: Duration) -> bool {
        let (state, turn) = {
            let state = lock(&self.state);
            let turn = state.turn;
            (state, turn)
        };
        let works = |state: &mut State| state.busy > 0 && state.turn == turn;
        let end = standing::now().checked_add(at_most);
        let mut state = state;
        while works(&mut state) {
            let left = end.map_or(at_most, standing::until);
            if left.is_zero() {
                return false;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    pub(crate) fn is_busy(&self) -> bool {
        lock(&self.state).busy > 0
    }

    pub(crate) fn is_ending(&self) -> bool {
        lock(&self.state).ending.is_some()
    }

    /// Takes charge of a process that was started. If the work has ended meanwhile, and the process with it, it is let go.
    pub(crate) fn hold(&self, handle: &Handle) -> u64 {
        let mut state = lock(&self.state);
        if let Some(grace) = state.ending {
            end(handle, grace);
        }
        let id = state.next;
        state.next += 1;
        if state.busy > 0 {
            state.running.push((id, handle.clone()));
        }
        id
    }

    /// The process with this number has ended.
    pub(crate) fn release(&self, id: u64) {
        lock(&self.state).running.retain(|(other, _)| *other != id);
    }
}

fn end(handle: &Handle, grace: Duration) {
    if grace.is_zero() { handle.kill() } else { handle.terminate(grace) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_for_the_work_that_goes_on_and_not_for_the_next() {
        let group = Arc::new(Group::default());
        group.end(Duration::ZERO);
        assert!(!group.is_ending(), "nobody is at work");
        let (first, second) = (group.begin(), group.begin());
        group.end(Duration::from_secs(3));
        drop(first);
        assert!(group.is_ending(), "the second is still to end");
        drop(second);
        let _next = group.begin();
        assert!(!group.is_ending());
    }

    #[test]
    fn a_wait_ends_with_the_work_or_with_its_time() {
        let group = Arc::new(Group::default());
        assert!(group.wait(Duration::ZERO), "nobody is at work");
        let busy = group.begin();
        assert!(!group.wait(Duration::from_millis(1)) && group.is_busy());
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| group.wait(Duration::from_secs(60)));
            drop(busy);
            assert!(waiter.join().expect("a thread"));
        });
    }

    #[test]
    fn a_shut_down_lasts_until_the_work_is_gone() {
        let group = Arc::new(Group::default());
        let busy = group.begin();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !group.is_ending() {
                    std::thread::yield_now();
                }
                drop(busy);
            });
            group.shut_down();
        });
        assert!(!group.is_ending());
    }
}
