//! From files, user config, `--set` and flags to one checked definition.
//!
//! Each layer is read into a tree whose keys and values know where they were written ([`yaml`]). Every layer is checked
//! by itself, then they are laid over one another ([`layers`]) and read into typed settings ([`definition`]) by serde
//! ([`de`]). So an error always has a file, a line, a column and a caret, and `ralph check --show` can tell where each
//! value came from. What keys there are is read from the JSON Schema ([`schema`]), which is derived from the types.

mod agent;
mod agent_plan;
mod commands;
mod de;
mod definition;
mod diagnostic;
mod foreign;
pub mod found;
pub mod gates;
mod hat_def;
mod hats;
mod idle;
mod layers;
mod loop_detection;
mod memory;
mod nearest;
mod placeholders;
mod plan;
mod preflight;
pub mod presets;
mod proof;
mod ralph_md;
mod reader;
mod resume;
mod schema;
mod secrets;
mod show;
mod source;
mod sources;
pub mod target;
mod task;
mod tree;
mod unknown;
mod user_args;
mod validate;
mod words;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;

use ralph_core::plan::Task;

pub use agent::{AgentDef, AgentSpec, CliDef};
pub use agent_plan::{cost_is_known, tokens_are_known};
pub use commands::{CommandDef, Name};
pub use definition::Definition;
pub use diagnostic::{ConfigError, Diagnostic};
pub use layers::Flags;
pub use nearest::nearest;
pub use plan::prices;
pub use preflight::{Machine, Obstacle, ProgramProblem, Ready, preflight};
pub use ralph_md::{RalphMd, parse_ralph_md};
pub use resume::{is_about_stuck, settings_change};
pub use schema::schema;
pub use show::Setting;
pub use source::Place;
pub use sources::{Env, Sources};
pub use user_args::Given;

pub use presets::unknown_preset;

use reader::read_layers;
use target::Kind;
use task::{TaskPlace, explain_no_settings, used_args};
use validate::Settings;

/// A definition that can be run.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub definition: Definition,
    pub agent: AgentSpec,
    pub task: Task,
    /// What the arguments of the ralph are. Nothing: they are not known.
    pub args: Option<BTreeMap<String, String>>,
    /// What the run is called.
    pub name: String,
    /// Absolute.
    pub workspace: PathBuf,
    /// The definition file, absolute, if there is one.
    pub file: Option<PathBuf>,
    /// The preset below it.
    pub preset: Option<String>,
    settings: Settings,
}

impl Loaded {
    /// Every setting with its value and where it came from.
    pub fn settings(&self) -> Vec<Setting> {
        let mut all = show::settings(&self.settings, &self.definition);
        // A file that is found without being named is a value all the same.
        if let (Task::File(path), None) = (&self.task, &self.definition.prompt_file)
            && let Some(one) = all.iter_mut().find(|one| one.path == "prompt_file")
        {
            one.value = Some(path.strip_prefix(&self.workspace).unwrap_or(path).display().to_string());
        }
        all
    }

    /// Whether it is known what the command with this number runs: not where it depends on arguments that are not.
    pub fn is_known(&self, command: usize) -> bool {
        let depends = self.definition.commands.get(command).is_some_and(commands::depends_on_args);
        self.args.is_some() || !depends
    }

    /// Arguments that were given and are of no use: neither declared, nor is there a place for them.
    pub fn idle_args(&self) -> Vec<&str> {
        let used = used_args(&self.definition, Some(&self.task));
        let is_declared = |name: &str| self.definition.args.iter().any(|one| one.0 == name);
        let given = self.args.iter().flat_map(|args| args.keys());
        given.map(String::as_str).filter(|name| !is_declared(name) && !used.contains(*name)).collect()
    }

    /// The path of the setting that names the agent: what an error about the agent should point at.
    pub fn agent_path(&self) -> &'static str {
        match (&self.definition.agent, &self.definition.cli) {
            (Some(_), _) | (None, None) => "agent.command",
            (None, Some(cli)) if cli.command.is_some() => "cli.command",
            (None, Some(_)) => "cli.backend",
        }
    }
}

/// Reads, checks and joins all settings.
pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    let (loaded, found) = examine(sources)?;
    ConfigError::from_all(found).map_or(Ok(loaded), Err)
}

/// The same, with what is wrong beside a definition that still has an agent and a task: there may be more to say about it.
fn examine(sources: &Sources) -> Result<(Loaded, Vec<Diagnostic>), ConfigError> {
    let workspace = target::absolute(&sources.workspace);
    let flags = &sources.flags;
    let has_prompt = flags.prompt.is_some() || flags.prompt_file.is_some();
    let home = sources.env.home.as_deref();
    // A preset needs no file beside it.
    let enough = has_prompt || sources.preset.is_some();
    let target = target::resolve(sources.target.as_deref(), enough, &workspace, home);
    // A word behind an option that nobody knows is easily taken for what it is not.
    let target =
        target.map_err(|error| user_args::unknown_option(sources).map_or(error, ConfigError::from))?;

    let (settings, file) = read_layers(sources, target.as_ref())?;
    let mut definition: Definition =
        de::from_node(&settings.root).map_err(|error| error.into_diagnostic(&settings.map))?;
    loop_detection::settle(&settings, &mut definition);
    let mut found = layers::still_exclusive(&settings.map, &settings.root);
    let agent = validate::agent(&settings, &definition);
    let agent = agent.map_err(|one| found.push(explain_no_settings(one, file.as_ref()))).ok();
    found.extend(validate::shell_lines(&settings, &definition));
    let prices = prices(&definition);
    let fallback = definition.fallback.iter().filter_map(AgentSpec::of_line);
    let enforceable = agent
        .clone()
        .is_some_and(|first| std::iter::once(first).chain(fallback).all(|one| one.cost_enforceable(&prices)));
    found.extend(validate::bounds(&settings, &definition.event_loop, enforceable));
    if let Some(agent) = &agent {
        found.extend(proof::check(&settings, &definition, agent.tells_of_tools()));
    }
    let place = TaskPlace {
        workspace: &workspace,
        target: target.as_ref(),
        body: file.as_ref().map(|md| md.body.as_str()),
        needed: sources.needs_task,
    };
    let task = place.task(&settings, &definition).map_err(|one| found.push(one)).ok();
    found.extend(commands::check(&settings, &definition));
    found.extend(loop_detection::check(&settings, &definition.loop_detection));
    found.extend(hats::check(&settings, &definition));
    let known = user_args::Known {
        declared: &definition.args,
        used: used_args(&definition, task.as_ref()),
        options: &sources.options,
        takes_any: target.as_ref().is_some_and(|target| target.kind == Kind::RalphMd),
    };
    let args = sources.given.as_ref().map(|given| user_args::assign(&known, given));
    let args = args.transpose().map_err(|message| found.push(Diagnostic::new(message))).ok().flatten();
    let (Some(agent), Some(task)) = (agent, task) else {
        // A missing agent or task always leaves a message; the other one only satisfies the types.
        let incomplete = || Diagnostic::new("the definition is not complete").into();
        return Err(ConfigError::from_all(found).unwrap_or_else(incomplete));
    };
    let loaded = Loaded {
        definition,
        agent,
        task,
        args,
        name: target.as_ref().map_or_else(|| target::folder_name(&workspace), |one| one.name.clone()),
        file: target.map(|target| target.path),
        preset: sources.preset.clone(),
        workspace,
        settings,
    };
    Ok((loaded, found))
}
