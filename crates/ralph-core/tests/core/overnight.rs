//! A recorded night and day of an agent that has nothing to do for most of it, against the real engine, with a virtual clock.

use std::time::Duration;

use ralph_core::duration;
use ralph_core::effect::{Effect, SpawnAgent, Step, When};
use ralph_core::engine::Engine;
use ralph_core::event::{AgentExited, Exit, FORMAT, RunStarted, WakeCause, WakeTriggered};
use ralph_core::ids::RunId;
use ralph_core::input::{Input, Report};
use ralph_core::marker::AgentState;
use ralph_core::plan::{AgentPlan, EventLoop, Idle, IdleWait, Plan, Task, Wake};
use ralph_core::time::Timestamp;
use serde::Deserialize;

const RECORDED: &str = include_str!("../overnight.jsonl");

#[derive(Deserialize)]
struct Header {
    about: String,
    hours: u64,
    /// What it takes to see that there is nothing to do.
    look: String,
    look_usd: f64,
    usd_per_minute: f64,
}

#[derive(Deserialize)]
struct Work {
    at: String,
    takes: String,
}

/// What a night came to.
pub struct Night {
    pub settings: &'static str,
    pub launches: u32,
    pub idle: u32,
    pub cost_usd: f64,
    /// Pieces of work that were done, of how many.
    pub done: (usize, usize),
    /// The longest time that one waited for an agent that was free.
    pub slowest: Duration,
    pub reason: String,
}

/// The same night with different settings.
pub fn nights() -> (String, Vec<Night>) {
    let header: Header = serde_json::from_str(RECORDED.lines().next().unwrap_or_default()).expect("a header");
    let hours = |count: u64| Duration::from_secs(count * 3600);
    let long = IdleWait { delay: hours(1), max_delay: Some(hours(12)), ..IdleWait::default() };
    let files = Wake { files: vec!["INBOX.md".into()], ..Wake::default() };
    let all = [
        ("idle: false", Idle::Off, Wake::default()),
        ("no idle settings", Idle::Unset, Wake::default()),
        ("wake: {files}", Idle::Unset, files.clone()),
        ("idle: {delay: 1h, max_delay: 12h}, wake: {files}", Idle::Waits(long), files),
    ];
    let nights = all.into_iter().map(|(settings, idle, wake)| Sim::new(idle, wake).run(settings));
    (header.about.clone(), nights.collect())
}

struct Sim {
    engine: Engine,
    header: Header,
    start: Timestamp,
    now: Timestamp,
    queue: Vec<(Timestamp, Input)>,
    /// When each piece comes, what it takes, and when it was begun.
    works: Vec<(Timestamp, Duration, Option<Timestamp>)>,
    /// The wait that new work ends.
    waking: Option<u64>,
    free_since: Timestamp,
    /// When the agent was last started: what comes after that is news to it.
    looked: Timestamp,
    night: Night,
}

fn time(text: &str) -> Duration {
    duration::parse(text).expect("a time")
}

impl Sim {
    fn new(idle: Idle, wake: Wake) -> Self {
        let mut lines = RECORDED.lines();
        let header: Header = serde_json::from_str(lines.next().unwrap_or_default()).expect("a header");
        let works: Vec<Work> = lines.map(|line| serde_json::from_str(line).expect("work")).collect();
        let start = Timestamp::from_millis(1_768_770_000_000);
        let day = Duration::from_secs(header.hours * 3600);
        let limits = EventLoop {
            max_iterations: None,
            max_runtime: Some(day),
            max_wall_time: day,
            ..EventLoop::default()
        };
        let plan = Plan {
            idle,
            wake,
            event_loop: limits,
            ..Plan::new("night", "/w", Task::Text("work".into()), AgentPlan::command("agent"))
        };
        let (run, version) = (RunId("night".into()), "0".to_owned());
        let (engine, first) = Engine::start(
            start,
            RunStarted { run, format: FORMAT, version, pid: 1, plan, containment: None },
        );
        let works: Vec<_> =
            works.iter().map(|work| (start.plus(time(&work.at)), time(&work.takes), None)).collect();
        let night = Night {
            settings: "",
            launches: 0,
            idle: 0,
            cost_usd: 0.0,
            done: (0, works.len()),
            slowest: Duration::ZERO,
            reason: String::new(),
        };
        let (queue, waking) = (Vec::new(), None);
        let mut sim = Self {
            engine,
            header,
            start,
            now: start,
            queue,
            works,
            waking,
            free_since: start,
            looked: start,
            night,
        };
        sim.take(first);
        sim
    }

