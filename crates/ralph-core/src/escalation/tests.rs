//! The rules of escalation over sequences made at random.

use proptest::prelude::*;

use super::*;
use crate::event::DetectorKey;
use crate::ids::IterationNumber;

/// One iteration: its score, and whether its files are new.
fn iteration() -> impl Strategy<Value = (f64, bool)> {
    (prop_oneof![Just(0.0), Just(0.1), Just(0.3), Just(0.5), Just(0.8), Just(1.0)], any::<bool>())
}

fn evidence(score: f64, works: bool) -> StuckEvidence {
    let finding = Finding {
        detector: DetectorKey::new("no_progress"),
        role: Use::Decide,
        score,
        alarm: score == 1.0,
        pattern: "the same".to_owned(),
        kind: None,
        reasons: Vec::new(),
        period: 1,
        ratio: None,
        circle: (score >= NOTHING_NEW).then(|| Box::new(Circle { works, ..Circle::default() })),
    };
    StuckEvidence { version: SINCE_VERSION, score, findings: vec![finding], ..StuckEvidence::default() }
}

/// What is answered to each iteration, until the run stops.
fn answers(plan: &StuckPlan, iterations: &[(f64, bool)]) -> Vec<Option<LoopAnswer>> {
    let mut escalation = Escalation::default();
    let mut answers = Vec::new();
    for (n, (score, works)) in (1..).map(IterationNumber).zip(iterations) {
        let step = escalation.step(plan, n, &evidence(*score, *works));
        answers.push(step.as_ref().map(|step| step.action));
        if step.is_some_and(|step| step.action == LoopAnswer::Stop) {
            break;
        }
    }
    answers
}

fn plan(redirects: u32) -> StuckPlan {
    StuckPlan { redirects, ..StuckPlan::default() }
}

proptest! {
    #[test]
    fn nothing_is_stopped_that_was_not_told(
        iterations in prop::collection::vec(iteration(), 0..60), redirects in 1u32..4,
    ) {
        let answers = answers(&plan(redirects), &iterations);
        let told = answers.iter().filter(|answer| **answer == Some(LoopAnswer::Redirect)).count();
        if answers.last() == Some(&Some(LoopAnswer::Stop)) {
            prop_assert!(told > 0, "{answers:?}");
        }
        // A demand follows on a redirect.
        let first = answers.iter().flatten().next();
        prop_assert!(!matches!(first, Some(LoopAnswer::Demand | LoopAnswer::Stop)), "{answers:?}");
    }

    #[test]
    fn alarms_that_go_on_end_the_run_whatever_stands_between_them(
        before in prop::collection::vec(iteration(), 0..20),
        rounds in prop::collection::vec((any::<bool>(), any::<bool>()), 12..13),
        redirects in 0u32..4,
    ) {
        // An alarm, then at most one iteration that looks like something new.
        let going_on = rounds.iter().flat_map(|(works, noise)| {
            [(1.0, *works)].into_iter().chain(noise.then_some((0.0, false)))
        });
        let iterations: Vec<_> = before.into_iter().chain(going_on).collect();
        let answers = answers(&plan(redirects), &iterations);
        prop_assert_eq!(answers.last(), Some(&Some(LoopAnswer::Stop)), "{:?}", answers);
    }

    #[test]
    fn an_agent_that_does_new_work_is_never_stopped_by_what_was_before(
        before in prop::collection::vec(iteration(), 0..20), noise in prop::option::of(0usize..5), redirects in 1u32..4,
    ) {
        // One noisy iteration among four that are new.
        let mut fresh = vec![(0.0, false); 4];
        noise.into_iter().for_each(|at| fresh.insert(at.min(3), (0.8, false)));
        let count = before.len() + fresh.len();
        let iterations: Vec<_> = before.into_iter().chain(fresh).chain([(1.0, false)]).collect();
        let answers = answers(&plan(redirects), &iterations);
        if answers.len() > count {
            prop_assert_eq!(answers[count], Some(LoopAnswer::Redirect), "{:?}", answers);
        }
    }

    #[test]
    fn a_doubtful_circle_is_stopped_later_and_no_later_than_twice(
        redirects in 0u32..5, works in prop::collection::vec(any::<bool>(), 12..13),
    ) {
        let alarms = |works: &dyn Fn(usize) -> bool| {
            let iterations: Vec<_> = (0..12).map(|n| (1.0, works(n))).collect();
            answers(&plan(redirects), &iterations).len()
        };
        let (sure, doubtful) = (alarms(&|_| false), alarms(&|_| true));
        let mixed = alarms(&|n| works[n]);
        prop_assert_eq!(sure, redirects as usize + 1);
        prop_assert_eq!(doubtful, (2 * redirects as usize).max(1) + 1);
        prop_assert!((sure..=doubtful).contains(&mixed), "{sure} {mixed} {doubtful}");
    }
}
