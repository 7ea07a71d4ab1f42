//! `ralph run`

use std::path::PathBuf;

use ralph_core::ids::IterationNumber;
use ralph_core::plan::{Plan, SettingsChange};
use ralph_core::prompt::{self, Draft};
use ralph_model::Fold;
use ralph_runtime::session::Session;
use ralph_runtime::task;
use ralph_store::Store;

use super::net::{start, worktree};
use super::{machine, screen, workspace};
use crate::args::{NetArgs, RunArgs, ScreenArgs};
use crate::error::CliError;
use ralph_config::{Env, Flags, Given, Ready, Sources};

pub fn run(args: RunArgs) -> Result<u8, CliError> {
    let place = workspace(&args.at.workspace)?;
    start::check_place(&place, args.net.here)?;
    let mut sources = Sources::new(place);
    sources.target = args.target;
    sources.sets = args.sets;
    if args.net.no_checkpoints {
        sources.sets.push("checkpoints=off".to_owned());
    }
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
    work(&sources, args.log_dir, &args.screen, args.dry_run, &args.net)
}

/// Runs what these sources define.
pub fn work(
    sources: &Sources,
    log_dir: Option<PathBuf>,
    screen: &ScreenArgs,
    dry: bool,
    net: &NetArgs,
) -> Result<u8, CliError> {
    let log_dir = log_dir.map(std::path::absolute).transpose()?;
    let Ready { mut plan, warnings, notes, loaded } = machine::preflight(sources, log_dir)?;
    notes.iter().for_each(|note| crate::io::complain(&format!("note: {note}")));
    // What `ralph check` explains is only counted here.
    match warnings.len() {
        0 => {}
        1 => crate::io::complain("note: `ralph check` has a warning about this definition"),
        n => crate::io::complain(&format!("note: `ralph check` has {n} warnings about this definition")),
    }
    if dry {
        return dry_run(&plan);
    }
    let store = Store::from_env()?;
    let mut said = Vec::new();
    if let Some(name) = &net.worktree {
        said = worktree::enter(&store, &mut plan, name, &loaded.definition.worktree)?;
    }
    let about_net = start::notes(&plan, net.git_init)?;
    // Who reads only events or only the end has no use for it.
    if !screen.json && !screen.quiet {
        said.extend(about_net);
    }
    said.iter().for_each(|note| crate::io::complain(&format!("note: {note}")));
    let session = Session::create(&store, plan)?;
    let screen = screen::open(screen, Fold::default(), &session)?;
    let stopped = session.work(crate::VERSION, SettingsChange::default(), &mut |record| screen.send(record));
    screen.finish();
    super::clean::keep_quota(&store);
    Ok(stopped?.exit_code)
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
