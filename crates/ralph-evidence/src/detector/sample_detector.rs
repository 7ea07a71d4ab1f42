//! A detector in one file, as a sample and as a test. A real one needs besides this file only its line in the list.

use ralph_core::event::DetectorKey;
use ralph_core::plan::Use;

use super::{Detector, DetectorDef, Sketch, Suspicion};

pub(super) const DEF: DetectorDef = DetectorDef {
    key: DetectorKey::new("sample"),
    summary: "An output that is exactly as long as the one before.",
    // No other plan ignores this, so no other test meets this detector.
    role: |plan| if plan.ignore == ["sample detector"] { Use::Stop } else { Use::Off },
    build: |_| Box::new(SameLength::default()),
};

#[derive(Debug, Default)]
struct SameLength {
    before: Option<u64>,
}

impl Detector for SameLength {
    fn look(&mut self, now: &Sketch) -> Suspicion {
        let alarm = self.before == Some(now.bytes);
        let (score, pattern) = match alarm {
            true => (1.0, format!("{} bytes again", now.bytes)),
            false => (0.0, String::new()),
        };
        Suspicion { score, alarm, pattern, period: 1, iterations: 2, ..Suspicion::default() }
    }

    fn learn(&mut self, now: &Sketch) {
        self.before = Some(now.bytes);
    }

    fn start_over(&mut self) {
        self.before = None;
    }
}

#[test]
fn a_detector_fits_into_one_file_and_its_findings_are_recorded_like_those_of_the_others() {
    use ralph_core::event::{AgentExited, Event, Exit, IterationFinished, Outcome};
    use ralph_core::ids::IterationNumber;
    use ralph_core::plan::StuckPlan;

    assert!(DetectorDef::find("sample").is_some(), "`ralph detect --detector` knows its name");
    let plan = StuckPlan { ignore: vec!["sample detector".to_owned()], ..StuckPlan::default() };
    let mut watch = crate::Watch::new(&plan);
    let mut found = |number: u32, bytes: u64| {
        let iteration = IterationNumber(number);
        let exited = AgentExited::new(iteration, 1, Exit::Code(0));
        let evidence = watch.look(&exited, Some(Box::new(Sketch { bytes, ..Sketch::default() })));
        watch.apply(&Event::IterationFinished(IterationFinished::new(iteration, 1, Outcome::Ok)));
        evidence.expect("evidence").findings.into_iter().find(|finding| finding.detector == DEF.key)
    };
    assert_eq!([found(1, 7), found(2, 8)], [None, None]);
    let finding = found(3, 8).expect("a finding");
    assert_eq!((finding.alarm, finding.role, finding.pattern.as_str()), (true, Use::Stop, "8 bytes again"));
    let report = finding.circle.expect("a report, since the alarm ends the run");
    assert_eq!(report.iterations.iter().map(|it| it.iteration.0).collect::<Vec<_>>(), [2, 3]);
}
