//! `ralph run`

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use ralph_core::ids::IterationNumber;
use ralph_core::plan::{AgentPlan, Plan, SettingsChange};
use ralph_core::prompt::{self, Draft};
use ralph_model::Fold;
use ralph_runtime::process::{ResolveError, resolve_program};
use ralph_runtime::session::Session;
use ralph_runtime::task;
use ralph_store::Store;

use super::{screen, workspace};
use crate::args::{RunArgs, ScreenArgs};
use crate::error::CliError;
use ralph_config::{self as config, Env, Flags, Given, Loaded, Sources};

pub fn run(args: RunArgs) -> Result<u8, CliError> {
    let mut sources = Sources::new(workspace(&args.at.workspace)?);
    sources.target = args.target;
    sources.sets = args.sets;
    sources.preset = args.preset;
    let rest = args.args.into_iter().map(Given::Positional);
    sources.given = Some(args.given.into_iter().chain(rest).collect());
    sources.options = args.options;
    sources.env = Env::from_process();
    sources.flags = Flags {
        prompt: args.prompt,
        prompt_file: args.prompt_file,
        agent: args.agent,
        max_iterations: args.limits.max_iterations,
        max_runtime: args.limits.max_runtime,
        max_cost: args.limits.max_cost,
        iteration_timeout: args.limits.iteration_timeout,
        delay: args.delay,
        stop_on_error: args.limits.stop_on_error,
        once: args.once,
    };
    work(&sources, args.log_dir, &args.screen, args.dry_run)
}

/// Runs what these sources define.
pub fn work(
    sources: &Sources,
    log_dir: Option<PathBuf>,
    screen: &ScreenArgs,
    dry: bool,
) -> Result<u8, CliError> {
    let loaded = config::load(sources)?;
    let log_dir = log_dir.map(std::path::absolute).transpose()?;
    let is_root = rustix::process::geteuid().is_root();
    let plan = loaded.to_plan(log_dir, is_root)?;
    check_agents(&loaded, &plan)?;
    check_commands(&loaded, &plan)?;
    check_gates(&loaded, &plan)?;
    loaded.check_start(&plan)?;
    notes_on_limits(&plan).iter().for_each(|note| crate::io::complain(&format!("note: {note}")));
    warn_of_findings(&loaded, &plan);
    warn_of_idle_args(&loaded);
    if dry {
        return dry_run(&plan);
    }
    let store = Store::from_env()?;
    let session = Session::create(&store, plan)?;
    let screen = screen::open(screen, Fold::default(), &session)?;
    let stopped = session.work(crate::VERSION, SettingsChange::default(), &mut |record| screen.send(record));
    screen.finish();
    super::clean::keep_quota(&store);
    Ok(stopped?.exit_code)
}

/// A missing agent is a mistake in the definition as long as nothing has been started.
pub fn check_agents(loaded: &Loaded, plan: &Plan) -> Result<(), CliError> {
    let path = std::env::var_os("PATH");
    let first = std::iter::once((loaded.agent_path().to_owned(), &plan.agent));
    let fallbacks = plan.fallback.iter().map(|agent| ("fallback".to_owned(), agent));
    let hats = plan.hats.iter().flat_map(|hats| &hats.hats);
    let hats = hats.filter_map(|hat| Some((format!("hats.{}", hat.id), hat.agent.as_ref()?)));
    for (setting, agent) in first.chain(fallbacks).chain(hats) {
        let Err(error) = resolve_program(&agent.program, &loaded.workspace, path.as_deref()) else {
            continue;
        };
        if let Some(help) = how_to_execute(&error, &agent.program) {
            return Err(loaded.error_at(&setting, &error.to_string(), Some(&help)).into());
        }
        let help = match loaded.agent.meant().filter(|_| setting == loaded.agent_path()) {
            Some(name) if name != agent.program => format!("did you mean `{name}`?"),
            _ => "the agent is looked up from the workspace; install it, or give its path with -a".to_owned(),
        };
        return Err(loaded.error_at(&setting, &error.to_string(), Some(&help)).into());
    }
    Ok(())
}

