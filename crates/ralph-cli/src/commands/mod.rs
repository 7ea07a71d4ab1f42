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
mod front;
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
mod transcript;
mod wait;
mod work;

use std::path::{Path, PathBuf};

use ralph_core::record::Record;
use ralph_core::time::Timestamp;
use ralph_model::{Fold, RunSnapshot};
use ralph_store::{ALL, RunDir, Store};

use crate::args::{Args, PickArgs, SchemaArgs, Subcommand};
use crate::error::CliError;

pub fn dispatch(args: Args) -> Result<u8, CliError> {
    let works = matches!(args.command, Subcommand::Run(_) | Subcommand::Resume(_));
    if let Some(store) = Store::from_env().ok().filter(|_| works) {
        ralph_runtime::log::start(store.log_dir());
    }
    match args.command {
        Subcommand::Run(args) => run::run(*args),
        Subcommand::Resume(args) => resume::resume(args),
        Subcommand::Attach(args) => attach::attach(args),
        Subcommand::Wait(args) => wait::wait(args),
        Subcommand::List(args) => list::list(args),
        Subcommand::Cost(args) => cost::cost(args),
        Subcommand::Status(args) => show::status(args),
        Subcommand::Events(args) => events::events(args),
        Subcommand::Logs(args) => logs::logs(args),
        Subcommand::Explain(args) => show::explain(args),
        Subcommand::Replay(args) => replay::replay(args),
        Subcommand::Stop(args) => control::stop(args),
        Subcommand::Diff(args) => net::diff::diff(args),
        Subcommand::Undo(args) => net::undo::undo(args),
        Subcommand::Bisect(args) => net::bisect::bisect(args),
        Subcommand::Pause(args) => control::pause(args),
        Subcommand::Unpause(args) => control::unpause(args),
        Subcommand::Say(args) => control::say(args),
        Subcommand::Clean(args) => clean::clean(args),
        Subcommand::Emit(args) => emit::emit(args),
        Subcommand::Detect(args) => detect::detect(args),
        Subcommand::Check(args) => check::check(args),
        Subcommand::Gates(args) => gates::gates(args),
        Subcommand::Doctor(args) => doctor::doctor(args),
        Subcommand::Graph(args) => graph::graph(args),
        Subcommand::Init(args) => presets::init(args),
        Subcommand::Presets(args) => presets::presets(args),
        Subcommand::Demo(args) => demo::demo(args),
        Subcommand::DemoAgent => demo::agent(),
        Subcommand::Schema(args) => {
            match args {
                SchemaArgs { events: true, .. } => crate::io::print_json(&ralph_model::schema::events())?,
                SchemaArgs { snapshot: true, .. } => crate::io::print_json(&ralph_model::schema::snapshot())?,
                SchemaArgs { detect: true, .. } => crate::io::print_json(&ralph_model::schema::detect())?,
                SchemaArgs { .. } => crate::io::print_json(ralph_config::schema())?,
            }
            Ok(0)
        }
        Subcommand::Doc { name } => {
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
