//! How right alarms are, case by case and over all, with intervals.

use std::collections::BTreeMap;

use super::cases::Labelled;

/// What came of a case: the iteration of the first alarm, and of the one behind a redirect that did not help.
#[derive(Clone, Copy, Default)]
pub struct Fired {
    pub first: Option<usize>,
    pub stop: Option<usize>,
}

/// Sums that can be added up over cases.
#[derive(Clone, Copy, Default)]
pub struct Figures {
    pub right: f64,
    pub wrong: f64,
    pub stuck: f64,
    pub watched: f64,
    pub late: f64,
    pub wasted: f64,
}

impl Figures {
    /// An alarm in a stuck case is right once a repetition has been seen; all others are false.
    pub fn of(case: &Labelled, fired: Option<usize>) -> Figures {
        let mut figures = Figures { stuck: f64::from(u8::from(case.stuck.is_some())), ..Figures::default() };
        let all = case.seen.len();
        match (case.stuck, fired) {
            (Some(stuck), Some(at)) if at >= stuck.seen_at() => {
                (figures.right, figures.watched) = (1.0, stuck.seen_at() as f64);
                figures.late = f64::from(u8::from(at > stuck.due() + 2));
                figures.wasted = at as f64 + 1.0 - stuck.onset as f64;
            }
            (_, Some(at)) => (figures.wrong, figures.watched) = (1.0, at as f64 + 1.0),
            (Some(stuck), None) => {
                figures.watched = stuck.seen_at().min(all) as f64;
                figures.wasted = all as f64 - stuck.onset as f64;
            }
            (None, None) => figures.watched = all as f64,
        }
        figures
    }

    pub fn add(&mut self, other: Figures) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.stuck += other.stuck;
        self.watched += other.watched;
        self.late += other.late;
        self.wasted += other.wasted;
    }

    pub fn precision(&self) -> f64 {
        ratio(self.right, self.right + self.wrong)
    }

    pub fn recall(&self) -> f64 {
        ratio(self.right, self.stuck)
    }

    pub fn false_per_thousand(&self) -> f64 {
        ratio(1000.0 * self.wrong, self.watched)
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { f64::NAN } else { a / b }
}

pub fn sum<'a>(cases: impl Iterator<Item = (&'a Labelled, Option<usize>)>) -> Figures {
    let mut all = Figures::default();
    cases.for_each(|(case, fired)| all.add(Figures::of(case, fired)));
    all
}

/// The middle 95% of what the figure would be with other repositories of the same kind.
pub fn interval(cases: &[(&Labelled, Option<usize>)], of: impl Fn(&Figures) -> f64) -> (f64, f64) {
    let mut repos: BTreeMap<&str, Figures> = BTreeMap::new();
    for (case, fired) in cases {
        repos.entry(&case.repo).or_default().add(Figures::of(case, *fired));
    }
    let repos: Vec<Figures> = repos.into_values().collect();
    let mut dice = 7u64;
    let mut values: Vec<f64> = (0..1000)
        .map(|_| {
            let mut all = Figures::default();
            for _ in 0..repos.len() {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                all.add(repos[(dice >> 33) as usize % repos.len()]);
            }
            of(&all)
        })
        .filter(|value| !value.is_nan())
        .collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => (f64::NAN, f64::NAN),
        n => (values[n / 40], values[n - 1 - n / 40]),
    }
}
