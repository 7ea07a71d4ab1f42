//! A guard in one file, as a sample and as a test. A real one needs besides this file only its line in the list, and the field of
//! its limit in a section of the plan.

use super::{Asked, Guard, GuardDef, Reading};
use crate::state::RunState;
use crate::stop::{StopDef, StopKind};
use crate::time::Timestamp;

pub(super) const DEF: GuardDef = GuardDef {
    stop: StopDef { key: "sample", kind: StopKind::Limit, summary: "Stop after this many failures in all." },
    setting: "event_loop.sample",
    asked: &[Asked::AfterFailure],
    // No other plan has this name, so no other test meets this guard.
    build: |plan| (plan.name == "sample guard").then(|| Box::new(Sample { max: 1 }) as Box<dyn Guard>),
};

struct Sample {
    max: u32,
}

impl Guard for Sample {
    fn reading(&self, state: &RunState, _now: Timestamp) -> Reading {
        Reading::count(state.total_failures, self.max)
    }

    fn message(&self, state: &RunState) -> String {
        format!("{} of {} failures", state.total_failures, self.max)
    }
}

#[test]
fn a_guard_fits_into_one_file_and_is_read_and_heeded_like_the_others() {
    use crate::engine::Engine;
    use crate::event::{AgentExited, Event, Exit, FORMAT, RunStarted};
    use crate::ids::{IterationNumber, RunId};
    use crate::input::Report;
    use crate::plan::{AgentPlan, Plan, Task};
    use crate::stop::StopKey;

    let plan = Plan::new("sample guard", "/w", Task::Text("x".into()), AgentPlan::command("agent"));
    let started = RunStarted {
        run: RunId("r".into()),
        format: FORMAT,
        version: "0".into(),
        pid: 1,
        plan,
        containment: None,
    };
    let now = Timestamp::from_millis(0);
    let (mut engine, _) = Engine::start(now, started);
    let readings = engine.observe().readings(now);
    let reading = readings.iter().find(|(def, _)| def.stop == DEF.stop).map(|(_, reading)| reading.clone());
    assert_eq!(reading, Some(Reading::count(0, 1)), "`ralph explain` and the screens show it");
    assert!(StopKey::by_name("sample").is_some(), "its reason is one of the stop reasons");

    let exited = AgentExited::new(IterationNumber(1), 1, Exit::Code(1));
    let step = engine.handle(now, Report::AgentExited(Box::new(exited)).into());
    let Some(Event::RunStopped(stopped)) = step.events.last() else { panic!("{:?}", step.events) };
    assert_eq!((stopped.reason.as_str(), stopped.exit_code), ("sample", 3));
    assert_eq!(stopped.message, "1 of 1 failures");
}
