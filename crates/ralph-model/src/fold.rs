//! Records into a snapshot.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use ralph_core::event::{Containment, Event, GateFinished, LoopSuspected, Missing, ToolCalled};
use ralph_core::guard::{GUARDS, GuardDef, Reading};
use ralph_core::ids::IterationNumber;
use ralph_core::observe::{Folder, HatSeen, Observation, PhaseSeen};
use ralph_core::plan::{Idle, Plan, Task};
use ralph_core::record::Record;
use ralph_core::time::Timestamp;

use crate::evidence::Evidence;
use crate::net::Net;
use crate::row::{IterationRow, RowOutcome};
use crate::rows::RowFolder;
use crate::snapshot::*;
use crate::speech::Speech;
use crate::text::cut;

/// Rows that are kept: the newest.
pub const ROWS: usize = 50;
/// Claims that are kept: the newest.
const CLAIMS: usize = 20;
/// Suspicions about one iteration that are kept.
const SUSPICIONS: usize = 10;
/// Of what a person has said, the first so many messages are shown.
const GUIDANCE: usize = 20;
/// Topics that wait for one hat, the first so many.
const PENDING: usize = 20;
/// Of a text, at most this many characters are shown.
const TEXT: usize = 2000;

/// Folds the records of a run. What it holds has a bound, whatever the agent prints and however long the run lasts.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    folder: Folder,
    /// Nothing before the first record.
    rows: Option<RowFolder>,
    /// Rows that are whole, newest last.
    kept: VecDeque<Arc<IterationRow>>,
    /// The attempt before the newest one.
    before: Option<Arc<IterationRow>>,
    speech: Speech,
    claims: VecDeque<JudgedClaim>,
    /// The gates of the last round that have not ended.
    open_gates: Vec<String>,
    /// The last result of each gate.
    gates: Vec<GateFinished>,
    suspicions: Vec<LoopSuspected>,
    evidence: Evidence,
    net: Net,
    stopped_at: Option<Timestamp>,
    containment: Option<Containment>,
}

impl Fold {
    /// A fold that goes on from one that has counted only: it knows the run, but none of its rows until the records of the
    /// newest ones are given to [`Fold::recall`].
    pub fn from_folder(folder: Folder) -> Fold {
        let Some(run) = folder.observe() else { return Fold::default() };
        let rows = Some(RowFolder::of(run.plan()));
        let stopped_at = run.stopped().map(|_| run.last_at());
        Fold { rows, stopped_at, folder, ..Fold::default() }
    }

    pub fn apply(&mut self, record: &Record) {
        self.folder.push(record);
        if let (None, Some(run)) = (&self.rows, self.folder.observe()) {
            self.rows = Some(RowFolder::of(run.plan()));
        }
        self.recall(record);
    }

    /// Takes a record that has been counted already.
    pub fn recall(&mut self, record: &Record) {
        self.evidence.apply(record);
        self.net.apply(record);
        self.apply_to_rows(record);
        self.hear(record);
        match &record.event {
            Event::RunStarted(started) => self.containment.clone_from(&started.containment),
            Event::RunResumed(resumed) => {
                self.stopped_at = None;
                self.containment.clone_from(&resumed.containment);
            }
            Event::RunStopped(_) => self.stopped_at = Some(record.at),
            Event::IterationFinished(_) => self.suspicions.clear(),
            Event::CompletionAccepted(claim) => self.judge(judged(claim.iteration, record.at, Vec::new())),
            Event::CompletionRejected(claim) => {
                self.judge(judged(claim.iteration, record.at, claim.missing.clone()));
            }
            Event::GatesStarted(started) => self.open_gates.clone_from(&started.gates),
            Event::GateFinished(gate) => {
                self.open_gates.retain(|name| *name != gate.name);
                self.gates.retain(|old| old.name != gate.name);
                self.gates.push(gate.clone());
            }
            Event::LoopSuspected(found) if self.suspicions.len() < SUSPICIONS => {
                self.suspicions.push(found.clone());
            }
            _ => {}
        }
    }

