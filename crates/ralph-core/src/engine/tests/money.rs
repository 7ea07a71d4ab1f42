//! Budgets over all runs and the windows of a plan: read before they are decided about, waited for, and heeded after a crash.

use super::*;
use crate::event::{DelayReason, LedgerRead, QuotaSeen};
use crate::plan::{Budget, Quota, WhenSpent};

fn budget(then: WhenSpent) -> Plan {
    Plan { budget: Budget { day: Some(1.0), week: Some(5.0), then }, ..plan() }
}

impl Run {
    fn asks_for_the_ledger(&self) -> bool {
        self.last.effects.contains(&Effect::ReadLedger)
    }

    fn reads(&mut self, day_usd: f64, week_usd: f64) -> Vec<&'static str> {
        let (day_ends, week_ends) = (self.now.plus(secs(3600)), self.now.plus(secs(48 * 3600)));
        self.send(Report::LedgerRead(LedgerRead {
            day_usd,
            week_usd,
            day_ends,
            week_ends,
            unpriced_tokens: 0,
        }))
    }

    fn waits_for(&self) -> Option<(DelayReason, Duration)> {
        match &self.engine.state().phase {
            Phase::Waiting(wait) => Some((wait.reason, wait.wait)),
            _ => None,
        }
    }

    fn costs(&mut self, usd: f64) -> Vec<&'static str> {
        let exited = AgentExited { cost_usd: Some(usd), ..self.later(1).exited(Exit::Code(0)) };
        self.send(Report::AgentExited(Box::new(exited)))
    }
}

#[test]
fn nothing_starts_before_the_ledger_is_read_and_it_is_read_before_every_iteration() {
    let mut run = Run::new(budget(WhenSpent::Stop));
    assert_eq!((run.names(), run.asks_for_the_ledger()), (vec!["run.started"], true));
    run.crash_and_resume();
    assert!(run.asks_for_the_ledger(), "a crash loses the answer");
    assert_eq!(run.reads(0.5, 0.5), ["ledger.read", "iteration.started"]);
    assert_eq!(run.reads(9.0, 9.0), NOTHING, "nobody asked");
    assert_eq!(run.costs(0.1), ["agent.exited", "iteration.finished"]);
    assert!(run.asks_for_the_ledger());
    // Meanwhile another run has spent the rest.
    assert_eq!(run.reads(1.2, 1.2), ["ledger.read", "run.stopped"]);
    assert_eq!(run.stop_reason(), Some(("budget_day", 3)));
}

#[test]
fn what_the_attempt_costs_counts_while_it_works() {
    let mut run = Run::new(budget(WhenSpent::Stop));
    run.reads(0.2, 4.8);
    let more = usage(&run, 0.1);
    assert_eq!(run.send(more), ["usage.updated"]);
    let more = usage(&run, 0.21);
    assert_eq!(run.send(more), ["usage.updated", "agent.killed"], "of the week 5.01 are spent");
}

#[test]
fn a_budget_that_is_waited_for_is_read_anew_when_the_wait_is_over() {
    let mut run = Run::new(budget(WhenSpent::Wait));
    assert_eq!(run.reads(1.0, 1.0), ["ledger.read", "delay.started"]);
    assert_eq!(run.waits_for(), Some((DelayReason::Budget, secs(3600))));
    let (timer, _) = run.timer(TimerSlot::Wait);
    assert_eq!(run.send(Command::SkipWait), NOTHING, "nobody talks a budget away");
    assert_eq!(run.later(3600).send(Report::TimerFired(timer)), ["timer.fired", "delay.ended"]);
    assert!(run.asks_for_the_ledger());
    assert_eq!(run.reads(0.0, 1.0), ["ledger.read", "iteration.started"]);
    // In the middle of an iteration it is not cut.
    let more = usage(&run, 7.0);
    assert_eq!(run.send(more), ["usage.updated"]);
    run.costs(7.0);
    assert_eq!(run.reads(7.0, 8.0), ["ledger.read", "run.stopped"], "the week ends after max_wait");
    assert_eq!(run.stop_reason(), Some(("budget_day", 3)));
}

#[test]
fn sums_that_are_none_end_the_run() {
    for usd in [f64::NAN, f64::INFINITY, -1.0] {
        let mut run = Run::new(budget(WhenSpent::Stop));
        assert_eq!(run.reads(usd, 0.0), ["run.stopped"], "{usd}");
        assert_eq!(run.stop_reason(), Some(("error", 1)));
    }
}

#[test]
fn a_window_at_its_mark_is_waited_for_and_one_that_is_not_known_holds_nothing_back() {
    let quota = Quota { five_hour: Some(0.8), week: Some(0.9) };
    let tells = |run: &mut Run, window: &str, used: f64, resets_in: Option<u64>| {
        let resets_at = resets_in.map(|seconds| run.now.plus(secs(seconds)));
        let quotas = vec![QuotaSeen { window: window.to_owned(), used, resets_at }];
        let exited = AgentExited { quotas, ..run.exited(Exit::Code(0)) };
        run.send(Report::AgentExited(Box::new(exited)));
        run.waits_for()
    };
    let mut run = Run::new(Plan { quota, ..plan() });
    assert_eq!(tells(&mut run, "five_hour", 0.79, Some(600)), None);
    assert_eq!(tells(&mut run, "five_hour", 0.95, None), None, "nobody knows until when");
    assert_eq!(tells(&mut run, "overage", 1.0, Some(600)), None);
    assert_eq!(tells(&mut run, "five_hour", 0.8, Some(600)), Some((DelayReason::Quota, secs(600))));
    run.crash_and_resume();
    assert_eq!(run.waits_for(), Some((DelayReason::Quota, secs(600))));
    let (timer, _) = run.timer(TimerSlot::Wait);
    let went_on = run.later(600).send(Report::TimerFired(timer));
    assert_eq!(went_on, ["timer.fired", "delay.ended", "iteration.started"]);
    assert_eq!(tells(&mut run, "seven_day", 0.9, Some(3 * 24 * 3600)), None);
    assert_eq!(run.stop_reason(), Some(("usage_limit", 4)), "too far away");
}
