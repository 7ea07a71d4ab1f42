//! A run that goes in circles, from what its agent says to what is done about it: detectors and engine together.

use std::collections::BTreeMap;
use std::time::Duration;

use ralph_core::effect::{Effect, SpawnAgent, Step};
use ralph_core::engine::Engine;
use ralph_core::event::{
    AgentExited, DelayReason, Event, Exit, FORMAT, FilesChanged, Guidance, LoopAnswer, LoopDetected,
    RunResumed, RunStarted, RunStopped, StopHow, StopRequest, TimerId, TimerSlot,
};
use ralph_core::hat::{HatPlan, HatsPlan};
use ralph_core::ids::{RunId, Seq};
use ralph_core::input::{Command, Input, Report};
use ralph_core::marker::AgentState;
use ralph_core::plan::{AgentPlan, Plan, SettingsChange, StuckAction, StuckChange, StuckPlan, Task, Use};
use ralph_core::record::Record;
use ralph_core::replay::Folder;
use ralph_core::stop::Interrupt;
use ralph_core::time::Timestamp;
use ralph_evidence::Watch;
use ralph_evidence::detector::{Sketch, Sketcher};

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn plan() -> Plan {
    Plan::new("test", "/w", Task::Text("task".into()), AgentPlan::command("agent"))
}

/// An engine, the watch beside it, its clock, its journal and the sketches that were kept.
struct Run {
    engine: Engine,
    watch: Watch,
    plan: StuckPlan,
    now: Timestamp,
    journal: Vec<Record>,
    sketches: BTreeMap<(u32, u32), Sketch>,
    last: Step,
    /// The attempt that was started last.
    spawned: Option<SpawnAgent>,
    /// The wait that is on.
    waits: Option<(TimerId, DelayReason, Duration)>,
}

impl Run {
    fn new(plan: Plan) -> Run {
        let now = Timestamp::from_millis(1_768_730_400_000);
        let (watch, stuck) = (Watch::new(&plan.stuck), plan.stuck.clone());
        let run = RunId("run".into());
        let started =
            RunStarted { run, format: FORMAT, version: "0".into(), pid: 1, plan, containment: None };
        let (engine, step) = Engine::start(now, started);
        let mut run = Run {
            engine,
            watch,
            plan: stuck,
            now,
            journal: Vec::new(),
            sketches: BTreeMap::new(),
            last: Step::default(),
            spawned: None,
            waits: None,
        };
        run.record(step);
        run
    }

    fn record(&mut self, step: Step) {
        let mut delay = None;
        for event in &step.events {
            let seq = Seq(self.journal.len() as u64 + 1);
            self.watch.apply(event);
            self.journal.push(Record { seq, at: self.now, event: event.clone() });
            match event {
                Event::DelayStarted(started) => delay = Some((started.reason, started.wait)),
                Event::DelayEnded { .. } => self.waits = None,
                _ => {}
            }
        }
        for effect in &step.effects {
            match effect {
                Effect::SpawnAgent(spawn) => self.spawned = Some(spawn.clone()),
                Effect::StartTimer { timer, .. } if timer.slot == TimerSlot::Wait => {
                    self.waits = delay.map(|(reason, wait)| (timer.clone(), reason, wait));
                }
                _ => {}
            }
        }
        self.last = step;
    }