/// Nor is a command that cannot be started.
pub fn check_commands(loaded: &Loaded, plan: &Plan) -> Result<(), CliError> {
    let path = std::env::var_os("PATH");
    if let Some(command) = plan.idle.wake.as_ref().and_then(|wake| wake.command.as_ref())
        && let Err(error) = task::check(command, path.as_deref())
    {
        return Err(loaded.error_at("wake.run", &format!("`wake.run` cannot run: {error}"), None).into());
    }
    for (i, command) in plan.commands.iter().enumerate().filter(|(i, _)| loaded.is_known(*i)) {
        if let Err(error) = task::check(command, path.as_deref()) {
            let message = format!("the command `{}` cannot run: {error}", command.name);
            let place = match command.cwd == plan.workspace {
                true => "the workspace",
                false => "the folder of its definition",
            };
            let help = format!("it is looked up from {place}");
            return Err(loaded.error_at(&format!("commands.{i}.run"), &message, Some(&help)).into());
        }
    }
    Ok(())
}

/// What to do about a file that only lacks the permission.
fn how_to_execute(error: &ResolveError, name: &str) -> Option<String> {
    let ResolveError::NotExecutable { path } = error else { return None };
    let shown = if name.contains('/') { Cow::from(name) } else { path.to_string_lossy() };
    path.is_file().then(|| format!("chmod +x {}", shell_words::quote(&shown)))
}

