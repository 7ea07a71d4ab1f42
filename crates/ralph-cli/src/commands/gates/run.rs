//! `ralph gates run`: the gates now, without an agent.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use ralph_config::gates::Listed;
use ralph_config::nearest;
use ralph_core::plan::Gate;
use ralph_model::GateTrial;
use ralph_runtime::gate_runner::{GateOutcome, GateRunner, Place};
use ralph_runtime::scratch::Scratch;
use ralph_runtime::session::{SessionError, lock_workspace};
use ralph_runtime::workspace::WorkspaceLock;
use ralph_store::Store;
use ralph_ui::format::duration;

use super::{Progress, exit_code, load_some};
use crate::args::GatesRunArgs;
use crate::error::CliError;

pub fn run(args: GatesRunArgs) -> Result<u8, CliError> {
    let (workspace, gates) = load_some(args.target, &args.definition)?;
    let gates = chosen(gates, &args.names)?;
    let store = Store::from_env()?;
    let ground = match args.copy {
        true => Ground::Copy(Scratch::create(&store.scratch_dir(), &workspace).map_err(failed)?),
        false => Ground::InPlace(lock(&store, &workspace)?, workspace),
    };
    let runner = GateRunner::start()?;
    let json = args.definition.json;
    let mut results: Vec<(Gate, GateOutcome)> = Vec::new();
    for gate in gates {
        let shown = shell_words::join(&gate.run);
        let progress = Progress::new(json);
        progress.say(&format!("{}: {shown}", gate.name));
        let outcome = runner.run(&ground.gate(&gate), &ground.place(), gate.timeout);
        drop(progress);
        if let Some(by) = runner.interrupted() {
            crate::io::complain("interrupted: the gates were ended");
            return Ok(exit_code(by));
        }
        if !json {
            crate::io::print(&told(&gate, &outcome))?;
        }
        results.push((gate, outcome));
    }
    if json {
        crate::io::print_json(&results.iter().map(trial).collect::<Vec<_>>())?;
    }
    let failed = results.iter().any(|(gate, outcome)| gate.required && !outcome.passed);
    Ok(u8::from(failed))
}

/// Where the gates run.
enum Ground {
    InPlace(WorkspaceLock, PathBuf),
    Copy(Scratch),
}

impl Ground {
    fn place(&self) -> Place<'_> {
        match self {
            Ground::InPlace(lock, workspace) => {
                Place { folder: workspace, lock: lock.as_fd(), env: Vec::new() }
            }
            Ground::Copy(copy) => Place { folder: copy.tree(), lock: copy.as_fd(), env: copy.environment() },
        }
    }

    /// A gate with the paths of this place.
    fn gate(&self, gate: &Gate) -> Gate {
        let Ground::Copy(copy) = self else { return gate.clone() };
        let inside = |word: &String| copy.rewrite(&OsString::from(word)).to_string_lossy().into_owned();
        Gate { run: gate.run.iter().map(inside).collect(), ..gate.clone() }
    }
}

/// Gates may write, so they do not run under the hands of an agent.
fn lock(store: &Store, workspace: &Path) -> Result<WorkspaceLock, CliError> {
    lock_workspace(store, workspace).map_err(|error| {
        if let SessionError::Busy { .. } = error {
            crate::io::complain(
                "note: `--copy` runs the gates in a copy of the workspace, also while a run works",
            );
        }
        error.into()
    })
}

fn failed(error: impl std::fmt::Display) -> CliError {
    CliError::Failed(error.to_string())
}

/// Those of these names; all of them without one.
fn chosen(all: Vec<Listed>, names: &[String]) -> Result<Vec<Gate>, CliError> {
    let known: Vec<&str> = all.iter().map(|one| one.gate.name.as_str()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let help = match nearest(unknown, known.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("known here: {}", known.join(", ")),
        };
        return Err(CliError::Usage(format!("there is no gate `{unknown}`; {help}")));
    }
    let is_meant = |gate: &Gate| names.is_empty() || names.contains(&gate.name);
    Ok(all.into_iter().map(|one| one.gate).filter(is_meant).collect())
}

fn told(gate: &Gate, outcome: &GateOutcome) -> String {
    let took = duration(outcome.duration);
    let line = match (outcome.passed, gate.required) {
        (true, _) => format!("passed  {} ({took})", gate.name),
        (false, true) => format!("FAILED  {}: {} ({took})", gate.name, outcome.why()),
        (false, false) => format!("failed  {}: {} ({took}), which only reports", gate.name, outcome.why()),
    };
    match outcome.passed || outcome.tail.is_empty() {
        true => line,
        false => {
            let tail: Vec<String> = outcome.tail.lines().map(|line| format!("    {line}")).collect();
            format!("{line}\n{}", tail.join("\n"))
        }
    }
}

fn trial((gate, outcome): &(Gate, GateOutcome)) -> GateTrial {
    GateTrial {
        name: gate.name.clone(),
        run: gate.run.clone(),
        required: gate.required,
        passed: outcome.passed,
        exit_code: outcome.exit_code,
        timed_out: outcome.timed_out,
        error: outcome.error.clone(),
        duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
        tail: outcome.tail.clone(),
    }
}
