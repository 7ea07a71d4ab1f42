//! Gates of every temper: they pass, fail, hang, lose their result, change the tree under each other.

use std::time::Duration;

use ralph_core::effect::RunGates;
use ralph_core::event::{GateFinished, GateStarted, GatesFinished, TreeSeen};
use ralph_core::input::Report;
use ralph_core::time::Timestamp;

use super::rng::Rng;
use super::world::late;

/// A round at work.
pub struct Gates {
    pub of: RunGates,
    pub deadline: Option<Timestamp>,
    born: Timestamp,
    gates: Vec<Gate>,
    end: GatesFinished,
    killed: bool,
}

struct Gate {
    begins: Timestamp,
    ends: Timestamp,
    result: GateFinished,
    /// What came of it never reaches anybody.
    lost: bool,
}

impl Gates {
    pub fn new(now: Timestamp, of: RunGates, deadline: Option<Timestamp>, rng: &mut Rng) -> Self {
        let RunGates { iteration, round, .. } = of;
        let hash = rng.next().to_string();
        let unseen = if rng.one_in(12) { Some("no permission".to_owned()) } else { None };
        let tree = unseen.is_none().then(|| TreeSeen { hash, commit: Some("c".into()) });
        // A tree that moved once moves again more often than not.
        let moves = if round == 1 { rng.one_in(5) } else { !rng.one_in(3) };
        let moved =
            if moves && unseen.is_none() { vec![format!("moving{}", rng.below(9))] } else { Vec::new() };
        let end = GatesFinished {
            iteration,
            round,
            duration: Duration::ZERO,
            tree,
            moved,
            left_out: Vec::new(),
            unseen,
        };
        let gates = (0..of.gates.len()).map(|nth| Gate::new(now, &of, nth, rng)).collect();
        Self { of, deadline, born: now, gates, end, killed: false }
    }

    /// All reports of the round, if nobody kills it.
    pub fn script(&self, rng: &mut Rng) -> Vec<(Timestamp, Report)> {
        let mut reports: Vec<_> = self.gates.iter().flat_map(Gate::reports).collect();
        let last = self.gates.iter().map(|gate| gate.ends).max().unwrap_or(self.born);
        reports.push(self.finished(late(last, rng, 200)));
        reports
    }

    fn finished(&self, at: Timestamp) -> (Timestamp, Report) {
        // A monotonic clock tells microseconds too.
        let duration = at.since(self.born) + Duration::from_micros(at.as_millis() as u64 % 1_000);
        (at, Report::GatesFinished(GatesFinished { duration, ..self.end.clone() }))
    }

    /// TERM, the grace, KILL. Says whether that changes anything.
    pub fn kill(&mut self, now: Timestamp, grace: Duration, rng: &mut Rng) -> bool {
        let mut changed = !self.killed;
        self.killed = true;
        for gate in self.gates.iter_mut().filter(|gate| gate.ends > now) {
            let by = match rng.one_in(3) {
                true => now.plus(grace),
                false => late(now, rng, grace.as_millis() as u64),
            };
            if by < gate.ends {
                gate.ends = by;
                changed = true;
            }
            let result = &mut gate.result;
            (result.passed, result.exit_code) = (false, None);
            result.error = Some("ended by ralph".to_owned());
        }
        changed
    }

    /// What is still to be reported after a kill.
    pub fn cut_short(&self, now: Timestamp) -> Vec<(Timestamp, Report)> {
        let open = self.gates.iter().filter(|gate| gate.ends > now);
        let mut reports: Vec<_> = open.clone().filter_map(Gate::finished).collect();
        let last = self.gates.iter().map(|gate| gate.ends).max().unwrap_or(now);
        reports.push(self.finished(last.max(now)));
        reports
    }

    /// Reports of this round that come when it is long over, and say that all was well.
    pub fn lies(&self) -> Vec<Report> {
        let passed = self.gates.iter().map(|gate| GateFinished {
            passed: true,
            exit_code: Some(0),
            timed_out: false,
            error: None,
            ..gate.result.clone()
        });
        let end = GatesFinished { moved: Vec::new(), left_out: Vec::new(), unseen: None, ..self.end.clone() };
        let mut lies = vec![Report::GatesFinished(end)];
        lies.extend(passed.map(Report::GateFinished));
        lies
    }
}

impl Gate {
    fn new(now: Timestamp, of: &RunGates, nth: usize, rng: &mut Rng) -> Self {
        let plan = &of.gates[nth];
        let begins = if rng.one_in(3) { late(now, rng, 500) } else { now };
        let life = Duration::from_millis(match rng.below(3) {
            0 => rng.below(50),
            _ => rng.between(1, 3_000),
        });
        // What it does does not change from one claim to the next, mostly.
        let temper = if rng.one_in(3) { rng.below(12) } else { nth as u64 * 4 };
        let hangs = temper == 7 || life > plan.timeout;
        let (passed, exit_code, error) = match temper {
            _ if hangs => (false, None, Some("out of time".to_owned())),
            0..=5 => (true, Some(0), None),
            6 => (false, None, Some("cannot be started".to_owned())),
            _ => (false, Some(rng.between(1, 255) as i32), None),
        };
        let RunGates { iteration, round, .. } = *of;
        let (name, tail) = (plan.name.clone(), format!("said {}", rng.below(100)));
        let duration = if hangs { plan.timeout } else { life };
        let timed_out = hangs;
        let result = GateFinished {
            iteration,
            round,
            name,
            passed,
            exit_code,
            timed_out,
            error,
            duration,
            tail,
            tests: None,
            tampering: None,
        };
        Self { begins, ends: begins.plus(duration), result, lost: temper == 11 }
    }

    fn reports(&self) -> Vec<(Timestamp, Report)> {
        let GateFinished { iteration, round, name, .. } = self.result.clone();
        let started = Report::GateStarted(GateStarted { iteration, round, name });
        let mut reports = vec![(self.begins, started)];
        reports.extend(self.finished());
        reports
    }

    fn finished(&self) -> Option<(Timestamp, Report)> {
        (!self.lost).then(|| (self.ends, Report::GateFinished(self.result.clone())))
    }
}