    /// Gives the names of what was recorded.
    fn send(&mut self, input: impl Into<Input>) -> Vec<&'static str> {
        let step = self.engine.handle(self.now, input.into());
        self.record(step);
        self.last.events.iter().map(Event::name).collect()
    }

    /// An agent ends; the detectors look at what it said.
    fn exits(&mut self, mut exited: AgentExited, sketch: Sketch) -> Vec<&'static str> {
        self.sketches.insert((exited.iteration.0, exited.attempt), sketch.clone());
        exited.evidence = self.watch.look(&exited, Some(Box::new(sketch))).map(Box::new);
        self.send(Report::AgentExited(Box::new(exited)))
    }

    /// ralph dies; only the first `kept` records and the sketches are left. Nothing goes on yet.
    fn crash(&mut self, kept: usize) {
        self.journal.truncate(kept);
        self.engine = self.journal.iter().collect::<Folder>().into_engine().unwrap();
        self.watch = Watch::new(&self.plan);
        for record in &self.journal {
            let kept = |exited: &AgentExited| self.sketches.get(&(exited.iteration.0, exited.attempt));
            self.watch.replay(&record.event, |exited| kept(exited).cloned().map(Box::new));
        }
    }

    fn resume(&mut self) -> Vec<&'static str> {
        let resumed = RunResumed::new("0", 2, SettingsChange::default());
        self.send(Command::ResumeRun(Box::new(resumed)))
    }

    fn crash_and_resume(&mut self) -> Vec<&'static str> {
        self.crash(self.journal.len());
        self.resume()
    }

    /// Nothing once the run goes on.
    fn stopped(&self) -> Option<&RunStopped> {
        let last = self.journal.iter().rev().find_map(|record| match &record.event {
            Event::RunStopped(stopped) => Some(Some(stopped)),
            Event::RunResumed(_) => Some(None),
            _ => None,
        });
        last.flatten()
    }

    fn stop_reason(&self) -> Option<(&str, u8)> {
        self.stopped().map(|stopped| (stopped.reason.as_str(), stopped.exit_code))
    }

    fn finished(&self) -> usize {
        self.scores().len()
    }
}

const ERROR: &str = "$ make check\nsrc/orbit.c:14: error: 'tally_orbit' undeclared\nmake: *** Error 1\n";

const WORK: [&str; 8] = [
    "Moved load_ledger into src/ledger.rs and wrote tests/ledger.rs for it.",
    "The harbor sync in src/harbor.rs retries thrice now; see sync_harbor.",
    "Renamed quarry_rank to rank_quarry across lib/quarry/*.py and fixed the imports.",
    "Documented the --frost flag in docs/frost.md with two worked examples.",
    "Parser: tokens of kind Comma no longer swallow the newline in parse_list().",
    "Added migration 0042_add_meadow.sql, and a rollback for it.",
    "Cache keys in web/cache.ts include the tenant; stale_pages is gone.",
    "Benchmarked encode_delta: the lookup table beats the match by far.",
];

fn stuck_plan(change: impl FnOnce(&mut StuckPlan)) -> Plan {
    let mut stuck = StuckPlan::default();
    change(&mut stuck);
    Plan { stuck, ..plan() }
}

impl Run {
    /// The agent says this, changes nothing, and ends well.
    fn says(&mut self, text: &str) -> Vec<&'static str> {
        self.ends(text, |_| {})
    }

    /// The agent says this and changes nothing; `how` it ends besides.
    fn ends(&mut self, text: &str, how: impl FnOnce(&mut AgentExited)) -> Vec<&'static str> {
        self.now = self.now.plus(secs(1));
        let mut sketcher = Sketcher::new();
        sketcher.push(text.as_bytes());
        let spawn = self.spawned.as_ref().expect("an agent was started");
        let mut exited = AgentExited {
            files: Some(FilesChanged::default()),
            duration: secs(1),
            ..AgentExited::new(spawn.iteration, spawn.attempt, Exit::Code(0))
        };
        how(&mut exited);
        self.exits(exited, sketcher.finish())
    }

    fn brings(&mut self, n: usize) {
        self.says(WORK[n]);
    }

    fn detected(&self) -> Vec<&LoopDetected> {
        let found = self.journal.iter().filter_map(|record| match &record.event {
            Event::LoopDetected(detected) => Some(&**detected),
            _ => None,
        });
        found.collect()
    }

    fn told(&self) -> bool {
        let mut effects = self.last.effects.iter();
        let prompt = effects.find_map(|effect| match effect {
            Effect::SpawnAgent(spawn) => Some(spawn.prompt.feedback.stuck.is_some()),
            _ => None,
        });
        prompt.expect("an agent was started")
    }

    fn scores(&self) -> Vec<Option<f64>> {
        let scores = self.journal.iter().filter_map(|record| match &record.event {
            Event::IterationFinished(finished) => Some(finished.stuck_score),
            _ => None,
        });
        scores.collect()
    }
}

