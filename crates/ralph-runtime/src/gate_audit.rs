//! Carries out an audit: applies what `ralph_evidence::cheat` decides to a copy of the workspace, and runs the gates there.

use std::ffi::OsString;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};
use std::time::Duration;

use ralph_core::plan::Gate;
use ralph_core::stop::Interrupt;
use ralph_evidence::cheat::verdict::{Audit, Findings, GateRan};
use ralph_evidence::cheat::{GateLine, Project, SourceFile};
use ralph_store::plain::{self, Links};

use crate::gate_runner::{GateRunner, Place};
use crate::process::resolve_program;
use crate::scratch::{Scratch, ScratchError};

/// A longer file was not written by hand.
const MAX_TEXT: u64 = 256 << 10;
/// Of all files together.
const MAX_TEXTS: u64 = 64 << 20;
/// A gate that goes on for this much longer than on the untouched tree does not come to its end.
const PATIENCE: u32 = 5;
const MIN_PATIENCE: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    #[error("cannot run the gates: {0}")]
    Io(#[from] std::io::Error),
    #[error("the audit was interrupted")]
    Interrupted(Interrupt),
}

/// What came of an audit.
pub struct Audited {
    pub findings: Findings,
    /// The files as they were copied.
    pub project: Project,
    /// What could not be copied, in words.
    pub notes: Vec<String>,
}

/// Audits the gates of a workspace, which is never touched. Gates that are not required prove nothing and are left out.
/// `only`: the cheats whose name begins with one of these. `progress` is told what is tried next.
pub fn audit(
    scratches: &Path,
    workspace: &Path,
    gates: &[Gate],
    only: Vec<String>,
    progress: &mut dyn FnMut(&str),
) -> Result<Audited, AuditError> {
    let runner = GateRunner::start()?;
    progress("copying the workspace");
    let mut scratch = Scratch::create(scratches, workspace)?;
    let env = environment(&scratch);
    let mut gates = pinned(&scratch, gates, &env);
    let project = project(&scratch, &env);
    let lines = gates.iter().map(|(gate, _)| line(&scratch, gate));
    let mut audit = Audit::new(project.clone(), lines.collect(), only);
    while let Some(trial) = audit.next() {
        progress(&trial.what);
        scratch.apply(&trial.edits)?;
        let ran = run(&runner, &scratch, &mut gates, &env, trial.all);
        if let Some(by) = runner.interrupted() {
            return Err(AuditError::Interrupted(by));
        }
        scratch.restore()?;
        audit.learn(ran);
    }
    Ok(Audited { findings: audit.findings(), project, notes: std::mem::take(&mut scratch.notes) })
}

/// What the gates find in their environment where it differs from ralph's: paths of the copy.
fn environment(scratch: &Scratch) -> Vec<(OsString, OsString)> {
    let mut env = scratch.environment();
    if !env.iter().any(|(name, _)| name == "PATH") {
        env.push(("PATH".into(), std::env::var_os("PATH").unwrap_or_default()));
    }
    env
}

/// The required gates as they run in the copy, each with the time it has. Programs are looked up once, before anything is
/// changed, as a run does.
fn pinned(scratch: &Scratch, gates: &[Gate], env: &[(OsString, OsString)]) -> Vec<(Gate, Duration)> {
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let required = gates.iter().filter(|gate| gate.required);
    let pin = |gate: &Gate| {
        let mut gate = gate.clone();
        let inside = |word: &String| scratch.rewrite(word.as_ref()).to_string_lossy().into_owned();
        gate.run = gate.run.iter().map(inside).collect();
        let timeout = gate.timeout;
        if let Some(program) =
            gate.run.first_mut().filter(|program| *program != "ralph" && !program.contains('/'))
            && let Ok(found) = resolve_program(&*program, scratch.tree(), path)
        {
            *program = found.to_string_lossy().into_owned();
        }
        (gate, timeout)
    };
    required.map(pin).collect()
}

/// A gate with paths from the top of the copy, by which the project's files are known.
fn line(scratch: &Scratch, gate: &Gate) -> GateLine {
    let top = format!("{}/", scratch.tree().display());
    let words = gate.run.iter().map(|word| word.replace(&top, "")).collect();
    GateLine { name: gate.name.clone(), words }
}

fn run(
    runner: &GateRunner,
    scratch: &Scratch,
    gates: &mut [(Gate, Duration)],
    env: &[(OsString, OsString)],
    all: bool,
) -> Vec<GateRan> {
    let mut ran: Vec<GateRan> = Vec::new();
    for (gate, timeout) in gates {
        let place = Place { folder: scratch.tree(), lock: scratch.as_fd(), env: env.to_vec() };
        let outcome = runner.run(gate, &place, *timeout);
        if all {
            let longest = (outcome.duration * PATIENCE).max(MIN_PATIENCE);
            *timeout = gate.timeout.min(longest);
        }
        let (passed, why) = (outcome.passed, outcome.why());
        ran.push(GateRan { name: gate.name.clone(), passed, why, tail: outcome.tail });
        if !passed && !all {
            break;
        }
    }
    ran
}

/// The files of the copy, as far as they are text.
fn project(scratch: &Scratch, env: &[(OsString, OsString)]) -> Project {
    let mut project = Project::default();
    let mut left = MAX_TEXTS;
    for path in scratch.paths() {
        let full = scratch.tree().join(path);
        let (Some(name), Ok(meta)) = (path.to_str(), fs::symlink_metadata(&full)) else { continue };
        if !meta.is_file() {
            continue;
        }
        let text = (meta.len() <= MAX_TEXT.min(left)).then(|| read(&full)).flatten();
        left -= text.as_ref().map_or(0, |text| text.len() as u64).min(left);
        let executable = meta.permissions().mode() & 0o100 != 0;
        project.files.insert(name.to_owned(), SourceFile { text, executable });
    }
    for folder in scratch.dependencies() {
        for bin in [folder.join(".bin"), folder.join("bin")] {
            let entries = fs::read_dir(scratch.tree().join(&bin)).into_iter().flatten().flatten();
            let names = entries.map(|entry| bin.join(entry.file_name()));
            project.installed.extend(names.filter_map(|path| path.to_str().map(str::to_owned)));
        }
    }
    project.installed.sort();
    let path =
        env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()).unwrap_or_default();
    for entry in std::env::split_paths(&path) {
        // A relative entry is meant from where the gate runs.
        let full = scratch.tree().join(entry);
        let inside = full.strip_prefix(scratch.tree()).ok();
        let is_plain = |path: &&Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        if let Some(inside) = inside.filter(is_plain).and_then(Path::to_str) {
            project.path_folders.push(inside.to_owned());
        }
    }
    project
}

fn read(path: &Path) -> Option<String> {
    plain::read_text(path, Links::Refuse, MAX_TEXT).ok()
}
