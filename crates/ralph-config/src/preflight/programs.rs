//! Programs that a plan will start: found before anything is started, or what is wrong with them.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use ralph_core::plan::{AgentPlan, CommandPlan, Gate, Plan};

use super::{Found, Machine, Obstacle, ProgramProblem};
use crate::{Diagnostic, Loaded};

/// A missing agent is a mistake in the definition as long as nothing has been started.
pub fn agents(loaded: &Loaded, plan: &Plan, machine: &Machine<'_>, found: &mut Found) {
    let first = std::iter::once((loaded.agent_path().to_owned(), &plan.agent));
    let fallbacks = plan.fallback.iter().map(|agent| ("fallback".to_owned(), agent));
    let hats = plan.hats.iter().flat_map(|hats| &hats.hats);
    let hats = hats.filter_map(|hat| Some((format!("hats.{}", hat.id), hat.agent.as_ref()?)));
    for (setting, agent) in first.chain(fallbacks).chain(hats) {
        if let Err(problem) = machine.find(&agent.program, &loaded.workspace) {
            found.errors.push(agent_problem(loaded, &setting, agent, &problem));
        }
    }
}

/// Claude Code asks no questions as root only where it is told of a sandbox, and that is told only where it is true.
pub fn refuses_root(plan: &Plan, machine: &Machine<'_>) -> Option<String> {
    let asks_nothing = plan.agent.bypass.iter().any(|flag| flag == "--dangerously-skip-permissions");
    let is_told = plan.agent.env.contains_key("IS_SANDBOX") || std::env::var_os("IS_SANDBOX").is_some();
    let refuses = machine.is_root && plan.agent.name == "claude" && asks_nothing && !is_told;
    refuses.then(|| {
        "claude refuses to work without questions as root; use `--sandbox workspace`, or set IS_SANDBOX=1 in \
         agent.env where this machine is a sandbox"
            .to_owned()
    })
}

fn agent_problem(loaded: &Loaded, setting: &str, agent: &AgentPlan, problem: &ProgramProblem) -> Diagnostic {
    let meant = loaded.agent.meant().filter(|_| setting == loaded.agent_path());
    let help = how_to_execute(problem, &agent.program).unwrap_or_else(|| match meant {
        Some(name) if name != agent.program => format!("did you mean `{name}`?"),
        _ => "the agent is looked up from the workspace; install it, or give its path with -a".to_owned(),
    });
    loaded.settings.at(setting, problem.message.clone()).help(help)
}

/// A command that cannot be started is such a mistake as well.
pub fn commands(loaded: &Loaded, plan: &Plan, machine: &Machine<'_>, found: &mut Found) {
    if let Some(command) = plan.wake_command()
        && let Err(error) = command_problem(&command, machine)
    {
        found.errors.push(loaded.settings.at("wake.run", format!("`wake.run` cannot run: {error}")));
    }
    for (i, command) in plan.commands.iter().enumerate().filter(|(i, _)| loaded.is_known(*i)) {
        if let Err(error) = command_problem(command, machine) {
            let message = format!("the command `{}` cannot run: {error}", command.name);
            let place = match command.cwd == plan.workspace {
                true => "the workspace",
                false => "the folder of its definition",
            };
            let one = loaded.settings.at(&format!("commands.{i}.run"), message);
            found.errors.push(one.help(format!("it is looked up from {place}")));
        }
    }
}

fn command_problem(command: &CommandPlan, machine: &Machine<'_>) -> Result<(), String> {
    let program = command.words.first().ok_or("nothing is left of it")?;
    machine.find(program, &command.cwd).map_err(|problem| match is_shells(program) {
        true => format!("{}; no shell runs it: write `sh -c '…'` if you need one", problem.message),
        false => problem.message,
    })
}

/// Whether only a shell understands this word.
fn is_shells(program: &str) -> bool {
    program.contains(['=', '$', '|', ';', '&', '>', '<', '*'])
        || matches!(program, "cd" | "export" | "source" | ".")
}

/// A gate that cannot run is found before an agent is paid. One that the agent may still make is only noted.
pub fn gates(loaded: &Loaded, plan: &Plan, machine: &Machine<'_>, found: &mut Found) {
    for (i, gate) in plan.gates.iter().enumerate() {
        // Inside a run this name always means this program.
        let program = gate.run.first().map(String::as_str).filter(|program| *program != "ralph");
        let Some(program) = program else { continue };
        let Err(problem) = machine.find(program, &plan.workspace) else { continue };
        // A script of a hidden gate may be among its held-out files.
        if gate.hidden && program.contains('/') {
            continue;
        }
        match is_still_to_come(program, &problem, &plan.workspace) {
            true => found.notes.push(format!("gate `{}` cannot run yet: {}", gate.name, problem.message)),
            false => found.errors.push(gate_problem(loaded, i, gate, program, &problem)),
        }
    }
}

fn gate_problem(
    loaded: &Loaded,
    index: usize,
    gate: &Gate,
    program: &str,
    problem: &ProgramProblem,
) -> Diagnostic {
    let message = format!("the gate `{}` cannot run: {}", gate.name, problem.message);
    let help = how_to_execute(problem, program).unwrap_or_else(|| match program.contains('/') {
        true => "it is looked up from the workspace".to_owned(),
        false => "install it, or give its path".to_owned(),
    });
    loaded.settings.at(&format!("gates.{index}.run"), message).help(help)
}

/// Whether the agent may still make this program: a path in the workspace at which nothing is.
fn is_still_to_come(program: &str, problem: &ProgramProblem, workspace: &Path) -> bool {
    problem.obstacle == Obstacle::Missing
        && program.contains('/')
        && is_below(&workspace.join(program), workspace)
}

/// What to do about a file that only lacks the permission.
fn how_to_execute(problem: &ProgramProblem, name: &str) -> Option<String> {
    let Obstacle::NotExecutable(path) = &problem.obstacle else { return None };
    let shown = if name.contains('/') { Cow::from(name) } else { path.to_string_lossy() };
    Some(format!("chmod +x {}", shell_words::quote(&shown)))
}

/// Whether a path, which need not exist, leads to something inside the folder.
fn is_below(path: &Path, folder: &Path) -> bool {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain != folder && plain.starts_with(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_folder_is_told_by_the_path_alone() {
        for (path, below) in [
            ("/srv/w/./x", true),
            ("/srv/w/a/../b", true),
            ("/srv/w/../x", false),
            ("/srv/wshop/x", false),
            ("/srv/w/a/..", false),
        ] {
            assert_eq!(is_below(Path::new(path), Path::new("/srv/w")), below, "{path}");
        }
    }
}
