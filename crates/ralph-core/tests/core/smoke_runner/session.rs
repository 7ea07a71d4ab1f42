//! One recorded session, driven through the real engine with a virtual clock.
//!
//! Apart from the tests, which choose the fixtures.

use std::collections::VecDeque;
use std::time::Duration;

use ralph_core::duration;
use ralph_core::effect::{Effect, RunGates, SpawnAgent, Step, When};
use ralph_core::engine::Engine;
use ralph_core::event::{
    AgentExited, AgentSilent, AgentSpawned, AgentText, Event, Exit, FORMAT, FilesChanged, Finding,
    GateFinished, GateStarted, GatesFinished, LedgerRead, RunStarted, RunStopped, StuckEvidence,
    TopicEmitted, TreeSeen, UsageUpdated, WakeTriggered,
};
use ralph_core::hat::Payload;
use ralph_core::ids::{IterationNumber, RunId, Seq};
use ralph_core::input::{Input, Report};
use ralph_core::marker::{Found, Rules, Said, SpeechScanner, TailScanner};
use ralph_core::plan::Task;
use ralph_core::prompt;
use ralph_core::record::{Chain, Record};
use ralph_core::replay::Verifier;
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;

use crate::smoke_format::{Attempt, Header, Stops, compact, person, plan, time};

const DAY: Duration = Duration::from_secs(24 * 3600);

pub(super) fn session(text: &str) -> Result<(), String> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let parse = |e: serde_json::Error| e.to_string();
    let header: Header = serde_json::from_str(lines.next().unwrap_or("")).map_err(parse)?;
    let attempts: Result<VecDeque<Attempt>, _> = lines.map(serde_json::from_str).collect();
    let mut runner = Runner::new(&header, attempts.map_err(parse)?)?;
    runner.run().map_err(|why| format!("{why}\n  ({})", header.about))?;
    runner.check_stop(&header.stops)?;
    runner.verify()
}

struct Runner {
    engine: Engine,
    start: Timestamp,
    now: Timestamp,
    attempts: VecDeque<Attempt>,
    expected: VecDeque<String>,
    /// What will happen, and when.
    queue: Vec<(Timestamp, Input)>,
    agent: Option<Live>,
    /// What the last agent left for the gates.
    gates: Gates,
    /// The round that is at work, and since when.
    round: Option<(IterationNumber, u32, Timestamp)>,
    /// The wait that work would end.
    wake: Option<u64>,
    records: Vec<(Timestamp, Event)>,
}

struct Live {
    exited: AgentExited,
    born: Timestamp,
    ignores_term: bool,
}

#[derive(Default)]
struct Gates {
    failing: Vec<String>,
    moving_rounds: u32,
    hanging: bool,
}

impl Runner {
    fn new(header: &Header, attempts: VecDeque<Attempt>) -> Result<Self, String> {
        let plan = plan(&header.plan)?;
        let now = Timestamp::from_millis(1_768_730_400_000);
        let run = RunId("run".into());
        let started =
            RunStarted { run, format: FORMAT, version: "0".into(), pid: 1, plan, containment: None };
        let (engine, step) = Engine::start(now, started);
        let expected = header.decisions.clone().into();
        let (queue, records) = (Vec::new(), Vec::new());
        let (gates, round) = (Gates::default(), None);
        let (agent, wake) = (None, None);
        let mut runner =
            Self { engine, start: now, now, attempts, expected, queue, agent, wake, gates, round, records };
        runner.take(step)?;
        Ok(runner)
    }

    fn run(&mut self) -> Result<(), String> {
        while !self.engine.is_stopped() {
            let next = (0..self.queue.len()).min_by_key(|i| self.queue[*i].0).ok_or("the run stalls")?;
            let (at, input) = self.queue.remove(next);
            self.now = self.now.max(at);
            let input = self.meant(input);
            if let Input::Report(Report::AgentExited(_) | Report::JournalFailed { .. }) = input {
                self.agent = None;
                self.queue.retain(|(_, i)| !is_of_agent(i));
            }
            let step = self.engine.handle(self.now, input);
            self.take(step)?;
        }
        match (self.expected.front(), self.attempts.len()) {
            (Some(missing), _) => Err(format!("the run ended before `{missing}`")),
            (None, 0) => Ok(()),
            (None, left) => Err(format!("the run ended with {left} attempts to go")),
        }
    }

