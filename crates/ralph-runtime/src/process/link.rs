//! The way to a keeper at work, shared by everybody who has something to tell it.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, pidfd_send_signal};

use super::pool::Keeper;
use super::wire::{self, Order};
use crate::standing;

#[derive(Clone, Copy)]
pub(super) enum Wish {
    Kill { at: Option<Instant> },
    KillNow,
}

impl Wish {
    fn beats(self, old: Option<Wish>) -> bool {
        match (old, self) {
            (None, _) => true,
            (Some(Wish::KillNow), _) => false,
            (Some(Wish::Kill { .. }), Wish::KillNow) => true,
            (Some(Wish::Kill { at: Some(old) }), Wish::Kill { at: Some(new) }) => new < old,
            (Some(Wish::Kill { at: old }), Wish::Kill { at: new }) => old.is_none() && new.is_some(),
        }
    }

    fn send(self, keeper: &Line) {
        let order = match self {
            Wish::KillNow => Order::Kill,
            Wish::Kill { at } => {
                let grace = at.map_or(Duration::MAX, standing::until);
                Order::Terminate { grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX) }
            }
        };
        keeper.tell(&order);
    }
}

/// The way to a keeper that has its work.
pub(super) struct Line {
    control: Arc<UnixStream>,
    pid: Option<Pid>,
    init: Option<OwnedFd>,
    /// Everything below it stands still.
    stands: bool,
}

impl Line {
    fn tell(&self, order: &Order) {
        // A keeper that is gone needs no orders.
        let _ = wire::send(&self.control, order);
        // An agent, or a person with a broad pattern, may have stopped it. Not collected yet, so the number is its.
        let _ = self.pid.map(|pid| kill_process(pid, Signal::CONT));
        let _ = self.init.as_ref().map(|init| pidfd_send_signal(init, Signal::CONT));
    }
}

/// What a handle and the thread that watches the program share.
#[derive(Default)]
pub(super) struct SharedLink {
    link: Mutex<Link>,
}

#[derive(Default)]
pub(super) struct Link {
    keeper: Option<Line>,
    pub(super) pid: Option<u32>,
    /// Its keeper was stopped so often that it was ended.
    hunted: bool,
    /// The strongest wish so far. Sent when the keeper has its work, if that is later.
    wish: Option<Wish>,
}

impl SharedLink {
    pub(super) fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn order(&self, wish: Wish) {
        let mut link = self.link();
        if wish.beats(link.wish) {
            link.wish = Some(wish);
            if let Some(keeper) = &link.keeper {
                wish.send(keeper);
            }
        }
    }

    pub(super) fn connect(&self, keeper: &Keeper) {
        let pid = i32::try_from(keeper.child.id()).ok().and_then(Pid::from_raw);
        // Without it a stopped init is not set going, and is killed a little later.
        let init = keeper.init.as_ref().and_then(|init| init.pidfd.try_clone().ok());
        let line = Line { control: Arc::clone(&keeper.control), pid, init, stands: false };
        let mut link = self.link();
        if let Some(wish) = link.wish {
            wish.send(&line);
        }
        link.keeper = Some(line);
    }

    pub(super) fn disconnect(&self) {
        self.link().keeper = None;
    }

    /// Lets everything below the keeper stand still, or go on.
    pub(super) fn let_stand(&self, still: bool) {
        if let Some(keeper) = &mut self.link().keeper {
            keeper.stands = false;
            keeper.tell(if still { &Order::Stand } else { &Order::GoOn });
        }
    }

    /// The keeper says that everything below it stands still.
    pub(super) fn stands(&self) {
        if let Some(keeper) = &mut self.link().keeper {
            keeper.stands = true;
        }
    }

    /// Nothing of it is at work: it stands still, or is over.
    pub(super) fn is_still(&self) -> bool {
        self.link().keeper.as_ref().is_none_or(|keeper| keeper.stands)
    }

    pub(super) fn hunted(&self) {
        self.link().hunted = true;
    }

    pub(super) fn was_hunted(&self) -> bool {
        self.link().hunted
    }
}
