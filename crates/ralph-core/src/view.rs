//! What a screen shows: the state of a run, and the little beside it that only people want to know.
//!
//! A view changes only by applying records, so a live run and an old journal look the same. It keeps a bounded amount,
//! whatever the agent prints.

use std::collections::VecDeque;
use std::time::Duration;

use crate::event::{DelayReason, Event, IterationFinished, IterationInterrupted, Missing, RunStopped};
use crate::guard::{GuardDef, Guards, Reading};
use crate::ids::{IterationNumber, RunId};
use crate::marker::is_signal;
use crate::record::Record;
use crate::state::{Checking, Phase, RunState, Running};
use crate::time::Timestamp;

/// Failures of a streak that are kept as evidence: the newest.
const STREAK: usize = 10;
/// Claims that are kept: the newest.
const CLAIMS: usize = 20;
/// Of what the agent said last, at most this many characters are kept.
const SAID: usize = 500;

#[derive(Debug, Clone, Default)]
pub struct View {
    state: Option<RunState>,
    last: Option<Ended>,
    said: Option<String>,
    stopped_at: Option<Timestamp>,
    wait: Option<Wait>,
    /// Those of the last round.
    gates: Vec<String>,
    /// The last claims, and what was missing.
    claims: VecDeque<JudgedClaim>,
    evidence: Evidence,
}

/// What became of a claim of completion.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedClaim {
    pub iteration: IterationNumber,
    pub at: Timestamp,
    /// Nothing if it was accepted.
    pub missing: Vec<Missing>,
}

/// How the last attempt that is over went.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    Finished(IterationFinished),
    Interrupted(IterationInterrupted),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    pub reason: DelayReason,
    pub since: Timestamp,
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Totals {
    pub iterations: u32,
    pub failures: u32,
    /// Time that agents worked.
    pub work: Duration,
    /// All time between starts and stops.
    pub wall: Duration,
    pub cost_usd: Option<f64>,
    pub tokens: u64,
    /// Those of them whose cost is not known.
    pub unpriced: u64,
}

/// A guard with its value against its limit.
pub struct GuardReading {
    pub def: &'static GuardDef,
    pub reading: Reading,
}

/// The records a stop rests on.
#[derive(Debug, Clone, Default)]
struct Evidence {
    /// The last input and what was decided about it.
    turn: Vec<Record>,
    /// The same for the turn that ordered the end of the agent.
    kill: Vec<Record>,
    /// The failures in a row.
    streak: VecDeque<Record>,
    settled: Vec<Record>,
}

impl View {
    /// A view that goes on from a folded journal: a resumed run is shown from its resume on.
    pub fn from_state(state: RunState) -> View {
        View { state: Some(state), ..View::default() }
    }

    pub fn apply(&mut self, record: &Record) {
        match &mut self.state {
            Some(state) => state.apply(&record.event, record.at),
            None => self.state = RunState::first(&record.event, record.at),
        }
        self.evidence.apply(record);
        match &record.event {
            Event::RunResumed(_) => self.stopped_at = None,
            Event::AgentText(text) => self.hear(&text.text),
            Event::ToolCalled(call) => {
                let what = call.command.as_deref().or(call.path.as_deref()).unwrap_or_default();
                self.hear(&format!("{} {}", call.name, what.lines().next().unwrap_or_default()));
            }
            Event::AgentRetrying(retry) => {
                let (tried, of) =
                    (retry.tried.unwrap_or(1), retry.of.map(|n| format!("/{n}")).unwrap_or_default());
                let name = self.agent_name().unwrap_or("the agent").to_owned();
                self.hear(&format!("{name} retries {tried}{of}: {}", retry.reason));
            }
            Event::IterationStarted(_) => {
                self.said = None;
                self.wait = None;
            }
            Event::IterationFinished(finished) => self.last = Some(Ended::Finished(finished.clone())),
            Event::IterationInterrupted(cut) => self.last = Some(Ended::Interrupted(cut.clone())),
            Event::DelayStarted(delay) => {
                self.wait = Some(Wait { reason: delay.reason, since: record.at, until: delay.until });
            }
            Event::DelayEnded { .. } => self.wait = None,
            Event::CompletionAccepted(claim) => self.judged(claim.iteration, record.at, Vec::new()),
            Event::CompletionRejected(claim) => {
                self.judged(claim.iteration, record.at, claim.missing.clone())
            }
            Event::GatesStarted(started) => self.gates.clone_from(&started.gates),
            Event::RunStopped(_) => {
                self.stopped_at = Some(record.at);
                self.wait = None;
            }
            _ => {}
        }
    }