    fn run(mut self, settings: &'static str) -> Night {
        while !self.engine.is_stopped() {
            let next = (0..self.queue.len()).min_by_key(|i| self.queue[*i].0).expect("something is pending");
            let (at, input) = self.queue.remove(next);
            self.now = self.now.max(at);
            if matches!(input, Input::Report(Report::AgentExited(_))) {
                self.free_since = self.now;
            }
            let step = self.engine.handle(self.now, input);
            self.take(step);
        }
        let stopped = self.engine.state().stopped.as_ref();
        self.night.reason = stopped.map(|stopped| stopped.reason.to_string()).unwrap_or_default();
        self.night.settings = settings;
        assert!(self.now.since(self.start) <= Duration::from_secs(self.header.hours * 3600 + 3));
        self.night
    }

    fn take(&mut self, step: Step) {
        for effect in step.effects {
            match effect {
                Effect::SpawnAgent(spawn) => self.launch(&spawn),
                Effect::StartTimer { timer, when } => {
                    let due = match when {
                        When::After(after) => self.now.plus(after),
                        When::At(at) => at.max(self.now),
                    };
                    self.queue.push((due, Report::TimerFired(timer).into()));
                }
                Effect::StartWake { epoch, .. } => {
                    self.waking = Some(epoch);
                    // A file that changes is seen within a second.
                    let news =
                        self.works.iter().filter(|(at, _, begun)| begun.is_none() && *at > self.looked);
                    if let Some((at, ..)) = news.min_by_key(|(at, ..)| *at) {
                        let seen = (*at).max(self.now).plus(Duration::from_millis(500));
                        let by = WakeCause::File { path: "/w/INBOX.md".to_owned() };
                        self.queue.push((seen, Report::WakeTriggered(WakeTriggered { epoch, by }).into()));
                    }
                }
                Effect::ReadLedger => {}
                Effect::StopWake => {
                    let epoch = self.waking.take();
                    self.queue.retain(|(_, input)| {
                        !matches!(input, Input::Report(Report::WakeTriggered(w)) if Some(w.epoch) == epoch)
                    });
                }
                Effect::KillAgent { .. } => self.queue.iter_mut().for_each(|(at, input)| {
                    if matches!(input, Input::Report(Report::AgentExited(_))) {
                        *at = self.now;
                    }
                }),
                // There are no gates in this plan, and nobody reads what is remembered.
                _ => {}
            }
        }
    }

    /// The agent does the oldest piece of work there is, or sees that there is none.
    fn launch(&mut self, spawn: &SpawnAgent) {
        let now = self.now;
        self.looked = now;
        let mut exited = AgentExited::new(spawn.iteration, spawn.attempt, Exit::Code(0));
        let piece = self.works.iter_mut().filter(|(at, _, begun)| *at <= now && begun.is_none());
        match piece.min_by_key(|(at, ..)| *at) {
            Some((at, takes, begun)) => {
                *begun = Some(now);
                self.night.slowest = self.night.slowest.max(now.since((*at).max(self.free_since)));
                self.night.done.0 += 1;
                exited.duration = *takes;
                exited.cost_usd = Some(takes.as_secs_f64() / 60.0 * self.header.usd_per_minute);
            }
            None => {
                self.night.idle += 1;
                exited.state = Some(AgentState::Idle);
                exited.duration = time(&self.header.look);
                exited.cost_usd = Some(self.header.look_usd);
            }
        }
        self.night.launches += 1;
        self.night.cost_usd += exited.cost_usd.unwrap_or(0.0);
        self.queue.push((now.plus(exited.duration), Report::AgentExited(Box::new(exited)).into()));
    }
}

#[test]
fn a_night_with_idle_settings_costs_a_fraction_and_loses_no_work() {
    let (_, nights) = nights();
    for night in &nights {
        assert_eq!(night.done.0, night.done.1, "{}: all work is done", night.settings);
    }
    let launches: Vec<u32> = nights.iter().map(|night| night.launches).collect();
    assert!(launches[0] > 3000, "an agent without idle settings never rests: {launches:?}");
    assert!(launches[0] > 10 * launches[1], "{launches:?}");
    assert!(launches[3] < 3 * 12, "with a wake-up and patience only work costs: {launches:?}");
    assert!(nights[1].slowest > Duration::from_secs(60), "without a wake-up work waits");
    assert!(nights[2].slowest < Duration::from_secs(30) && nights[3].slowest < Duration::from_secs(30));
}
