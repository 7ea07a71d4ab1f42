//! `ralph run`

use std::io::IsTerminal;
use std::path::PathBuf;

use ralph_core::ids::IterationNumber;
use ralph_core::plan::{Plan, SettingsChange};
use ralph_core::prompt::{self, Draft};
use ralph_model::Fold;
use ralph_runtime::session::Session;
use ralph_runtime::task;
use ralph_store::Store;

use super::{machine, screen, workspace};
use crate::args::{RunArgs, ScreenArgs};
use crate::error::CliError;
use ralph_config::{ConfigError, Env, Flags, Given, Ready, Sources};

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
    let log_dir = log_dir.map(std::path::absolute).transpose()?;
    let Ready { plan, warnings, mistakes, notes, .. } = machine::preflight(sources, log_dir)?;
    notes.iter().for_each(|note| crate::io::complain(&format!("note: {note}")));
    // What `ralph check` explains is only counted here.
    let explained = mistakes.len();
    if let Some(mistakes) = ConfigError::from_all(mistakes) {
        eprintln!("{}\n", mistakes.render(crate::io::color(std::io::stderr().is_terminal())));
    }
    match warnings.len().saturating_sub(explained) {
        0 => {}
        1 => crate::io::complain("note: `ralph check` has a warning about this definition"),
        n => crate::io::complain(&format!("note: `ralph check` has {n} warnings about this definition")),
    }
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
