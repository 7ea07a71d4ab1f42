//! `ralph bisect`: which iteration broke a gate, found by running it over checkpoints in a scratch copy.

use std::ffi::OsString;
use std::os::fd::AsFd;

use ralph_config::nearest;
use ralph_core::event::CheckpointSaved;
use ralph_core::ids::IterationNumber;
use ralph_core::plan::Gate;
use ralph_model::text::clean;
use ralph_model::{Bisection, BisectionStep};
use ralph_runtime::checkpoint::{Git, Label, Saver, forget, undo};
use ralph_runtime::gate_runner::{GateRunner, Place};
use ralph_runtime::scratch::Scratch;
use ralph_runtime::session::lock_workspace;
use ralph_store::Store;
use ralph_ui::format::duration;

use super::super::workspace;
use super::Book;
use super::undo::own;
use crate::args::BisectArgs;
use crate::error::CliError;

pub fn bisect(args: BisectArgs) -> Result<u8, CliError> {
    // One word alone is the gate.
    let (run, gate) = match args.gate {
        Some(gate) => (Some(args.run), gate),
        None => (None, args.run),
    };
    let store = Store::from_env()?;
    let run = store.find(run.as_deref(), &workspace(&args.at.workspace)?)?;
    let book = Book::read(run)?;
    let gate = find_gate(&book.plan.gates, &gate)?.clone();
    let mut states: Vec<(u32, CheckpointSaved)> = vec![(0, book.start().clone())];
    let after = book.iterations();
    states.extend(after.iter().filter_map(|IterationNumber(n)| Some((*n, book.after(*n)?.clone()))));
    let _lock = lock_workspace(&store, &book.plan.workspace)?;
    let mut bench = Bench::new(&store, &book, &gate)?;
    let mut tried: Vec<BisectionStep> = Vec::new();
    let mut asked = |at: usize| -> Result<Option<bool>, CliError> {
        let (iteration, state) = &states[at];
        if let Some(known) = tried.iter().find(|one| one.iteration == *iteration) {
            return Ok(Some(known.passed));
        }
        let Some((passed, words)) = bench.run(&state.commit)? else { return Ok(None) };
        if !args.json {
            crate::io::print(&format!("{}: {} {words}", named(*iteration), clean(&gate.name)))?;
        }
        tried.push(BisectionStep { iteration: *iteration, passed });
        Ok(Some(passed))
    };
    let found = search(states.len(), &mut asked)?;
    let Some(found) = found else {
        crate::io::complain("interrupted: the gate was ended");
        return Ok(bench.exit_code());
    };
    let mut message = told(&found, &states, &book, &gate.name);
    if let Some((failed, passed)) = returned(&tried) {
        message.push_str(&format!(
            "\nit is not the only turn: it failed after iteration {failed} and passed after iteration {passed}"
        ));
    }
    match args.json {
        true => {
            let broke = match found {
                Found::Broke(at) => Some(states[at].0),
                _ => None,
            };
            let run = book.run.id.to_string();
            crate::io::print_json(&Bisection { run, gate: gate.name, broke, message, tried })?;
        }
        false => crate::io::print(&message)?,
    }
    Ok(u8::from(!matches!(found, Found::Broke(_))))
}

/// What came of the search. The numbers are places in the list of states.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    /// It passes in the state before, and not in this one.
    Broke(usize),
    /// It passes at the end.
    Passes,
    /// There is no state in which it passes, as far as was tried.
    Never,
}

/// Finds a place where `passes` turns from yes to no. The last state is asked first; then, where the first one fails too, a passing
/// one is looked for from the end. `None` from `passes` ends it all.
fn search(
    count: usize,
    passes: &mut dyn FnMut(usize) -> Result<Option<bool>, CliError>,
) -> Result<Option<Found>, CliError> {
    let last = count.saturating_sub(1);
    match passes(last)? {
        None => return Ok(None),
        Some(true) => return Ok(Some(Found::Passes)),
        Some(false) => {}
    }
    let (mut good, mut bad) = (None, last);
    for at in std::iter::once(0).chain((1..last).rev()) {
        match passes(at)? {
            None => return Ok(None),
            Some(true) => {
                good = Some(at);
                break;
            }
            // Before the run it may well fail: the gate is what the run was for.
            Some(false) if at > 0 => bad = bad.min(at),
            Some(false) => {}
        }
    }
    let Some(mut good) = good else { return Ok(Some(Found::Never)) };
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        match passes(middle)? {
            None => return Ok(None),
            Some(true) => good = middle,
            Some(false) => bad = middle,
        }
    }
    Ok(Some(Found::Broke(bad)))
}

fn told(found: &Found, states: &[(u32, CheckpointSaved)], book: &Book, gate: &str) -> String {
    let (run, gate) = (&book.run.id, clean(gate));
    match found {
        Found::Broke(at) => {
            let (iteration, before) = (states[*at].0, states[*at - 1].0);
            format!(
                "iteration {iteration} broke {gate}: it passes {}\nwhat it changed: ralph diff {run} {iteration}\n\
                 the tree before it: ralph undo {run} --to {before}",
                named(before)
            )
        }
        Found::Passes => format!("{gate} passes after the last iteration: there is nothing to find"),
        Found::Never => format!("{gate} passes after no iteration of run {run}: none of them broke it"),
    }
}