#[test]
fn the_third_time_is_told_and_if_that_does_not_help_the_run_stops() {
    let mut run = Run::new(stuck_plan(|_| {}));
    run.brings(0);
    run.says(ERROR);
    assert!(run.says(ERROR).contains(&"loop.suspected"), "the outputs are alike");
    assert!(!run.told());
    let names = run.says(ERROR);
    assert!(names.contains(&"loop.detected") && names.contains(&"iteration.started"), "{names:?}");
    assert!(run.told(), "the next prompt carries the evidence");
    let scores: Vec<f64> = run.scores().into_iter().map(|score| score.expect("a score")).collect();
    assert!(scores[..2] == [0.0, 0.0] && scores[2] < 0.6 && scores[3] > 0.9, "{scores:?}");
    run.says(ERROR);
    assert!(run.told(), "nothing new came of it: it is told once more, and more strongly");
    run.says(ERROR);
    assert_eq!(run.stop_reason(), Some(("output_similarity", 1)));
    let mut detected = run.detected();
    let unheeded = detected.remove(1);
    assert_eq!((unheeded.action, unheeded.unheeded), (LoopAnswer::Demand, true));
    assert_eq!(unheeded.iterations.iter().map(|one| one.iteration.0).collect::<Vec<_>>(), [2, 3, 4, 5]);
    let seen = |n: usize| detected[n].iterations.iter().map(|one| one.iteration.0).collect::<Vec<_>>();
    assert_eq!((detected.len(), seen(0), seen(1)), (2, vec![2, 3, 4], vec![4, 5, 6]));
    assert_eq!([detected[0].action, detected[1].action], [LoopAnswer::Redirect, LoopAnswer::Stop]);
    assert_eq!((detected[0].period, detected[0].similarity), (1, Some(1.0)));
    assert!(
        detected[0].unchanged.contains(&"no file changed after #2".to_owned()),
        "{:?}",
        detected[0].unchanged
    );
    assert!(detected[0].pattern.contains("3rd time") && detected[1].pattern.contains("5th time"));
    assert!(detected[0].unchanged.iter().any(|same| same.contains("tally_orbit")));
    assert!(detected[1].options.iter().any(|option| option.command == "ralph resume run"));
}

#[test]
fn without_alike_lines_the_reason_is_the_loop_itself() {
    let mut run = Run::new(stuck_plan(|stuck| stuck.action = StuckAction::Stop));
    run.brings(0);
    for lead in ["Let me look at this again.", "Hm.", "I will run the check once more.", "One more time."] {
        if run.stop_reason().is_none() {
            run.says(&format!("{lead}\n{ERROR}"));
        }
    }
    assert_eq!(run.stop_reason(), Some(("loop_detected", 1)));
    assert!(run.stopped().unwrap().message.contains("detector no_progress"));
}

#[test]
fn a_run_that_gets_out_of_its_circle_has_its_redirects_back() {
    let mut run = Run::new(stuck_plan(|_| {}));
    run.brings(0);
    (0..3).for_each(|_| drop(run.says(ERROR)));
    assert_eq!(run.detected().len(), 1);
    (1..4).for_each(|n| run.brings(n));
    let other = "ERROR in web/cache.ts: stale_tenant is not a function\nexit status 2\n";
    (0..3).for_each(|_| drop(run.says(other)));
    let actions: Vec<LoopAnswer> = run.detected().iter().map(|detected| detected.action).collect();
    assert_eq!(actions, [LoopAnswer::Redirect, LoopAnswer::Redirect]);
    assert_eq!(run.stop_reason(), None);
}

#[test]
fn what_others_are_in_charge_of_is_no_evidence() {
    let mut run = Run::new(stuck_plan(|_| {}));
    run.brings(0);
    for _ in 0..4 {
        run.ends(ERROR, |exited| exited.exit = Exit::Code(1));
        run.unwait();
        run.ends("There is nothing to do.", |exited| exited.state = Some(AgentState::Idle));
        run.ends("Waiting for the build.", |exited| exited.delay = Some(secs(5)));
        run.unwait();
    }
    assert!(run.scores()[1..].iter().all(Option::is_none), "{:?}", run.scores());
    assert!(run.detected().is_empty() && run.stop_reason().is_none());
}

