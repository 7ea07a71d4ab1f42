//! `ralph stop`, `pause`, `unpause` and `say`: what a person asks of a run.

use std::io::Read;

use ralph_core::event::{Event, Guidance, HatReset, StopHow, StopRequest};
use ralph_core::input::Command;
use ralph_core::stop::{Interrupt, StopKind};
use ralph_model::{Asked, Request};
use ralph_runtime::session::OpenRun;
use ralph_store::{AskError, RunDir, Store, ask_for_events};
use serde::Serialize;

use super::pick;
use crate::args::{ControlArgs, PickArgs, SayArgs, StopArgs, UnpauseArgs};
use crate::error::CliError;

/// What came of a request.
#[derive(Serialize)]
struct Answer {
    run: String,
    events: Vec<Event>,
}

/// The same for programs.
#[derive(Serialize)]
struct AnswerJson<'a> {
    message: &'a str,
    #[serde(flatten)]
    answer: &'a Answer,
}

impl Answer {
    fn has(&self, wanted: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(wanted)
    }

    /// `message` is the answer in words.
    fn print(self, message: &str, json: bool) -> Result<u8, CliError> {
        match json {
            true => crate::io::print_json(&AnswerJson { message, answer: &self })?,
            false => crate::io::print(message)?,
        }
        Ok(0)
    }
}

pub fn stop(args: StopArgs) -> Result<u8, CliError> {
    let how = if args.now { StopHow::Terminate } else { StopHow::AfterIteration };
    let answer = ask(&args.control.pick, Command::StopRun(StopRequest { how, by: Interrupt::Int }))?;
    let stopped = answer.has(|event| matches!(event, Event::RunStopped(_)));
    let killed = answer.has(|event| matches!(event, Event::AgentKilled(_)));
    let run = &answer.run;
    let message = match (stopped, killed) {
        (true, _) => format!("run {run} has stopped"),
        (_, true) => format!("run {run} is being ended"),
        _ => format!("run {run} stops after this iteration; `ralph stop --now {run}` ends it at once"),
    };
    answer.print(&message, args.control.json)
}

pub fn pause(args: ControlArgs) -> Result<u8, CliError> {
    let answer = ask(&args.pick, Command::PauseRun)?;
    let run = &answer.run;
    let message = if answer.events.is_empty() {
        format!("run {run} is paused already")
    } else if answer.has(|event| matches!(event, Event::RunPaused {})) {
        format!("run {run} is paused; `ralph unpause {run}` lets it go on")
    } else {
        format!("run {run} pauses after this iteration; `ralph unpause {run}` lets it go on")
    };
    answer.print(&message, args.json)
}

pub fn unpause(args: UnpauseArgs) -> Result<u8, CliError> {
    let answer = ask(&args.control.pick, Command::UnpauseRun { now: args.now })?;
    let run = &answer.run;
    let message = match answer.events.is_empty() {
        true if args.now => format!("run {run} is neither paused nor waiting"),
        true => format!("run {run} is not paused; `ralph unpause --now {run}` also ends a wait"),
        false => format!("run {run} goes on"),
    };
    answer.print(&message, args.control.json)
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
    let (_, run) = super::pick(&pick)?;
    refuse_if_done(&run)?;
    let (mut told, mut answer) = (Vec::new(), Answer { run: run.id.0, events: Vec::new() });
    for hat in &args.reset_hat {
        answer.events.extend(reset_hat(&pick, hat)?);
        told.push(format!("`{hat}` has all of its activations again"));
    }
    if let Some(text) = text {
        let (message, events) = guide(&pick, text)?;
        answer.events.extend(events);
        told.push(message);
    }
    answer.print(&told.join("\n"), args.json)
}

/// A run that is done has no next prompt: it is not resumed.
fn refuse_if_done(run: &RunDir) -> Result<(), CliError> {
    let summary = run.summary().filter(|summary| !summary.live);
    match summary.and_then(|summary| summary.stopped).filter(|stopped| stopped.kind == StopKind::Done) {
        None => Ok(()),
        Some(stopped) => Err(CliError::Usage(format!(
            "run {} is done: {}; nobody would hear it. `ralph resume {} -p 'AND NOW …'` opens it again",
            run.id, stopped.message, run.id
        ))),
    }
}

