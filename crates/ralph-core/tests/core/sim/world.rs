//! The world around the engine: agents and gates of every temper, timers that are late or come twice. Nothing is ever
//! early.

mod agent;

use std::time::Duration;

use ralph_core::effect::{RunGates, SpawnAgent, When};
use ralph_core::engine::GRACE;
use ralph_core::event::{
    AgentSilent, AgentSpawned, AgentText, Exit, TimerId, TimerSlot, TopicEmitted, UsageUpdated, WakeCause,
    WakeTriggered,
};
use ralph_core::input::Report;
use ralph_core::plan::StuckPlan;
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;

use super::gates::Gates;
use super::hats::Voice;
use super::rng::Rng;
use super::stuck;
use super::weather::Weather;
use agent::{Agent, retry, some_tokens, stranded, too_late, tool};

/// The longest a timer, or a dead agent's report, is late.
const LATE: u64 = 1_500;

pub struct World {
    queue: Vec<(Timestamp, Report)>,
    agent: Option<Agent>,
    gates: Option<Gates>,
    /// Reports about an attempt or a round that is over, to be sent again.
    stale: Vec<Report>,
    /// How many agents there are to one that claims to be done.
    modest: u64,
    weather: Weather,
    /// What the agents publish, where there are hats.
    voice: Option<Voice>,
    /// Most agents do well and say little about themselves, so that what they say can be seen to repeat.
    steady: bool,
    stuck: StuckPlan,
}

impl World {
    pub fn new(modest: u64, voice: Option<Voice>, steady: bool, stuck: StuckPlan) -> Self {
        Self {
            queue: Vec::new(),
            agent: None,
            gates: None,
            stale: Vec::new(),
            modest,
            weather: Weather::default(),
            voice,
            steady,
            stuck,
        }
    }

    pub fn has_agent(&self) -> bool {
        self.agent.is_some()
    }

    pub fn has_gates(&self) -> bool {
        self.gates.is_some()
    }

    /// The guard leaves nothing alive, and timers die with the process that had them.
    pub fn die(&mut self) {
        let weather = std::mem::take(&mut self.weather);
        *self =
            World { weather, ..World::new(self.modest, self.voice.take(), self.steady, self.stuck.clone()) };
    }

    pub fn has_wait_timer(&self) -> bool {
        self.queue.iter().any(|(_, r)| matches!(r, Report::TimerFired(t) if t.slot == TimerSlot::Wait))
    }

    pub fn start_timer(&mut self, now: Timestamp, timer: TimerId, when: When, rng: &mut Rng) {
        let due = match when {
            When::After(after) => now.plus(after),
            When::At(at) => at.max(now),
        };
        // An executor may drop what is replaced, or may already have put it into the queue of inputs.
        if rng.one_in(2) {
            self.queue.retain(
                |(_, r)| !matches!(r, Report::TimerFired(old) if old.slot == timer.slot && *old != timer),
            );
        }
        if rng.one_in(8) {
            let again = late(due, rng, 3_000);
            self.queue.push((again, Report::TimerFired(timer.clone())));
        }
        let due = if rng.one_in(4) { late(due, rng, LATE) } else { due };
        self.queue.push((due, Report::TimerFired(timer)));
    }

    /// Somebody may bring work, soon or late.
    pub fn start_wake(&mut self, now: Timestamp, epoch: u64, rng: &mut Rng) {
        if rng.one_in(3) {
            // Of a wait that is over.
            let (soon, epoch) = (late(now, rng, 4_000), epoch.saturating_sub(1));
            let by = WakeCause::Command;
            self.queue.push((soon, Report::WakeTriggered(WakeTriggered { epoch, by })));
        }
        if rng.one_in(2) {
            let by = match rng.one_in(2) {
                true => WakeCause::Command,
                false => WakeCause::File { path: "/w/inbox".to_owned() },
            };
            let soon = late(now, rng, 20_000);
            self.queue.push((soon, Report::WakeTriggered(WakeTriggered { epoch, by })));
        }
    }

    /// What was seen before may still be on its way.
    pub fn stop_wake(&mut self, rng: &mut Rng) {
        if rng.one_in(2) {
            self.queue.retain(|(_, r)| !matches!(r, Report::WakeTriggered(_)));
        }
    }

