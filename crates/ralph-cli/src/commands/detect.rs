//! `ralph detect`: tries the detectors of stuck runs on what has been recorded.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use ralph_core::event::Event;
use ralph_core::plan::{AgentPlan, Plan, StuckPlan, Task, Use};
use ralph_evidence::Rehearsal;
use ralph_evidence::detector::{Case, DETECTORS, Detector, DetectorDef, Ignore, Prediction};
use ralph_runtime::sketches::Sketches;
use ralph_ui::detect::Looked;

use super::{each_record, pick};
use crate::args::DetectArgs;
use crate::error::CliError;
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
        seen.extend(looked.map(|one| Looked::new(one.iteration, one.hat, one.findings)));
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
        let lines: Vec<String> =
            seen.iter().map(serde_json::to_string).collect::<Result<_, _>>().map_err(io::Error::from)?;
        crate::io::print(&lines.join("\n"))?;
    } else {
        let text = ralph_ui::detect::render(&run.id.0, &seen, &plan, &crate::io::style());
        crate::io::print(text.trim_end())?;
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

/// A file of cases.
fn on_cases(cases: &Path, args: &DetectArgs) -> Result<u8, CliError> {
    let name = cases.display();
    let file = File::open(cases)
        .map_err(|error| CliError::Usage(format!("cannot open the cases {name}: {error}")))?;
    let def = match args.detector.as_deref() {
        // The one that decides comes first.
        None => DETECTORS.first(),
        Some(key) => DetectorDef::find(key),
    };
    let def = def.ok_or_else(|| CliError::Usage("there is no detector of this name".to_owned()))?;
    let nothing = Plan::new("cases", ".", Task::Text(String::new()), AgentPlan::command("none"));
    let plan = settings(&nothing, &args.sets)?;
    let ignore = Ignore::new(&plan.ignore);
    let mut out = BufWriter::new(io::stdout());
    // One case at a time: a file of them may be larger than memory.
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|error| CliError::Failed(format!("cannot read {name}: {error}")))?;
        if line.trim().is_empty() {
            continue;
        }
        let case: Case = serde_json::from_str(&line)
            .map_err(|error| CliError::Usage(format!("{name}, line {}: not a case: {error}", number + 1)))?;
        let alarm = first_alarm(&case, (def.build)(&plan), &ignore);
        let text = match args.predictions {
            true => {
                let fired_at = alarm.map(|(at, _)| at);
                serde_json::to_string(&Prediction { id: case.id, fired_at }).map_err(io::Error::from)?
            }
            false => match alarm {
                Some((at, why)) => {
                    format!("{}: iteration {} of {}: {why}", case.id, at + 1, case.iterations.len())
                }
                None => format!("{}: no alarm in {} iterations", case.id, case.iterations.len()),
            },
        };
        if writeln!(out, "{text}").is_err() {
            break;
        }
    }
    crate::io::quiet(out.flush())?;
    Ok(0)
}

/// The index of the iteration after which the detector says "stuck", and why.
fn first_alarm(case: &Case, mut detector: Box<dyn Detector>, ignore: &Ignore) -> Option<(usize, String)> {
    case.iterations.iter().map(|iteration| iteration.sketch(ignore)).enumerate().find_map(|(at, sketch)| {
        let finding = detector.look(&sketch);
        detector.learn(&sketch);
        finding.alarm.then_some((at, finding.pattern))
    })
}
