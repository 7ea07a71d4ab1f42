//! Runs for tests: the real engine decides, a script plays the agent, the clock and the person.

use std::time::Duration;

use ralph_core::effect::{Effect, Step};
use ralph_core::engine::Engine;
use ralph_core::event::{
    AgentExited, AgentText, Exit, FORMAT, FilesChanged, GateFinished, GatesFinished, Guidance, RunResumed,
    RunStarted, StopHow, StopRequest, TimerId, TimerSlot, TreeSeen, UsageUpdated,
};
use ralph_core::hat::{HatPlan, HatsPlan, Pattern};
use ralph_core::ids::{IterationNumber, RunId, Seq};
use ralph_core::input::{Command, Input, Report};
use ralph_core::marker::Published;
use ralph_core::observe::PhaseSeen;
use ralph_core::plan::{AgentPlan, EventLoop, Gate, Plan, Task};
use ralph_core::record::Record;
use ralph_core::stop::Interrupt;
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;

use crate::{Fold, RunSnapshot};

/// 2026-01-18 10:00:00 UTC
pub const START: i64 = 1_768_730_400_000;

pub fn plan() -> Plan {
    let args = ["-p", "--append", "be brief"].map(str::to_owned).to_vec();
    let agent = AgentPlan { args, ..AgentPlan::command("claude") };
    Plan::new("shop", "/srv/anna/shop", Task::Text("make the tests pass".to_owned()), agent)
}

pub struct Script {
    pub engine: Engine,
    pub now: Timestamp,
    pub records: Vec<Record>,
    timers: Vec<TimerId>,
}

impl Script {
    pub fn start(plan: Plan) -> Script {
        let now = Timestamp::from_millis(START);
        let run = RunId("0119a4c2".to_owned());
        let started = RunStarted {
            run,
            format: FORMAT,
            version: "0.1.0".to_owned(),
            pid: 4711,
            plan,
            containment: None,
        };
        let (engine, step) = Engine::start(now, started);
        let mut script = Script { engine, now, records: Vec::new(), timers: Vec::new() };
        script.take(step);
        script
    }

    fn take(&mut self, step: Step) {
        for event in step.events {
            let seq = Seq(self.records.len() as u64 + 1);
            self.records.push(Record { seq, at: self.now, event });
        }
        for effect in step.effects {
            if let Effect::StartTimer { timer, .. } = effect {
                self.timers.push(timer);
            }
        }
    }

    pub fn input(&mut self, input: impl Into<Input>) -> &mut Script {
        let step = self.engine.handle(self.now, input.into());
        self.take(step);
        self
    }

    pub fn pass(&mut self, seconds: u64) -> &mut Script {
        self.now = self.now.plus(Duration::from_secs(seconds));
        self
    }

    pub fn fire(&mut self, slot: TimerSlot) -> &mut Script {
        let timer =
            self.timers.iter().rev().find(|timer| timer.slot == slot).cloned().expect("no such timer");
        self.input(Report::TimerFired(timer))
    }

    pub fn says(&mut self, text: &str) -> &mut Script {
        let (iteration, attempt) = self.current();
        let text = text.to_owned();
        self.input(Report::AgentText(AgentText { iteration, attempt, text, truncated: false }))
    }

    pub fn spends(&mut self, cost: f64) -> &mut Script {
        let (iteration, attempt) = self.current();
        let usage = Usage { input: 12_000, output: 400, ..Usage::default() };
        self.input(Report::UsageUpdated(UsageUpdated { iteration, attempt, usage, cost_usd: Some(cost) }))
    }

    /// The agent ends, some seconds later.
    pub fn ends(&mut self, seconds: u64, change: impl FnOnce(&mut AgentExited)) -> &mut Script {
        self.pass(seconds);
        let (iteration, attempt) = self.current();
        let PhaseSeen::Running { since, .. } = self.engine.observe().phase() else {
            panic!("no agent is running")
        };
        let mut exited = AgentExited::new(iteration, attempt, Exit::Code(0));
        exited.duration = self.now.since(since);
        change(&mut exited);
        self.input(Report::AgentExited(Box::new(exited)))
    }

    pub fn works(&mut self, seconds: u64, files: u32, cost: f64) -> &mut Script {
        self.ends(seconds, |exited| {
            exited.files = Some(FilesChanged { count: files, paths: Vec::new(), digest: None });
            exited.cost_usd = Some(cost);
        })
    }

    pub fn fails(&mut self, seconds: u64, code: i32) -> &mut Script {
        self.ends(seconds, |exited| exited.exit = Exit::Code(code))
    }

    pub fn asks_to_stop(&mut self, how: StopHow, by: Interrupt) -> &mut Script {
        self.input(Command::StopRun(StopRequest { how, by }))
    }

    pub fn hears(&mut self, text: &str) -> &mut Script {
        self.input(Command::AddGuidance(Guidance { text: text.to_owned() }))
    }

