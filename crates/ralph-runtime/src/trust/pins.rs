//! The programs of a run, looked up once: what an agent puts before them on the PATH later is not found.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use ralph_core::event::PinnedProgram;
use ralph_core::plan::{AgentPlan, Gate, Plan};

use crate::process::resolve_program;

#[derive(Debug, Default)]
pub(crate) struct Pins {
    found: BTreeMap<String, PathBuf>,
}

impl Pins {
    /// `known`: what was found when the run began. A program that has gone away since is looked up again.
    pub(crate) fn of(plan: &Plan, known: &[PinnedProgram]) -> Self {
        let path = env::var_os("PATH");
        let mut found = BTreeMap::new();
        for name in names(plan) {
            let pinned =
                known.iter().find(|pinned| pinned.name == name).map(|pinned| PathBuf::from(&pinned.path));
            let there = pinned.filter(|path| path.is_file());
            // Inside a run this name always means this program.
            let own = (name == "ralph").then(|| env::current_exe().ok()).flatten();
            let found_now = || resolve_program(name, &plan.workspace, path.as_deref()).ok();
            let program = own.or(there).or_else(found_now);
            // A program that is not there yet is looked up when it is needed, and its lack is told then.
            found.extend(program.map(|program| (name.to_owned(), program)));
        }
        Self { found }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Path> {
        self.found.get(name).map(PathBuf::as_path)
    }

    /// For the journal.
    pub(crate) fn programs(&self) -> Vec<PinnedProgram> {
        let all = self.found.iter();
        all.filter_map(|(name, path)| {
            Some(PinnedProgram { name: name.clone(), path: path.to_str()?.to_owned() })
        })
        .collect()
    }
}

/// Every program that is an agent's or a gate's, by the name that the definition gives it.
fn names(plan: &Plan) -> Vec<&str> {
    let hats = plan.hats.iter().flat_map(|hats| &hats.hats).filter_map(|hat| hat.agent.as_ref());
    let agents = std::iter::once(&plan.agent).chain(&plan.fallback).chain(hats);
    let agents = agents.map(|agent: &AgentPlan| agent.program.as_str());
    // A path of a hidden gate leads into its copy of the workspace.
    let is_looked_up =
        |gate: &&Gate| !gate.hidden || gate.run.first().is_some_and(|name| !name.contains('/'));
    let gates =
        plan.gates.iter().filter(is_looked_up).filter_map(|gate| gate.run.first().map(String::as_str));
    let mut names: Vec<&str> = agents.chain(gates).collect();
    names.sort_unstable();
    names.dedup();
    names
}
