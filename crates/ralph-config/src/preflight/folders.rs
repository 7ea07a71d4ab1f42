//! What `./` means: commands of a definition start in its folder, everything else in the workspace.

use std::path::Path;

use ralph_core::plan::Plan;

use crate::{Diagnostic, Loaded};

/// Where a definition stands in another folder than the workspace, and both kinds of place are meant by `./`.
pub fn findings(loaded: &Loaded, plan: &Plan) -> Vec<Diagnostic> {
    let Some(folder) = loaded.file.as_deref().and_then(Path::parent) else { return Vec::new() };
    if folder == loaded.workspace {
        return Vec::new();
    }
    let here = folder.strip_prefix(&loaded.workspace).unwrap_or(folder).display().to_string();
    let program = |words: &[String]| words.first().filter(|word| word.starts_with("./")).cloned();
    let beside = plan.commands.iter().filter(|one| one.cwd == folder);
    let beside: Vec<String> = beside.filter_map(|one| program(&one.words)).collect();
    let gates = plan.gates.iter().enumerate();
    let gates = gates.filter_map(|(i, gate)| Some((format!("gates.{i}.run"), program(&gate.run)?)));
    let agent = program(std::slice::from_ref(&plan.agent.program));
    let agent = agent.map(|word| (loaded.agent_path().to_owned(), word));
    let others: Vec<(String, String)> = agent.into_iter().chain(gates).collect();
    let (Some(example), Some((path, word))) = (beside.first(), others.first()) else { return Vec::new() };
    let what = if path.starts_with("gates") { "gates" } else { "the agent" };
    let message = format!("`{word}` is looked up in the workspace, `{example}` in `commands` in `{here}`");
    let found = loaded
        .settings
        .at(path, message)
        .note(format!("`./` means the definition's folder for `commands`, and the workspace for {what}"));
    let found = match folder.join(word).is_file() && !loaded.workspace.join(word).exists() {
        true => found.help(format!("write `./{here}{}`", &word[1..])),
        false => found,
    };
    vec![Diagnostic { is_warning: true, ..found }]
}
