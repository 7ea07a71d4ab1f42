//! Whether anything outlives an agent here.

use ralph_core::event::ContainedBy;
use ralph_core::plan::Contain;
use ralph_runtime::trial::{Escape, escape};

use super::Finding;

pub fn check() -> Finding {
    match escape(Contain::Auto) {
        Err(error) => Finding::bad(format!("no program can be started: {error}")),
        Ok(Escape { survivors: 1.., .. }) => {
            Finding::bad("a daemon whose agent killed its keeper is still alive after the agent's end")
        }
        Ok(Escape { containment, .. }) if containment.by == ContainedBy::Namespace => {
            let found = Finding::good("pid namespace: a daemon that tried to outlive its agent is gone");
            match rustix::process::geteuid().is_root() {
                true => found,
                false => found
                    .and("sudo and other programs that change their user do not work in there, and files of other")
                    .and("users belong to nobody; `contain: keeper` does without"),
            }
        }
        Ok(Escape { containment, .. }) => {
            let why = containment.why.unwrap_or_default();
            Finding::weak(format!("a keeper alone: no pid namespace here ({why})"))
                .and("a daemon that tried to outlive its agent is gone, as ralph was there to see it; where ralph and")
                .and("its keeper are killed together, processes live on until `ralph resume` sweeps them")
        }
    }
}
