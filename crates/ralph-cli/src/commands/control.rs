//! `ralph stop`, `pause`, `unpause` and `say`: what a person asks of a run.

use std::io::Read;

use ralph_core::event::{Event, Guidance, HatReset, StopHow};
use ralph_core::input::Command;
use ralph_runtime::control::{self, Request};
use ralph_runtime::session::Session;
use ralph_runtime::store::RunDir;

use super::pick;
use crate::args::{PickArgs, SayArgs, StopArgs, UnpauseArgs};
use crate::error::CliError;

pub fn stop(args: StopArgs) -> Result<u8, CliError> {
    let how = if args.now { StopHow::Terminate } else { StopHow::AfterIteration };
    let (run, events) = ask(&args.pick, &Request::Stop { how })?;
    let stopped = events.iter().any(|event| matches!(event, Event::RunStopped(_)));
    let killed = events.iter().any(|event| matches!(event, Event::AgentKilled(_)));
    say_so(&match (stopped, killed) {
        (true, _) => format!("run {run} has stopped"),
        (_, true) => format!("run {run} is being ended"),
        _ => format!("run {run} stops after this iteration; `ralph stop --now` ends it at once"),
    })
}

pub fn pause(args: PickArgs) -> Result<u8, CliError> {
    let (run, events) = ask(&args, &Request::Pause)?;
    say_so(&if events.is_empty() {
        format!("run {run} is paused already")
    } else if events.iter().any(|event| matches!(event, Event::RunPaused {})) {
        format!("run {run} is paused; `ralph unpause` lets it go on")
    } else {
        format!("run {run} pauses after this iteration; `ralph unpause` lets it go on")
    })
}

pub fn unpause(args: UnpauseArgs) -> Result<u8, CliError> {
    let (run, events) = ask(&args.pick, &Request::Unpause { now: args.now })?;
    say_so(&match events.is_empty() {
        true if args.now => format!("run {run} is neither paused nor waiting"),
        true => format!("run {run} is not paused; `--now` also ends a wait"),
        false => format!("run {run} goes on"),
    })
}

pub fn say(args: SayArgs) -> Result<u8, CliError> {
    let text = match args.text.as_deref() {
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            Some(text)
        }
        text => text.map(str::to_owned),
    };
    if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
        return Err(CliError::Usage("there is nothing to say: the text is empty".to_owned()));
    }
    let pick = PickArgs { run: args.run, at: args.at };
    let mut told = Vec::new();
    for hat in &args.reset_hat {
        reset_hat(&pick, hat)?;
        told.push(format!("`{hat}` has all of its activations again"));
    }
    if let Some(text) = text {
        told.push(guide(&pick, text)?);
    }
    say_so(&told.join("\n"))
}

fn guide(args: &PickArgs, text: String) -> Result<String, CliError> {
    let (store, run) = pick(args)?;
    if run.is_live() {
        ask_live(&run, &Request::Say { text })?;
        return Ok(format!("run {} carries it in its next prompt", run.id));
    }
    // Nobody works on it, so it is written down here, for the resume.
    let session = Session::open(&store, run)?;
    let id = session.run_dir().id.clone();
    session.record(Command::AddGuidance(Guidance { text }))?;
    Ok(format!("run {id} is not running; it carries it in its next prompt after `ralph resume {id}`"))
}

/// Alive or not: the next to work on the run finds it done.
pub fn reset_hat(args: &PickArgs, hat: &str) -> Result<(), CliError> {
    let (store, run) = pick(args)?;
    let hats = hats_of(&run)?;
    let id = run.id.clone();
    let hat = hat.to_owned();
    let events = match run.is_live() {
        true => ask_live(&run, &Request::ResetHat { hat: hat.clone() })?,
        false => Session::open(&store, run)?.record(Command::ResetHat(HatReset { hat: hat.clone() }))?,
    };
    match events.is_empty() {
        false => Ok(()),
        true if hats.is_empty() => Err(CliError::Usage(format!("run {id} has no hats"))),
        true => {
            Err(CliError::Usage(format!("run {id} has no hat `{hat}`; its hats are: {}", hats.join(", "))))
        }
    }
}

fn hats_of(run: &RunDir) -> Result<Vec<String>, CliError> {
    let view = super::view(run)?;
    let plan = view.state().and_then(|state| state.plan.hats.as_deref());
    Ok(plan.map(|plan| plan.hats.iter().map(|hat| hat.id.clone()).collect()).unwrap_or_default())
}

fn ask(args: &PickArgs, request: &Request) -> Result<(String, Vec<Event>), CliError> {
    let (_, run) = pick(args)?;
    if !run.is_live() {
        let message = format!("run {} is not running; `ralph status {}` shows how it ended", run.id, run.id);
        return Err(CliError::Usage(message));
    }
    let events = ask_live(&run, request)?;
    Ok((run.id.0, events))
}

fn ask_live(run: &RunDir, request: &Request) -> Result<Vec<Event>, CliError> {
    control::ask(run, request)
        .map_err(|error| CliError::Failed(format!("can not reach run {}: {error}", run.id)))
}

fn say_so(text: &str) -> Result<u8, CliError> {
    crate::io::print(text)?;
    Ok(0)
}
