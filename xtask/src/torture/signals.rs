//! TERM, HUP and Ctrl-C, once and twice.

use super::books;
use super::kills::{audit, begin, current, expect_limit, finish};
use super::rng::Rng;
use super::world::{Agent, Session, World, wait_until};
use super::{Tally, ms};
use crate::Result;
use crate::lab::Lab;
use rustix::process::Signal;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

struct Case {
    name: &'static str,
    signal: Signal,
    /// Sent again, once the first one has been heard.
    twice: bool,
    /// Whether the agent is to be in the middle of a long work.
    slow: bool,
    code: i32,
    within: Duration,
}

const CASES: &[Case] = &[
    Case {
        name: "SIGTERM",
        signal: Signal::TERM,
        twice: false,
        slow: true,
        code: 143,
        within: Duration::from_secs(2),
    },
    Case {
        name: "SIGHUP",
        signal: Signal::HUP,
        twice: false,
        slow: true,
        code: 129,
        within: Duration::from_secs(2),
    },
    Case { name: "Ctrl-C", signal: Signal::INT, twice: false, slow: false, code: 130, within: PATIENCE },
    Case {
        name: "Ctrl-C twice",
        signal: Signal::INT,
        twice: true,
        slow: true,
        code: 130,
        within: Duration::from_secs(1),
    },
];

pub fn run(lab: &Lab, rounds: u32, rng: &mut Rng, tally: &mut Tally) -> Result<()> {
    let mut world = World::new(lab, "signal")?;
    for case in CASES {
        let (mut end, mut death, mut done) = (Duration::ZERO, Duration::ZERO, 0);
        while done < rounds {
            let Some((ended, died)) = round(&mut world, case, rng, tally)? else { continue };
            (end, death) = (end.max(ended), death.max(died));
            done += 1;
        }
        tally.count(&format!("{}: rounds", case.name), done);
        tally.count(
            &format!("{}: longest time to the exit, and then until nothing was alive", case.name),
            format!("{}, {}", ms(end), ms(death)),
        );
        println!("{}: {done} rounds, {} violations", case.name, tally.wrong.len());
    }
    finish(&mut world, tally)?;
    audit(&world, tally)
}

/// Nothing if the run came to its end before the signal did.
fn round(
    world: &mut World<'_>,
    case: &Case,
    rng: &mut Rng,
    tally: &mut Tally,
) -> Result<Option<(Duration, Duration)>> {
    let run = current(world)?;
    let mut session = match case.slow {
        true => world.start(run.as_deref(), Agent { slow: true, deaf: rng.coin() })?,
        false => begin(world)?,
    };
    let started = wait_until(PATIENCE, || {
        Ok((world.has_started(&session.token)? || session.try_wait()?.is_some()).then_some(()))
    })?;
    if started.is_none() {
        tally.wrong(format!("{} started no agent: {}", session.token, session.errors()));
    }
    std::thread::sleep(rng.time(Duration::from_millis(50)));
    let mut sent = Instant::now();
    session.signal(case.signal);
    if case.twice {
        if wait_until(PATIENCE, || Ok(is_heard(world)?.then_some(())))?.is_none() {
            tally.wrong(format!("{} did not hear the first {}", session.token, case.name));
        }
        sent = Instant::now();
        session.signal(case.signal);
    }
    let Some(status) = session.wait(PATIENCE)? else {
        tally.wrong(format!("{} did not end by {}", session.token, case.name));
        return Ok(Some((PATIENCE, Duration::ZERO)));
    };
    let took = sent.elapsed();
    let died = world.wait_for_death(&session.token, tally);
    if status.code() == Some(3) {
        expect_limit(&session, status.code(), tally);
        return Ok(None);
    }
    if status.code() != Some(case.code) {
        let (token, said) = (&session.token, session.errors());
        tally.wrong(format!("{token} ended with {status} by {}, not {}: {said}", case.name, case.code));
    }
    if took > case.within {
        tally.wrong(format!("{} took {} to end by {}", session.token, ms(took), case.name));
    }
    check_record(world, case, &session, tally)?;
    Ok(Some((took, died)))
}

/// Whether the session that works has recorded a request to stop.
fn is_heard(world: &World<'_>) -> Result<bool> {
    let Some(run) = current(world)? else { return Ok(false) };
    let text = std::fs::read_to_string(run.join("journal.jsonl")).unwrap_or_default();
    let session = text.rfind("\"type\":\"run.resumed\"").or_else(|| text.find("\"type\":\"run.started\""));
    Ok(session.is_some_and(|at| text[at..].contains("\"type\":\"stop.requested\"")))
}

fn check_record(world: &World<'_>, case: &Case, session: &Session, tally: &mut Tally) -> Result<()> {
    let run = current(world)?.unwrap_or_default();
    let Some(journal) = books::read(&run)? else {
        tally.wrong(format!("{} has no record of {}", session.token, case.name));
        return Ok(());
    };
    if journal.stopped.as_deref() != Some("interrupted") {
        tally.wrong(format!("{} stopped as {:?}, not by {}", session.token, journal.stopped, case.name));
    }
    // One Ctrl-C lets the iteration finish: the last start has its end.
    if !case.slow && journal.started.last() != journal.finished.last() {
        let last = (journal.started.last(), journal.finished.last());
        tally.wrong(format!("{}: started and finished last were {last:?}", session.token));
    }
    Ok(())
}
