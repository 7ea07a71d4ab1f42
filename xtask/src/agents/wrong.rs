//! Scenarios in which agents were once read wrong: what must not come back.

use super::model::Turn;
use super::scenario::{Cast, DONE, Played, START, WHOLE, say, shell};
use super::stage::Stage;
use crate::Result;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// A silence that is longer than a CLI needs to start, on a busy machine.
const SILENCE: Duration = Duration::from_secs(40);

/// With a short silence. The CLI is killed for it, if it is not right.
fn quick_to_hear() -> Value {
    let silence = format!("{}s", SILENCE.as_secs());
    json!({"event_loop": {"max_iterations": 4, "iteration_timeout": "10m", "silence_timeout": silence}})
}

fn play(cast: Cast<'_>, name: &str, turns: impl FnOnce(&Path) -> Vec<Turn>, extra: Value) -> Result<Played> {
    let stage = Stage::new(cast.lab, (cast.cli, cast.installed), name, turns, extra)?;
    let mut session = stage.run()?;
    let mut played = Played::default();
    let code = session.wait(WHOLE)?;
    played.equal("exit code", code, Some(0));
    played.nothing_alive(&stage);
    played.equal("claims", stage.of_type("completion.claimed").len(), 1);
    let last = stage.server.played();
    played.equal("turns that were played when it was done", last, 2);
    played.equal("silences", stage.of_type("agent.silent").len(), 0);
    played.told = format!("{} iterations", stage.of_type("iteration.finished").len());
    Ok(played.recorded(&stage, &session))
}

/// The last message says nothing, and one before it has a marker.
pub fn empty_end(cast: Cast<'_>) -> Result<Played> {
    let turns =
        |_: &Path| vec![shell("I would end with\n\n<ralph>COMPLETE</ralph>", "true"), say(""), say(DONE)];
    let stage = Stage::new(cast.lab, (cast.cli, cast.installed), "empty-end", turns, json!({}))?;
    let mut session = stage.run()?;
    let mut played = Played::default();
    let code = session.wait(WHOLE)?;
    played.equal("exit code", code, Some(0));
    played.equal("turns that were played when it was done", stage.server.played(), 3);
    played.equal("claims", stage.of_type("completion.claimed").len(), 1);
    played.nothing_alive(&stage);
    played.told = "not believed".to_owned();
    Ok(played.recorded(&stage, &session))
}

/// What was said before a stream broke is no part of the answer.
pub fn cut_stream(cast: Cast<'_>) -> Result<Played> {
    let torn = "Torn.\n\n<ralph>COMPLETE</ralph>\n";
    let turns = move |_: &Path| vec![Turn::Cut(torn.to_owned()), say("Not done yet."), say(DONE)];
    let stage = Stage::new(cast.lab, (cast.cli, cast.installed), "cut", turns, json!({}))?;
    let mut session = stage.run()?;
    let mut played = Played::default();
    let code = session.wait(WHOLE)?;
    played.equal("exit code", code, Some(0));
    played.equal("whole answers when it was done", stage.server.played(), 2);
    played.equal("claims", stage.of_type("completion.claimed").len(), 1);
    played.nothing_alive(&stage);
    let lost = stage.of_type("iteration.interrupted").len();
    played.told = if lost == 0 { "the CLI tries again" } else { "ralph tries again" }.to_owned();
    Ok(played.recorded(&stage, &session))
}

/// A tool that computes for longer than an agent may be silent.
pub fn silent_tool(cast: Cast<'_>) -> Result<Played> {
    let busy = format!(
        "end=$(( $(date +%s) + {} )); while [ $(date +%s) -lt $end ]; do :; done",
        SILENCE.as_secs() + 20
    );
    let turns = move |_: &Path| vec![shell("This takes its time.", &busy), say(DONE)];
    play(cast, "silent-tool", turns, quick_to_hear())
}

/// A limit that no agent should sit out.
pub fn hour(cast: Cast<'_>) -> Result<Played> {
    let message = "Rate limit reached for requests. Please retry in 3600s".to_owned();
    let turns = |_: &Path| vec![Turn::Refuse { status: 429, retry_after: 3600, message }];
    let stage = Stage::new(cast.lab, (cast.cli, cast.installed), "hour", turns, quick_to_hear())?;
    let start = Instant::now();
    let mut session = stage.run()?;
    let mut played = Played::default();
    let awaited = if cast.cli.tells_waits { "limit.hit" } else { "agent.silent" };
    let heard = stage.wait_for_event(&mut session, awaited, SILENCE + START);
    played.expect(heard.is_ok(), || heard.err().unwrap_or_default());
    let hits = stage.of_type("limit.hit");
    let known = hits.first().is_some_and(|hit| hit["known"] == true);
    let what = match (hits.is_empty(), known) {
        (true, _) => ", taken for silent",
        (false, false) => ", its end not known",
        (false, true) => "",
    };
    played.told = format!("after {} s{what}", start.elapsed().as_secs());
    session.signal(Signal::TERM);
    let _ = session.wait(START)?;
    played.nothing_alive(&stage);
    Ok(played.recorded(&stage, &session))
}

/// Nothing that fails for want of money may look like work.
pub fn no_credit(cast: Cast<'_>) -> Result<Played> {
    let message = "Insufficient credits. Add more credits".to_owned();
    let turns = |_: &Path| vec![Turn::Refuse { status: 402, retry_after: 1, message }];
    let stage = Stage::new(cast.lab, (cast.cli, cast.installed), "no-credit", turns, quick_to_hear())?;
    let mut session = stage.run()?;
    let mut played = Played::default();
    let code = session.wait(WHOLE)?;
    let ok = stage.of_type("iteration.finished").iter().filter(|event| event["outcome"] == "ok").count();
    played.equal("iterations that went well", ok, 0);
    played.expect(code != Some(0), || "the run went well".to_owned());
    played.nothing_alive(&stage);
    let stopped = stage.of_type("run.stopped").pop().unwrap_or_default();
    played.told = stopped["reason"].as_str().unwrap_or("no end").to_owned();
    Ok(played.recorded(&stage, &session))
}