    fn judged(&mut self, iteration: IterationNumber, at: Timestamp, missing: Vec<Missing>) {
        if self.claims.len() == CLAIMS {
            self.claims.pop_front();
        }
        self.claims.push_back(JudgedClaim { iteration, at, missing });
    }

    /// The last claims of completion, oldest first.
    pub fn claims(&self) -> impl Iterator<Item = &JudgedClaim> {
        self.claims.iter()
    }

    /// The agent that is at work.
    pub fn agent_name(&self) -> Option<&str> {
        let state = self.state.as_ref()?;
        Some(match state.patience.agent.checked_sub(1).and_then(|n| state.plan.fallback.get(n)) {
            Some(fallback) => &fallback.name,
            None => &state.plan.agent.name,
        })
    }

    fn hear(&mut self, text: &str) {
        // A carriage return ends a line too: of a progress bar the newest state counts.
        let newest = text.rsplit(['\n', '\r']).map(clean).find(|line| self.is_news(line));
        if let Some(line) = newest {
            self.said = Some(line.chars().take(SAID).collect());
        }
    }

    /// Whether a line tells a person something.
    fn is_news(&self, line: &str) -> bool {
        let state = self.state.as_ref();
        let is_signal = state.is_some_and(|state| is_signal(line, &state.plan.signals));
        !line.is_empty() && !is_signal
    }

    pub fn state(&self) -> Option<&RunState> {
        self.state.as_ref()
    }

    pub fn run(&self) -> Option<&RunId> {
        self.state.as_ref().map(|state| &state.run)
    }

    pub fn name(&self) -> Option<&str> {
        self.state.as_ref().map(|state| state.plan.name.as_str())
    }

    pub fn started_at(&self) -> Option<Timestamp> {
        self.state.as_ref().map(|state| state.started_at)
    }

    pub fn running(&self) -> Option<&Running> {
        self.state.as_ref().and_then(RunState::running)
    }

    /// The gates that are at work.
    pub fn checking(&self) -> Option<&Checking> {
        match &self.state.as_ref()?.phase {
            Phase::Checking(checking) => Some(checking),
            _ => None,
        }
    }

    /// Whether an agent or a gate works now.
    pub fn is_at_work(&self) -> bool {
        self.running().is_some() || self.checking().is_some()
    }

    /// Gates of this round that have not ended yet.
    pub fn open_gates(&self) -> impl Iterator<Item = &str> {
        let ended = self.state.as_ref().map(|state| state.proof.results.as_slice()).unwrap_or_default();
        let is_open = move |name: &&String| !ended.iter().any(|gate| gate.name == **name);
        self.gates.iter().filter(is_open).map(String::as_str)
    }

    /// The iteration and attempt that is running.
    pub fn current(&self) -> Option<(IterationNumber, u32)> {
        self.running().map(|running| (running.iteration, running.attempt))
    }

