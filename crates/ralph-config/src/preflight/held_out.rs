//! Held-out files of hidden gates: outside of the workspace, where the agent does not find them.

use std::path::{Path, PathBuf};

use ralph_core::plan::Plan;

use super::Found;
use crate::{Loaded, target};

pub fn check(loaded: &Loaded, plan: &Plan, found: &mut Found) {
    for (i, gate) in plan.gates.iter().enumerate() {
        let Some(files) = &gate.files else { continue };
        let path = Path::new(files);
        let at = |message: String| loaded.settings.at(&format!("gates.{i}.files"), message);
        if !gate.hidden {
            let one = at(format!("gate `{}`: `files` are for hidden gates", gate.name));
            found.errors.push(one.help("add `hidden: true`"));
        } else if !path.is_dir() {
            let message = format!("gate `{}`: there is no folder {}", gate.name, path.display());
            found.errors.push(at(message).help("it is looked up from the folder of the definition"));
        } else if resolved(path).starts_with(resolved(&plan.workspace)) {
            let message = format!(
                "gate `{}`: {} is inside the workspace, where the agent can read it",
                gate.name,
                path.display()
            );
            found.errors.push(at(message).help("keep held-out files outside of it, such as ../held-out"));
        }
    }
}

/// Without links and without `..`, as the agent would come upon the folder.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| target::absolute(path))
}
