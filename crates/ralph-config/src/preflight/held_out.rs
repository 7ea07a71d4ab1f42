//! Held-out files of hidden gates: outside of the workspace, where the agent does not find them.

use std::path::{Path, PathBuf};

use ralph_core::plan::Plan;

use super::Found;
use crate::{Loaded, target};

pub fn check(loaded: &Loaded, plan: &Plan, found: &mut Found) {
    warn_of_definition(loaded, plan, found);
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

/// A definition that stands in the workspace tells the agent what is held out from it.
fn warn_of_definition(loaded: &Loaded, plan: &Plan, found: &mut Found) {
    let Some(at) = plan.gates.iter().position(|gate| gate.hidden) else { return };
    let Some(file) = &plan.source else { return };
    if resolved(file).starts_with(resolved(&plan.workspace)) {
        let message = format!(
            "the hidden gate `{}` can be read in {}, which is in the workspace",
            plan.gates[at].name,
            file.display()
        );
        let one = loaded.settings.at(&format!("gates.{at}"), message);
        let one = crate::Diagnostic { is_warning: true, ..one };
        found.warnings.push(one.help(
            "keep the definition outside of it, such as ../ralph.yml, and name it: ralph run ../ralph.yml",
        ));
    }
}

/// Without links and without `..`, as the agent would come upon the folder.
fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| target::absolute(path))
}