    fn is_idle(&self) -> Result<(), String> {
        if let Some(live) = &self.agent {
            return Err(format!("the agent of {} lives", live.of.iteration));
        }
        match &self.gates {
            Some(live) => {
                Err(format!("the gates of {}, round {}, are at work", live.of.iteration, live.of.round))
            }
            None => Ok(()),
        }
    }

    /// Two agents at once are told by `Err`, and an agent that starts while gates are at work.
    pub fn spawn(
        &mut self,
        now: Timestamp,
        of: SpawnAgent,
        bound: Option<Duration>,
        rng: &mut Rng,
    ) -> Result<(), String> {
        self.is_idle().map_err(|why| format!("{} is started while {why}", of.iteration))?;
        let failure = self.weather.failure(of.agent, now, rng);
        let mut agent = Agent::new(now, of, failure, self.modest, rng);
        agent.says.evidence = stuck::found(&self.stuck, agent.of.iteration, rng);
        if self.steady && agent.says.failure.is_none() && !rng.one_in(6) {
            agent.does_well();
        }
        if let Some(voice) = &self.voice {
            agent.says.published = voice.says(agent.hat(), rng);
        }
        agent.deadline = deadline(now, bound);
        self.script(&agent, rng);
        if let Some((at, _)) = agent.exit {
            self.queue.push((at, Report::AgentExited(Box::new(agent.exited(at)))));
        }
        self.agent = Some(agent);
        Ok(())
    }

    fn script(&mut self, agent: &Agent, rng: &mut Rng) {
        let (iteration, attempt) = (agent.of.iteration, agent.of.attempt);
        if matches!(agent.exit, Some((_, Exit::Missing { .. } | Exit::NotStarted { .. }))) {
            return;
        }
        let end = agent.exit.as_ref().map_or(agent.born.plus(Duration::from_secs(20)), |(at, _)| *at);
        self.queue.push((agent.born, Report::AgentSpawned(AgentSpawned { iteration, attempt, pid: 7 })));
        let life = end.since(agent.born).as_millis() as u64;
        if let Some(voice) = &self.voice {
            for (topic, payload) in voice.emits(agent.hat(), rng) {
                let emitted = TopicEmitted { iteration, attempt, topic, payload };
                self.queue.push((late(agent.born, rng, life), Report::TopicEmitted(emitted)));
            }
        }
        let mut spoke = agent.born;
        let (mut told, mut tokens) = (0.0, Usage::default());
        let words = rng.below(4);
        for word in 0..words {
            let left = life - spoke.since(agent.born).as_millis() as u64;
            let at = late(spoke, rng, left / (words - word));
            if let Some(fell) = self.silence(agent, spoke, at) {
                return self.queue.push(fell);
            }
            spoke = at;
            let report = match rng.below(8) {
                0..=2 => {
                    let text = "working".to_owned();
                    Report::AgentText(AgentText { iteration, attempt, text, truncated: false })
                }
                3 => tool(agent, word, rng),
                4 if rng.one_in(8) => stranded(agent),
                4 => retry(agent, word),
                _ => {
                    told += rng.fraction() * 0.4;
                    let cost_usd = if rng.one_in(5) { None } else { Some(told) };
                    tokens.add(&some_tokens(rng));
                    Report::UsageUpdated(UsageUpdated { iteration, attempt, usage: tokens, cost_usd })
                }
            };
            self.queue.push((at, report));
        }
        if agent.hangs_after_its_end {
            let quiet = Duration::from_millis(rng.between(1, 3_000));
            let report = Report::AgentSilent(AgentSilent { iteration, attempt, quiet, ended: true });
            return self.queue.push((spoke.plus(quiet), report));
        }
        let end = agent.exit.as_ref().map_or(spoke.plus(Duration::from_secs(3600)), |(at, _)| *at);
        self.queue.extend(self.silence(agent, spoke, end));
    }

    fn silence(&self, agent: &Agent, spoke: Timestamp, next: Timestamp) -> Option<(Timestamp, Report)> {
        let quiet = agent.of.silence_timeout?;
        let (iteration, attempt) = (agent.of.iteration, agent.of.attempt);
        (next > spoke.plus(quiet)).then(|| {
            (spoke.plus(quiet), Report::AgentSilent(AgentSilent { iteration, attempt, quiet, ended: false }))
        })
    }

