//! One simulated run: the real engine, driven as the driver drives it, with a crash possible before every step.

mod effects;
mod journal;

use ralph_core::effect::Effect;
use ralph_core::engine::Engine;
use ralph_core::event::JournalFailed;
use ralph_core::event::{Event, Guidance, HatReset, RunStarted, StopHow, StopRequest};
use ralph_core::input::{Command, Input, Report};
use ralph_core::replay::{Folder, Verifier};
use ralph_core::stop::{Interrupt, StopKind};
use ralph_core::testing::Phase;
use ralph_core::time::Timestamp;
use std::time::Duration;

use super::Totals;
use super::disk::Disk;
use super::hats::Voice;
use super::model::{Check, Model, ensure};
use super::plans;
use super::rng::Rng;
use super::world::World;

/// No run needs more inputs than this.
const BOUND: u64 = 20_000;

pub struct Sim<'a> {
    rng: Rng,
    totals: &'a mut Totals,
    trace: bool,
    now: Timestamp,
    started: RunStarted,
    engine: Option<Engine>,
    /// What could be read after the last crash.
    recovered: Folder,
    disk: Disk,
    world: World,
    /// Made of synced records only.
    folder: Folder,
    model: Option<Model>,
    verifier: Verifier,
    /// What the world has been told, and may therefore never be lost.
    told: Told,
    crash_in: u64,
    crashes_left: u64,
    persons_left: u64,
    resumes_left: u64,
    inputs: u64,
}

#[derive(Default)]
struct Told {
    finished: u32,
    guidance: usize,
}

#[derive(PartialEq)]
enum Flow {
    Alive,
    Crashed,
}

impl<'a> Sim<'a> {
    pub fn new(seed: u64, totals: &'a mut Totals, trace: bool) -> Self {
        let mut rng = Rng::new(seed);
        let started = plans::started(&mut rng);
        let crash_in = rng.pick(&[0, 3, 4, 5, 6, 8, 8, 12, 20]);
        let (crashes_left, persons_left) = (rng.below(80), rng.below(12));
        let resumes_left = rng.below(3);
        let hats = started.plan.hats.as_deref();
        let modest = match hats {
            Some(_) => rng.pick(&[3, 20]),
            None if started.plan.gates.is_empty() => 9,
            None => 2,
        };
        let steady = hats.is_none() && rng.one_in(2);
        let stuck = started.plan.stuck.clone();
        let voice = hats.map(|hats| Voice::new(hats.clone(), &mut rng));
        Self {
            rng,
            totals,
            trace,
            now: Timestamp::from_millis(1_768_730_400_000),
            started,
            engine: None,
            recovered: Folder::default(),
            disk: Disk::default(),
            world: World::new(modest, voice, steady, stuck),
            folder: Folder::default(),
            model: None,
            verifier: Verifier::default(),
            told: Told::default(),
            crash_in,
            crashes_left,
            persons_left,
            resumes_left,
            inputs: 0,
        }
    }

    pub fn run(mut self) -> Check {
        loop {
            let mut flow = self.boot()?;
            while flow == Flow::Alive {
                if self.engine().is_stopped() {
                    if !self.is_resumed_by_a_person() {
                        return self.end();
                    }
                    self.note("resumed by a person");
                    flow = self.speak_to_the_stopped()?;
                    self.recovered = self.engine().observe().to_folder();
                    break;
                }
                flow = self.turn()?;
            }
            self.world.die();
            if flow == Flow::Crashed {
                self.crash()?;
            }
            let down = self.rng.pick(&[0, 10, 5_000, 10_000_000]);
            self.wait(down);
        }
    }

    fn engine(&mut self) -> &mut Engine {
        self.engine.get_or_insert_with(|| unreachable!("booted before anything else"))
    }

    fn note(&self, text: &str) {
        if self.trace {
            eprintln!("{} -- {text}", self.now);
        }
    }

    fn wait(&mut self, up_to: u64) {
        let millis = self.rng.below(up_to + 1);
        self.now = self.now.plus(Duration::from_millis(millis));
    }

    fn crashes_now(&mut self) -> bool {
        let now = self.crashes_left > 0 && self.rng.one_in(self.crash_in);
        self.crashes_left -= u64::from(now);
        now
    }

