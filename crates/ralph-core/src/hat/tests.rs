//! The bus in whole runs of the engine: what each hat is given, however often ralph dies on the way.

mod analysis;
mod claims;
mod ends;
mod property;
mod scenes;

use std::time::Duration;

use crate::effect::{Effect, When};
use crate::engine::Engine;
use crate::event::{
    AgentExited, Event, Exit, FORMAT, FilesChanged, HatActivated, HatReset, RunResumed, RunStarted,
    TimerSlot, TopicEmitted, TopicPublished,
};
use crate::hat::{HatPlan, HatsPlan, Pattern, Payload};
use crate::ids::{RunId, Seq};
use crate::input::{Command, Input, Report};
use crate::marker::Published;
use crate::plan::{AgentPlan, EventLoop, Plan, Task};
use crate::record::Record;
use crate::replay::{Folder, Verifier};
use crate::state::{Phase, RunState};
use crate::time::Timestamp;

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn hat(id: &str, triggers: &[&str], publishes: &[&str]) -> HatPlan {
    HatPlan::new(id, patterns(triggers), patterns(publishes))
}

fn limited(max: u32, hat: HatPlan) -> HatPlan {
    HatPlan { max_activations: Some(max), ..hat }
}

fn hats(hats: Vec<HatPlan>) -> Plan {
    plan(HatsPlan::new(hats))
}

fn plan(hats: HatsPlan) -> Plan {
    let base = Plan::new("test", "/w", Task::Text("the task".into()), AgentPlan::command("agent"));
    let event_loop = EventLoop {
        failure_backoff: crate::plan::Backoff { initial: Duration::ZERO, ..Default::default() },
        ..base.event_loop
    };
    Plan { hats: Some(Box::new(hats)), event_loop, ..base }
}

/// The loop of the issue: an executor, a reviewer with a limit, an escalator.
fn review_loop() -> Plan {
    hats(vec![
        hat("executor", &["task.start", "review.changes_requested"], &["implementation.done"]),
        limited(
            3,
            hat("code_reviewer", &["implementation.done"], &["review.approved", "review.changes_requested"]),
        ),
        hat("escalator", &["*.exhausted"], &["escalation.logged"]),
    ])
}

/// An engine and its journal. What is not synced may be lost in a crash.
struct Run {
    engine: Engine,
    now: Timestamp,
    journal: Vec<Record>,
    /// The time that the first agent was given.
    timeout_of_the_first: Option<Duration>,
}

impl Run {
    fn new(plan: Plan) -> Run {
        let now = Timestamp::from_millis(1_768_730_400_000);
        let started = RunStarted {
            run: RunId("run".into()),
            format: FORMAT,
            version: "0".into(),
            pid: 1,
            plan,
            containment: None,
        };
        let (engine, step) = Engine::start(now, started);
        let timeout_of_the_first = step.effects.iter().find_map(|effect| match effect {
            Effect::StartTimer { timer, when: When::After(after) }
                if timer.slot == TimerSlot::IterationTimeout =>
            {
                Some(*after)
            }
            _ => None,
        });
        let mut run = Run { engine, now, journal: Vec::new(), timeout_of_the_first };
        run.record(step.events);
        run
    }

    fn record(&mut self, events: Vec<Event>) {
        for event in events {
            let seq = Seq(self.journal.len() as u64 + 1);
            self.journal.push(Record { seq, at: self.now, event });
        }
        // A wait that nothing of this is about.
        while let Phase::Waiting(waiting) = &self.engine.state().phase {
            self.now = waiting.until;
            let timer = crate::event::TimerId { slot: TimerSlot::Wait, epoch: waiting.epoch };
            let step = self.engine.handle(self.now, Report::TimerFired(timer).into());
            for event in step.events {
                let seq = Seq(self.journal.len() as u64 + 1);
                self.journal.push(Record { seq, at: self.now, event });
            }
        }
    }

