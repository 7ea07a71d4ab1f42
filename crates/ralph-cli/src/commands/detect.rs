//! `ralph detect`: tries the detectors of stuck runs on what has been recorded.

mod cases;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use ralph_core::escalation::Step;
use ralph_core::event::{Event, Finding, LoopAnswer};
use ralph_core::ids::IterationNumber;
use ralph_core::plan::{AgentPlan, Plan, StuckPlan, Task, Use};
use ralph_evidence::detector::{Case, DetectorDef, Ignore, Prediction};
use ralph_evidence::{Rehearsal, Trial, Tried};
use ralph_model::detect::{Judged, JudgedAlarm};
use ralph_runtime::sketches::Sketches;
use ralph_ui::detect::Looked;

use super::{each_record, pick};
use crate::args::DetectArgs;
use crate::error::CliError;
use cases::CaseLines;
use ralph_config::{self as config, Flags};

pub fn detect(args: DetectArgs) -> Result<u8, CliError> {
    match &args.cases {
        Some(cases) => on_cases(cases, &args),
        None => on_run(&args),
    }
}

/// A recorded run, looked at once more.
fn on_run(args: &DetectArgs) -> Result<u8, CliError> {
    let (_, run) = pick(&args.pick)?;
    let mut plan: Option<StuckPlan> = None;
    let mut rehearsal: Option<Rehearsal> = None;
    let mut seen: Vec<Looked> = Vec::new();
    let mut judged = Judged::new(run.id.0.clone());
    let mut sketches = Sketches::of(&run.path);
    each_record(&run, &mut |record| {
        if let Event::RunStarted(started) = &record.event {
            let settings = settings(&started.plan, &args.sets)?;
            if settings.ignore != started.plan.stuck.ignore {
                return Err(CliError::Usage(
                    "`loop_detection.ignore` cannot be tried on a recorded run: it works while the output is read, and \
                     only a sketch of that is kept"
                        .to_owned(),
                ));
            }
            rehearsal = Some(Rehearsal::new(&settings));
            plan = Some(settings);
        }
        let looked = rehearsal
            .as_mut()
            .and_then(|rehearsal| rehearsal.apply(&record.event, |exited| sketches.of_attempt(exited)));
        if let Some(one) = looked {
            judged.iterations = judged.iterations.saturating_add(1);
            take(&mut judged, one.answer);
            seen.push(Looked::new(one.iteration, one.hat, one.findings));
        }
        Ok(())
    })?;
    let Some(plan) = plan else {
        return Err(CliError::Failed(format!("run {} has no beginning", run.id)));
    };
    if let Some(name) = &args.detector {
        let found = seen.iter_mut().filter_map(|one| one.findings.as_mut());
        found.for_each(|found| found.retain(|found| found.detector.as_str() == name));
    }
    if args.json {
        let lines = seen.iter().map(serde_json::to_string).chain([serde_json::to_string(&judged)]);
        let lines: Vec<String> = lines.collect::<Result<_, _>>().map_err(io::Error::from)?;
        crate::io::print(&lines.join("\n"))?;
    } else {
        let text = ralph_ui::detect::render(&run.id.0, &seen, &plan, &crate::io::style());
        crate::io::print(&format!("{}\n\n{}", text.trim_end(), ralph_ui::detect::judged(&judged)))?;
    }
    Ok(0)
}

/// How the run is looked at: as it was, but for what the command line says. Who is switched off is asked all the same.
fn settings(plan: &Plan, sets: &[String]) -> Result<StuckPlan, CliError> {
    let change = |sets: &[String]| config::settings_change(plan, sets, &Flags::default());
    let mut settings = plan.stuck.clone();
    change(sets)?.loop_detection.apply(&mut settings);
    let foreign = |item: &&String| {
        change(std::slice::from_ref(*item)).is_ok_and(|change| !config::is_about_stuck(&change))
    };
    if let Some(item) = sets.iter().find(foreign) {
        let path = item.split_once('=').map_or(item.as_str(), |(path, _)| path);
        return Err(CliError::Usage(format!(
            "`--set {path}` has nothing to do with stuck detection; its keys are those of `loop_detection` and \
             `event_loop.similarity_…`"
        )));
    }
    settings.enabled = true;
    for one in [&mut settings.similarity, &mut settings.signature] {
        if *one == Use::Off {
            *one = Use::Evidence;
        }
    }
    Ok(settings)
}