    /// Work that is brought ends the wait there is.
    fn meant(&self, input: Input) -> Input {
        match input {
            Input::Report(Report::WakeTriggered(woken)) => {
                let epoch = self.wake.unwrap_or(0);
                Report::WakeTriggered(WakeTriggered { epoch, ..woken }).into()
            }
            other => other,
        }
    }

    fn take(&mut self, step: Step) -> Result<(), String> {
        for event in step.events {
            self.records.push((self.now, event.clone()));
            if !event.is_decision() {
                continue;
            }
            let decision = compact(&event, self.now);
            if let Event::IterationStarted(_) = event
                && self.expected.is_empty()
            {
                let attempt = self.attempts.front().ok_or(format!("`{decision}` is not in the fixture"))?;
                self.expected = attempt.decisions.clone().into();
            }
            match self.expected.pop_front() {
                Some(expected) if expected == decision => {}
                expected => return Err(format!("decided `{decision}`, expected {expected:?}")),
            }
        }
        for effect in step.effects {
            match effect {
                Effect::SpawnAgent(spawn) => self.spawn(spawn)?,
                Effect::KillAgent { grace } => self.kill(grace),
                Effect::SaveMemory(_) => {}
                Effect::RunGates(work) => self.run_gates(&work),
                Effect::KillGates { grace } => self.kill_gates(grace),
                // What a person brings comes from the fixture.
                Effect::StartWake { epoch, .. } => self.wake = Some(epoch),
                Effect::ReadLedger => self.push(self.now, Report::LedgerRead(self.ledger())),
                Effect::StopWake => self.wake = None,
                Effect::StartTimer { timer, when } => {
                    let due = match when {
                        When::After(after) => self.now.plus(after),
                        When::At(at) => at.max(self.now),
                    };
                    self.queue.push((due, Report::TimerFired(timer).into()));
                }
            }
        }
        Ok(())
    }

    /// Nobody else spends anything.
    fn ledger(&self) -> LedgerRead {
        let costs = self.records.iter().filter_map(|(_, event)| match event {
            Event::IterationFinished(finished) => finished.cost_usd,
            _ => None,
        });
        let spent = costs.sum();
        let (day_ends, week_ends) = (self.now.plus(DAY), self.now.plus(DAY * 7));
        LedgerRead { day_usd: spent, week_usd: spent, day_ends, week_ends, unpriced_tokens: 0 }
    }

    /// What the detectors of stuck runs found.
    fn evidence(&self, script: &Attempt) -> Option<Box<StuckEvidence>> {
        let plan = &self.engine.state().plan.stuck;
        let findings: Vec<Finding> = script.finds.iter().map(|alarm| alarm.finding(plan)).collect();
        let decides = findings.iter().any(|finding| finding.role.decides());
        let score = if decides { 1.0 } else { 0.0 };
        let evidence = StuckEvidence { version: 2, score, findings, ..StuckEvidence::default() };
        plan.enabled.then(|| Box::new(evidence))
    }