    fn is_resumed_by_a_person(&mut self) -> bool {
        let kind = self.engine().state().stopped.as_ref().map(|stopped| stopped.kind);
        let resumed = self.resumes_left > 0 && kind != Some(StopKind::Done);
        self.resumes_left -= u64::from(resumed);
        resumed
    }

    /// Guidance for a run that has stopped has to wait for its resume.
    fn speak_to_the_stopped(&mut self) -> Result<Flow, String> {
        if !self.rng.one_in(3) {
            return Ok(Flow::Alive);
        }
        self.wait(5_000_000);
        let (now, text) = (self.now, "try again".to_owned());
        let command = match self.any_hat() {
            Some(hat) if self.rng.one_in(2) => Command::ResetHat(HatReset { hat: hat.as_str().into() }),
            _ => Command::AddGuidance(Guidance { text }),
        };
        let step = self.engine().handle(now, command.into());
        self.commit(step.events, step.effects)
    }

    /// One of the hats, or one that is not there.
    fn any_hat(&mut self) -> Option<String> {
        let hats = &self.started.plan.hats.as_deref()?.hats;
        let n = self.rng.below(hats.len() as u64 + 1) as usize;
        Some(hats.get(n).map_or("nobody", |hat| hat.id.as_str()).to_owned())
    }

    /// Starts, or goes on from what the journal says.
    fn boot(&mut self) -> Result<Flow, String> {
        self.inputs += 1;
        let recovered = std::mem::take(&mut self.recovered);
        let plan = recovered.observe().map(|run| run.plan().event_loop.clone());
        let (Some(before), Some(engine)) = (plan, recovered.into_engine()) else {
            // Nothing of the run reached the disk: it has never been.
            let (engine, step) = Engine::start(self.now, self.started.clone());
            self.engine = Some(engine);
            return self.commit(step.events, step.effects);
        };
        let limits = plans::raised(&mut self.rng, &before);
        let engine = self.engine.insert(engine);
        let input = Command::ResumeRun(Box::new(plans::resumed(limits)));
        let step = engine.handle(self.now, input.into());
        self.commit(step.events, step.effects)
    }

    /// One turn of the driver: a batch of inputs, their records, then their effects.
    fn turn(&mut self) -> Result<Flow, String> {
        self.check_something_is_pending()?;
        let (mut events, mut effects) = (Vec::new(), Vec::new());
        for input in self.batch()? {
            self.inputs += 1;
            let now = self.now;
            let step = self.engine().handle(now, input);
            events.extend(step.events);
            effects.extend(step.effects);
        }
        if self.inputs > BOUND {
            self.totals.unended += 1;
            return Err(format!("the run does not end within {BOUND} inputs"));
        }
        self.commit(events, effects)
    }

    fn batch(&mut self) -> Result<Vec<Input>, String> {
        let mut batch = Vec::new();
        let paused = self.engine().state().phase == Phase::Paused;
        if self.persons_left > 0 && self.rng.one_in(if paused { 3 } else { 16 }) {
            self.persons_left -= 1;
            self.wait(2_000);
            batch.push(self.person(paused).into());
        } else if let Some(due) = self.world.next_due() {
            self.now = self.now.max(due);
            if self.rng.one_in(4) {
                self.wait(200);
            }
        }
        let most = self.rng.between(1, 4);
        for _ in 0..most {
            let Some(report) = self.world.pop(self.now, &mut self.rng)? else { break };
            batch.push(report.into());
        }
        Ok(batch)
    }

    fn person(&mut self, paused: bool) -> Command {
        let how = self.rng.pick(&[StopHow::AfterIteration, StopHow::Terminate, StopHow::Kill]);
        let by = self.rng.pick(&[Interrupt::Int, Interrupt::Term, Interrupt::Hup]);
        match self.rng.below(9) {
            0 => Command::StopRun(StopRequest { how, by }),
            5 => Command::SkipWait,
            8 => Command::EndIteration,
            1 | 2 if !paused => Command::PauseRun,
            1..=4 => Command::UnpauseRun { now: self.rng.one_in(2) },
            6 => match self.any_hat() {
                Some(hat) => Command::ResetHat(HatReset { hat: hat.as_str().into() }),
                None => Command::SkipWait,
            },
            _ => Command::AddGuidance(Guidance { text: format!("hint {}", self.persons_left) }),
        }
    }