    pub fn kill(&mut self, now: Timestamp, grace: Duration, rng: &mut Rng) {
        let Some(agent) = &mut self.agent else { return };
        let (took, exit) = match agent.ignores_term || grace.is_zero() {
            true => (grace, Exit::Signal(9)),
            // It may use its grace to end well.
            false => {
                let took = Duration::from_millis(rng.below(grace.as_millis() as u64));
                (took, if rng.one_in(2) { Exit::Code(0) } else { Exit::Signal(15) })
            }
        };
        let end = now.plus(took);
        if agent.exit.as_ref().is_some_and(|(at, _)| *at <= end) {
            return;
        }
        agent.exit = Some((end, exit));
        let report = Report::AgentExited(Box::new(agent.exited(end)));
        self.queue.retain(|(at, r)| !is_of_work(r) || (is_output(r) && *at <= end));
        self.queue.push((late(end, rng, 50), report));
    }

    pub fn run_gates(
        &mut self,
        now: Timestamp,
        of: RunGates,
        bound: Option<Duration>,
        rng: &mut Rng,
    ) -> Result<(), String> {
        self.is_idle().map_err(|why| format!("gates of {} are started while {why}", of.iteration))?;
        let gates = Gates::new(now, of, deadline(now, bound), rng);
        self.queue.extend(gates.script(rng));
        self.gates = Some(gates);
        Ok(())
    }

    pub fn kill_gates(&mut self, now: Timestamp, grace: Duration, rng: &mut Rng) {
        let Some(gates) = &mut self.gates else { return };
        if gates.kill(now, grace, rng) {
            self.queue.retain(|(at, r)| !is_of_work(r) || (*at <= now && !is_end(r)));
            self.queue.extend(gates.cut_short(now));
        }
    }

    /// The earliest thing that happens.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.queue.iter().map(|(at, _)| *at).min()
    }

    /// Takes one thing that has happened by `now`, in the order of time.
    pub fn pop(&mut self, now: Timestamp, rng: &mut Rng) -> Result<Option<Report>, String> {
        if !self.stale.is_empty() && rng.one_in(8) {
            return Ok(self.stale.pop());
        }
        let Some(first) = (0..self.queue.len()).min_by_key(|i| self.queue[*i].0) else { return Ok(None) };
        if self.queue[first].0 > now {
            return Ok(None);
        }
        let (_, report) = self.queue.remove(first);
        if let Report::AgentExited(_) = report
            && let Some(agent) = self.agent.take()
        {
            self.queue.retain(|(_, r)| !is_of_work(r));
            self.stale = vec![report.clone()];
            self.stale.extend(self.voice.as_ref().and_then(|voice| too_late(voice, &agent, rng)));
            if is_overdue(agent.deadline, now) {
                return Err(format!("attempt {} outlived its time", agent.of.attempt));
            }
        }
        if let Report::GatesFinished(_) = report
            && let Some(gates) = self.gates.take()
        {
            self.stale = gates.lies();
            if is_overdue(gates.deadline, now) {
                return Err(format!("round {} outlived its time", gates.of.round));
            }
        }
        Ok(Some(report))
    }
}

fn is_of_work(report: &Report) -> bool {
    !matches!(report, Report::TimerFired(_) | Report::WakeTriggered(_))
}

/// When work that is given so much time is gone at the latest.
fn deadline(now: Timestamp, bound: Option<Duration>) -> Option<Timestamp> {
    bound.map(|bound| now.plus(bound + GRACE + Duration::from_millis(2 * LATE)))
}

fn is_overdue(deadline: Option<Timestamp>, now: Timestamp) -> bool {
    deadline.is_some_and(|deadline| now > deadline.plus(Duration::from_millis(2 * LATE)))
}

fn is_end(report: &Report) -> bool {
    matches!(report, Report::GatesFinished(_))
}

fn is_output(report: &Report) -> bool {
    is_of_work(report) && !matches!(report, Report::AgentExited(_))
}

pub fn late(due: Timestamp, rng: &mut Rng, by: u64) -> Timestamp {
    due.plus(Duration::from_millis(rng.below(by + 1)))
}
