//! What all runs of this state folder have spent, read from their journals.

use ralph_core::record::type_of;
use ralph_core::time::Timestamp;
use ralph_model::cost::{CostFold, Spent, TYPES};

use crate::read::{Line, Lines};
use crate::records::{ReadError, decode};
use crate::run_dir::RunDir;
use crate::store::Store;

impl Store {
    /// Every attempt since then, run by run, to `visit`; the runs whose journal cannot be read are the answer.
    pub fn each_spent(&self, since: Option<Timestamp>, visit: &mut dyn FnMut(Spent)) -> Vec<RunDir> {
        let is_new = |at: Timestamp| since.is_none_or(|since| at >= since);
        let listed = self.list().into_iter().filter(|one| one.live || one.last_at.is_none_or(is_new));
        let mut damaged = Vec::new();
        for one in listed {
            // What was read before the damage was spent all the same.
            let mut visit = |spent: Spent| {
                if is_new(spent.at) {
                    visit(spent);
                }
            };
            if one.run.each_spent(&mut visit).is_err() {
                damaged.push(one.run);
            }
        }
        damaged
    }
}

impl RunDir {
    /// Every attempt of the run, the one that has not ended last.
    fn each_spent(&self, visit: &mut dyn FnMut(Spent)) -> Result<(), ReadError> {
        let mut fold = CostFold::default();
        let mut lines = Lines::open(&self.journal())?;
        while let Some(Line::Whole(line)) = lines.read()? {
            // Most lines are about something else, and need not be read.
            if type_of(line).is_some_and(|name| !TYPES.contains(&name)) {
                continue;
            }
            if let Some(spent) = fold.apply(&decode(line)?) {
                visit(spent);
            }
        }
        fold.open().cloned().into_iter().for_each(visit);
        Ok(())
    }
}
