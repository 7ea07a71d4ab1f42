//! A run ends when it has to, whatever one of its threads waits for: a disk that stands still, a mount that is gone. What the kernel
//! holds nobody can wake; but the process can end without it, and its keepers then end everything else.

use std::sync::Weak;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::standing;

/// From the order to end until nobody waits any more: much longer than any end takes that is not stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(45);

/// Calls `give_up` if the session is still at work when the time is over. `at_work` is held by the session alone.
pub(crate) fn expect_end(at_work: &Weak<()>, patience: Duration, give_up: impl FnOnce() + Send + 'static) {
    let at_work = at_work.clone();
    // Without a thread for it the run ends by itself or not at all, as it did before.
    let _ = std::thread::Builder::new().name("watchdog".into()).spawn(move || {
        let Some(end) = standing::now().checked_add(patience) else { return };
        while !standing::until(end).is_zero() {
            std::thread::sleep(standing::until(end).max(Duration::from_millis(1)));
        }
        if at_work.upgrade().is_some() {
            give_up();
        }
    });
}

/// The same if an answer does not come, as it does when something is dropped unanswered.
pub(crate) fn expect_answer<T: Send + PartialEq + 'static>(
    at_work: &Weak<()>,
    answer: Receiver<T>,
    patience: Duration,
    give_up: impl FnOnce() + Send + 'static,
) {
    let at_work = at_work.clone();
    let _ = std::thread::Builder::new().name("watchdog".into()).spawn(move || {
        let Some(end) = standing::now().checked_add(patience) else { return };
        let is_stuck = loop {
            let left = standing::until(end);
            if answer.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
                break false;
            }
            // It may have stood still meanwhile.
            if standing::until(end).is_zero() {
                break true;
            }
        };
        if is_stuck && at_work.upgrade().is_some() {
            give_up();
        }
    });
}

/// Ends this process at once. Whoever reads its errors may be stuck as well, and is not waited for.
pub(crate) fn give_up() {
    let told = std::thread::Builder::new().spawn(|| {
        eprintln!(
            "error: the run was told to end and cannot: something it waits for does not answer, a disk or a mount perhaps\n\
             everything it started is ended; `ralph resume` goes on from what is recorded"
        );
    });
    if let Ok(told) = told {
        let deadline = std::time::Instant::now() + Duration::from_secs(1);
        while !told.is_finished() && std::time::Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    std::process::exit(1);
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;

    #[test]
    fn an_answer_in_time_or_none_at_all_is_no_reason_to_give_up() {
        let session = Arc::new(());
        let weak = Arc::downgrade(&session);
        let outcome = |act: &dyn Fn(mpsc::Sender<()>) -> Option<mpsc::Sender<()>>| {
            let ((asked, answer), (given_up, heard)) = (mpsc::channel(), mpsc::channel());
            let _kept = act(asked);
            expect_answer(&weak, answer, Duration::from_millis(20), move || {
                let _ = given_up.send(());
            });
            heard.recv().is_ok()
        };
        assert!(outcome(&Some), "nobody answers");
        assert!(!outcome(&|asked| {
            asked.send(()).expect("heard");
            Some(asked)
        }));
        assert!(!outcome(&|_| None), "it was dropped");
    }

    #[test]
    fn a_session_that_is_over_is_left_alone_and_one_that_is_stuck_is_not() {
        let (given_up, heard) = mpsc::channel();
        let session = Arc::new(());
        let weak = Arc::downgrade(&session);
        let early = given_up.clone();
        expect_end(&weak, Duration::ZERO, move || {
            let _ = early.send("stuck");
        });
        assert_eq!(heard.recv(), Ok("stuck"));
        drop(session);
        expect_end(&weak, Duration::ZERO, move || {
            let _ = given_up.send("over");
        });
        assert!(heard.recv().is_err(), "nobody gives up");
    }
}
