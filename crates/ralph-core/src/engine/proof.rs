//! Done means proved: what a claim of completion has to stand before it is believed.
//!
//! The order: what the agent's own tools reported, then the gates, which ralph runs itself. What the gates say holds for
//! one state of the tree. If the tree moves under them they run again, twice at most.

use std::time::Duration;

use super::between::Flow;
use super::{GRACE, Turn};
use crate::check::{Kind, Ledger, Settled};
use crate::effect::{Effect, RunGates};
use crate::event::{
    CompletionAccepted, CompletionRejected, Event, GateFinished, GatesFinished, GatesKilled, GatesStarted,
    Inference, IterationFinished, KillCause, Missing, StopHow,
};
use crate::guard::{Asked, Scope};
use crate::plan::{ACCEPTANCE_CHECK, Gate, GateWhen, NoErrors};
use crate::state::{Checking, Phase, Stage};
use crate::stop;

/// Rounds of gates on one claim.
const MAX_ROUNDS: u32 = 3;
/// Paths that are named when the tree does not stand still.
const NAMED_PATHS: usize = 5;

impl Turn<'_> {
    /// Settles what the last iteration claims, and runs the gates that are due after it.
    pub(super) fn prove(&mut self) -> Flow {
        self.defer_claim();
        self.infer_claim();
        let claims_complete = self.state().claims_complete();
        let last = self.state().unjudged.clone();
        let Some(last) = last.map(|last| IterationFinished { claims_complete, ..last }) else {
            return Flow::Next;
        };
        match self.state().proof.stage.clone() {
            // Asked again: a crash may have cut the record of the stop.
            Stage::Settled => self.heed_rejections(),
            Stage::Accepted => self.complete(),
            Stage::Open => self.open(&last),
            Stage::Ran(ran) => self.judge_claim(&last, &ran),
        }
    }

    fn open(&mut self, last: &IterationFinished) -> Flow {
        if last.claims_complete {
            let by_hat = self.missing_by_hat(last);
            let by_trust = self.missing_by_protection().into_iter().chain(self.missing_by_tampering());
            let missing: Vec<Missing> =
                by_hat.into_iter().chain(by_trust).chain(self.missing_by_tools(last)).collect();
            if !missing.is_empty() {
                return self.reject(last, missing);
            }
        }
        let gates = self.gates_due(last, last.claims_complete);
        match (gates.is_empty(), last.claims_complete) {
            (false, _) => self.start_gates(last, gates, 1),
            (true, true) => self.accept(last, None),
            (true, false) => Flow::Next,
        }
    }

    fn judge_claim(&mut self, last: &IterationFinished, ran: &GatesFinished) -> Flow {
        // Where no gate is required nothing hangs on what they saw.
        let binds = self.gates_of(last).any(|gate| gate.required);
        if let Some(why) = ran.unseen.as_ref().filter(|_| binds) {
            let why = format!("the state of the tree cannot be read: {why}");
            return self.reject(last, vec![Missing { name: "tree".to_owned(), why }]);
        }
        if binds && !ran.moved.is_empty() {
            if ran.round < MAX_ROUNDS {
                return self.start_gates(last, self.gates_due(last, true), ran.round.saturating_add(1));
            }
            return self.reject(last, vec![moving(&ran.moved)]);
        }
        self.tell_left_out(last.iteration, &ran.left_out);
        let missing: Vec<Missing> =
            self.missing_by_gates(last).into_iter().chain(self.missing_by_counts()).collect();
        match missing.is_empty() {
            true => self.accept(last, Some(ran)),
            false => self.reject(last, missing),
        }
    }

    /// A hat may have fewer gates than the run.
    fn gates_of(&self, last: &IterationFinished) -> impl Iterator<Item = &Gate> {
        let own = self.hat_plan(last.hat.as_deref()).and_then(|hat| hat.gates.as_ref());
        let gates = self.state().plan.gates.iter();
        gates.filter(move |gate| own.is_none_or(|own| own.contains(&gate.name)))
    }

    fn gates_due(&self, last: &IterationFinished, claims: bool) -> Vec<Gate> {
        self.gates_of(last).filter(|gate| claims || gate.when == GateWhen::Iteration).cloned().collect()
    }

    /// What the agent's own tools reported. Where a gate that counts for this hat checks the same, it decides.
    fn missing_by_tools(&self, last: &IterationFinished) -> Vec<Missing> {
        let (stop, ledger) = (&self.state().plan.stop, &self.state().ledger);
        let has_gate = |kind: Kind| self.gates_of(last).any(|gate| gate.checks(kind));
        let required = stop.required().filter(|kind| !has_gate(*kind));
        let mut missing: Vec<Missing> = required.filter_map(|kind| unsettled(kind, ledger)).collect();
        let told: Vec<Kind> = stop.required().collect();
        let why = match stop.require_no_errors {
            NoErrors::Off => None,
            NoErrors::Strict => ledger.any_failed_call().map(|call| format!("a tool call failed: {call}")),
            NoErrors::Checks => {
                let left = ledger.left_failing();
                // One sentence for each thing is enough.
                let mut left = left.iter().filter(|one| !has_gate(one.kind) && !told.contains(&one.kind));
                left.next().map(|one| format!("{} is left failing", one.command))
            }
        };
        missing.extend(why.map(|why| Missing { name: "require_no_errors".to_owned(), why }));
        missing
    }

    fn missing_by_gates(&self, last: &IterationFinished) -> Vec<Missing> {
        let state = self.state();
        let why = |gate: &Gate| match state.proof.results.iter().find(|result| result.name == gate.name) {
            Some(result) if result.passed => None,
            Some(result) => Some(gate_failure(result)),
            None => Some("it did not run".to_owned()),
        };
        let required = self.gates_of(last).filter(|gate| gate.required);
        let missing = required.filter_map(|gate| match (gate.hidden, why(gate)?) {
            // What is said here reaches the next prompt.
            (true, _) => {
                Some(Missing { name: ACCEPTANCE_CHECK.to_owned(), why: "it did not pass".to_owned() })
            }
            (false, why) => Some(Missing { name: gate.name.clone(), why }),
        });
        let mut missing: Vec<Missing> = missing.collect();
        missing.dedup();
        missing
    }

    fn start_gates(&mut self, last: &IterationFinished, gates: Vec<Gate>, round: u32) -> Flow {
        let told = self.state().stop_request.as_ref();
        if told.is_some_and(|request| request.how != StopHow::AfterIteration) {
            // A claim waits for the resume.
            return if last.claims_complete { self.heed_stop_request() } else { Flow::Next };
        }
        let iteration = last.iteration;
        let names = gates.iter().map(|gate| gate.name.clone()).collect();
        self.emit(Event::GatesStarted(GatesStarted { iteration, round, gates: names }));
        let Phase::Checking(Checking { epoch, .. }) = self.state().phase else { return Flow::Settled };
        let trust = &self.state().trust;
        let (counted, fewer_expected) = (trust.counted.clone(), trust.fewer_expected);
        self.effect(Effect::RunGates(RunGates { iteration, round, gates, counted, fewer_expected }));
        self.start_alarms(Scope::Iteration, epoch);
        Flow::Settled
    }

    pub(super) fn gates_finished(&mut self, mut finished: GatesFinished) {
        finished.duration = super::iteration::whole_millis(finished.duration);
        let Phase::Checking(checking) = self.state().phase.clone() else { return };
        self.emit(Event::GatesFinished(finished));
        if let Some(KillCause::Guard(key)) = checking.killed
            && let Some(reason) = self.engine.guards.stop_by_key(&key, &self.engine.state)
        {
            return self.stop(reason);
        }
        self.decide();
    }

    /// Orders the end of the gates. A second order has less patience.
    pub(super) fn kill_gates(&mut self, why: KillCause, grace: Duration) {
        let Phase::Checking(checking) = &self.state().phase else { return };
        if checking.killed.is_some() && grace >= GRACE {
            return;
        }
        let iteration = checking.iteration;
        self.emit(Event::GatesKilled(GatesKilled { iteration, why, grace }));
        self.effect(Effect::KillGates { grace });
    }

    fn accept(&mut self, last: &IterationFinished, ran: Option<&GatesFinished>) -> Flow {
        let passed: Vec<String> = self
            .state()
            .proof
            .results
            .iter()
            .filter(|result| result.passed)
            .map(|it| it.name.clone())
            .collect();
        let is_required = |name: &String| self.gates_of(last).any(|gate| gate.required && gate.name == *name);
        let proved_by: Vec<String> = passed.iter().filter(|name| is_required(name)).cloned().collect();
        self.emit(Event::CompletionAccepted(CompletionAccepted {
            iteration: last.iteration,
            gates: u32::try_from(passed.len()).unwrap_or(u32::MAX),
            tree: ran.and_then(|ran| ran.tree.clone()),
            proved_by,
        }));
        self.complete()
    }

    fn complete(&mut self) -> Flow {
        let proof = &self.state().proof;
        let is_proved = !proof.proved_by.is_empty();
        let reported = proof.results.iter().any(|gate| gate.passed);
        let message = proof_words(&proof.proved_by, proof.tree.as_deref(), (proof.inferred, reported));
        let reason = match is_proved || !self.state().plan.stop.require_proof {
            true => stop::COMPLETE,
            false => stop::UNPROVED,
        };
        self.stop(reason.because(message));
        Flow::Settled
    }

    fn reject(&mut self, last: &IterationFinished, missing: Vec<Missing>) -> Flow {
        let reasons: Vec<String> = missing.iter().map(|one| format!("{}: {}", one.name, one.why)).collect();
        let (iteration, why) = (last.iteration, reasons.join("; "));
        self.emit(Event::CompletionRejected(CompletionRejected { iteration, why, missing }));
        self.heed_rejections()
    }

    fn heed_rejections(&mut self) -> Flow {
        let refused = self.state().proof.rejected.is_some();
        let reason = refused.then(|| self.first_spent(Asked::AfterRejection)).flatten();
        self.stop_if(reason)
    }
}

