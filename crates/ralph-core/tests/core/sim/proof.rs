//! The rules of proof, written a second time: what a claim has to stand before it is believed.

use std::collections::BTreeSet;
use std::time::Duration;

use ralph_core::check::Kind;
use ralph_core::effect::{RunGates, SpawnAgent};
use ralph_core::event::{
    CompletionAccepted, CompletionRejected, Event, GateFinished, GatesFinished, GatesKilled, GatesStarted,
    Inference, IterationFinished, KillCause, ToolFinished,
};
use ralph_core::ids::HatKey;
use ralph_core::plan::{Gate, GateWhen, NoErrors, Plan, Stop};
use ralph_core::testing::RunState;
use ralph_core::time::Timestamp;

use super::hats::Terms;
use super::model::{Check, ensure};

/// One round of gates and two more for a tree that moves.
const ROUNDS: u32 = 3;

/// What has to be done about the iteration that was finished last.
#[derive(Debug, PartialEq)]
pub enum Due {
    Nothing,
    /// These hats come first.
    Defer(Vec<HatKey>),
    /// Nobody has anything left to do: this claim follows from that.
    Infer(Inference, Option<HatKey>),
    /// These, as this round.
    Gates(Vec<String>, u32),
    Accept,
    /// For these reasons.
    Reject(BTreeSet<String>),
}

pub struct Proof {
    stop: Stop,
    gates: Vec<Gate>,
    pub checking: Option<Round>,
    /// Of the last round.
    results: Vec<GateFinished>,
    /// Of each gate that failed when it last ran to its end, the result; in the order they failed.
    failing: Vec<GateFinished>,
    /// The last round that was not cut short.
    ran: Option<GatesFinished>,
    accepted: bool,
    /// Other hats come before the claim.
    pub deferred: bool,
    rejected: Option<CompletionRejected>,
    total: u32,
    /// Claims in a row that share these reasons.
    same: u32,
    reasons: BTreeSet<String>,
    tools: Tools,
}

/// Gates at work.
pub struct Round {
    pub iteration: u32,
    pub round: u32,
    names: Vec<String>,
    pub started: Timestamp,
    last_seen: Timestamp,
    pub killed: Option<KillCause>,
}

/// What the agent's tools told. Of all that the simulated ones run only this one is a test.
#[derive(Default)]
struct Tools {
    /// The last result in this attempt: passed, failed, unknown.
    test: Option<Option<bool>>,
    /// The same, also if it is of an earlier one.
    failing: bool,
    any_failed: bool,
}

pub const TEST: &str = "cargo test";

impl Proof {
    pub fn new(plan: &Plan) -> Self {
        Self {
            stop: plan.stop.clone(),
            gates: plan.gates.clone(),
            checking: None,
            results: Vec::new(),
            failing: Vec::new(),
            ran: None,
            accepted: false,
            deferred: false,
            rejected: None,
            total: 0,
            same: 0,
            reasons: BTreeSet::new(),
            tools: Tools::default(),
        }
    }