impl Run {
    fn unwait(&mut self) {
        if let Some((timer, _, wait)) = self.waits.take() {
            self.now = self.now.plus(wait);
            self.send(Report::TimerFired(timer));
        }
    }
}

#[test]
fn each_action_does_what_it_says() {
    let circle = |action| {
        let mut run = Run::new(stuck_plan(|stuck| stuck.action = action));
        run.brings(0);
        (0..3).for_each(|_| drop(run.says(ERROR)));
        run
    };
    assert_eq!(circle(StuckAction::Stop).stop_reason(), Some(("output_similarity", 1)));
    let mut warned = circle(StuckAction::Warn);
    assert!(!warned.told());
    (0..20).for_each(|_| drop(warned.says(ERROR)));
    assert_eq!(warned.stop_reason(), None);
    assert!(warned.detected().len() > 5 && warned.detected().iter().all(|it| it.action == LoopAnswer::Warn));

    let mut asked = circle(StuckAction::Ask);
    assert!(asked.last.events.iter().any(|event| event.name() == "run.paused"));
    assert_eq!(asked.send(Command::ReviewLoop), ["loop.reviewed"]);
    let names = asked.send(Command::UnpauseRun { now: false });
    assert_eq!(names, ["unpause.requested", "run.unpaused", "iteration.started"]);
    assert!(asked.told(), "the person has chosen a different approach");
    let mut answered = circle(StuckAction::Ask);
    let guidance = Guidance { text: "Read the linker's manual.".to_owned() };
    let names = answered.send(Command::AddGuidance(guidance));
    assert_eq!(names[..3], ["guidance.added", "run.unpaused", "iteration.started"]);
    let mut cancelled = circle(StuckAction::Ask);
    cancelled.send(Command::StopRun(StopRequest { how: StopHow::AfterIteration, by: Interrupt::Int }));
    assert_eq!(cancelled.stop_reason(), Some(("interrupted", 130)));
    let mut killed = circle(StuckAction::Ask);
    killed.crash_and_resume();
    assert!(killed.told(), "who resumes has chosen as well");
}

#[test]
fn a_detector_can_end_the_run_by_itself_or_be_off() {
    let mut similar = Run::new(stuck_plan(|stuck| stuck.similarity = Use::Stop));
    similar.says("one\ntwo\n");
    similar.says("one\ntwo\n");
    assert_eq!(similar.stop_reason(), Some(("output_similarity", 1)));
    assert_eq!(similar.detected()[0].detector.as_str(), "similarity");

    let mut signed = Run::new(stuck_plan(|stuck| stuck.signature = Use::Stop));
    let tests =
        |word: &str| format!("{word}\nFAILED tests/test_orbit.py::test_tally - assert 3 == 4\n1 failed\n");
    ["First", "Second", "Third"].iter().for_each(|word| drop(signed.says(&tests(word))));
    assert_eq!(signed.stop_reason(), Some(("repeated_signature", 1)));
    assert_eq!(signed.detected()[0].detector.as_str(), "signature");
    let mut signed = Run::new(stuck_plan(|stuck| stuck.signature = Use::Stop));
    (0..3).for_each(|_| drop(signed.says(ERROR)));
    assert_eq!(signed.stop_reason(), Some(("repeated_signature", 1)), "though the outputs are alike, too");

    let off = |stuck: &mut StuckPlan| (stuck.similarity, stuck.signature) = (Use::Off, Use::Off);
    let mut quiet = Run::new(stuck_plan(off));
    (0..2).for_each(|_| drop(quiet.says(ERROR)));
    assert!(!quiet.journal.iter().any(|record| record.event.name() == "loop.suspected"));
    let mut blind = Run::new(stuck_plan(|stuck| stuck.enabled = false));
    (0..20).for_each(|_| drop(blind.says(ERROR)));
    assert_eq!((blind.stop_reason(), blind.scores()[19]), (None, None));
}

