//! Records into rows.

use std::collections::BTreeMap;

use ralph_core::event::{
    Activation, Event, GateFinished, IterationFinished, IterationInterrupted, IterationStarted, RunStarted,
};
use ralph_core::hat::Topic;
use ralph_core::ids::{IterationNumber, Seq};
use ralph_core::plan::Plan;
use ralph_core::record::Record;
use ralph_core::usage::Usage;

use crate::row::{IterationRow, RowClaim, RowFiles, RowGate, RowOutcome, RowTools, RowTopic, Spent};
use crate::speech::{News, Opening};
use crate::text::cut;

/// Of a text in a row, at most this many characters are kept.
const TEXT: usize = 500;
/// Names of changed files that are kept.
const PATHS: usize = 20;
/// Topics that are kept.
const TOPICS: usize = 20;
/// Gates that are kept.
const GATES: usize = 50;
/// Of what a claim lacked, the first so many are kept.
const MISSING: usize = 20;

/// Makes rows of records. The first record of a run tells it the names of the agents; then any range of records may follow. A
/// row begins with `iteration.started` and is whole when another iteration starts.
#[derive(Debug, Clone)]
pub struct RowFolder {
    /// The first agent and its fallbacks.
    agents: Vec<String>,
    news: News,
    row: Option<IterationRow>,
    opening: Opening,
}

impl RowFolder {
    pub fn new(started: &RunStarted) -> Self {
        Self::of(&started.plan)
    }

    pub(crate) fn of(plan: &Plan) -> Self {
        let agents = std::iter::once(&plan.agent).chain(&plan.fallback);
        let agents = agents.map(|agent| agent.called().to_owned()).collect();
        Self { agents, news: News::of(plan), row: None, opening: Opening::default() }
    }

    /// Takes the next record. Answers with the row before when another iteration starts.
    pub fn apply(&mut self, record: &Record) -> Option<IterationRow> {
        if let Event::IterationStarted(started) = &record.event {
            return self.begin(started, record).filter(|before| before.iteration != started.iteration);
        }
        let row = self.row.as_mut()?;
        match &record.event {
            Event::AgentText(said) => self.opening.says(&said.text, &self.news),
            Event::HatActivated(on) if on.iteration == row.iteration => {
                row.activation = Some(Activation { number: on.activation, of: on.of });
            }
            Event::ToolCalled(_) => row.tools.called = row.tools.called.saturating_add(1),
            Event::ToolFinished(end) => {
                row.tools.failed = row.tools.failed.saturating_add(u32::from(end.result.ok == Some(false)));
            }
            Event::UsageUpdated(update) => {
                row.usage = update.usage;
                row.cost_usd = update.cost_usd.or(row.cost_usd);
            }
            Event::AgentExited(exited) => {
                row.files = exited.files.as_ref().map(|files| RowFiles {
                    count: files.count,
                    paths: files.paths.iter().take(PATHS).map(|path| cut(path, TEXT)).collect(),
                });
            }
            Event::IterationFinished(finished) => row.finish(finished),
            Event::IterationInterrupted(cut) => row.interrupt(cut),
            Event::GatesStarted(started) if started.iteration == row.iteration => row.gates.clear(),
            Event::GateFinished(gate) if gate.iteration == row.iteration && row.gates.len() < GATES => {
                row.gates.push(RowGate::of(gate));
            }
            Event::CompletionClaimed { iteration } => row.judge(*iteration, || RowClaim::Open),
            Event::CompletionInferred(claim) => row.judge(claim.iteration, || RowClaim::Open),
            Event::CompletionAccepted(accepted) => row.judge(accepted.iteration, || RowClaim::Accepted),
            Event::CompletionRejected(rejected) => row.judge(rejected.iteration, || {
                let missing = rejected.missing.iter().take(MISSING).cloned();
                RowClaim::Rejected { missing: missing.collect() }
            }),
            _ => {}
        }
        None
    }

    /// Begins a row. Answers with the attempt before, be it of the same iteration or of another.
    pub(crate) fn begin(&mut self, started: &IterationStarted, record: &Record) -> Option<IterationRow> {
        let opening = std::mem::take(&mut self.opening).get(&self.news);
        let before = self.row.take().map(|row| IterationRow { opening, ..row });
        let agent = self.agents.get(started.agent).or(self.agents.first()).cloned().unwrap_or_default();
        let again = before.as_ref().filter(|before| before.iteration == started.iteration);
        let spent = again.map(IterationRow::spent);
        self.row = Some(IterationRow { before: spent, ..IterationRow::begin(started, record, agent) });
        before
    }

    /// The row that is not whole yet, as it is now.
    pub fn current(&self) -> Option<IterationRow> {
        let row = self.row.as_ref()?;
        Some(IterationRow { opening: self.opening.get(&self.news), ..row.clone() })
    }