/// A failure with a pass behind it: then there is more than one turn to find.
fn returned(tried: &[BisectionStep]) -> Option<(u32, u32)> {
    let failed =
        tried.iter().filter(|one| !one.passed && one.iteration > 0).map(|one| one.iteration).min()?;
    let passed =
        tried.iter().filter(|one| one.passed && one.iteration > failed).map(|one| one.iteration).min()?;
    Some((failed, passed))
}

fn named(iteration: u32) -> String {
    if iteration == 0 { "before the run".to_owned() } else { format!("after iteration {iteration}") }
}

fn find_gate<'a>(gates: &'a [Gate], name: &str) -> Result<&'a Gate, CliError> {
    let known = || gates.iter().map(|gate| gate.name.as_str());
    gates.iter().find(|gate| gate.name == name).ok_or_else(|| {
        let help = match (nearest(name, known()), gates.is_empty()) {
            (_, true) => "the run has no gates".to_owned(),
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, _) => format!("it has {}", known().collect::<Vec<_>>().join(", ")),
        };
        CliError::Usage(format!("there is no gate `{}`; {help}", clean(name)))
    })
}

/// A copy of the workspace that takes on one state after the other.
struct Bench {
    git: Git,
    copy: Scratch,
    /// The state that the copy is in.
    now: String,
    reference: String,
    gate: Gate,
    runner: GateRunner,
}

impl Bench {
    fn new(store: &Store, book: &Book, gate: &Gate) -> Result<Self, CliError> {
        let failed = |error: ralph_runtime::scratch::ScratchError| CliError::Failed(error.to_string());
        let workspace = &book.plan.workspace;
        let git = book.git()?;
        // What is there now is what the copy begins with.
        let reference = format!("{}-bisect", book.run.id);
        let label = Label { run: &reference, name: "now", what: "before a bisection" };
        let mut saver = Saver::new(git.clone(), workspace, None);
        let now = saver.save(label, own(workspace, book.plan.log_dir.as_deref()), &[])?.commit;
        let mut copy = Scratch::create(&store.scratch_dir(), workspace).map_err(failed)?;
        if let Some(files) = &gate.files {
            copy.lay_in(std::path::Path::new(files)).map_err(failed)?;
        }
        let inside = |word: &String| copy.rewrite(&OsString::from(word)).to_string_lossy().into_owned();
        let gate = Gate { run: gate.run.iter().map(inside).collect(), ..gate.clone() };
        Ok(Self { git, copy, now, reference, gate, runner: GateRunner::start()? })
    }

    /// Whether the gate passes there, and how that went in words. Nothing: a signal ended it.
    fn run(&mut self, commit: &str) -> Result<Option<(bool, String)>, CliError> {
        let done = undo(&self.git, self.copy.tree(), &self.now, commit)?;
        if let Some(problem) = done.problems.first() {
            return Err(CliError::Failed(format!("the copy cannot take on commit {commit}: {problem}")));
        }
        commit.clone_into(&mut self.now);
        let place = Place { folder: self.copy.tree(), lock: self.copy.as_fd(), env: self.copy.environment() };
        let outcome = self.runner.run(&self.gate, &place, self.gate.timeout);
        if self.runner.interrupted().is_some() {
            return Ok(None);
        }
        let took = duration(outcome.duration);
        let words = match outcome.passed {
            true => format!("passed ({took})"),
            false => format!("failed: {} ({took})", clean(&outcome.why())),
        };
        Ok(Some((outcome.passed, words)))
    }

    fn exit_code(&self) -> u8 {
        self.runner.interrupted().map_or(1, super::super::gates::exit_code)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // What stays is a commit that git cleans up.
        let _ = forget(&self.git, &self.reference);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(states: &[bool]) -> (Found, usize) {
        let mut asked = Vec::new();
        let mut passes = |at: usize| {
            if !asked.contains(&at) {
                asked.push(at);
            }
            Ok(Some(states[at]))
        };
        let found = search(states.len(), &mut passes).expect("an answer").expect("not interrupted");
        (found, asked.len())
    }

    #[test]
    fn the_iteration_that_broke_it_is_found_in_few_steps() {
        let states: Vec<bool> = (0..100).map(|at| at < 63).collect();
        let (broke, asked) = found(&states);
        assert_eq!(broke, Found::Broke(63));
        assert!(asked <= 9, "{asked}");
        assert_eq!(found(&[true, false]).0, Found::Broke(1));
        assert_eq!(found(&[false, true]).0, Found::Passes);
        assert_eq!(found(&[false, false, false]).0, Found::Never);
        assert_eq!(found(&[false]).0, Found::Never);
        // Before the run it failed too: the passing state in between is found.
        assert_eq!(found(&[false, false, true, true, false, false]).0, Found::Broke(4));
        assert_eq!(found(&[false, true, false, true, false]).0, Found::Broke(4), "the last time it broke");
    }
}