    fn apply_to_rows(&mut self, record: &Record) {
        let Some(rows) = &mut self.rows else { return };
        let Event::IterationStarted(started) = &record.event else {
            rows.apply(record);
            return;
        };
        self.speech.forget();
        self.before = rows.begin(started, record).map(Arc::new);
        let whole = self.before.iter().filter(|row| row.iteration != started.iteration);
        self.kept.extend(whole.cloned());
        if self.kept.len() > ROWS {
            self.kept.pop_front();
        }
    }

    fn hear(&mut self, record: &Record) {
        let Some(rows) = &self.rows else { return };
        let (news, at) = (rows.news(), record.at);
        match &record.event {
            Event::AgentText(said) => self.speech.says(&said.text, at, news),
            Event::ToolCalled(ToolCalled { call, .. }) => {
                let what = call.command.as_deref().or(call.path.as_deref()).unwrap_or_default();
                let text = format!("{} {}", call.name, what.lines().next().unwrap_or_default());
                self.speech.does(ActivityKind::Tool, &text, at, news);
            }
            Event::AgentRetrying(retry) => {
                let of = retry.of.map(|n| format!("/{n}")).unwrap_or_default();
                let name = self.folder.observe().map_or("the agent", |run| &run.agent().name);
                let text = format!("{name} retries {}{of}: {}", retry.tried.unwrap_or(1), retry.reason);
                self.speech.does(ActivityKind::Retry, &text, at, news);
            }
            _ => {}
        }
    }

    fn judge(&mut self, claim: JudgedClaim) {
        if self.claims.len() == CLAIMS {
            self.claims.pop_front();
        }
        self.claims.push_back(claim);
    }

    pub fn is_stopped(&self) -> bool {
        self.folder.observe().is_some_and(|run| run.stopped().is_some())
    }

    /// Whether an agent or a gate works now.
    pub fn is_at_work(&self) -> bool {
        let phase = self.folder.observe().map(Observation::phase);
        matches!(phase, Some(PhaseSeen::Running { .. } | PhaseSeen::Gates { .. }))
    }

    /// Why the run waits, if it does.
    pub fn waits_for(&self) -> Option<ralph_core::event::DelayReason> {
        match self.folder.observe().map(Observation::phase) {
            Some(PhaseSeen::Waiting { reason, .. }) => Some(reason),
            _ => None,
        }
    }

    pub fn is_waiting(&self) -> bool {
        matches!(self.folder.observe().map(Observation::phase), Some(PhaseSeen::Waiting { .. }))
    }

