//! The run as it is now, for those who ask: folded from the journal's file when somebody does, and kept to go on from.

use std::sync::Mutex;

use ralph_core::ids::Seq;
use ralph_model::{Fold, RunSnapshot};
use ralph_store::{Follower, ReadError, RunDir, decode};

use crate::{clock, lock};

#[derive(Default)]
pub(super) struct Watched(Mutex<Option<(Follower, Fold)>>);

impl Watched {
    /// Nothing before the first record. The first time, all of the journal is read; after that, what has come since.
    pub(super) fn snapshot(&self, run: &RunDir) -> Result<Option<RunSnapshot>, ReadError> {
        let mut warm = lock(&self.0);
        // Taken out: what an error leaves half folded is not gone on from.
        let (mut follower, mut fold) = match warm.take() {
            Some(warm) => warm,
            None => (Follower::new(&run.journal(), Seq(1))?, Fold::default()),
        };
        while let Some(line) = follower.read()? {
            fold.apply(&decode(line)?);
        }
        let snapshot = fold.snapshot(clock::now(), true);
        *warm = Some((follower, fold));
        Ok(snapshot)
    }
}
