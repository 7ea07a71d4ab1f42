//! `ralph graph`: hats and topics as a picture.

use ralph_core::event::Event;
use ralph_core::hat::{Graph, HatsPlan};
use ralph_store::Store;
use ralph_ui::graph;

use super::{each_record, workspace};
use crate::args::GraphArgs;
use crate::error::CliError;
use ralph_config::{self as config, Env, Sources};

pub fn graph(args: GraphArgs) -> Result<u8, CliError> {
    let picture = match &args.run {
        Some(run) => of_run(&args, Some(run.as_str()).filter(|run| !run.is_empty()))?,
        None => of_definition(&args)?,
    };
    let text = match (args.mermaid, args.svg, args.dot) {
        (true, ..) => graph::mermaid(&picture),
        (_, true, _) => graph::svg(&picture),
        (.., true) => graph::dot(&picture),
        _ => graph::text(&picture, &crate::io::style()),
    };
    crate::io::print(text.trim_end())?;
    Ok(0)
}

fn of_definition(args: &GraphArgs) -> Result<Graph, CliError> {
    let mut sources = Sources::new(workspace(&args.at.workspace)?);
    sources.target = args.target.clone();
    sources.preset = args.preset.clone();
    sources.sets = args.sets.clone();
    sources.env = Env::from_process();
    sources.needs_task = false;
    let loaded = config::load(&sources)?;
    let plan = loaded.to_plan(None, super::machine::is_root())?;
    Ok(Graph::of(hats(plan.hats.as_deref())?))
}

fn of_run(args: &GraphArgs, run: Option<&str>) -> Result<Graph, CliError> {
    let run = Store::from_env()?.find(run, &workspace(&args.at.workspace)?)?;
    let mut graph = None;
    each_record(&run, &mut |record| {
        match (&record.event, &mut graph) {
            (Event::RunStarted(started), _) => {
                let mut first = Graph::of(hats(started.plan.hats.as_deref())?);
                first.counted = true;
                graph = Some(first);
            }
            (Event::TopicPublished(published), Some(graph)) => graph.count(published),
            _ => {}
        }
        Ok(())
    })?;
    graph.ok_or_else(|| CliError::Failed(format!("the journal of run {} is empty", run.id)))
}

fn hats(plan: Option<&HatsPlan>) -> Result<&HatsPlan, CliError> {
    plan.ok_or_else(|| {
        CliError::Usage("there are no hats to draw; `ralph presets` has definitions with some".to_owned())
    })
}