    /// What the engine's own fold counts; nothing before the first record.
    pub fn observe(&self) -> Option<Observation<'_>> {
        self.folder.observe()
    }

    /// The run now. `alive`: whether a process works on it; one that has died counts to its last record. Nothing before
    /// the first record.
    pub fn snapshot(&self, now: Timestamp, alive: bool) -> Option<RunSnapshot> {
        let run = self.folder.observe()?;
        let plan = run.plan();
        let counted_at = self.counts_until(run, now, alive);
        let limits = readings(run, counted_at);
        let guidance = run.guidance();
        let (rows, last, row_count) = self.rows_now(run);
        let news = self.rows.as_ref().map(RowFolder::news);
        let mut snapshot = RunSnapshot {
            version: SNAPSHOT_VERSION,
            run: run.run().clone(),
            name: plan.name.clone(),
            workspace: shown(&plan.workspace),
            state: RunWord::of(run, alive),
            phase: self.phase(run),
            then: match (run.stop_request(), run.is_pause_requested()) {
                _ if run.stopped().is_some() => None,
                (Some(_), _) => Some(Then::Stop),
                (None, true) => Some(Then::Pause),
                (None, false) => None,
            },
            pid: (alive && run.stopped().is_none()).then_some(run.pid()),
            started_at: run.started_at(),
            last_at: run.last_at(),
            counted_at,
            task: task(&plan.task),
            definition: definition(plan),
            agent: agent(run),
            totals: totals(run, counted_at),
            limits_off: off(&limits),
            limits,
            said: news.and_then(|news| self.speech.said(news)),
            activity: news.and_then(|news| self.speech.activity(news)),
            needs_person: None,
            quotas: run.quotas().to_vec(),
            paused_for: run.paused_for().map(|why| cut(why, TEXT)),
            next: Vec::new(),
            guidance: guidance.iter().take(GUIDANCE).map(|text| cut(text, TEXT)).collect(),
            guidance_count: size(guidance.len()),
            hats: run.hats().map(hat).collect(),
            gates: self.gates_now(plan),
            protected_changes: protected_changes(run),
            containment: self.containment.clone(),
            tampering: tampering(run),
            net: self.net.now(plan),
            stuck: self.stuck(run),
            idle: idle(run),
            claims: self.claims.iter().cloned().collect(),
            last,
            rows,
            row_count,
            stopped: run.stopped().map(|stopped| Stop {
                at: self.stopped_at.unwrap_or(run.last_at()),
                stopped: stopped.clone(),
            }),
            evidence: self.evidence.records().to_vec(),
        };
        snapshot.next = snapshot.steps();
        snapshot.needs_person = snapshot.need();
        Some(snapshot)
    }

    /// The time until which the run counts: now, or its end.
    fn counts_until(&self, run: Observation<'_>, now: Timestamp, alive: bool) -> Timestamp {
        match (run.stopped(), alive) {
            (Some(_), _) => self.stopped_at.unwrap_or(run.last_at()),
            (None, true) => now,
            (None, false) => run.last_at(),
        }
    }

    fn phase(&self, run: Observation<'_>) -> PhaseNow {
        match run.phase() {
            PhaseSeen::Ready => PhaseNow::Deciding,
            PhaseSeen::Running { iteration, attempt, since, killed } => {
                let hat = run.hat().map(str::to_owned);
                PhaseNow::Running { iteration, attempt, since, hat, ending: killed }
            }
            PhaseSeen::Gates { iteration, round, since } => {
                PhaseNow::Gates { iteration, round, since, open: self.open_gates.clone() }
            }
            PhaseSeen::Waiting { reason, since, until } => PhaseNow::Waiting { reason, since, until },
            PhaseSeen::Paused => PhaseNow::Paused { asking: run.is_asking() },
            PhaseSeen::Stopped => PhaseNow::Stopped,
        }
    }

    /// The newest rows, the last attempt that is over, and how many iterations there are.
    fn rows_now(&self, run: Observation<'_>) -> (Vec<Arc<IterationRow>>, Option<Arc<IterationRow>>, u32) {
        let newest = self.rows.as_ref().and_then(RowFolder::current).map(Arc::new);
        let ended = newest.clone().filter(|row| row.outcome != RowOutcome::Running);
        let count = newest.as_ref().map_or(run.iterations(), |row| row.iteration.0);
        let skip = (self.kept.len() + usize::from(newest.is_some())).saturating_sub(ROWS);
        let rows = self.kept.iter().cloned().chain(newest).skip(skip).collect();
        (rows, ended.or_else(|| self.before.clone()), count)
    }

    fn gates_now(&self, plan: &Plan) -> Vec<GateNow> {
        let one = |name: &str, required: bool, hidden: bool| GateNow {
            name: name.to_owned(),
            required,
            hidden,
            running: self.open_gates.iter().any(|open| open == name),
            last: self.gates.iter().find(|gate| gate.name == name).cloned().map(Box::new),
        };
        plan.gates.iter().map(|gate| one(&gate.name, gate.required, gate.hidden)).collect()
    }

    fn stuck(&self, run: Observation<'_>) -> StuckNow {
        StuckNow {
            score: run.stuck_score(),
            alarms: run.stuck_alarms(),
            suspicions: self.suspicions.clone(),
            last: run.last_alarm().cloned().map(Box::new),
            ended_the_run: run.is_ended_by_loop(),
        }
    }
}

