//! `ralph stop`, `pause`, `unpause` and `say`: what a person asks of a run.

use std::io::Read;

use ralph_core::event::{Event, Guidance, StopHow};
use ralph_core::input::Command;
use ralph_runtime::control::{self, Request};
use ralph_runtime::session::Session;
use ralph_runtime::store::RunDir;

use super::pick;
use crate::args::{PickArgs, SayArgs, StopArgs};
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

pub fn unpause(args: PickArgs) -> Result<u8, CliError> {
    let (run, events) = ask(&args, &Request::Unpause)?;
    say_so(&match events.is_empty() {
        true => format!("run {run} is not paused"),
        false => format!("run {run} goes on"),
    })
}

pub fn say(args: SayArgs) -> Result<u8, CliError> {
    let text = match args.text.as_str() {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
        text => text.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(CliError::Usage("there is nothing to say: the text is empty".to_owned()));
    }
    let (store, run) = pick(&PickArgs { run: args.run, at: args.at })?;
    if run.is_live() {
        ask_live(&run, &Request::Say { text })?;
        return say_so(&format!("run {} carries it in its next prompt", run.id));
    }
    // Nobody works on it, so it is written down here, for the resume.
    let session = Session::open(&store, run)?;
    let id = session.run_dir().id.clone();
    session.record(Command::AddGuidance(Guidance { text }))?;
    say_so(&format!("run {id} is not running; it carries it in its next prompt after `ralph resume {id}`"))
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