    fn spawn(&mut self, spawn: SpawnAgent) -> Result<(), String> {
        if self.agent.is_some() {
            return Err("two agents at once".into());
        }
        let script = self.attempts.pop_front().ok_or("an attempt that is not in the fixture")?;
        self.gates = Gates {
            failing: script.failing_gates.clone(),
            moving_rounds: script.moving_rounds,
            hanging: script.hanging_gate,
        };
        let (iteration, attempt, born) = (spawn.iteration, spawn.attempt, self.now);
        self.speak(&spawn, &script)?;
        let (found, said) = self.listen(&spawn, &script)?;
        let duration = Duration::from_millis(script.duration_ms.unwrap_or(1000));
        let failure = script.failure(born.plus(duration))?;
        let exited = AgentExited {
            duration,
            claims_complete: found.complete,
            blocked: found.blocked,
            state: said.state,
            delay: said.delay,
            published: said.published,
            tree: script.tree.clone(),
            files: Some(FilesChanged::default()).filter(|_| self.engine.state().bus.is_some()),
            unpublished: said.unpublished,
            evidence: self.evidence(&script),
            cost_usd: script.cost,
            error: script.error.clone().or(failure.as_ref().map(|failure| failure.message.clone())),
            failure,
            ..AgentExited::new(iteration, attempt, script.outcome())
        };
        let silent = spawn.silence_timeout.filter(|quiet| script.hangs || *quiet < duration);
        let ended = script.ended_ms.map(Duration::from_millis);
        if let Some(quiet) = ended.or(silent) {
            let ended = ended.is_some();
            let report = Report::AgentSilent(AgentSilent { iteration, attempt, quiet, ended });
            self.push(born.plus(quiet), report);
        }
        if !script.hangs && ended.is_none() {
            self.push(born.plus(duration), Report::AgentExited(Box::new(exited.clone())));
        }
        self.agent = Some(Live { exited, born, ignores_term: script.ignores_term });
        Ok(())
    }

    /// What the agent reports while it works, and what a person does meanwhile.
    fn speak(&mut self, spawn: &SpawnAgent, script: &Attempt) -> Result<(), String> {
        let (iteration, attempt, born) = (spawn.iteration, spawn.attempt, self.now);
        let at = |millis: u64| born.plus(Duration::from_millis(millis));
        if !matches!(script.outcome(), Exit::Missing { .. } | Exit::NotStarted { .. }) {
            self.push(born, Report::AgentSpawned(AgentSpawned { iteration, attempt, pid: 7 }));
        }
        for text in &script.says {
            let text = text.clone();
            self.push(born, Report::AgentText(AgentText { iteration, attempt, text, truncated: false }));
        }
        let costs = script.costs.iter().map(|(millis, cost)| (*millis, 1, Some(*cost)));
        let tokens = script.tokens.iter().map(|(millis, tokens)| (*millis, *tokens, None));
        for (millis, output, cost_usd) in costs.chain(tokens) {
            let usage = Usage { output, ..Usage::default() };
            let update = UsageUpdated { iteration, attempt, usage, cost_usd };
            self.push(at(millis), Report::UsageUpdated(update));
        }
        for (topic, payload) in &script.emits {
            let (topic, payload) = (topic.clone(), Payload::Text(payload.clone()));
            self.push(born, Report::TopicEmitted(TopicEmitted { iteration, attempt, topic, payload }));
        }
        for (millis, what) in &script.person {
            let input = person(what)?;
            self.queue.push((at(*millis), input));
        }
        Ok(())
    }

    /// The agent's words, by the rules for a plain command, after the prompt it was really given.
    fn listen(&self, spawn: &SpawnAgent, script: &Attempt) -> Result<(Found, Said), String> {
        let plan = &self.engine.state().plan;
        let Task::Text(task) = &plan.task else { return Ok(Default::default()) };
        let prompt = prompt::render(plan, &spawn.prompt, task);
        let lacks = script.told.as_ref().filter(|text| !prompt.contains(*text));
        let has = script.not_told.as_ref().filter(|text| prompt.contains(*text));
        if let Some(text) = lacks.or(has) {
            return Err(format!("`{text}` is, or is not, in the prompt:\n{prompt}"));
        }
        let rules = Rules::new(&plan.signals(), &prompt);
        let (mut scanner, mut speech) = (TailScanner::new(rules.clone()), SpeechScanner::new(rules));
        for text in &script.says {
            let line = format!("{text}\n");
            scanner.push(line.as_bytes());
            speech.push(line.as_bytes());
        }
        Ok((scanner.finish(), speech.finish()))
    }

    fn kill(&mut self, grace: Duration) {
        let Some(agent) = &mut self.agent else { return };
        let polite = !agent.ignores_term && !grace.is_zero();
        let end = if polite { self.now } else { self.now.plus(grace) };
        agent.exited.exit = Exit::Signal(if polite { 15 } else { 9 });
        agent.exited.duration = end.since(agent.born);
        let report = Report::AgentExited(Box::new(agent.exited.clone()));
        self.queue.retain(|(_, i)| !matches!(i, Input::Report(Report::AgentExited(_))));
        self.push(end, report);
    }