/// What is missing of a kind of check that has to have passed.
fn unsettled(kind: Kind, ledger: &Ledger) -> Option<Missing> {
    let name = match kind {
        Kind::Test => "require_passing_tests",
        Kind::Lint => "require_lint",
        Kind::Typecheck => "require_typecheck",
        // Nobody can ask for it by name.
        Kind::Build => return None,
    };
    let noun = kind.noun();
    let why = match ledger.passing(kind) {
        Settled::Passed => return None,
        Settled::None => format!("no {noun} command was run"),
        Settled::Failed => match ledger.left_failing().iter().find(|one| one.kind == kind) {
            Some(one) => format!("{} failed", one.command),
            None => format!("a {noun} command failed"),
        },
        Settled::Unknown => {
            format!(
                "the result of {} is not known; run it by itself, without a pipe",
                ledger.unknown(kind).join(", ")
            )
        }
    };
    Some(Missing { name: name.to_owned(), why })
}

/// `proved by tests, lint (tree 3f2c1a)`
fn proof_words(
    gates: &[String],
    tree: Option<&str>,
    (inferred, reported): (Option<Inference>, bool),
) -> String {
    if gates.is_empty() {
        let says = match inferred {
            Some(Inference::RequiredEvents) => "everything that is required was published",
            _ => "the agent says so",
        };
        let gate = if reported { "no gate was required" } else { "there was no gate" };
        return format!("unproved: {says}, and {gate}");
    }
    let tree = tree.map(|hash| format!(" (tree {})", hash.get(..6).unwrap_or(hash))).unwrap_or_default();
    format!("proved by {}{tree}", gates.join(", "))
}

fn moving(paths: &[String]) -> Missing {
    let named: Vec<&str> = paths.iter().take(NAMED_PATHS).map(String::as_str).collect();
    let more = paths.len().saturating_sub(NAMED_PATHS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let why = format!(
        "files changed each time the gates ran: {}{more}; if they are no part of the work, name them in .gitignore or in \
         `proof_ignore`",
        named.join(", ")
    );
    Missing { name: "tree".to_owned(), why }
}

/// In words, why a gate did not pass.
pub(crate) fn gate_failure(result: &GateFinished) -> String {
    match (&result.error, result.exit_code) {
        (Some(error), _) => error.clone(),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "it did not pass".to_owned(),
    }
}