/// The alarms that something would have been done about.
fn take(judged: &mut Judged, step: Option<Step>) {
    if let Some(Step { iteration, action, finding }) = step.filter(|step| step.finding.alarm) {
        let Finding { detector, pattern, .. } = finding;
        judged.take(JudgedAlarm { iteration, action, detector, pattern });
    }
}

/// A file of cases.
fn on_cases(cases: &Path, args: &DetectArgs) -> Result<u8, CliError> {
    let def = match args.detector.as_deref() {
        None => None,
        Some(key) => Some(
            DetectorDef::find(key)
                .ok_or_else(|| CliError::Usage("there is no detector of this name".to_owned()))?,
        ),
    };
    let nothing = Plan::new("cases", ".", Task::Text(String::new()), AgentPlan::command("none"));
    let plan = settings(&nothing, &args.sets)?;
    let mut lines = CaseLines::open(cases)?;
    let mut out = BufWriter::new(io::stdout());
    let mut known = false;
    while let Some(case) = lines.next_case()? {
        let text = match &args.explain {
            Some(id) if *id != case.id => continue,
            Some(_) => {
                known = true;
                explained(&case, &plan)
            }
            None => {
                // Another detector than the one that decides is asked for its first alarm alone.
                let judged = match def.filter(|def| (def.role)(&plan) != Use::Decide) {
                    Some(def) => first_alarm(&case, def, &plan),
                    None => judge(&case, &plan),
                };
                line(&judged, args)?
            }
        };
        if writeln!(out, "{text}").is_err() {
            return Ok(0);
        }
    }
    crate::io::quiet(out.flush())?;
    match args.explain.as_ref().filter(|_| !known) {
        Some(id) => Err(CliError::Usage(format!("{}: there is no case `{id}`", cases.display()))),
        None => Ok(0),
    }
}

fn line(judged: &Judged, args: &DetectArgs) -> Result<String, CliError> {
    let index = |alarm: &Option<JudgedAlarm>| alarm.as_ref().map(|alarm| alarm.iteration.0 as usize - 1);
    let text = match (args.predictions, args.json) {
        (true, _) => serde_json::to_string(&Prediction {
            id: judged.id.clone(),
            fired_at: index(&judged.first_alarm),
            stop_at: index(&judged.stop),
        }),
        (_, true) => serde_json::to_string(judged),
        _ => Ok(ralph_ui::detect::judged(judged)),
    };
    Ok(text.map_err(io::Error::from)?)
}

/// A case as a run of its iterations would have gone.
fn judge(case: &Case, plan: &StuckPlan) -> Judged {
    let (mut judged, mut trial) = (Judged::new(case.id.clone()), Trial::new(plan));
    for iteration in &case.iterations {
        judged.iterations = judged.iterations.saturating_add(1);
        take(&mut judged, trial.next(iteration).answer);
    }
    judged
}

/// The iteration after which this detector says "stuck" first, and why.
fn first_alarm(case: &Case, def: &DetectorDef, plan: &StuckPlan) -> Judged {
    let (mut detector, ignore) = ((def.build)(plan), Ignore::new(&plan.ignore));
    let mut judged = Judged::new(case.id.clone());
    for iteration in &case.iterations {
        judged.iterations = judged.iterations.saturating_add(1);
        let sketch = iteration.sketch(&ignore);
        let found = detector.look(&sketch);
        detector.learn(&sketch);
        if found.alarm {
            let (detector, pattern) = (def.key.clone(), found.pattern);
            let iteration = IterationNumber(judged.iterations);
            judged.take(JudgedAlarm { iteration, action: LoopAnswer::Warn, detector, pattern });
        }
    }
    judged
}

/// What every iteration of a case comes to.
fn explained(case: &Case, plan: &StuckPlan) -> String {
    let mut trial = Trial::new(plan);
    let seen: Vec<_> = case
        .iterations
        .iter()
        .map(|iteration| {
            let Tried { evidence, answer } = trial.next(iteration);
            (evidence, answer.map(|step| (step.action, step.finding.alarm)))
        })
        .collect();
    ralph_ui::detect::explained(&case.id, &seen)
}
