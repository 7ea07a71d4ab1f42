//! Twenty at once in one workspace, and the next one after a kill -9.

use super::world::{Agent, MERCY, Session, World, name, wait_until};
use super::{Tally, ms};
use crate::Result;
use crate::lab::Lab;
use std::time::{Duration, Instant};

const STARTERS: usize = 20;
const PATIENCE: Duration = Duration::from_secs(60);

pub fn run(lab: &Lab, rounds: u32, tally: &mut Tally) -> Result<()> {
    let (mut next_after, mut refused) = (Duration::ZERO, 0);
    for _ in 0..rounds {
        let mut world = World::new(lab, "starter")?;
        let Some((mut holder, others)) = twenty(&mut world, tally)? else { continue };
        refused += others;
        holder.kill()?;
        let killed = Instant::now();
        let next = world.start(None, Agent { slow: true, deaf: false })?;
        let started = wait_until(PATIENCE, || Ok(world.has_started(&next.token)?.then_some(())))?;
        let took = killed.elapsed();
        next_after = next_after.max(took);
        if started.is_none() || took > MERCY {
            tally.wrong(format!("the next run started {} after the kill: {}", ms(took), next.errors()));
        }
        let alive = super::world::alive(&holder.token);
        if !alive.is_empty() {
            tally.wrong(format!("the next run started while the old one was alive: {alive:?}"));
        }
        let token = next.token.clone();
        drop(next);
        world.wait_for_death(&token, tally);
    }
    tally.count(&format!("rounds of {STARTERS} starters"), rounds);
    tally.count("refused with exit code 5 and the name of the holder", refused);
    tally.count("longest time from kill -9 of the holder to the next agent", ms(next_after));
    Ok(())
}

/// Starts them all. The one that works, and how many were refused as they should be.
fn twenty(world: &mut World<'_>, tally: &mut Tally) -> Result<Option<(Session, usize)>> {
    let mut working = Vec::new();
    for _ in 0..STARTERS {
        working.push(world.start(None, Agent { slow: true, deaf: false })?);
    }
    let mut ended: Vec<(Session, Option<i32>)> = Vec::new();
    wait_until(PATIENCE, || {
        for mut session in std::mem::take(&mut working) {
            match session.try_wait()? {
                Some(status) => ended.push((session, status.code())),
                None => working.push(session),
            }
        }
        Ok((working.len() <= 1).then_some(()))
    })?;
    let runs = world.runs();
    let holder = runs.first().map(|run| name(run)).unwrap_or_default();
    if runs.len() != 1 || working.len() != 1 {
        tally.wrong(format!("{STARTERS} starters: {} work, {} runs were made", working.len(), runs.len()));
    }
    let mut refused = 0;
    for (session, code) in ended {
        match code == Some(5) && session.errors().contains(&holder) {
            true => refused += 1,
            false => tally.wrong(format!("a starter ended with {code:?}: {}", session.errors())),
        }
    }
    let Some(session) = working.pop() else { return Ok(None) };
    if wait_until(PATIENCE, || Ok(world.has_started(&session.token)?.then_some(())))?.is_none() {
        tally.wrong(format!("the one that works started no agent: {}", session.errors()));
    }
    Ok(Some((session, refused)))
}
