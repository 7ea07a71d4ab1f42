//! What every CLI has to go through, end to end.

use super::cli::{Cli, Tokens};
use super::install::Installed;
use super::model::{Call, Turn};
use super::stage::{Session, Stage, TASK};
use super::wrong;
use crate::Result;
use crate::lab::Lab;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where a CLI stands in the way of a scenario: the lab, the CLI, and whether waits are cut short.
#[derive(Clone, Copy)]
pub struct Cast<'a> {
    pub lab: &'a Lab,
    pub cli: &'a Cli,
    pub installed: &'a Installed,
    pub quick: bool,
}

pub struct Scenario {
    pub title: &'static str,
    pub play: fn(Cast<'_>) -> Result<Played>,
}

pub const SCENARIOS: &[Scenario] = &[
    Scenario { title: "loop", play: three_iterations },
    Scenario { title: "gate", play: gate },
    Scenario { title: "empty end", play: wrong::empty_end },
    Scenario { title: "cut stream", play: wrong::cut_stream },
    Scenario { title: "silent tool", play: wrong::silent_tool },
    Scenario { title: "an hour's limit", play: wrong::hour },
    Scenario { title: "no credit", play: wrong::no_credit },
    Scenario { title: "kill -9", play: kill },
    Scenario { title: "Ctrl-C", play: ctrl_c },
    Scenario { title: "TERM", play: term },
];

/// What happened, in a few words, and what was wrong with it.
#[derive(Default)]
pub struct Played {
    pub told: String,
    pub wrong: Vec<String>,
    /// What ralph printed and the server saw, to look at when something was wrong.
    pub record: String,
    /// Where ralph kept its runs.
    pub state: PathBuf,
}

impl Played {
    pub(super) fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong.push(what());
        }
    }

    pub(super) fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, is: T, should: T) {
        self.expect(is == should, || format!("{what}: {is:?}, not {should:?}"));
    }

    pub(super) fn nothing_alive(&mut self, stage: &Stage<'_>) -> Duration {
        let (took, alive) = stage.wait_for_death();
        self.expect(alive.is_empty(), || format!("still alive: {}", alive.join(", ")));
        took
    }

    pub(super) fn recorded(mut self, stage: &Stage<'_>, session: &Session) -> Played {
        self.state.clone_from(&stage.state);
        self.record = format!("{}\n{}\n", session.printed().trim_end(), stage.server.log().join("\n"));
        self
    }
}

/// For a CLI to start, ask its model and run a tool, on a busy machine.
pub(super) const START: Duration = Duration::from_secs(120);
/// How long the model server refuses: longer than CLIs try by themselves.
const LIMIT: Duration = Duration::from_secs(40);
pub(super) const WHOLE: Duration = Duration::from_secs(600);

pub(super) const DONE: &str = "The check passes.\n\n<ralph>COMPLETE</ralph>";

pub(super) fn shell(text: &str, command: &str) -> Turn {
    Turn::say(text, vec![Call::Shell(command.to_owned())])
}

pub(super) fn say(text: &str) -> Turn {
    Turn::say(text, Vec::new())
}

/// Two iterations whose check fails, a limit between them, a process left behind, and one that completes.
fn three_turns(workspace: &Path) -> Vec<Turn> {
    let answer = workspace.join("answer.txt").display().to_string();
    vec![
        shell("I run the check.", "sh ./check.sh"),
        say("It fails. I would say <ralph>COMPLETE</ralph> if it passed."),
        Turn::Limit(LIMIT),
        shell(
            "A guess, and a helper in the background.",
            "nohup sleep 297 >/dev/null 2>&1 & echo 41 > guess.txt; sh ./check.sh",
        ),
        say("Still not."),
        Turn::say("The answer.", vec![Call::Write { path: answer, content: "42\n".into() }]),
        shell("Once more.", "sh ./check.sh"),
        say(DONE),
    ]
}