    pub fn resumes(&mut self, limits: EventLoop) -> &mut Script {
        self.input(Command::ResumeRun(Box::new(RunResumed::new("0.1.0".to_owned(), 4712, limits))))
    }

    pub fn current(&self) -> (IterationNumber, u32) {
        match self.engine.observe().phase() {
            PhaseSeen::Running { iteration, attempt, .. } => (iteration, attempt),
            other => panic!("no agent is running: {other:?}"),
        }
    }

    /// The run as it is now, by a process that works on it.
    pub fn snapshot(&self) -> RunSnapshot {
        self.snapshot_at(self.now, true)
    }

    pub fn snapshot_at(&self, now: Timestamp, alive: bool) -> RunSnapshot {
        let mut fold = Fold::default();
        self.records.iter().for_each(|record| fold.apply(record));
        fold.snapshot(now, alive).expect("the records begin with a start")
    }
}

/// A run with a bit of everything.
pub fn eventful() -> Script {
    let mut script = Script::start(plan());
    script
        .says("Reading the tests.\n")
        .pass(20)
        .says("\u{1b}[32mFixing\u{1b}[0m the cart\n")
        .works(21, 2, 0.12);
    script.says("oops").fails(3, 7).pass(1).fire(TimerSlot::Wait);
    script.pass(2).input(Command::PauseRun).ends(10, |exited| exited.leftovers = 2);
    script.pass(60).hears("use the\nnew API").input(Command::UnpauseRun { now: false });
    script.pass(7200).fire(TimerSlot::IterationTimeout).ends(3, |exited| exited.exit = Exit::Signal(15));
    script.pass(1).fire(TimerSlot::Wait);
    script
        .says("日本語のテストを直します 🎉")
        .asks_to_stop(StopHow::AfterIteration, Interrupt::Int)
        .works(72, 1, 0.004);
    script
}

/// Two hats: an executor, and a reviewer who may be asked twice.
pub fn hats() -> Plan {
    let patterns =
        |texts: &[&str]| texts.iter().filter_map(|text| text.parse().ok()).collect::<Vec<Pattern>>();
    let hat = |id: &str, triggers: &[&str], publishes: &[&str]| {
        HatPlan::new(id, patterns(triggers), patterns(publishes))
    };
    let hats = HatsPlan::new(vec![
        hat("executor", &["task.start", "review.changes_requested"], &["implementation.done"]),
        HatPlan {
            max_activations: Some(2),
            ..hat("code_reviewer", &["implementation.done"], &["review.changes_requested"])
        },
    ]);
    Plan { hats: Some(Box::new(hats)), ..plan() }
}

/// Two gates: what one of them says counts, the other is only reported.
pub fn gated() -> Plan {
    let gate = |name: &str, required: bool| Gate { required, ..Gate::new(name, &["make", name]) };
    Plan { gates: vec![gate("tests", true), gate("style", false)], ..plan() }
}

impl Script {
    /// The agent ends and publishes something.
    pub fn publishes(&mut self, topic: &str, payload: &str) -> &mut Script {
        self.ends(41, |exited| {
            let (topic, payload) = (topic.to_owned(), payload.to_owned());
            exited.published = vec![Published { topic, payload, truncated: false }];
            exited.files = Some(FilesChanged { count: 2, paths: Vec::new(), digest: None });
            exited.cost_usd = Some(0.12);
        })
    }

    /// The agent ends and says that the task is complete.
    pub fn claims(&mut self, seconds: u64) -> &mut Script {
        self.ends(seconds, |exited| exited.claims_complete = true)
    }

    /// A gate of the round that runs ends, some seconds later.
    pub fn gate(&mut self, name: &str, exit_code: i32) -> &mut Script {
        self.pass(2);
        let (iteration, round) = self.round();
        self.input(Report::GateFinished(GateFinished {
            iteration,
            round,
            name: name.to_owned(),
            passed: exit_code == 0,
            exit_code: Some(exit_code),
            timed_out: false,
            error: None,
            duration: Duration::from_secs(2),
            tail: "the end of what it printed".to_owned(),
            tests: None,
            tampering: None,
        }))
    }

    /// All gates have ended, and saw one tree.
    pub fn gates_end(&mut self) -> &mut Script {
        let (iteration, round) = self.round();
        self.input(Report::GatesFinished(GatesFinished {
            iteration,
            round,
            duration: Duration::from_secs(4),
            tree: Some(TreeSeen { hash: "0f1e2d3c4b5a".to_owned(), commit: None }),
            moved: Vec::new(),
            left_out: Vec::new(),
            unseen: None,
        }))
    }

    fn round(&self) -> (IterationNumber, u32) {
        match self.engine.observe().phase() {
            PhaseSeen::Gates { iteration, round, .. } => (iteration, round),
            other => panic!("no gates are running: {other:?}"),
        }
    }
}
