//! `ralph run`

use std::path::PathBuf;

use ralph_core::ids::IterationNumber;
use ralph_core::plan::Plan;
use ralph_core::prompt::{self, Draft};
use ralph_core::view::View;
use ralph_runtime::process::resolve_program;
use ralph_runtime::session::Session;
use ralph_runtime::store::Store;
use ralph_runtime::task;

use super::{screen, workspace};
use crate::args::{RunArgs, ScreenArgs};
use crate::config::{self, Env, Flags, Given, Loaded, Sources};
use crate::error::CliError;

pub fn run(args: RunArgs) -> Result<u8, CliError> {
    let mut sources = Sources::new(workspace(&args.at.workspace)?);
    sources.target = args.target;
    sources.sets = args.sets;
    sources.preset = args.preset;
    let rest = args.args.into_iter().map(Given::Positional);
    sources.given = Some(args.given.into_iter().chain(rest).collect());
    sources.options = crate::run_args::long_names();
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
    warn_of_unknown_cost(&plan);
    warn_of_findings(&loaded, &plan);
    warn_of_idle_args(&loaded);
    if dry {
        return dry_run(&plan);
    }
    let store = Store::from_env()?;
    let session = Session::create(&store, plan)?;
    let screen = screen::open(screen, View::default(), &session)?;
    let stopped = session.work(crate::VERSION, None, &mut |record| screen.send(record));
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
        let help = match loaded.agent.meant().filter(|_| setting == loaded.agent_path()) {
            Some(name) if name != agent.program => format!("did you mean `{name}`?"),
            _ => "the agent is looked up from the workspace; install it, or give its path with -a".to_owned(),
        };
        return Err(loaded.error_at(&setting, &error.to_string(), Some(&help)).into());
    }
    Ok(())
}

/// Nor is a command that can not be started.
pub fn check_commands(loaded: &Loaded, plan: &Plan) -> Result<(), CliError> {
    let path = std::env::var_os("PATH");
    if let Some(command) = plan.idle.wake.as_ref().and_then(|wake| wake.command.as_ref())
        && let Err(error) = task::check(command, path.as_deref())
    {
        return Err(loaded.error_at("wake.run", &format!("`wake.run` can not run: {error}"), None).into());
    }
    for (i, command) in plan.commands.iter().enumerate().filter(|(i, _)| loaded.is_known(*i)) {
        if let Err(error) = task::check(command, path.as_deref()) {
            let message = format!("the command `{}` can not run: {error}", command.name);
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

/// A limit that can not hold is said at the start, not found out in the morning.
fn warn_of_unknown_cost(plan: &Plan) {
    let hats = plan.hats.iter().flat_map(|hats| &hats.hats).filter_map(|hat| hat.agent.as_ref());
    let agents = std::iter::once(&plan.agent).chain(&plan.fallback).chain(hats);
    let unknown = agents.filter(|agent| !config::cost_is_known(agent, &plan.prices));
    let mut unknown: Vec<&str> = unknown.map(|agent| agent.name.as_str()).collect();
    unknown.dedup();
    if plan.limits.max_cost_usd.is_some() && !unknown.is_empty() {
        let (who, whose) =
            (unknown.join(", "), if unknown.len() == 1 { "its model" } else { "their models" });
        eprintln!(
            "note: max_cost can not be enforced: what {who} costs is not known, and ralph has no price for {whose}; \
             set `prices` and the model, or limit `event_loop.max_tokens`"
        );
    }
}

/// A RALPH.md takes every argument; one without a place in it is likely a mistake.
fn warn_of_idle_args(loaded: &Loaded) {
    let names: Vec<String> = loaded.idle_args().iter().map(|name| format!("`--{name}`")).collect();
    if !names.is_empty() {
        let is = if names.len() == 1 { "is" } else { "are" };
        eprintln!(
            "note: {} {is} neither declared in `args` nor used in the prompt or a command",
            names.join(", ")
        );
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