fn guide(args: &PickArgs, text: String) -> Result<(String, Vec<Event>), CliError> {
    let (store, run) = pick(args)?;
    if run.is_live() {
        let events = ask_live(&run, Command::AddGuidance(Guidance { text }))?;
        return Ok((format!("run {} carries it in its next prompt", run.id), events));
    }
    // Nobody works on it, so it is written down here, for the resume.
    let session = OpenRun::open(&store, run)?;
    let id = session.run_dir().id.clone();
    let events = session.record(Command::AddGuidance(Guidance { text }))?;
    let message =
        format!("run {id} is not running; it carries it in its next prompt after `ralph resume {id}`");
    Ok((message, events))
}

/// Alive or not: the next to work on the run finds it done.
pub fn reset_hat(args: &PickArgs, hat: &str) -> Result<Vec<Event>, CliError> {
    let (store, run) = pick(args)?;
    let hats = hats_of(&run)?;
    let id = run.id.clone();
    let command = Command::ResetHat(HatReset { hat: hat.into() });
    let events = match run.is_live() {
        true => ask_live(&run, command)?,
        false => OpenRun::open(&store, run)?.record(command)?,
    };
    match events.is_empty() {
        false => Ok(events),
        true if hats.is_empty() => Err(CliError::Usage(format!("run {id} has no hats"))),
        true => {
            Err(CliError::Usage(format!("run {id} has no hat `{hat}`; its hats are: {}", hats.join(", "))))
        }
    }
}

fn hats_of(run: &RunDir) -> Result<Vec<String>, CliError> {
    let run = super::snapshot(run, ralph_runtime::clock::now())?;
    Ok(run.hats.into_iter().map(|hat| hat.hat).collect())
}

fn ask(args: &PickArgs, command: Command) -> Result<Answer, CliError> {
    let (_, run) = pick(args)?;
    if !run.is_live() {
        let message = format!("run {} is not running; `ralph status {}` shows how it ended", run.id, run.id);
        return Err(CliError::Usage(message));
    }
    let events = ask_live(&run, command)?;
    Ok(Answer { run: run.id.0, events })
}

pub fn ask_live(run: &RunDir, command: Command) -> Result<Vec<Event>, CliError> {
    let asked = Asked { token: token_inside(run), request: Request::Command(command) };
    ask_for_events(&run.socket(), &asked).map_err(|error| {
        CliError::Failed(match error {
            AskError::Complaint { message, .. } => message,
            other => format!("run {} {other}", run.id),
        })
    })
}

/// What an agent, or anything else that a run has started, may not ask of the run it works for, alive or not.
pub fn refuse_inside(run: &RunDir, what: &str) -> Result<(), CliError> {
    match is_inside(run) {
        true => Err(CliError::Usage(format!(
            "this is inside of run {}: `ralph {what}` is for a person outside of it",
            run.id
        ))),
        false => Ok(()),
    }
}

/// The same for what is asked of all runs of a store.
pub fn refuse_inside_of_any(store: &Store, what: &str) -> Result<(), CliError> {
    let mut runs = store.list().into_iter().filter(|found| found.live);
    runs.try_for_each(|found| refuse_inside(&found.run, what))
}

fn is_inside(run: &RunDir) -> bool {
    std::env::var("RALPH_INSIDE").is_ok_and(|inside| inside.split(':').any(|id| id == run.id.0))
}

/// The token of the agent that this process belongs to, if it works for this run or inside of an agent that does: what is
/// asked then is asked by the agent. Any other run, one that the agent started itself for instance, is asked by its owner.
pub(super) fn token_inside(run: &RunDir) -> Option<String> {
    std::env::var("RALPH_TOKEN").ok().filter(|_| is_inside(run))
}
