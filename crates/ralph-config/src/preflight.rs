//! Everything there is to say about a definition before anything is started, said at once.
//!
//! ```
//! use ralph_config::{Machine, Obstacle, ProgramProblem, Sources, preflight};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("ralph.yml"), "agent: ./agent.sh\nprompt: Make the tests pass.\n")?;
//! let find = |name: &str, _: &std::path::Path| match name {
//!     "./agent.sh" => Ok(()),
//!     _ => Err(ProgramProblem { message: format!("`{name}` was not found"), obstacle: Obstacle::Missing }),
//! };
//! let machine = Machine { is_root: false, find_program: &find };
//! let ready = preflight(&Sources::new(folder.path()), None, &machine)?;
//! assert_eq!(ready.plan.agent.program, "./agent.sh");
//! assert!(ready.warnings.is_empty() && ready.notes.is_empty());
//!
//! let gates = "gates: [{name: tests, run: cargo-nowhere}, {name: lint, run: lint-nowhere}]\n";
//! std::fs::write(folder.path().join("ralph.yml"), format!("agent: nowhere\nprompt: x\n{gates}"))?;
//! let error = preflight(&Sources::new(folder.path()), None, &machine).unwrap_err();
//! assert_eq!(error.diagnostics().len(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod folders;
mod held_out;
pub(crate) mod limits;
mod programs;

use std::path::{Path, PathBuf};

use ralph_core::plan::Plan;

use crate::diagnostic::{ConfigError, Diagnostic};
use crate::sources::Sources;
use crate::{Loaded, examine, gates, hats, idle, placeholders};

/// What has to be known of the machine that a plan is for.
pub struct Machine<'a> {
    /// Whether agents will run as root: some refuse to, unless told that it is fine.
    pub is_root: bool,
    /// Looks a program up, by its name or path, from a folder.
    pub find_program: &'a dyn Fn(&str, &Path) -> Result<(), ProgramProblem>,
}

impl Machine<'_> {
    fn find(&self, name: &str, folder: &Path) -> Result<(), ProgramProblem> {
        (self.find_program)(name, folder)
    }
}

/// Why a program cannot be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramProblem {
    pub message: String,
    pub obstacle: Obstacle,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// There is nothing of that name.
    Missing,
    /// There is a file, which only lacks the permission.
    NotExecutable(PathBuf),
    /// There is something else, such as a folder.
    NotAFile,
}

/// A plan that can be started.
#[derive(Debug, Clone)]
pub struct Ready {
    pub loaded: Loaded,
    pub plan: Plan,
    /// What `ralph check` explains.
    pub warnings: Vec<Diagnostic>,
    /// Those of them that a run shows as well: it would be another one than was meant.
    pub mistakes: Vec<Diagnostic>,
    /// What is said at the start of a run, a sentence each.
    pub notes: Vec<String>,
}

/// What was found so far.
#[derive(Debug, Default)]
pub struct Found {
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    notes: Vec<String>,
}

impl Found {
    /// The same mistake may show more than once on the way to a plan.
    fn add_errors(&mut self, errors: Vec<Diagnostic>) {
        for one in errors {
            if !self.errors.contains(&one) {
                self.errors.push(one);
            }
        }
    }
}

/// From definition files and flags to a plan, or to all that keeps it from being one.
pub fn preflight(
    sources: &Sources,
    log_dir: Option<PathBuf>,
    machine: &Machine<'_>,
) -> Result<Ready, ConfigError> {
    let (loaded, errors) = examine(sources)?;
    let mut found = Found { errors, ..Found::default() };
    let mut mistakes = Vec::new();
    let plan = loaded.to_plan(log_dir, machine.is_root);
    let mut plan = plan.map_err(|error| found.add_errors(error.into_diagnostics())).ok();
    if let Some(plan) = &mut plan {
        limits::check(&loaded, plan, &mut found);
    }
    found.errors.extend(gates::nothing_found(&loaded.settings));
    if let Some(plan) = &plan {
        programs::agents(&loaded, plan, machine, &mut found);
        programs::commands(&loaded, plan, machine, &mut found);
        programs::gates(&loaded, plan, machine, &mut found);
        held_out::check(&loaded, plan, &mut found);
        found.errors.extend(plan.hats.iter().flat_map(|hats| hats::fatal(&loaded.settings, hats)));
        found.warnings.extend(plan.hats.iter().flat_map(|hats| hats::findings(&loaded.settings, hats)));
        mistakes = placeholders::findings(&loaded);
        found.warnings.extend(mistakes.clone());
        found.warnings.extend(folders::findings(&loaded, plan));
        found.warnings.extend(idle::findings(&loaded.settings, plan));
        found.notes.extend(programs::refuses_root(plan, machine));
        found.notes.extend(idle_args(&loaded));
        found.notes.extend(gates::note(&loaded.settings));
        found.notes.extend(end_untold(plan));
    }
    let Found { mut errors, warnings, notes } = found;
    match plan.filter(|_| errors.is_empty()) {
        Some(plan) => Ok(Ready { loaded, plan, warnings, mistakes, notes }),
        None => {
            errors.extend(warnings);
            Err(ConfigError::from_all(errors).unwrap_or_else(|| Diagnostic::new("there is no plan").into()))
        }
    }
}

/// A RALPH.md takes every argument; one without a place in it is likely a mistake.
fn idle_args(loaded: &Loaded) -> Option<String> {
    let names: Vec<String> = loaded.idle_args().iter().map(|name| format!("`--{name}`")).collect();
    let (such, they) = match names.len() {
        1 => ("no such option", "as an argument it is"),
        _ => ("no such options", "as arguments they are"),
    };
    let note = || {
        format!(
            "{}: ralph has {such}, and {they} neither declared in `args` nor used in the prompt or a command",
            names.join(", ")
        )
    };
    (!names.is_empty()).then(note)
}

/// A RALPH.md with nothing but ralphify's keys is sent as it is written.
fn end_untold(plan: &Plan) -> Option<String> {
    let is_untold = ralph_core::prompt::is_as_written(plan);
    is_untold.then(|| {
        "the agent is not told how to finish: this RALPH.md is sent as it is written; add gates or \
         `completion_promise`, or say in it to end with <ralph>COMPLETE</ralph> alone on a line"
            .to_owned()
    })
}
