//! How right a detector is.
//!
//! An alarm in a stuck case is right once at least one repetition has been seen; before that, and in a case of progress, it is
//! a false one. The delay is counted from the third time around, where a careful person would call it.

use crate::Result;
use serde_json::Value;
use std::collections::BTreeMap;

pub struct Case {
    id: String,
    class: String,
    iterations: usize,
    pub stuck: Option<Stuck>,
}

pub struct Stuck {
    onset: usize,
    period: usize,
    /// Where it should be called.
    due: usize,
}

impl Case {
    pub fn of(line: &str) -> Result<Case> {
        let case: Value = serde_json::from_str(line).map_err(|error| format!("not a case: {error}"))?;
        let text =
            |key: &str| case[key].as_str().map(str::to_owned).ok_or_else(|| format!("a case without {key}"));
        let id = text("id")?;
        let number = |key: &str| {
            let number = case[key].as_u64().ok_or_else(|| format!("{id}: no {key}"))?;
            Ok::<usize, String>(number as usize)
        };
        let stuck = match text("label")?.as_str() {
            "stuck" => {
                Some(Stuck { onset: number("onset")?, period: number("period")?, due: number("stuck_at")? })
            }
            "progress" => None,
            other => return Err(format!("{id}: unknown label {other}")),
        };
        let iterations = case["iterations"].as_array().map_or(0, Vec::len);
        Ok(Case { class: text("class")?, iterations, stuck, id })
    }
}

#[derive(Debug, Default, PartialEq)]
pub struct Score {
    right: usize,
    wrong: usize,
    stuck: usize,
    /// Iterations without a loop that were watched.
    watched: usize,
    delays: Vec<i64>,
    /// Cases of each class that were judged rightly, and all of them.
    classes: BTreeMap<String, (usize, usize)>,
}

impl Score {
    pub const HEAD: &str = "| detector | precision | recall | false alarms per 1000 iterations | delay (median / p90) |\n|---|---|---|---|---|";

    pub fn of(cases: &[Case], fired: &BTreeMap<String, usize>) -> Score {
        let mut score = Score::default();
        cases.iter().for_each(|case| score.add(case, fired.get(&case.id).copied()));
        score.delays.sort_unstable();
        score
    }

    fn add(&mut self, case: &Case, fired: Option<usize>) {
        let good = match (&case.stuck, fired) {
            (None, None) => {
                self.watched += case.iterations;
                true
            }
            (None, Some(at)) => {
                self.wrong += 1;
                self.watched += at + 1;
                false
            }
            (Some(stuck), fired) => {
                self.stuck += 1;
                let first = stuck.onset + stuck.period;
                self.watched += fired.map_or(first.min(case.iterations), |at| first.min(at + 1));
                let right = fired.is_some_and(|at| at >= first);
                self.right += usize::from(right);
                self.wrong += usize::from(fired.is_some() && !right);
                self.delays.extend(fired.filter(|_| right).map(|at| at as i64 - stuck.due as i64));
                right
            }
        };
        let class = self.classes.entry(case.class.clone()).or_default();
        class.0 += usize::from(good);
        class.1 += 1;
    }

    pub fn row(&self, name: &str) -> String {
        let share = |part: usize, whole: usize| match whole {
            0 => "-".to_owned(),
            _ => format!("{:.3} (≥ {:.3})", part as f64 / whole as f64, wilson(part, whole)),
        };
        let alarms = 1000.0 * self.wrong as f64 / self.watched.max(1) as f64;
        let delay =
            |share: f64| self.delays.get((share * self.delays.len().saturating_sub(1) as f64) as usize);
        let delays = match (delay(0.5), delay(0.9)) {
            (Some(median), Some(p90)) => format!("{median} / {p90}"),
            _ => "-".to_owned(),
        };
        format!(
            "| {name} | {} | {} | {alarms:.2} ({} in {}) | {delays} |",
            share(self.right, self.right + self.wrong),
            share(self.right, self.stuck),
            self.wrong,
            self.watched,
        )
    }

    pub fn classes(&self) -> impl Iterator<Item = String> + '_ {
        self.classes.iter().map(|(class, (good, all))| format!("{class:<18} {good}/{all}"))
    }
}

/// The lower end of the 95% interval of a share.
fn wilson(part: usize, whole: usize) -> f64 {
    let (n, z) = (whole as f64, 1.96_f64);
    let share = part as f64 / n;
    let spread = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    (share + z * z / (2.0 * n) - spread) / (1.0 + z * z / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(id: &str, stuck: Option<(usize, usize)>) -> Case {
        let stuck = stuck.map(|(onset, period)| Stuck { onset, period, due: onset + 2 * period });
        Case { id: id.to_owned(), class: "c".to_owned(), iterations: 10, stuck }
    }

    #[test]
    fn right_early_late_and_false_alarms_are_told_apart() {
        let cases = [
            case("a", Some((2, 1))),
            case("b", Some((2, 1))),
            case("c", Some((0, 2))),
            case("d", None),
            case("e", None),
        ];
        let fired = [("a", 4), ("b", 2), ("d", 7)].map(|(id, at)| (id.to_owned(), at)).into();
        let score = Score::of(&cases, &fired);
        // a: right, in time. b: before anything was repeated. c: missed. d: false. e: rightly left alone.
        assert_eq!((score.right, score.wrong, score.stuck), (1, 2, 3));
        assert_eq!(score.watched, 3 + 3 + 2 + 8 + 10);
        assert_eq!(score.delays, [0]);
        assert_eq!(score.classes["c"], (2, 5));
    }

    #[test]
    fn a_small_sample_proves_little() {
        assert!((wilson(10, 10) - 0.722).abs() < 0.001);
        assert!(wilson(1000, 1000) > 0.99);
    }
}
