//! One file per subcommand.

mod attach;
mod background;
mod check;
mod clean;
mod control;
mod cost;
mod demo;
mod detect;
mod doctor;
mod emit;
mod events;
mod gates;
mod graph;
mod held_out;
mod keyboard;
mod list;
mod logs;
mod machine;
mod net;
mod presets;
mod replay;
mod resume;
mod run;
mod screen;
mod show;
mod wait;
mod work;

use std::path::{Path, PathBuf};

use ralph_core::record::Record;
use ralph_core::time::Timestamp;
use ralph_model::{Fold, RunSnapshot};
use ralph_store::{ALL, RunDir, Store};

use crate::args::{Args, Command, PickArgs};
use crate::error::CliError;

pub fn dispatch(args: Args) -> Result<u8, CliError> {
    match args.command {
        Command::Run(args) => run::run(*args),
        Command::Resume(args) => resume::resume(args),
        Command::Attach(args) => attach::attach(args),
        Command::Wait(args) => wait::wait(args),
        Command::List(args) => list::list(args),
        Command::Cost(args) => cost::cost(args),
        Command::Status(args) => show::status(args),
        Command::Events(args) => events::events(args),
        Command::Logs(args) => logs::logs(args),
        Command::Explain(args) => show::explain(args),
        Command::Replay(args) => replay::replay(args),
        Command::Stop(args) => control::stop(args),
        Command::Diff(args) => net::diff::diff(args),
        Command::Undo(args) => net::undo::undo(args),
        Command::Bisect(args) => net::bisect::bisect(args),
        Command::Pause(args) => control::pause(args),
        Command::Unpause(args) => control::unpause(args),
        Command::Say(args) => control::say(args),
        Command::Clean(args) => clean::clean(args),
        Command::Emit(args) => emit::emit(args),
        Command::Detect(args) => detect::detect(args),
        Command::Check(args) => check::check(args),
        Command::Gates(args) => gates::gates(args),
        Command::Doctor(args) => doctor::doctor(args),
        Command::Graph(args) => graph::graph(args),
        Command::Init(args) => presets::init(args),
        Command::Presets(args) => presets::presets(args),
        Command::Demo(args) => demo::demo(args),
        Command::DemoAgent => demo::agent(),
        Command::Schema(args) => {
            match (args.events, args.snapshot) {
                (true, _) => crate::io::print_json(&ralph_model::schema::events())?,
                (_, true) => crate::io::print_json(&ralph_model::schema::snapshot())?,
                (false, false) => crate::io::print_json(ralph_config::schema())?,
            }
            Ok(0)
        }
        Command::Doc { name } => {
            let text = crate::docs::table(&name)
                .ok_or_else(|| CliError::Usage(format!("there is no generated text called `{name}`")))?;
            crate::io::print(text.trim_end())?;
            Ok(0)
        }
    }
}

/// The workspace by its one true name, so that two ways to write it mean the same run.
fn workspace(dir: &Path) -> Result<PathBuf, CliError> {
    let path = dir
        .canonicalize()
        .map_err(|error| CliError::Usage(format!("cannot open the workspace {}: {error}", dir.display())))?;
    if !path.is_dir() {
        return Err(CliError::Usage(format!("the workspace {} is not a folder", dir.display())));
    }
    writable_name("workspace", &path)?;
    Ok(path)
}

/// Records and what programs read are JSON, which is UTF-8.
pub fn writable_name(what: &str, path: &Path) -> Result<(), CliError> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(CliError::Usage(format!(
            "the name of the {what} {path:?} is not UTF-8, so a run in it could not be written down\n\
             rename it, or mount it under another name: a link is not enough"
        ))),
    }
}

fn pick(args: &PickArgs) -> Result<(Store, RunDir), CliError> {
    let store = Store::from_env()?;
    let run = store.find(args.run.as_deref(), &workspace(&args.at.workspace)?)?;
    Ok((store, run))
}

/// Gives every record of a journal to `visit`, alive or not. A line that is still being written is left out; one that can
/// not be read ends it with an error.
fn each_record(run: &RunDir, visit: &mut dyn FnMut(Record) -> Result<(), CliError>) -> Result<(), CliError> {
    run.each_record(ALL, visit)
}

/// What a run is now, from all of its records.
fn snapshot(run: &RunDir, now: Timestamp) -> Result<RunSnapshot, CliError> {
    let mut fold = Fold::default();
    each_record(run, &mut |record| {
        fold.apply(&record);
        Ok(())
    })?;
    let snapshot = fold.snapshot(now, run.is_live());
    let snapshot =
        snapshot.ok_or_else(|| CliError::Failed(format!("nothing is recorded of run {}", run.id)))?;
    held_out::veiled(run, snapshot)
}
