//! kill -9 of ralph at random moments, and resume.

use super::books::{self, Journal};
use super::rng::Rng;
use super::world::{Agent, ITERATIONS, MERCY, Session, World, alive, name, wait_until};
use super::{Tally, ms};
use crate::Result;
use crate::lab::Lab;
use std::path::PathBuf;
use std::time::Duration;

/// The moment of the kill is anywhere in this time after the start.
const MOMENT: Duration = Duration::from_millis(600);
/// A run without kills takes a few seconds on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(300);

pub fn run(lab: &Lab, kills: u32, rng: &mut Rng, tally: &mut Tally) -> Result<()> {
    let mut world = World::new(lab, "kill")?;
    let (mut done, mut at_once, mut early, mut worst) = (0, 0, 0, Duration::ZERO);
    while done < kills {
        let mut session = begin(&mut world)?;
        if let Some(status) = session.wait(rng.time(MOMENT))? {
            expect_limit(&session, status.code(), tally);
            continue;
        }
        session.kill()?;
        done += 1;
        early += u32::from(current(&world)?.is_none());
        if rng.coin() {
            worst = worst.max(world.wait_for_death(&session.token, tally));
        } else {
            // Nobody waits in real life. The lock has to keep the two apart.
            at_once += 1;
            let (next, took) = follow(&mut world, &session, tally)?;
            worst = worst.max(took);
            done += u32::from(finish_or_kill(next, done < kills, rng, &world, tally, &mut worst)?);
        }
        if done % 20 == 0 {
            println!("{done} kills, {} violations", tally.wrong.len());
        }
    }
    finish(&mut world, tally)?;
    tally.count("kill -9 of ralph", done);
    tally.count("… of these resumed at once", at_once);
    tally.count("… before the run had a record", early);
    tally.count("longest time until nothing was alive", ms(worst));
    audit(&world, tally)
}

/// Starts the next session while the killed one may still be dying.
fn follow(world: &mut World<'_>, killed: &Session, tally: &mut Tally) -> Result<(Session, Duration)> {
    let mut next = begin(world)?;
    let start = std::time::Instant::now();
    let mut died = None;
    let waited = wait_until(PATIENCE, || {
        if died.is_none() && alive(&killed.token).is_empty() {
            died = Some(start.elapsed());
        }
        let started = world.has_started(&next.token)?;
        if started && died.is_none() {
            // Looked at once more: it may have died between the two looks.
            let alive = alive(&killed.token);
            if !alive.is_empty() {
                tally.wrong(format!("{} began while {} was alive: {alive:?}", next.token, killed.token));
            }
            died = Some(start.elapsed());
        }
        Ok((started || next.try_wait()?.is_some()).then_some(()))
    })?;
    if waited.is_none() {
        tally.wrong(format!("{} started no agent: {}", next.token, next.errors()));
    }
    let died = match died {
        Some(time) => time,
        None => world.wait_for_death(&killed.token, tally),
    };
    if died > MERCY {
        tally.wrong(format!("{} was alive for {}", killed.token, ms(died)));
    }
    Ok((next, died))
}

/// Kills a session that is at work too, if more kills are wanted; else lets it end. Tells whether it was killed.
fn finish_or_kill(
    mut session: Session,
    kill: bool,
    rng: &mut Rng,
    world: &World<'_>,
    tally: &mut Tally,
    worst: &mut Duration,
) -> Result<bool> {
    let patience = if kill { rng.time(MOMENT) } else { PATIENCE };
    if let Some(status) = session.wait(patience)? {
        expect_limit(&session, status.code(), tally);
        return Ok(false);
    }
    session.kill()?;
    *worst = (*worst).max(world.wait_for_death(&session.token, tally));
    Ok(true)
}

/// The run that is not at its end. There is one at most, as every session goes on with it.
pub fn current(world: &World<'_>) -> Result<Option<PathBuf>> {
    let open = |journal: &Journal| journal.stopped.as_deref() != Some("max_iterations");
    for run in world.runs() {
        if books::read(&run)?.is_some_and(|journal| open(&journal)) {
            return Ok(Some(run));
        }
    }
    Ok(None)
}

/// Resumes the run that is open, or starts a new one.
pub fn begin(world: &mut World<'_>) -> Result<Session> {
    let run = current(world)?;
    world.start(run.as_deref(), Agent::default())
}

/// A session that ends by itself ends because all iterations are done.
pub fn expect_limit(session: &Session, code: Option<i32>, tally: &mut Tally) {
    if code != Some(3) {
        tally.wrong(format!("{} ended with {code:?}: {}", session.token, session.errors()));
    }
}

/// Lets the open run come to its end.
pub fn finish(world: &mut World<'_>, tally: &mut Tally) -> Result<()> {
    if current(world)?.is_none() {
        return Ok(());
    }
    let mut session = begin(world)?;
    match session.wait(PATIENCE)? {
        Some(status) => expect_limit(&session, status.code(), tally),
        None => tally.wrong(format!("{} did not end", session.token)),
    }
    Ok(())
}

/// Compares the books of every run, and lets ralph verify its own.
pub fn audit(world: &World<'_>, tally: &mut Tally) -> Result<()> {
    let ledger = world.ledger()?;
    let (mut runs, mut finished, mut attempts) = (0, 0, 0);
    for path in world.runs() {
        let Some(journal) = books::read(&path)? else { continue };
        let run = name(&path);
        books::audit(&run, &journal, &ledger, ITERATIONS.into()).into_iter().for_each(|one| tally.wrong(one));
        if let Err(error) = world.verify(&run) {
            tally.wrong(format!("{run} does not verify: {error}"));
        }
        runs += 1;
        finished += journal.finished.len();
        attempts += journal.started.len();
    }
    tally.count("runs brought to their end and verified", runs);
    tally.count("iterations, each finished exactly once", finished);
    tally.count("attempts at them", attempts);
    Ok(())
}
