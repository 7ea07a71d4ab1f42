//! `ralph run`

use std::io::{IsTerminal, Read};
use std::path::PathBuf;

use ralph_core::ids::IterationNumber;
use ralph_core::plan::{Plan, SettingsChange};
use ralph_core::prompt::{self, Draft};
use ralph_model::Fold;
use ralph_runtime::secrets::Secrets;
use ralph_runtime::session::OpenRun;
use ralph_runtime::task;
use ralph_store::{Store, plain};

use super::net::{start as at_start, worktree};
use super::{background, front, machine, work, workspace};
use crate::args::{NetArgs, RunArgs, ScreenArgs};
use crate::error::CliError;
use ralph_config::{ConfigError, Env, Flags, Given, Ready, Sources};

pub fn run(args: RunArgs) -> Result<u8, CliError> {
    // Before anything is read that can be read only once.
    if args.detach && !background::is_detached() {
        return background::start(args.screen.json);
    }
    if !args.detach && !args.dry_run && front::is_wanted(&args.screen) {
        return front::stand();
    }
    let place = workspace(&args.at.workspace)?;
    at_start::check_place(&place, args.net.here)?;
    let mut sources = Sources::new(place);
    sources.target = args.target;
    sources.sets = args.sets;
    sources.sets.extend(args.sandbox.map(|level| format!("sandbox={level}")));
    if args.net.no_checkpoints {
        sources.sets.push("checkpoints=off".to_owned());
    }
    sources.preset = args.preset;
    let rest = args.args.into_iter().map(Given::Positional);
    sources.given = Some(args.given.into_iter().chain(rest).collect());
    sources.options = args.options;
    sources.env = Env::from_process();
    let (prompt, prompt_file) = prompt_of(args.prompt, args.prompt_file)?;
    sources.flags = Flags {
        prompt,
        prompt_file,
        agent: args.agent,
        max_iterations: args.limits.max_iterations,
        max_runtime: args.limits.max_runtime,
        max_cost: args.limits.max_cost,
        iteration_timeout: args.limits.iteration_timeout,
        delay: args.delay,
        stop_on_error: args.limits.stop_on_error,
        once: args.once,
    };
    start(&sources, args.log_dir, &args.screen, args.dry_run, &args.net)
}

/// Runs what these sources define.
pub fn start(
    sources: &Sources,
    log_dir: Option<PathBuf>,
    screen: &ScreenArgs,
    dry: bool,
    net: &NetArgs,
) -> Result<u8, CliError> {
    let log_dir = log_dir.map(std::path::absolute).transpose()?;
    log_dir.iter().try_for_each(|dir| super::writable_name("log folder", dir))?;
    let Ready { mut plan, warnings, mistakes, notes, loaded } = machine::preflight(sources, log_dir)?;
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
    let mut said = Vec::new();
    if let Some(name) = &net.worktree {
        said = worktree::enter(&store, &mut plan, name, &loaded.definition.worktree)?;
    }
    let about_net = at_start::notes(&plan, net.git_init)?;
    // Who reads only events or only the end has no use for it.
    if !screen.json && !screen.quiet {
        said.extend(about_net);
    }
    said.iter().for_each(|note| crate::io::complain(&format!("note: {note}")));
    let session = OpenRun::create(&store, plan)?;
    let stopped = work::work(session, Fold::default(), SettingsChange::default(), screen);
    super::clean::keep_quota(&store);
    Ok(stopped?.exit_code)
}

/// A prompt that comes through a pipe, as with `-f <(command)`, is read here and now: later there is nothing to read.
fn prompt_of(
    text: Option<String>,
    file: Option<String>,
) -> Result<(Option<String>, Option<String>), CliError> {
    let Some(name) = file.as_ref().filter(|name| is_pipe(name)) else { return Ok((text, file)) };
    let mut prompt = String::new();
    let read = std::fs::File::open(name)
        .and_then(|pipe| pipe.take(plain::TEXT + 1).read_to_string(&mut prompt))
        .map_err(|error| CliError::Usage(format!("cannot read the prompt from {name}: {error}")))?;
    if u64::try_from(read).is_ok_and(|read| read > plain::TEXT) {
        return Err(CliError::Usage(format!(
            "the prompt from {name} is larger than {} MiB",
            plain::TEXT >> 20
        )));
    }
    Ok((Some(prompt), None))
}

/// One end of a pipe that whoever started ralph holds the other end of. Any other pipe may have nobody at its other end.
fn is_pipe(name: &str) -> bool {
    let is_ours = ["/dev/fd/", "/proc/self/fd/", "/dev/stdin"].iter().any(|start| name.starts_with(start));
    is_ours && std::fs::metadata(name).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

fn dry_run(plan: &Plan) -> Result<u8, CliError> {
    let task = task::read(&plan.task).map_err(CliError::Failed)?;
    // Nothing is started: what the commands would print is named, not shown.
    let outputs: Vec<String> =
        plan.commands.iter().map(|one| format!("[output of `{}`]", one.name)).collect();
    let task = task::complete(plan, 1, &task, &outputs);
    let draft = Draft { iteration: Some(IterationNumber(1)), ..Draft::default() };
    let plan_json = serde_json::to_string_pretty(plan)
        .map_err(|error| CliError::Failed(format!("the plan cannot be written down: {error}")))?;
    let prompt = prompt::render(plan, &draft, &task);
    let text = format!("The plan:\n\n{plan_json}\n\nThe first prompt:\n\n{prompt}");
    let secrets = Secrets::of(plan).map_err(CliError::Usage)?;
    crate::io::print(&secrets.redactor().text(&text))?;
    Ok(0)
}