fn three_iterations(cast: Cast<'_>) -> Result<Played> {
    let stage = Stage::new(cast.lab, (cast.cli, cast.installed), "loop", three_turns, json!({}))?;
    let start = Instant::now();
    let mut session = stage.run()?;
    let mut played = Played::default();
    if cast.quick {
        stage.wait_for_event(&mut session, "limit.hit", START)?;
        stage.server.lift_limit();
        stage.tell(&["unpause", "--now"])?;
    }
    let code = session.wait(WHOLE)?;
    played.equal("exit code", code, Some(0));
    played.nothing_alive(&stage);
    let stopped = stage.of_type("run.stopped").pop().unwrap_or_default();
    played.equal("reason", stopped["reason"].as_str(), Some("complete"));
    played.equal("iterations", stopped["iterations"].as_u64(), Some(3));
    let finished = stage.of_type("iteration.finished");
    let outcomes: Vec<&Value> = finished.iter().map(|event| &event["outcome"]).collect();
    played.equal("outcomes", outcomes, vec![&json!("ok"); 3]);
    played.equal("turns that had the task", stage.server.heard(TASK), vec![true; 7]);
    checks(&mut played, &stage, cast.cli);
    tokens(&mut played, &stage, cast.cli);
    let wait = limits(&mut played, &stage);
    let cut = if cast.quick { ", cut short" } else { "" };
    played.told = format!("{wait}{cut}; {} s in all", start.elapsed().as_secs());
    Ok(played.recorded(&stage, &session))
}

/// The check failed twice and passed once, as far as the CLI lets one see.
fn checks(played: &mut Played, stage: &Stage<'_>, cli: &Cli) {
    let ran = stage.of_type("tool.finished");
    let ran: Vec<&Value> = ran
        .iter()
        .filter(|tool| tool["command"].as_str().is_some_and(|command| command.contains("check.sh")))
        .collect();
    let seen: Vec<(Option<bool>, Option<i64>)> =
        ran.iter().map(|tool| (tool["ok"].as_bool(), tool["exit_code"].as_i64())).collect();
    let oks: Vec<Option<bool>> = seen.iter().map(|(ok, _)| *ok).collect();
    let should = match cli.exit_codes {
        true => vec![Some(false), Some(false), Some(true)],
        false => vec![None, None, None],
    };
    // A CLI that does not tell a success may still tell a failure.
    let unsure = !cli.exit_codes && oks == [Some(false), Some(false), None];
    played.expect(oks == should || unsure, || format!("checks: {seen:?}, not {should:?}"));
}

fn tokens(played: &mut Played, stage: &Stage<'_>, cli: &Cli) {
    let mut events = stage.of_type("iteration.finished");
    events.extend(stage.of_type("iteration.interrupted"));
    let sum = |key: &str| events.iter().filter_map(|event| event["usage"][key].as_u64()).sum::<u64>();
    let turns = stage.server.played() as u64;
    played.equal("turns of the script", turns, 7);
    let should = match cli.tokens {
        Tokens::Split => [1000, 3000, 40],
        Tokens::Summed => [4000, 0, 40],
        Tokens::None => [0, 0, 0],
    };
    let found = [sum("input"), sum("cache_read"), sum("output")];
    played.equal("tokens (input, cached, output)", found, should.map(|each| each * turns));
}

/// A limit is a wait of ralph, or the CLI sits it out by itself and says so.
fn limits(played: &mut Played, stage: &Stage<'_>) -> String {
    let hits = stage.of_type("limit.hit");
    let launches = stage.of_type("agent.spawned").len();
    played.equal("launches", launches, 3 + hits.len());
    let waits = stage.of_type("delay.started");
    let waited: u64 = waits
        .iter()
        .filter(|wait| wait["reason"] == "limit")
        .filter_map(|wait| wait["wait_ms"].as_u64())
        .sum();
    match hits.len() {
        0 => {
            let retries = stage.of_type("agent.retrying").len();
            played.expect(retries > 0, || "no limit was seen".to_owned());
            "the CLI waits by itself".to_owned()
        }
        1 => {
            played.equal("end of the limit known", hits[0]["known"].as_bool(), Some(true));
            format!("waits {} s", waited / 1000)
        }
        more => {
            played.wrong.push(format!("{more} limits were hit, not 1"));
            String::new()
        }
    }
}

