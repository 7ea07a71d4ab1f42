//! `ralph resume`

use ralph_core::event::Guidance;
use ralph_core::input::{Command, Input};
use ralph_core::observe::Observation;
use ralph_core::plan::{Plan, SettingsChange};
use ralph_core::stop::StopKind;
use ralph_model::{Fold, ROWS};
use ralph_runtime::journal;
use ralph_runtime::session::OpenRun;
use ralph_store::{ReadError, RunDir};

use super::{background, front, pick, work};
use crate::args::{LimitArgs, ResumeArgs};
use crate::error::CliError;
use ralph_config::{self as config, Flags};

/// Records of earlier iterations that are read a second time, so that a resume of a long run begins at once.
const MOST_RECORDS: u64 = 5000;

pub fn resume(args: ResumeArgs) -> Result<u8, CliError> {
    if args.prompt.as_ref().is_some_and(|text| text.trim().is_empty()) {
        return Err(CliError::Usage("there is nothing to add: the text of -p is empty".to_owned()));
    }
    if args.detach && !background::is_detached() {
        return background::start(args.screen.json);
    }
    if !args.detach && front::is_wanted(&args.screen) {
        return front::stand();
    }
    let (store, run) = pick(&args.pick)?;
    super::control::refuse_inside(&run, "resume")?;
    if args.recover && !run.is_live() {
        let copy = journal::recover(&run.path).map_err(|error| CliError::Failed(error.to_string()))?;
        eprintln!("the journal as it was is kept in {}", copy.display());
    }
    for hat in &args.reset_hat {
        super::control::reset_hat(&args.pick, hat)?;
    }
    let mut session = OpenRun::open(&store, run)?;
    if let Some(text) = args.prompt {
        session.note(Input::Command(Command::AddGuidance(Guidance { text })))?;
    }
    let Some(old) = session.observe() else { return Ok(0) };
    let done = old.stopped().filter(|stopped| stopped.kind == StopKind::Done);
    // What a person said and no iteration has heard opens it again.
    if let Some(stopped) = done.filter(|_| old.guidance().is_empty()) {
        let run = &session.run_dir().id;
        let message = format!(
            "run {run} is done: {}; there is nothing to resume\n`ralph resume {run} -p 'AND NOW …'` opens it again",
            stopped.message
        );
        match args.screen.json {
            // Events only, and there is none.
            true => eprintln!("{message}"),
            false => crate::io::print(&message)?,
        }
        return Ok(0);
    }
    let change = changed(old.plan(), &args.sets, args.limits)?;
    if let Some(cut) = session.cut {
        eprintln!("note: {} bytes of an unfinished record were cut from the journal", cut.bytes);
    }
    let fold = recalled(old, session.run_dir());
    let stopped = work::work(session, fold, change, &args.screen);
    super::clean::keep_quota(&store);
    Ok(stopped?.exit_code)
}

/// The run as its screen has to know it: all of it counted, and the newest iterations row by row. What cannot be read is not
/// shown; the counts are right all the same.
fn recalled(old: Observation<'_>, run: &RunDir) -> Fold {
    let mut fold = Fold::from_folder(old.to_folder());
    if let Ok(newest) = run.newest_range(ROWS as u32, MOST_RECORDS) {
        let _ = run.each_record::<ReadError>(newest, &mut |record| {
            fold.recall(&record);
            Ok(())
        });
    }
    fold
}

/// What the command line changes about the plan.
fn changed(plan: &Plan, sets: &[String], args: LimitArgs) -> Result<SettingsChange, CliError> {
    let flags = Flags {
        max_iterations: args.max_iterations,
        max_runtime: args.max_runtime,
        max_cost: args.max_cost,
        iteration_timeout: args.iteration_timeout,
        stop_on_error: args.stop_on_error,
        ..Flags::default()
    };
    Ok(config::settings_change(plan, sets, &flags)?)
}