    fn commit(&mut self, events: Vec<Event>, mut effects: Vec<Effect>) -> Result<Flow, String> {
        let mut events: Vec<_> = events.into_iter().map(|event| (self.now, event)).collect();
        if self.crashes_now() {
            self.note("crash before the append");
            return Ok(Flow::Crashed);
        }
        if self.crash_in > 0 && self.rng.one_in(400) {
            // The disk is full: the agent is ended, the reserve makes room for this batch and the closing records.
            self.world.die();
            effects.clear();
            let (now, message) = (self.now, "no space left".to_owned());
            let step = self.engine().handle(now, Report::JournalFailed(JournalFailed { message }).into());
            events.extend(step.events.into_iter().map(|event| (now, event)));
        }
        self.disk.append(&events);
        if self.trace {
            events.iter().for_each(|(at, event)| eprintln!("{at} {event:?}"));
        }
        if self.crashes_now() {
            self.note("crash before the sync");
            return Ok(Flow::Crashed);
        }
        if events.iter().any(|(_, event)| event.needs_sync()) {
            self.sync()?;
        }
        for (_, event) in &events {
            match event {
                Event::IterationFinished(finished) => self.told.finished = finished.iteration.0,
                Event::GuidanceAdded(_) => self.told.guidance += 1,
                _ => {}
            }
        }
        for effect in effects {
            if self.crashes_now() {
                self.note("crash before an effect");
                return Ok(Flow::Crashed);
            }
            self.start(effect)?;
        }
        let live = usize::from(self.world.has_agent()) + usize::from(self.world.has_gates());
        self.totals.max_live = self.totals.max_live.max(live);
        Ok(Flow::Alive)
    }

    fn check_something_is_pending(&mut self) -> Check {
        let Some(engine) = &self.engine else { return Err("no engine".into()) };
        let state = engine.state();
        let pending = match &state.phase {
            Phase::Running(_) => self.world.has_agent(),
            Phase::Checking(_) => self.world.has_gates(),
            Phase::Waiting(_) => self.world.has_wait_timer(),
            Phase::Paused => true,
            Phase::Ready | Phase::Stopped => false,
        };
        ensure!(pending, "the run stalls in {:?}", state.phase);
        let working = matches!(state.phase, Phase::Running(_) | Phase::Checking(_));
        ensure!(working || state.stop_request.is_none(), "a stop is not heard in {:?}", state.phase);
        let waiting = matches!(state.phase, Phase::Waiting(_));
        ensure!(!waiting || !state.pause_requested, "a pause is not heard in a wait");
        Ok(())
    }

    /// ralph is gone; what is on disk and was not synced may be lost or damaged.
    fn crash(&mut self) -> Check {
        self.totals.crashes += 1;
        let tail = self.disk.crash(&mut self.rng)?;
        self.note(&format!("{} records of the tail are kept", tail.len()));
        let mut folder = self.folder.clone();
        tail.iter().for_each(|record| folder.push(record));
        let finished = folder.observe().map_or(0, |run| run.iterations());
        self.recovered = folder;
        self.totals.lost += u64::from(self.told.finished.saturating_sub(finished));
        ensure!(finished >= self.told.finished, "iteration {} is lost", self.told.finished);
        let kept = tail.iter().filter(|r| matches!(r.event, Event::GuidanceAdded(_))).count();
        let guidance = self.model.as_ref().map_or(0, |model| model.guidance_added) + kept;
        ensure!(guidance >= self.told.guidance, "guidance is lost");
        Ok(())
    }

    fn end(self) -> Check {
        self.totals.runs += 1;
        self.totals.decisions += self.verifier.decisions;
        self.totals.inputs += self.inputs;
        let hats = self.model.as_ref().and_then(|model| model.hats.as_ref());
        hats.map_or(Ok(()), |hats| hats.ends_well())?;
        let stopped = self.model.and_then(|model| model.stopped);
        let Some(stopped) = stopped else { return Err("the stop is not on disk".into()) };
        *self.totals.stops.entry(stopped.reason.to_string()).or_default() += 1;
        Ok(())
    }
}