    fn send(&mut self, input: impl Into<Input>) -> Vec<Event> {
        let step = self.engine.handle(self.now, input.into());
        self.record(step.events.clone());
        step.events
    }

    fn emit(&mut self, topic: &str, payload: &str) -> Vec<Event> {
        let Some((iteration, attempt)) = self.running() else { return Vec::new() };
        let payload = Payload::Text(payload.to_owned());
        self.send(Report::TopicEmitted(TopicEmitted { iteration, attempt, topic: topic.to_owned(), payload }))
    }

    fn running(&self) -> Option<(crate::ids::IterationNumber, u32)> {
        self.state().running().map(|running| (running.iteration, running.attempt))
    }

    fn end(&mut self, change: impl FnOnce(&mut AgentExited)) -> Vec<Event> {
        let Some((iteration, attempt)) = self.running() else { return Vec::new() };
        let mut exited = AgentExited::new(iteration, attempt, Exit::Code(0));
        exited.files = Some(FilesChanged::default());
        change(&mut exited);
        self.send(Report::AgentExited(Box::new(exited)))
    }

    /// One whole iteration that publishes these.
    fn says(&mut self, topics: &[(&str, &str)]) {
        for (topic, payload) in topics {
            self.emit(topic, payload);
        }
        self.end(|_| {});
    }

    fn fails(&mut self) {
        self.end(|exited| exited.exit = Exit::Code(1));
    }

    /// Kills ralph. At most `keep` of the records that are not synced survive.
    fn crash(&mut self, keep: usize) {
        let synced = self.journal.iter().rposition(|record| record.event.needs_sync()).map_or(0, |at| at + 1);
        self.journal.truncate(self.journal.len().min(synced + keep));
        self.resume();
    }

    fn resume(&mut self) {
        self.engine = self.journal.iter().collect::<Folder>().into_engine().unwrap();
        let limits = self.engine.state().plan.event_loop.clone();
        self.send(Command::ResumeRun(Box::new(RunResumed::new("0", 2, limits))));
    }

    fn reset(&mut self, hat: &str) {
        self.send(Command::ResetHat(HatReset { hat: hat.into() }));
    }

    fn state(&self) -> &RunState {
        self.engine.state()
    }

    /// The hat that is worn now.
    fn hat(&self) -> &str {
        self.state().bus.as_ref().and_then(|bus| bus.wearing()).unwrap_or("-")
    }

    fn stop(&self) -> Option<(&str, u8)> {
        self.state().stopped.as_ref().map(|stopped| (stopped.reason.as_str(), stopped.exit_code))
    }

    fn published(&self) -> Vec<&TopicPublished> {
        let topics = self.journal.iter().filter_map(|record| match &record.event {
            Event::TopicPublished(published) => Some(published),
            _ => None,
        });
        topics.collect()
    }

    /// `topic>hat,hat` for everything published.
    fn topics(&self) -> Vec<String> {
        let show = |event: &&TopicPublished| {
            let hats = event.to.iter().map(|hat| hat.to_string());
            let hats: Vec<String> = hats.chain(event.dropped.iter().map(|hat| format!("!{hat}"))).collect();
            format!("{}>{}", event.topic, hats.join(","))
        };
        self.published().iter().map(show).collect()
    }

    /// The hats that were put on, attempts that were cut short included.
    fn activations(&self) -> Vec<&HatActivated> {
        let them = self.journal.iter().filter_map(|record| match &record.event {
            Event::HatActivated(activated) => Some(activated),
            _ => None,
        });
        them.collect()
    }

    fn count(&self, name: &str) -> usize {
        self.journal.iter().filter(|record| record.event.name() == name).count()
    }

    /// The recorded decisions follow from the recorded inputs.
    fn verify(&self) {
        let mut verifier = Verifier::default();
        for record in &self.journal {
            verifier.push(record).unwrap();
        }
    }
}

fn block(topic: &str, payload: &str) -> Published {
    Published { topic: topic.to_owned(), payload: payload.to_owned(), truncated: false }
}