#[test]
fn circles_of_two_are_found_and_patience_waits_longer() {
    let (here, there) =
        ("Edit src/orbit.c: use tally_orbit.\n", "Revert src/orbit.c: tally_orbit breaks it.\n");
    let rounds = |patience| {
        let mut run = Run::new(stuck_plan(|stuck| {
            (stuck.action, stuck.patience) = (StuckAction::Stop, patience);
        }));
        run.brings(0);
        let mut said = 0;
        while run.stop_reason().is_none() && said < 40 {
            run.says(if said % 2 == 0 { here } else { there });
            said += 1;
        }
        let period = run.detected().last().map(|detected| detected.period);
        (said, period)
    };
    assert_eq!(rounds(0), (5, Some(2)), "with its third time around");
    assert_eq!(rounds(3), (8, Some(2)));
}

#[test]
fn a_person_who_resumes_or_speaks_gives_the_run_a_fresh_start() {
    let mut run = Run::new(stuck_plan(|stuck| stuck.action = StuckAction::Stop));
    run.brings(0);
    (0..3).for_each(|_| drop(run.says(ERROR)));
    assert!(run.stop_reason().is_some());
    run.resume();
    assert_eq!(run.stop_reason(), None);
    run.says(ERROR);
    run.send(Command::AddGuidance(Guidance { text: "Look at the header.".to_owned() }));
    run.says(ERROR);
    assert_eq!(run.stop_reason(), None, "counted from the guidance on");
    run.says(ERROR);
    assert!(run.stop_reason().is_some());
    let off = StuckChange { enabled: Some(false), ..StuckChange::default() };
    let resumed =
        RunResumed::new("0", 2, SettingsChange { loop_detection: off, ..SettingsChange::default() });
    run.send(Command::ResumeRun(Box::new(resumed)));
    (0..9).for_each(|_| drop(run.says(ERROR)));
    assert_eq!(run.stop_reason(), None, "detection was switched off");
}

#[test]
fn a_service_that_does_not_work_is_waited_for_and_no_circle() {
    let mut run = Run::new(stuck_plan(|stuck| stuck.action = StuckAction::Stop));
    run.brings(0);
    let mut waits = Vec::new();
    for _ in 0..5 {
        let names = run.says("API Error: 529 Overloaded. Please try again later.\n");
        assert_eq!(names.last(), Some(&"delay.started"), "{names:?}");
        waits.extend(run.waits.as_ref().map(|(_, reason, wait)| (*reason, wait.as_secs())));
        run.unwait();
    }
    assert_eq!(waits, [10, 20, 40, 80, 160].map(|wait| (DelayReason::Outage, wait)));
    assert!(run.detected().is_empty() && run.stop_reason().is_none());
    assert!(!run.says(WORK[1]).contains(&"delay.started"), "it works again");
}

#[test]
fn work_on_limits_is_no_outage_and_neither_is_a_change_of_files() {
    let mut run = Run::new(stuck_plan(|stuck| stuck.action = StuckAction::Stop));
    run.brings(0);
    for _ in 0..3 {
        run.says("The rate limit test in auth.ts still fails the same way.\n");
    }
    assert!(run.stop_reason().is_some(), "a circle about limits is one");
    let mut run = Run::new(stuck_plan(|_| {}));
    for n in 0..3 {
        let files = FilesChanged { count: 1, paths: vec![format!("src/{n}.rs")], digest: None };
        let names = run.ends("The service is overloaded.\n", |exited| exited.files = Some(files));
        assert!(!names.contains(&"delay.started"));
    }
}

#[test]
fn an_outage_leaves_what_was_counted_and_what_is_to_be_told() {
    let outage = "API Error: 529 Overloaded. Please try again later.\n";
    let mut run = Run::new(stuck_plan(|stuck| stuck.similarity = Use::Stop));
    run.brings(0);
    for _ in 0..4 {
        run.says(outage);
        run.unwait();
    }
    assert_eq!(run.stop_reason(), None, "alike, and still no reason to stop");
    let mut run = Run::new(stuck_plan(|_| {}));
    run.brings(0);
    (0..3).for_each(|_| drop(run.says(ERROR)));
    for _ in 0..3 {
        run.says(outage);
        run.unwait();
        assert!(run.told(), "nobody could do anything about it yet");
    }
    assert_eq!(run.detected().len(), 1);
    (0..2).for_each(|_| drop(run.says(ERROR)));
    assert!(run.stop_reason().is_some(), "it is the second alarm");
}

