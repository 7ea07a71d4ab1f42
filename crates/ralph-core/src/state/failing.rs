//! The gates that failed when they last ran. They are told until they have run again, whatever happens between.

use crate::event::GateFinished;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct FailingGates(Vec<GateFinished>);

impl FailingGates {
    /// A round is over that was not cut short.
    pub(super) fn ran(&mut self, results: &[GateFinished]) {
        self.0.retain(|old| results.iter().all(|new| new.name != old.name));
        self.0.extend(results.iter().filter(|result| !result.passed).cloned());
    }

    pub fn iter(&self) -> impl Iterator<Item = &GateFinished> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::IterationNumber;

    fn result(name: &str, passed: bool, tail: &str) -> GateFinished {
        GateFinished {
            iteration: IterationNumber(1),
            round: 1,
            name: name.to_owned(),
            passed,
            exit_code: None,
            timed_out: false,
            error: None,
            duration: std::time::Duration::ZERO,
            tail: tail.to_owned(),
            tests: None,
            tampering: None,
        }
    }

    #[test]
    fn a_gate_that_was_not_asked_again_is_still_failing() {
        let mut failing = FailingGates::default();
        failing.ran(&[result("tests", false, "one"), result("lint", false, "two"), result("docs", true, "")]);
        failing.ran(&[result("lint", true, ""), result("docs", false, "three")]);
        failing.ran(&[]);
        let told: Vec<&str> = failing.iter().map(|gate| gate.tail.as_str()).collect();
        assert_eq!(told, ["one", "three"]);
        failing.ran(&[result("tests", false, "four")]);
        let told: Vec<&str> = failing.iter().map(|gate| gate.tail.as_str()).collect();
        assert_eq!(told, ["three", "four"]);
    }
}
