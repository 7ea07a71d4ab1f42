//! Watches the keepers themselves. One that is stopped sees nothing: its program could do as it likes, and would be heard of only when
//! its time is over. Stopping it needs no right but that of the same user, so an agent without a namespace can do it.

use std::sync::Arc;
use std::thread;

use ralph_core::event::KeeperStopped;

use super::link::SharedLink;
use super::platform;
use super::pool::{Keeper, KeeperNews, Pool};

/// A person with a broad pattern may stop a keeper, and more than once by mistake. Whoever goes on hunts it.
pub(super) const MOST: u32 = 3;

/// Until the keeper ends.
pub(super) fn keep(keeper: &Keeper, pool: &Arc<Pool>, link: &Arc<SharedLink>) {
    let Some(watched) = platform::Stoppable::of(&keeper.child) else { return };
    let (pool, link, pid) = (Arc::clone(pool), Arc::clone(link), keeper.child.id());
    // Without a thread it is heard of when the time of its program is over.
    let _ = thread::Builder::new().name("vigil".into()).spawn(move || {
        let mut count = 0;
        while watched.await_stop() {
            count += 1;
            let ended = count >= MOST;
            if ended {
                link.hunted();
                watched.end();
            } else {
                watched.set_going();
            }
            pool.tell(KeeperNews::Stopped(KeeperStopped { pid, ended }));
        }
    });
}