#[test]
fn few_words_over_files_that_are_new_each_time_end_a_run_late() {
    let terse = |run: &mut Run, n: u32, path: &str, digest: Option<&str>| {
        let digest = Some(digest.map_or(format!("d{n}"), str::to_owned));
        let files = FilesChanged { count: 1, paths: vec![path.to_owned()], digest };
        run.ends("Fixed another one and committed. More remain.\n", |exited| exited.files = Some(files));
    };
    let mut run = Run::new(stuck_plan(|_| {}));
    let ends_after = |run: &mut Run, path: &str, same: Option<&str>| {
        let ends = (0..40).find(|n| {
            terse(run, *n, path, same);
            run.stop_reason().is_some()
        });
        ends.expect("nobody is spared for ever") + 1
    };
    let late = ends_after(&mut run, "src/lib.rs", None);
    let counted: Vec<_> = run.detected().into_iter().filter(|detected| !detected.unheeded).collect();
    let answers: Vec<_> = counted.iter().map(|detected| detected.action).collect();
    assert_eq!(answers, [LoopAnswer::Redirect, LoopAnswer::Demand, LoopAnswer::Stop]);
    for (path, same) in [("notes.md", None), ("src/lib.rs", Some("same"))] {
        let soon = ends_after(&mut Run::new(stuck_plan(|_| {})), path, same);
        assert!(soon < late, "{soon} {late} {path} {same:?}");
    }
}

#[test]
fn a_detector_that_stops_by_itself_does_so_unless_a_person_is_to_be_asked() {
    let three = |action: StuckAction, role: Use| {
        let mut run = Run::new(stuck_plan(|stuck| (stuck.action, stuck.signature) = (action, role)));
        (0..3).for_each(|_| drop(run.says(ERROR)));
        let detected = run.detected().last().map(|last| (last.detector.as_str().to_owned(), last.action));
        (run.stop_reason().map(|(_, code)| code), detected)
    };
    let by = |action: LoopAnswer| Some(("signature".to_owned(), action));
    assert_eq!(three(StuckAction::Warn, Use::Stop), (Some(1), by(LoopAnswer::Stop)));
    assert_eq!(three(StuckAction::Ask, Use::Stop), (None, by(LoopAnswer::Ask)));
    for action in [StuckAction::Warn, StuckAction::Redirect, StuckAction::Stop] {
        assert_eq!(three(action, Use::Ask), (None, by(LoopAnswer::Ask)), "{action:?}");
    }
}

/// The same outputs, with ralph killed at every record on the way: the same alarms at the same iterations.
#[test]
fn a_resumed_run_sees_the_same_evidence_as_an_uninterrupted_one() {
    let script: Vec<&str> =
        [WORK[0], ERROR, WORK[1], ERROR, ERROR, ERROR, WORK[2], ERROR, ERROR, ERROR].into();
    let play = |crash_at: Option<usize>| {
        let mut run = Run::new(stuck_plan(|stuck| stuck.redirects = 3));
        let mut crashed = false;
        while run.stop_reason().is_none() {
            let at = run.finished();
            let Some(text) = script.get(at) else { break };
            run.says(text);
            if let Some(kept) = crash_at.filter(|kept| !crashed && run.journal.len() >= *kept) {
                crashed = true;
                run.crash(kept);
                run.resume();
            }
        }
        let alarms: Vec<_> = run.detected().iter().map(|it| (it.iteration.0, it.pattern.clone())).collect();
        let mut scores: Vec<(u32, Option<f64>)> = Vec::new();
        for record in &run.journal {
            if let Event::IterationFinished(finished) = &record.event {
                scores.push((finished.iteration.0, finished.stuck_score));
            }
        }
        (alarms, scores, run.journal.len())
    };
    let (alarms, scores, records) = play(None);
    // One iteration of work between does not make the same error new.
    let at: Vec<u32> = alarms.iter().map(|(iteration, _)| *iteration).collect();
    assert_eq!(at, [6, 8, 10], "{alarms:?}");
    for kept in 1..records {
        let (again, told, _) = play(Some(kept));
        assert_eq!((&again, &told), (&alarms, &scores), "killed behind record {kept}");
    }
}

