//! Runs for the tests: the real engine decides, a script plays the agent, the clock and the person.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ralph_core::effect::{Effect, Step};
use ralph_core::engine::Engine;
use ralph_core::event::{
    AgentExited, AgentText, Exit, FORMAT, FilesChanged, Guidance, RunResumed, RunStarted, StopHow,
    StopRequest, TimerId, TimerSlot, UsageUpdated,
};
use ralph_core::ids::{RunId, Seq};
use ralph_core::input::{Command, Input, Report};
use ralph_core::plan::{AgentPlan, Limits, Plan, Task};
use ralph_core::record::Record;
use ralph_core::stop::Interrupt;
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;
use ralph_core::view::View;

use crate::{Screen, ScreenOptions, Style, Verbosity};

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
        let started = RunStarted { run, format: FORMAT, version: "0.1.0".to_owned(), pid: 4711, plan };
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
        let started_at = self.engine.state().running().unwrap().started_at;
        let mut exited = AgentExited::new(iteration, attempt, Exit::Code(0));
        exited.duration = self.now.since(started_at);
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

    pub fn resumes(&mut self, limits: Limits) -> &mut Script {
        self.input(Command::ResumeRun(Box::new(RunResumed::new("0.1.0".to_owned(), 4712, limits))))
    }

    fn current(&self) -> (ralph_core::ids::IterationNumber, u32) {
        let running = self.engine.state().running().expect("no agent is running");
        (running.iteration, running.attempt)
    }

    pub fn view(&self) -> View {
        let mut view = View::default();
        self.records.iter().for_each(|record| view.apply(record));
        view
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

pub fn options(color: bool, verbosity: Verbosity) -> ScreenOptions {
    ScreenOptions { verbosity, ..ScreenOptions::new(Style { color, ..Style::plain() }) }
}

/// An output that the test can read.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// What a screen writes about a run.
pub fn show<S: Screen>(records: &[Record], open: impl FnOnce(Box<dyn Write + Send>) -> S) -> String {
    let shared = Shared::default();
    let mut screen = open(Box::new(shared.clone()));
    for record in records {
        screen.event(record);
        if screen.moves() {
            screen.tick(record.at);
        }
    }
    screen.finish();
    shared.text()
}

pub fn plain(records: &[Record], verbosity: Verbosity) -> String {
    show(records, |out| crate::PlainScreen::new(out, options(false, verbosity)))
}

/// Escapes as they can be read in a snapshot.
pub fn visible(text: &str) -> String {
    text.replace('\u{1b}', "␛").replace('\r', "␍")
}

/// What a person sees on a terminal of this size. It takes a line feed as a terminal does behind its line discipline.
pub fn terminal(rows: u16, columns: u16, bytes: &str) -> vt100::Parser {
    let size = |n| std::num::NonZero::new(n).unwrap();
    let mut terminal = vt100::Parser::new(size(rows), size(columns), 0);
    terminal.process(bytes.replace('\n', "\r\n").as_bytes());
    terminal
}
