//! `ralph run`

use ralph_core::ids::IterationNumber;
use ralph_core::plan::{Plan, Task};
use ralph_core::prompt::{self, Draft};
use ralph_core::view::View;
use ralph_runtime::process::resolve_program;
use ralph_runtime::session::Session;
use ralph_runtime::store::Store;

use super::{screen, workspace};
use crate::args::RunArgs;
use crate::config::{self, Env, Flags, Loaded, Sources};
use crate::error::CliError;

pub fn run(args: RunArgs) -> Result<u8, CliError> {
    let mut sources = Sources::new(workspace(&args.at.workspace)?);
    sources.target = args.target;
    sources.sets = args.sets;
    sources.env = Env::from_process();
    sources.flags = Flags {
        prompt: args.prompt,
        prompt_file: args.prompt_file,
        agent: args.agent,
        max_iterations: args.limits.max_iterations,
        max_runtime: args.limits.max_runtime,
        max_cost: args.limits.max_cost,
        iteration_timeout: args.limits.iteration_timeout,
        delay: args.delay,
        stop_on_error: args.limits.stop_on_error,
        once: args.once,
    };
    let loaded = config::load(&sources)?;
    check_agent(&loaded)?;
    let log_dir = args.log_dir.map(std::path::absolute).transpose()?;
    let is_root = rustix::process::geteuid().is_root();
    let plan = loaded.to_plan(log_dir, is_root)?;
    if args.dry_run {
        return dry_run(&plan);
    }
    let store = Store::from_env()?;
    let session = Session::create(&store, plan)?;
    let screen = screen::open(&args.screen, View::default())?;
    let stopped = session.work(crate::VERSION, None, &mut |record| screen.send(record));
    screen.finish();
    super::clean::keep_quota(&store);
    Ok(stopped?.exit_code)
}

/// A missing agent is a mistake in the definition as long as nothing has been started.
pub fn check_agent(loaded: &Loaded) -> Result<(), CliError> {
    let path = std::env::var_os("PATH");
    match resolve_program(&loaded.agent.program, &loaded.workspace, path.as_deref()) {
        Ok(_) => Ok(()),
        Err(error) => {
            let help = "the agent is looked up from the workspace; install it, or give its path with -a";
            Err(loaded.error_at(loaded.agent_path(), &error.to_string(), Some(help)).into())
        }
    }
}

fn dry_run(plan: &Plan) -> Result<u8, CliError> {
    let task = match &plan.task {
        Task::Text(text) => text.clone(),
        Task::File(path) => std::fs::read_to_string(path)?,
        Task::RalphMd(path) => ralph_core::ralph_md::body(&std::fs::read_to_string(path)?),
    };
    let draft = Draft { iteration: Some(IterationNumber(1)), ..Draft::default() };
    let plan_json = serde_json::to_string_pretty(plan).unwrap_or_default();
    let prompt = prompt::render(plan, &draft, &task);
    crate::io::print(&format!("The plan:\n\n{plan_json}\n\nThe first prompt:\n\n{prompt}"))?;
    Ok(0)
}