#[test]
fn a_stop_whose_record_was_lost_is_decided_again() {
    let mut run = Run::new(stuck_plan(|stuck| stuck.action = StuckAction::Stop));
    run.brings(0);
    (0..3).for_each(|_| drop(run.says(ERROR)));
    let records = run.journal.len();
    assert_eq!(run.journal[records - 1].event.name(), "run.stopped");
    run.crash(records - 1);
    let names = run.resume();
    assert_eq!(names, ["run.resumed", "run.stopped"]);
    assert_eq!(run.stop_reason(), Some(("output_similarity", 1)));
}

#[test]
fn hats_whose_circle_ends_by_itself_are_told_and_not_stopped() {
    let hat = |id: &str, trigger: &str, publishes: &str| HatPlan {
        default_publishes: Some(publishes.parse().unwrap()),
        max_activations: (id == "reviewer").then_some(6),
        ..HatPlan::new(id, vec![trigger.parse().unwrap()], vec![publishes.parse().unwrap()])
    };
    let hats = vec![hat("worker", "task.*", "review.ask"), hat("reviewer", "review.*", "task.redo")];
    let plan = Plan { hats: Some(Box::new(HatsPlan::new(hats))), ..stuck_plan(|_| {}) };
    let mut run = Run::new(plan);
    while run.stop_reason().is_none() {
        run.says(ERROR);
    }
    assert_eq!(run.stop_reason(), Some(("hat_exhausted", 4)));
    let answers: Vec<LoopAnswer> = run.detected().iter().map(|detected| detected.action).collect();
    let tells = |it: &LoopAnswer| matches!(it, LoopAnswer::Redirect | LoopAnswer::Demand);
    assert!(answers.len() > 2 && answers.iter().all(tells), "{answers:?}");
}

#[test]
fn a_crash_between_a_suspicion_and_the_alarm_changes_neither() {
    let mut run = Run::new(stuck_plan(|stuck| stuck.action = StuckAction::Stop));
    run.brings(0);
    (0..3).for_each(|_| drop(run.says(ERROR)));
    let suspected = run.journal.iter().rposition(|record| record.event.name() == "loop.suspected").unwrap();
    let before = run.detected()[0].clone();
    run.crash(suspected + 1);
    assert_eq!(run.resume(), ["run.resumed", "loop.detected", "run.stopped"]);
    assert_eq!((run.detected(), run.stop_reason()), (vec![&before], Some(("output_similarity", 1))));
}

#[test]
fn a_hat_that_wants_to_know_gets_the_report_before_anything_else_is_done() {
    let hat = |id: &str, trigger: &str| HatPlan {
        default_publishes: Some("work.go".parse().unwrap()),
        ..HatPlan::new(id, vec![trigger.parse().unwrap()], vec!["work.go".parse().unwrap()])
    };
    let mut hats = HatsPlan::new(vec![hat("worker", "work.*"), hat("breaker", "loop.detected")]);
    hats.starting_event = "work.start".parse().unwrap();
    let plan = Plan { hats: Some(Box::new(hats)), ..stuck_plan(|stuck| stuck.action = StuckAction::Stop) };
    let mut run = Run::new(plan);
    run.brings(0);
    (0..3).for_each(|_| drop(run.says(ERROR)));
    assert_eq!(run.detected()[0].action, LoopAnswer::HandOff);
    let published = run.journal.iter().rev().find_map(|record| match &record.event {
        Event::TopicPublished(it) if it.topic.as_str() == "loop.detected" => Some(it),
        _ => None,
    });
    let published = published.expect("the topic");
    assert_eq!(published.to, ["breaker"]);
    assert!(published.payload.as_str().contains("tally_orbit"), "{:?}", published.payload);
    let hat = run.spawned.as_ref().and_then(|spawn| spawn.prompt.hat.as_ref());
    assert_eq!(hat.map(|turn| turn.hat.as_str()), Some("breaker"), "before those that go in circles");
    run.says(ERROR);
    assert_eq!(run.stop_reason(), None, "what it says about the circle is no circle");
    (0..2).for_each(|_| drop(run.says(ERROR)));
    assert!(run.stop_reason().is_some(), "the second alarm is not handed off again");
    let message = &run.stopped().unwrap().message;
    assert!(!message.contains("after it was told"), "nobody was told: {message}");
}