    /// All gates of a round take a second, side by side.
    fn run_gates(&mut self, work: &RunGates) {
        let (iteration, round, second) = (work.iteration, work.round, Duration::from_secs(1));
        self.round = Some((iteration, round, self.now));
        for gate in &work.gates {
            let passed = !self.gates.failing.contains(&gate.name);
            let (name, end) = (gate.name.clone(), self.now.plus(second));
            self.push(self.now, Report::GateStarted(GateStarted { iteration, round, name: name.clone() }));
            if self.gates.hanging {
                continue;
            }
            let result = GateFinished {
                iteration,
                round,
                name,
                passed,
                exit_code: Some(i32::from(!passed)),
                timed_out: false,
                error: None,
                duration: second,
                tail: format!("{} says so", gate.name),
                tests: None,
                tampering: None,
            };
            self.push(end, Report::GateFinished(result));
        }
        if !self.gates.hanging {
            let moved = if round <= self.gates.moving_rounds { vec!["build.log".to_owned()] } else { vec![] };
            let tree = Some(TreeSeen { hash: "abc".into(), commit: None });
            let finished = GatesFinished {
                iteration,
                round,
                duration: second,
                tree,
                moved,
                left_out: Vec::new(),
                unseen: None,
            };
            self.push(self.now.plus(second), Report::GatesFinished(finished));
        }
    }

    fn kill_gates(&mut self, grace: Duration) {
        let Some((iteration, round, since)) = self.round else { return };
        let end = self.now.plus(grace);
        self.queue
            .retain(|(_, i)| !matches!(i, Input::Report(Report::GateFinished(_) | Report::GatesFinished(_))));
        let (duration, tree, moved) = (end.since(since), None, Vec::new());
        self.push(
            end,
            Report::GatesFinished(GatesFinished {
                iteration,
                round,
                duration,
                tree,
                moved,
                left_out: Vec::new(),
                unseen: None,
            }),
        );
    }

    fn push(&mut self, at: Timestamp, report: Report) {
        self.queue.push((at, report.into()));
    }

    fn check_stop(&self, stops: &Stops) -> Result<(), String> {
        let Some(Event::RunStopped(s)) = self.records.last().map(|(_, event)| event) else {
            return Err("the last event is not run.stopped".into());
        };
        let RunStopped { reason, kind, exit_code, iterations, cost_usd, .. } = s;
        let found = (reason.as_str(), *kind, *exit_code, *iterations, *cost_usd);
        let wanted = (stops.reason.as_str(), stops.kind, stops.exit_code, stops.iterations, stops.cost_usd);
        if found != wanted {
            return Err(format!("stopped with {found:?}, expected {wanted:?}"));
        }
        let took = self.now.since(self.start);
        match took == time(&stops.after)? {
            true => Ok(()),
            false => Err(format!("took {}, expected {}", duration::format(took), stops.after)),
        }
    }

    /// What was decided, through the journal's form and back, is decided again.
    fn verify(&self) -> Result<(), String> {
        let (mut out, mut back) = (Chain::default(), Chain::default());
        let mut verifier = Verifier::default();
        for (i, (at, event)) in self.records.iter().enumerate() {
            let seq = Seq(i as u64 + 1);
            let line = Record { seq, at: *at, event: event.clone() }.encode(&mut out).expect("a line");
            let record =
                Record::decode(line.trim_end().as_bytes(), &mut back, seq).map_err(|e| e.to_string())?;
            verifier.push(&record).map_err(|d| format!("a replay differs: {d:?}"))?;
        }
        Ok(())
    }
}

fn is_of_agent(input: &Input) -> bool {
    match input {
        Input::Command(_)
        | Input::Report(Report::TimerFired(_) | Report::WakeTriggered(_) | Report::JournalFailed { .. }) => {
            false
        }
        Input::Report(_) => true,
    }
}