    /// What is worth counting: a simulation that never meets it proves nothing about it.
    pub fn met(&self, event: &Event) -> Option<&'static str> {
        let at_work = self.checking.as_ref();
        Some(match event {
            Event::RunResumed(_) if at_work.is_some() => "gates that died with ralph",
            Event::JournalFailed(_) if at_work.is_some() => "gates when the disk was full",
            Event::GatesKilled(kill) if kill.why == KillCause::Stop => "gates ended by a person",
            Event::GatesKilled(_) => "gates ended by a limit",
            Event::GatesFinished(ran) if !ran.moved.is_empty() => "gates on a moving tree",
            Event::CompletionDeferred(_) => "claims that wait for a hat",
            Event::CompletionInferred(claim) if claim.from == Inference::RequiredEvents => {
                "claims by what is required"
            }
            Event::CompletionInferred(_) => "claims that have waited",
            Event::CompletionAccepted(claim) if claim.gates > 0 => "claims believed after gates",
            Event::CompletionAccepted(_) => "claims believed without gates",
            Event::CompletionRejected(claim) => match claim.missing.first()? {
                one if one.why.contains("cannot be read") => "claims refused for an unseen tree",
                one if one.name == "completes" => "claims of a hat that may not make them",
                one if one.name == "required_events" => "claims refused for a topic",
                one if one.name == "tree" => "claims refused for a moving tree",
                one if one.name.starts_with("require") => "claims refused for the agent's own tools",
                one if one.why.contains("did not run") => "claims refused for a lost result",
                _ => "claims refused by a gate",
            },
            _ => return None,
        })
    }

    /// What comes in about gates and tools. Gives how long gates worked.
    pub fn input(&mut self, event: &Event, last: Option<&IterationFinished>) -> Result<Duration, String> {
        match event {
            Event::ToolCalled(call) => self.tools.called(call.call.command.as_deref()),
            Event::ToolFinished(end) => self.tools.finished(end),
            Event::GateStarted(e) => self.of_round(e.iteration.0, e.round, &e.name)?,
            Event::GateFinished(e) => {
                self.of_round(e.iteration.0, e.round, &e.name)?;
                self.results.push(e.clone());
            }
            Event::GatesFinished(ran) => {
                let at_work = self.checking.take().ok_or("the end of gates that do not work")?;
                let right = (at_work.iteration, at_work.round) == (ran.iteration.0, ran.round);
                ensure!(right, "the end of another round was recorded");
                match at_work.killed {
                    // What was cut short says nothing.
                    Some(_) => self.results.clear(),
                    None => {
                        self.ran = Some(ran.clone());
                        for result in &self.results {
                            self.failing.retain(|old| old.name != result.name);
                            self.failing.extend((!result.passed).then(|| result.clone()));
                        }
                    }
                }
                ensure!(last.is_some_and(|last| last.iteration == ran.iteration), "gates of an older one");
                return Ok(ran.duration);
            }
            other => return Err(format!("{} is not about proof", other.name())),
        }
        Ok(Duration::ZERO)
    }

    fn of_round(&self, iteration: u32, round: u32, name: &String) -> Check {
        let at_work = self.checking.as_ref().filter(|r| (r.iteration, r.round) == (iteration, round));
        let known = at_work.is_some_and(|at_work| at_work.names.contains(name));
        ensure!(known, "{name} of {iteration}, round {round}, was recorded, but is not at work");
        Ok(())
    }

    pub fn seen(&mut self, at: Timestamp) {
        if let Some(checking) = &mut self.checking {
            checking.last_seen = at;
        }
    }

    /// A new attempt has its own tools. What was left failing is still failing.
    pub fn attempt_started(&mut self) {
        self.tools = Tools { failing: self.tools.failing, ..Tools::default() };
    }

    pub fn iteration_finished(&mut self) {
        self.results.clear();
        (self.ran, self.accepted, self.rejected, self.deferred) = (None, false, None, false);
    }

    /// ralph is back: nothing is at work. Gives how long the gates that died with it are known to have worked.
    pub fn resumed(&mut self) -> Duration {
        let last_seen = self.checking.as_ref().map(|gates| gates.last_seen);
        last_seen.map_or(Duration::ZERO, |last_seen| self.ended(last_seen))
    }

    /// Everything was ended, and says nothing.
    pub fn ended(&mut self, at: Timestamp) -> Duration {
        let Some(gates) = self.checking.take() else { return Duration::ZERO };
        self.results.clear();
        at.since(gates.started)
    }

    /// Whether there is a claim that does not wait.
    pub fn claims(&self, last: &IterationFinished) -> bool {
        last.claims_complete && !self.deferred
    }

    /// Whether nothing at all has been done about the last iteration.
    pub fn is_untouched(&self) -> bool {
        !self.accepted && self.rejected.is_none() && self.ran.is_none() && self.checking.is_none()
    }

    /// Whether the claim has neither been believed nor refused.
    pub fn is_open(&self, last: &IterationFinished) -> bool {
        self.claims(last) && !self.accepted && self.rejected.is_none()
    }

    pub fn is_accepted(&self) -> bool {
        self.accepted
    }

    pub fn is_rejected(&self) -> bool {
        self.rejected.is_some()
    }

    pub fn too_often(&self) -> bool {
        self.is_rejected() && self.same >= self.stop.max_rejected_completions
    }

    pub fn due(&self, last: Option<&IterationFinished>, terms: &Terms) -> Due {
        let Some(last) = last else { return Due::Nothing };
        if self.accepted || self.rejected.is_some() || self.checking.is_some() {
            return Due::Nothing;
        }
        let gates = self.gates_of(terms);
        let claims = self.claims(last);
        let due = gates.filter(|gate| claims || gate.when == GateWhen::Iteration);
        let due: Vec<String> = due.map(|gate| gate.name.clone()).collect();
        match (&self.ran, claims) {
            (Some(_), false) => Due::Nothing,
            (None, false) if due.is_empty() => Due::Nothing,
            (None, false) => Due::Gates(due, 1),
            (None, true) => match self.missing_at_once(terms) {
                missing if !missing.is_empty() => Due::Reject(missing),
                _ if due.is_empty() => Due::Accept,
                _ => Due::Gates(due, 1),
            },
            (Some(ran), true) => self.due_after(ran, due, terms),
        }
    }

    /// A hat may have fewer of them.
    fn gates_of<'a>(&'a self, terms: &'a Terms) -> impl Iterator<Item = &'a Gate> {
        let gates = self.gates.iter();
        gates.filter(|gate| terms.gates.is_none_or(|own| own.contains(&gate.name)))
    }

    fn due_after(&self, ran: &GatesFinished, gates: Vec<String>, terms: &Terms) -> Due {
        let required = self.gates_of(terms).filter(|gate| gate.required);
        let mut required: Vec<&str> = required.map(|gate| gate.name.as_str()).collect();
        // They have to have seen a tree, and one only.
        if ran.unseen.is_some() && !required.is_empty() {
            return Due::Reject(["tree".to_owned()].into());
        }
        if !ran.moved.is_empty() && !required.is_empty() {
            if ran.round >= ROUNDS {
                return Due::Reject(["tree".to_owned()].into());
            }
            return Due::Gates(gates, ran.round + 1);
        }
        let here = |result: &&GateFinished| (result.iteration, result.round) == (ran.iteration, ran.round);
        let passed = self.results.iter().filter(here).filter(|result| result.passed);
        let passed: Vec<&str> = passed.map(|result| result.name.as_str()).collect();
        required.retain(|name| !passed.contains(name));
        match required.is_empty() {
            true => Due::Accept,
            false => Due::Reject(required.into_iter().map(str::to_owned).collect()),
        }
    }

    fn missing_at_once(&self, terms: &Terms) -> BTreeSet<String> {
        let gate_tests = self.gates_of(terms).any(|gate| gate.required && gate.kind == Some(Kind::Test));
        let wanted = self.stop.require_passing_tests;
        let mut missing: BTreeSet<String> = terms.missing.iter().map(|name| (*name).to_owned()).collect();
        if wanted && !gate_tests && self.tools.test != Some(Some(true)) {
            missing.insert("require_passing_tests".to_owned());
        }
        let errors = match self.stop.require_no_errors {
            NoErrors::Off => false,
            NoErrors::Strict => self.tools.any_failed,
            NoErrors::Checks => self.tools.failing && !gate_tests && !wanted,
        };
        if errors {
            missing.insert("require_no_errors".to_owned());
        }
        missing
    }

    pub fn started(&mut self, at: Timestamp, started: &GatesStarted, due: &Due) -> Check {
        let mine = Due::Gates(started.gates.clone(), started.round);
        ensure!(*due == mine, "{mine:?}, but due is {due:?}");
        self.results.clear();
        self.checking = Some(Round {
            iteration: started.iteration.0,
            round: started.round,
            names: started.gates.clone(),
            started: at,
            last_seen: at,
            killed: None,
        });
        Ok(())
    }

    pub fn killed(&mut self, kill: &GatesKilled) -> Check {
        let at_work = self.checking.as_mut().ok_or("a kill without gates")?;
        ensure!(at_work.iteration == kill.iteration.0, "the gates of another iteration are killed");
        at_work.killed.get_or_insert(kill.why.clone());
        Ok(())
    }

    pub fn accept(&mut self, claim: &CompletionAccepted, due: &Due) -> Check {
        ensure!(*due == Due::Accept, "believed, but due is {due:?}");
        let passed = self.results.iter().filter(|result| result.passed).count();
        ensure!(claim.gates as usize == passed, "{} gates instead of {passed}", claim.gates);
        let tree = self.ran.as_ref().and_then(|ran| ran.tree.as_ref());
        ensure!(claim.tree.as_ref() == tree, "believed on {:?}, seen was {tree:?}", claim.tree);
        (self.accepted, self.same) = (true, 0);
        self.reasons.clear();
        Ok(())
    }

    pub fn reject(&mut self, claim: &CompletionRejected, due: &Due) -> Check {
        let names: BTreeSet<String> = claim.missing.iter().map(|one| one.name.clone()).collect();
        ensure!(*due == Due::Reject(names.clone()), "refused for {names:?}, but due is {due:?}");
        ensure!(names.iter().all(|name| claim.why.contains(name)), "{names:?} is not in {}", claim.why);
        let mut moved = self.ran.iter().flat_map(|ran| ran.moved.first());
        ensure!(
            !names.contains("tree") || moved.all(|path| claim.why.contains(path)),
            "the moving paths are not in {}",
            claim.why
        );
        let shared: BTreeSet<String> = self.reasons.intersection(&names).cloned().collect();
        (self.same, self.reasons) = match shared.is_empty() {
            true => (1, names),
            false => (self.same + 1, shared),
        };
        self.total += 1;
        self.rejected = Some(claim.clone());
        Ok(())
    }

    /// Whether the round that is started is the one on disk.
    pub fn may_run(&self, work: &RunGates) -> Check {
        let on_disk = self.checking.as_ref().map(|at_work| (at_work.iteration, at_work.round));
        let wanted = (work.iteration.0, work.round);
        ensure!(on_disk == Some(wanted), "gates {wanted:?} are started, on disk is {on_disk:?}");
        let names = work.gates.iter().map(|gate| &gate.name);
        ensure!(self.checking.iter().flat_map(|c| &c.names).eq(names), "other gates are started");
        Ok(())
    }

    /// The next agent is told what the last one's claim and its gates came to.
    pub fn is_told(&self, spawn: &SpawnAgent) -> Check {
        let told = &spawn.prompt.feedback;
        let why = self.rejected.as_ref().map(|claim| &claim.why);
        ensure!(told.rejected_claim.as_ref() == why, "told {:?} instead of {why:?}", told.rejected_claim);
        let failed: Vec<_> = self.failing.iter().map(|one| (&one.name, one.exit_code, &one.tail)).collect();
        let gates: Vec<_> =
            told.failed_gates.iter().map(|one| (&one.name, one.exit_code, &one.tail)).collect();
        ensure!(gates == failed, "told of gates {gates:?} instead of {failed:?}");
        Ok(())
    }

    pub fn agrees(&self, state: &RunState) -> Check {
        let p = &state.proof;
        let theirs = (p.total_rejected, p.same_rejected, p.same_reasons().collect::<Vec<_>>());
        let mine = (self.total, self.same, self.reasons.iter().map(String::as_str).collect());
        ensure!(theirs == mine, "refused {theirs:?} instead of {mine:?}");
        ensure!(p.results == self.results, "results {:?} instead of {:?}", p.results, self.results);
        ensure!(p.rejected == self.rejected, "refused: {:?} instead of {:?}", p.rejected, self.rejected);
        Ok(())
    }
}

impl Tools {
    fn called(&mut self, command: Option<&str>) {
        if command == Some(TEST) {
            (self.test, self.failing) = (Some(None), false);
        }
    }

    fn finished(&mut self, end: &ToolFinished) {
        let passed = end.result.exit_code.map(|code| code == 0);
        self.any_failed |= passed == Some(false);
        if end.command.as_deref() == Some(TEST) {
            (self.test, self.failing) = (Some(passed), passed == Some(false));
        }
    }
}