fn judged(iteration: IterationNumber, at: Timestamp, missing: Vec<Missing>) -> JudgedClaim {
    JudgedClaim { iteration, at, accepted: missing.is_empty(), missing }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn size(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn task(task: &Task) -> TaskNow {
    match task {
        Task::Text(text) => TaskNow { file: None, text: Some(cut(text, TEXT)) },
        Task::File(path) | Task::RalphMd(path) => TaskNow { file: Some(shown(path)), text: None },
    }
}

fn definition(plan: &Plan) -> Definition {
    let below = |path: &Path| shown(path.strip_prefix(&plan.workspace).unwrap_or(path));
    Definition {
        file: plan.source.as_deref().map(below),
        preset: plan.preset.clone(),
        once: plan.once,
        log_dir: plan.log_dir.as_deref().map(shown),
    }
}

fn agent(run: Observation<'_>) -> AgentNow {
    let plan = run.plan();
    AgentNow {
        name: run.agent().name.clone(),
        command: std::iter::once(&plan.agent.program).chain(&plan.agent.args).cloned().collect(),
        bypass: plan.agent.bypass.clone(),
        fallback: plan.fallback.iter().map(|agent| agent.name.clone()).collect(),
    }
}

fn totals(run: Observation<'_>, now: Timestamp) -> Totals {
    let usage = run.usage();
    Totals {
        iterations: run.iterations(),
        failures: run.failures(),
        consecutive_failures: run.consecutive_failures(),
        rejected_claims: run.rejected_claims(),
        runtime: run.runtime(now),
        wall_time: run.wall_time(now),
        usage,
        tokens: usage.total(),
        unpriced_tokens: run.unpriced(),
        cost_usd: run.cost_usd(),
    }
}

fn readings(run: Observation<'_>, now: Timestamp) -> Vec<LimitReading> {
    let reason = run.stopped().map(|stopped| stopped.reason.as_str());
    let one = |(def, reading): (&'static GuardDef, Reading)| LimitReading {
        key: Cow::Borrowed(def.stop.key),
        setting: Cow::Borrowed(def.setting),
        summary: Cow::Borrowed(def.stop.summary),
        kind: def.stop.kind,
        used: reading.used,
        limit: reading.limit,
        unit: reading.unit.into(),
        fraction: reading.fraction(),
        spent: reading.is_spent(),
        ended_the_run: reason == Some(def.stop.key),
        counts_alarms: def.asked.is_empty(),
    };
    run.readings(now).into_iter().map(one).collect()
}

fn off(on: &[LimitReading]) -> Vec<Cow<'static, str>> {
    let off = GUARDS.iter().filter(|def| !on.iter().any(|limit| limit.key == def.stop.key));
    off.map(|def| Cow::Borrowed(def.stop.key)).collect()
}

fn hat(hat: HatSeen<'_>) -> HatNow {
    let pending = hat.pending();
    HatNow {
        hat: hat.id.to_owned(),
        activations: hat.activations,
        max_activations: hat.max_activations,
        exhausted: hat.exhausted,
        pending_count: size(pending.len()),
        pending: pending
            .take(PENDING)
            .map(|event| PendingTopic {
                topic: event.topic.to_string(),
                from: event.from.to_owned(),
                iteration: event.iteration,
            })
            .collect(),
    }
}

fn idle(run: Observation<'_>) -> IdleNow {
    let saved = run.idle_saved().map(|saved| SavedByWaiting {
        iterations: saved.iterations,
        cost_usd: saved.cost_usd,
        waited: saved.waited,
    });
    let plan = run.plan();
    let default_wait = plan.idle.wait().filter(|_| plan.idle == Idle::Unset);
    let default_wait =
        default_wait.map(|wait| DefaultWait { first: wait.backoff.initial, longest: wait.backoff.max });
    let why = run.blocked().map(|why| cut(why, TEXT));
    IdleNow { streak: run.idle_streak(), why, saved, default_wait }
}

/// What looks like tampering with tests.
fn tampering(run: Observation<'_>) -> Vec<TamperingNow> {
    let found = run.tampering().iter();
    found.map(|one| TamperingNow { iteration: one.since, finding: one.finding.clone() }).collect()
}

/// The first protected files that iterations changed.
fn protected_changes(run: Observation<'_>) -> Vec<ProtectedNow> {
    const MAX: usize = 20;
    let changed = run.protected_changes().iter().take(MAX);
    changed.map(|one| ProtectedNow { iteration: one.since, change: one.change.clone() }).collect()
}
