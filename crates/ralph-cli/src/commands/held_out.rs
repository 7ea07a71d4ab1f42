//! What an agent may not read of its own run: the gates that are held out from it.

use std::sync::Arc;

use ralph_model::{Fold, RunSnapshot};
use ralph_store::RunDir;

/// What an agent calls them.
const HELD_OUT: &str = "acceptance check";

use super::control::token_inside;
use super::each_record;
use crate::error::CliError;

/// The names of the hidden gates, if this process belongs to the agent of that run.
fn names(run: &RunDir) -> Result<Vec<String>, CliError> {
    if token_inside(run).is_none() {
        return Ok(Vec::new());
    }
    let mut fold = Fold::default();
    each_record(run, &mut |record| {
        fold.apply(&record);
        Ok(())
    })?;
    let snapshot = fold.snapshot(ralph_runtime::clock::now(), run.is_live());
    let gates = snapshot.map(|snapshot| snapshot.gates).unwrap_or_default();
    Ok(gates.into_iter().filter(|gate| gate.hidden).map(|gate| gate.name).collect())
}

/// For commands that hand over records as they are.
pub(super) fn refuse_inside(run: &RunDir, command: &str) -> Result<(), CliError> {
    match names(run)?.is_empty() {
        true => Ok(()),
        false => Err(CliError::Failed(format!(
            "run {} holds gates out from its agent, and `ralph {command}` would show them; `ralph status` tells what an agent may \
             know",
            run.id
        ))),
    }
}

/// What an agent may know of its run: everything but those gates.
pub(super) fn veiled(run: &RunDir, mut snapshot: RunSnapshot) -> Result<RunSnapshot, CliError> {
    let names = names(run)?;
    if names.is_empty() {
        return Ok(snapshot);
    }
    snapshot.gates.retain(|gate| !gate.hidden);
    for row in snapshot.rows.iter_mut().chain(snapshot.last.as_mut()) {
        Arc::make_mut(row).gates.retain(|gate| !names.contains(&gate.name));
    }
    snapshot.evidence.clear();
    let plain = |text: &mut String| {
        for name in &names {
            *text = text.replace(name.as_str(), HELD_OUT);
        }
    };
    snapshot.activity.iter_mut().for_each(|now| plain(&mut now.text));
    snapshot.stopped.iter_mut().for_each(|stop| plain(&mut stop.stopped.message));
    Ok(snapshot)
}

/// Whether this process runs inside of any run's agent.
pub(super) fn is_inside() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    set("RALPH_INSIDE") && set("RALPH_TOKEN")
}