/// The agent claims what is not so, is refused, reads why, and claims again.
fn gate(cast: Cast<'_>) -> Result<Played> {
    let turns = |workspace: &Path| {
        let answer = workspace.join("answer.txt").display().to_string();
        vec![
            say("I think it is done.\n\n<ralph>COMPLETE</ralph>"),
            Turn::say("The answer.", vec![Call::Write { path: answer, content: "42\n".into() }]),
            say(DONE),
        ]
    };
    let gates = json!({"gates": [{"name": "check", "run": "sh ./check.sh"}]});
    let stage = Stage::new(cast.lab, (cast.cli, cast.installed), "gate", turns, gates)?;
    let mut played = Played::default();
    let mut session = stage.run()?;
    let code = session.wait(WHOLE)?;
    played.equal("exit code", code, Some(0));
    played.nothing_alive(&stage);
    played.equal("claims", stage.of_type("completion.claimed").len(), 2);
    played.equal("refused claims", stage.of_type("completion.rejected").len(), 1);
    let gates = stage.of_type("gate.finished");
    let passed: Vec<Option<bool>> = gates.iter().map(|gate| gate["passed"].as_bool()).collect();
    played.equal("gate passed", passed, vec![Some(false), Some(true)]);
    played.equal("iterations", stage.of_type("iteration.finished").len(), 2);
    // A fresh context knows of the refusal only what its prompt says.
    played.equal("turns that had the refusal", stage.server.heard("exit code 1"), vec![false, true, true]);
    played.told = "refused, then done".to_owned();
    Ok(played.recorded(&stage, &session))
}

/// A tool that works on until it is killed.
fn endless(_: &Path) -> Vec<Turn> {
    vec![shell("This takes long.", "echo begun > begun; sleep 300"), say(DONE)]
}

fn kill(cast: Cast<'_>) -> Result<Played> {
    let stage = Stage::new(cast.lab, (cast.cli, cast.installed), "kill", endless, json!({}))?;
    let mut played = Played::default();
    let mut session = stage.run()?;
    stage.wait_for_file(&mut session, "begun", START)?;
    let before = stage.alive().len();
    session.kill()?;
    let took = played.nothing_alive(&stage);
    played.told = format!("{before} processes dead in {} ms", took.as_millis());
    let mut session = stage.resume()?;
    let code = session.wait(START)?;
    played.equal("exit code of the resume", code, Some(0));
    let again = stage.of_type("iteration.interrupted").len();
    played.equal("interrupted attempts", again, 1);
    played.equal("iterations", stage.of_type("iteration.finished").len(), 1);
    played.nothing_alive(&stage);
    Ok(played.recorded(&stage, &session))
}

/// The first lets the iteration go on, the second ends it.
fn ctrl_c(cast: Cast<'_>) -> Result<Played> {
    let stage = Stage::new(cast.lab, (cast.cli, cast.installed), "ctrl-c", endless, json!({}))?;
    let mut played = Played::default();
    let mut session = stage.run()?;
    stage.wait_for_file(&mut session, "begun", START)?;
    session.signal(Signal::INT);
    stage.wait_for_event(&mut session, "stop.requested", START)?;
    let works_on = stage.alive().iter().any(|one| one.contains("sleep 300"));
    played.expect(works_on, || "the first Ctrl-C ended the tool".to_owned());
    session.signal(Signal::INT);
    ended(&mut played, &stage, &mut session, 130)?;
    Ok(played.recorded(&stage, &session))
}

fn term(cast: Cast<'_>) -> Result<Played> {
    let stage = Stage::new(cast.lab, (cast.cli, cast.installed), "term", endless, json!({}))?;
    let mut played = Played::default();
    let mut session = stage.run()?;
    stage.wait_for_file(&mut session, "begun", START)?;
    session.signal(Signal::TERM);
    ended(&mut played, &stage, &mut session, 143)?;
    Ok(played.recorded(&stage, &session))
}

fn ended(played: &mut Played, stage: &Stage<'_>, session: &mut Session, code: i32) -> Result<()> {
    let start = Instant::now();
    let is = session.wait(START)?;
    let took = start.elapsed();
    played.equal("exit code", is, Some(code));
    played.nothing_alive(stage);
    played.equal("iterations", stage.of_type("iteration.finished").len(), 0);
    played.told = format!("{} ms", took.as_millis());
    Ok(())
}