/// A gate that cannot run is found before an agent is paid. One that the agent may still make is only noted.
pub fn check_gates(loaded: &Loaded, plan: &Plan) -> Result<(), CliError> {
    let path = std::env::var_os("PATH");
    for (i, gate) in plan.proof.gates.iter().enumerate() {
        // Inside a run this name always means this program.
        let program = gate.run.first().map(String::as_str).filter(|program| *program != "ralph");
        let Some(program) = program else { continue };
        let Err(error) = resolve_program(program, &plan.workspace, path.as_deref()) else { continue };
        let missing = matches!(error, ResolveError::NotFound { .. });
        if missing && program.contains('/') && is_below(&plan.workspace.join(program), &plan.workspace) {
            eprintln!("note: gate `{}` cannot run yet: {error}", gate.name);
            continue;
        }
        let message = format!("the gate `{}` cannot run: {error}", gate.name);
        let help = how_to_execute(&error, program).unwrap_or_else(|| match program.contains('/') {
            true => "it is looked up from the workspace".to_owned(),
            false => "install it, or give its path".to_owned(),
        });
        return Err(loaded.error_at(&format!("gates.{i}.run"), &message, Some(&help)).into());
    }
    Ok(())
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

/// A limit that cannot hold is said at the start, not found out in the morning.
fn notes_on_limits(plan: &Plan) -> Vec<String> {
    let hats = plan.hats.iter().flat_map(|hats| &hats.hats).filter_map(|hat| hat.agent.as_ref());
    let agents: Vec<&AgentPlan> = std::iter::once(&plan.agent).chain(&plan.fallback).chain(hats).collect();
    let names = |is_meant: &dyn Fn(&AgentPlan) -> bool| {
        let meant = agents.iter().filter(|agent| is_meant(agent));
        let mut names: Vec<&str> = meant.map(|agent| agent.called()).collect();
        names.dedup();
        names
    };
    let no_cost = |agent: &AgentPlan| !config::cost_is_known(agent, &plan.prices);
    let no_tokens = |agent: &AgentPlan| !config::tokens_are_known(agent);
    let mut notes = Vec::new();
    let (silent, unpriced) = (
        names(&|agent| no_cost(agent) && no_tokens(agent)),
        names(&|agent| no_cost(agent) && !no_tokens(agent)),
    );
    if plan.event_loop.max_cost_usd.is_some() && !silent.is_empty() {
        notes.push(unheard("max_cost", &silent, "a cost"));
    }
    if plan.event_loop.max_cost_usd.is_some() && !unpriced.is_empty() {
        let (who, whose) =
            (unpriced.join(", "), if unpriced.len() == 1 { "its model" } else { "their models" });
        notes.push(format!(
            "max_cost cannot be enforced: what {who} costs is not known, and ralph has no price for {whose}; \
             set `prices` and the model, or limit `event_loop.max_tokens`"
        ));
    }
    let silent = names(&no_tokens);
    if plan.event_loop.max_tokens.is_some() && !silent.is_empty() {
        notes.push(unheard("max_tokens", &silent, "tokens"));
    }
    notes
}

/// About agents that tell nothing a limit could count.
fn unheard(limit: &str, who: &[&str], what: &str) -> String {
    let (who, verb) = (who.join(", "), if who.len() == 1 { "does" } else { "do" });
    format!(
        "{limit} cannot be enforced: {who} {verb} not report {what}; limit `event_loop.max_iterations` or \
         `event_loop.max_runtime`"
    )
}

/// A RALPH.md takes every argument; one without a place in it is likely a mistake.
fn warn_of_idle_args(loaded: &Loaded) {
    let names: Vec<String> = loaded.idle_args().iter().map(|name| format!("`--{name}`")).collect();
    if !names.is_empty() {
        let is = if names.len() == 1 { "is" } else { "are" };
        let names = names.join(", ");
        crate::io::complain(&format!(
            "note: {names} {is} neither declared in `args` nor used in the prompt or a command"
        ));
    }
}

/// What `ralph check` explains is only counted here.
fn warn_of_findings(loaded: &Loaded, plan: &Plan) {
    match loaded.warnings(plan).len() {
        0 => {}
        1 => eprintln!("note: `ralph check` has a warning about this definition"),
        n => eprintln!("note: `ralph check` has {n} warnings about this definition"),
    }
}

fn dry_run(plan: &Plan) -> Result<u8, CliError> {
    let task = task::read(&plan.task).map_err(CliError::Failed)?;
    // Nothing is started: what the commands would print is named, not shown.
    let outputs: Vec<String> =
        plan.commands.iter().map(|one| format!("[output of `{}`]", one.name)).collect();
    let task = task::complete(plan, 1, &task, &outputs);
    let draft = Draft { iteration: Some(IterationNumber(1)), ..Draft::default() };
    let plan_json = serde_json::to_string_pretty(plan).unwrap_or_default();
    let prompt = prompt::render(plan, &draft, &task);
    crate::io::print(&format!("The plan:\n\n{plan_json}\n\nThe first prompt:\n\n{prompt}"))?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, output: &str) -> AgentPlan {
        AgentPlan { name: name.to_owned(), output: output.to_owned(), ..AgentPlan::command("./my-agent.sh") }
    }

    fn notes(agents: &[AgentPlan], cost: Option<f64>, tokens: Option<u64>) -> Vec<String> {
        let task = ralph_core::plan::Task::Text(String::new());
        let mut plan = Plan::new("r", "/work", task, agents[0].clone());
        plan.fallback = agents[1..].to_vec();
        (plan.event_loop.max_cost_usd, plan.event_loop.max_tokens) = (cost, tokens);
        notes_on_limits(&plan)
    }

    #[test]
    fn a_limit_on_what_an_agent_does_not_report_is_noted_with_one_that_holds() {
        let plain = AgentPlan::command("./my-agent.sh");
        let codex = agent("codex", "codex-json");
        let claude = agent("claude", "claude-stream-json");
        let instead = "limit `event_loop.max_iterations` or `event_loop.max_runtime`";
        let cost = format!("max_cost cannot be enforced: ./my-agent.sh does not report a cost; {instead}");
        assert_eq!(notes(std::slice::from_ref(&plain), Some(1.0), None), [cost]);
        let tokens =
            format!("max_tokens cannot be enforced: ./my-agent.sh does not report tokens; {instead}");
        assert_eq!(notes(&[codex.clone(), plain.clone()], None, Some(9)), [tokens]);
        let unpriced = notes(std::slice::from_ref(&codex), Some(1.0), Some(9));
        assert_eq!(unpriced.len(), 1);
        assert!(
            unpriced[0].contains("what codex costs") && unpriced[0].contains("max_tokens"),
            "{unpriced:?}"
        );
        assert_eq!(notes(&[claude], Some(1.0), Some(9)), [] as [&str; 0]);
        assert_eq!(notes(&[plain], None, None), [] as [&str; 0]);
    }

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