    pub(crate) fn news(&self) -> &News {
        &self.news
    }
}

impl IterationRow {
    fn begin(started: &IterationStarted, record: &Record, agent: String) -> Self {
        let (iteration, attempt) = (started.iteration, started.attempt);
        Self {
            hat: started.hat.clone(),
            agent,
            seq: record.seq,
            started_at: record.at,
            ..Self::new(iteration, attempt)
        }
    }

    /// An iteration of which nothing is known but its number.
    fn new(iteration: IterationNumber, attempt: u32) -> Self {
        Self {
            iteration,
            attempt,
            seq: Seq::default(),
            started_at: ralph_core::time::Timestamp::default(),
            agent: String::new(),
            hat: None,
            activation: None,
            outcome: RowOutcome::Running,
            duration: None,
            exit_code: None,
            error: None,
            time_limit: None,
            interrupted: None,
            opening: None,
            files: None,
            tools: RowTools::default(),
            gates: Vec::new(),
            topics: Vec::new(),
            topic_count: 0,
            usage: Usage::default(),
            cost_usd: None,
            before: None,
            stuck_score: None,
            claim: None,
            waits_as: None,
            blocked: None,
        }
    }

    fn finish(&mut self, finished: &IterationFinished) {
        let short = |text: &Option<String>| text.as_deref().map(|text| cut(text, TEXT));
        self.attempt = finished.attempt;
        self.outcome = finished.outcome.into();
        self.duration = Some(finished.duration);
        self.exit_code = finished.exit_code;
        self.error = short(&finished.error);
        self.time_limit = finished.time_limit().map(|limit| cut(limit, TEXT));
        if let Some(count) = finished.files_changed {
            self.files.get_or_insert_default().count = count;
        }
        (self.usage, self.cost_usd) = (finished.usage, finished.cost_usd);
        self.stuck_score = finished.stuck_score;
        self.hat = finished.hat.clone().or(self.hat.take());
        self.activation = finished.activation.or(self.activation);
        self.publish(&finished.publishes);
        if finished.claims_complete {
            self.claim.get_or_insert(RowClaim::Open);
        }
        self.waits_as = finished.waits_as();
        self.blocked = short(&finished.blocked);
    }

    fn publish(&mut self, topics: &[Topic]) {
        let mut seen: BTreeMap<&Topic, usize> = BTreeMap::new();
        for topic in topics {
            let next = seen.len();
            let at = *seen.entry(topic).or_insert(next);
            match self.topics.get_mut(at) {
                Some(known) => known.times = known.times.saturating_add(1),
                None if at < TOPICS => {
                    self.topics.push(RowTopic { topic: cut(topic.as_str(), TEXT), times: 1 });
                }
                None => {}
            }
        }
        self.topic_count = u32::try_from(seen.len()).unwrap_or(u32::MAX);
    }

    fn interrupt(&mut self, cut: &IterationInterrupted) {
        self.attempt = cut.attempt;
        self.outcome = RowOutcome::Interrupted;
        self.duration = Some(cut.duration);
        self.interrupted = Some(cut.why.clone());
        (self.usage, self.cost_usd) = (cut.usage, cut.cost_usd);
    }

    fn judge(&mut self, iteration: IterationNumber, verdict: impl FnOnce() -> RowClaim) {
        if self.iteration == iteration {
            self.claim = Some(verdict());
        }
    }

    /// Everything this iteration took so far, all attempts together.
    pub fn spent(&self) -> Spent {
        let mut all = self.before.unwrap_or_default();
        all.attempts = all.attempts.saturating_add(1);
        all.duration = all.duration.saturating_add(self.duration.unwrap_or_default());
        all.usage.add(&self.usage);
        if let Some(cost) = self.cost_usd {
            all.cost_usd = Some(all.cost_usd.unwrap_or(0.0) + cost);
        }
        all
    }
}

/// An iteration by its last record alone, for one who shows records and not rows.
impl From<&IterationFinished> for IterationRow {
    fn from(finished: &IterationFinished) -> Self {
        let mut row = Self::new(finished.iteration, finished.attempt);
        row.finish(finished);
        row
    }
}

impl From<&IterationInterrupted> for IterationRow {
    fn from(cut: &IterationInterrupted) -> Self {
        let mut row = Self::new(cut.iteration, cut.attempt);
        row.interrupt(cut);
        row
    }
}

impl RowGate {
    fn of(gate: &GateFinished) -> Self {
        let code = || gate.exit_code.map(|code| format!("exit code {code}"));
        let why = gate.error.as_deref().map(|error| cut(error, TEXT)).or_else(code);
        Self {
            name: gate.name.clone(),
            passed: gate.passed,
            duration: gate.duration,
            why: why.filter(|_| !gate.passed),
        }
    }
}