    pub fn is_paused(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.phase == Phase::Paused)
    }

    /// Whether a person is asked what to do about a run that goes in circles.
    pub fn is_asking(&self) -> bool {
        self.is_paused() && self.state.as_ref().is_some_and(|state| state.stuck.asking)
    }

    /// What the run waits for between iterations.
    pub fn wait(&self) -> Option<Wait> {
        let state = self.state.as_ref()?;
        match (&state.phase, self.wait) {
            (Phase::Waiting(waiting), None) => {
                Some(Wait { reason: waiting.reason, since: state.last_at, until: waiting.until })
            }
            (Phase::Waiting(_), wait) => wait,
            _ => None,
        }
    }

    /// The last line the agent said in the iteration that was started last: no escapes, no control characters.
    pub fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    pub fn last(&self) -> Option<&Ended> {
        self.last.as_ref()
    }

    pub fn stopped(&self) -> Option<&RunStopped> {
        self.state.as_ref().and_then(|state| state.stopped.as_ref())
    }

    /// The time until which the run counts: now, or its end. A run that has died counts to its last record.
    pub fn counts_until(&self, now: Timestamp, alive: bool) -> Timestamp {
        let last = self.state.as_ref().map_or(now, |state| state.last_at);
        match (self.stopped(), alive) {
            (Some(_), _) => self.stopped_at.unwrap_or(last),
            (None, true) => now,
            (None, false) => last,
        }
    }

    pub fn totals(&self, now: Timestamp) -> Option<Totals> {
        let state = self.state.as_ref()?;
        Some(Totals {
            iterations: state.iterations_finished,
            failures: state.total_failures,
            work: state.runtime_now(now),
            wall: state.wall_time(now),
            cost_usd: state.cost_now(),
            tokens: state.tokens_now(),
            unpriced: state.unpriced_now(),
        })
    }

    /// Every guard that is switched on, in the order they are asked.
    pub fn readings(&self, now: Timestamp) -> Vec<GuardReading> {
        let Some(state) = &self.state else { return Vec::new() };
        let guards = Guards::of(&state.plan);
        guards.readings(state, now).map(|(def, reading)| GuardReading { def, reading }).collect()
    }

    /// The guard of whose limit most is used; the first one asked among equals.
    pub fn nearest(&self, now: Timestamp) -> Option<GuardReading> {
        let mut readings = self.readings(now).into_iter();
        let first = readings.next()?;
        Some(readings.fold(first, |nearest, next| {
            if next.reading.fraction() > nearest.reading.fraction() { next } else { nearest }
        }))
    }

    /// The records on which the stop rests, oldest first; empty while the run goes on.
    pub fn evidence(&self) -> &[Record] {
        &self.evidence.settled
    }
}

impl Evidence {
    fn apply(&mut self, record: &Record) {
        if !record.event.is_decision() {
            self.turn.clear();
        }
        match &record.event {
            // What is said is no ground of a decision, and there is a lot of it.
            Event::AgentText(_) | Event::AgentSpawned(_) => return,
            Event::RunStarted(_) | Event::RunResumed(_) => self.begin(),
            // Between two turns: it neither belongs to the stop before nor to what comes after.
            Event::GuidanceAdded(_) if !self.settled.is_empty() => return,
            Event::IterationStarted(_) => self.kill.clear(),
            Event::IterationFinished(finished) if finished.outcome.is_failure() => {
                self.streak.push_back(record.clone());
                if self.streak.len() > STREAK {
                    self.streak.pop_front();
                }
            }
            Event::IterationFinished(_) => self.streak.clear(),
            _ => {}
        }
        self.turn.push(record.clone());
        match &record.event {
            Event::AgentKilled(_) => self.kill.extend(self.turn.iter().cloned()),
            Event::RunStopped(_) => self.settle(),
            _ => {}
        }
    }

    fn begin(&mut self) {
        self.turn.clear();
        self.kill.clear();
        self.settled.clear();
    }

    fn settle(&mut self) {
        let failed = |r: &Record| matches!(&r.event, Event::IterationFinished(f) if f.outcome.is_failure());
        let mut all = std::mem::take(&mut self.kill);
        // Earlier failures matter where the stop followed from one more.
        if self.turn.iter().any(failed) {
            all.extend(self.streak.iter().cloned());
        }
        all.append(&mut self.turn);
        all.sort_by_key(|record| record.seq);
        all.dedup_by_key(|record| record.seq);
        self.settled = all;
    }
}

/// Text from outside as it can stand in one line of a terminal: without escape sequences, control characters and the
/// invisible ones that reorder a line; breaks and tabs become spaces; trimmed.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(4096));
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => out.push(' '),
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_csi(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            skip_string(chars);
        }
        Some(' '..='/') => {
            while chars.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            chars.next();
        }
        _ => {}
    }
}

fn skip_csi(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// A string to the terminal (a title, a link) ends with BEL or ST. One that is never closed ends with its line.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| !matches!(c, '\n' | '\r')) {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// Format characters that take no room but change how a line is laid out. The joiner of emoji is not among them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests;
