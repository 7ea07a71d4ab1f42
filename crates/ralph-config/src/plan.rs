//! From a definition to the plan that the engine follows.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::hat::HatsPlan;
use ralph_core::plan::{AgentPlan, Gate, Pace, Plan, Price, SandboxLevel, SandboxPlan, Task};

use super::Loaded;
use super::agent::AgentSpec;
use super::commands;
use super::definition::Definition;
use super::diagnostic::{ConfigError, Diagnostic};
use super::hats::HatsPlace;
use super::idle;
use super::memory;

/// An agent whose stream shows its work is not silent for longer than this, unless the definition says otherwise.
const STREAM_SILENCE: Duration = Duration::from_secs(600);

impl Loaded {
    /// `is_root` tells whether the agent will run as root: some refuse to, unless told that they are in a sandbox, which is said
    /// only where it is true.
    pub fn to_plan(&self, log_dir: Option<PathBuf>, is_root: bool) -> Result<Plan, ConfigError> {
        let definition = &self.definition;
        let mut found = Vec::new();
        let in_sandbox = is_root && any_sandbox(definition);
        let agent = self.agent.to_plan(in_sandbox);
        let agent = agent.map_err(|message| found.push(self.settings.at(self.agent_path(), message))).ok();
        let fallback: Vec<AgentPlan> = keep(self.fallback(in_sandbox), &mut found);
        let mut event_loop = definition.event_loop.clone();
        let folder = self.file.as_deref().and_then(Path::parent);
        let given = self.args.as_ref();
        let commands = commands::plan(&self.settings, definition, given, &self.workspace, folder);
        let commands = keep(commands, &mut found);
        // A RALPH.md asks for credit unless it says otherwise, anything else only if it says so.
        let credit = definition.credit.unwrap_or(matches!(self.task, Task::RalphMd(_)));
        let hats = HatsPlace {
            settings: &self.settings,
            agent: &self.agent,
            folder: folder.unwrap_or(&self.workspace),
            is_root: in_sandbox,
        };
        let hats = hats.plan(definition, &self.task, &mut found);
        let silence = default_silence(agent.iter().chain(&fallback), hats.as_deref());
        event_loop.silence_timeout.get_or_insert(silence);
        found.extend(idle::check(&self.settings, definition));
        let secrets = self.secrets(&mut found);
        let (Some(agent), true) = (agent, found.is_empty()) else {
            let nothing = || Diagnostic::new("there is no plan").into();
            return Err(ConfigError::from_all(found).unwrap_or_else(nothing));
        };
        Ok(Plan {
            source: self.file.clone(),
            preset: self.preset.clone(),
            commands,
            idle: definition.idle.clone(),
            on_state: definition.on_state.clone(),
            wake: definition.wake.clone(),
            args: self.args.clone().unwrap_or_default(),
            credit,
            fallback,
            prices: prices(definition),
            event_loop,
            pace: pace(definition),
            stop_on_completion_signal: definition.stop_on_completion_signal,
            completion_signal: definition.completion_signal.as_ref().map(|text| text.0.clone()),
            budget: definition.budget.clone(),
            quota: definition.quota.clone(),
            stop: definition.stop.clone(),
            gates: gates(definition, folder.unwrap_or(&self.workspace)),
            gate_jobs: definition.gate_jobs.map(|count| count.0),
            protect: definition.protect.0.clone(),
            protect_policy: definition.protect_policy,
            proof_ignore: definition.proof_ignore.iter().map(|pattern| pattern.0.clone()).collect(),
            contain: definition.contain,
            sandbox: sandbox(definition),
            limits: definition.limits.clone(),
            keep_awake: definition.keep_awake,
            checkpoints: definition.checkpoints,
            stuck: definition.loop_detection.clone(),
            memory: memory::memory(definition, &self.task, &self.settings),
            context: definition.context.clone(),
            core: memory::core(definition),
            once: !definition.enabled,
            log_dir,
            redact: definition.redact.clone(),
            redact_env: definition.redact_env.iter().map(|name| name.0.clone()).collect(),
            secrets,
            hats,
            ..Plan::new(&self.name, &self.workspace, self.task.clone(), agent)
        })
    }
}

impl Loaded {
    fn fallback(&self, in_sandbox: bool) -> impl Iterator<Item = Result<AgentPlan, Diagnostic>> {
        let specs = self.definition.fallback.iter().filter_map(AgentSpec::of_line);
        specs.map(move |spec| {
            spec.to_plan(in_sandbox).map_err(|message| self.settings.at("fallback", message))
        })
    }
}

fn pace(definition: &Definition) -> Pace {
    Pace {
        fallback_after: definition.fallback_after.0,
        fallback_wait: definition.fallback_wait.0,
        ..Pace::default()
    }
}

/// A plain command may have nothing to say for hours.
fn default_silence<'a>(
    mut agents: impl Iterator<Item = &'a AgentPlan>,
    hats: Option<&HatsPlan>,
) -> Option<Duration> {
    let mut of_hats = hats.iter().flat_map(|hats| &hats.hats).filter_map(|hat| hat.agent.as_ref());
    (agents.all(AgentPlan::shows_work) && of_hats.all(AgentPlan::shows_work)).then_some(STREAM_SILENCE)
}

/// The gates, with the folders of held-out files as they are from anywhere.
fn gates(definition: &Definition, folder: &Path) -> Vec<Gate> {
    let absolute =
        |files: &String| super::target::absolute(&folder.join(files)).to_string_lossy().into_owned();
    let with_files = |gate: &Gate| Gate { files: gate.files.as_ref().map(absolute), ..gate.clone() };
    definition.gates.iter().map(with_files).collect()
}

/// Those that went well. What is wrong with the others is added to `found`.
pub fn keep<T>(all: impl IntoIterator<Item = Result<T, Diagnostic>>, found: &mut Vec<Diagnostic>) -> Vec<T> {
    all.into_iter().filter_map(|one| one.map_err(|error| found.push(error)).ok()).collect()
}

/// The user's prices, with what is left out filled in.
pub fn prices(definition: &Definition) -> Vec<Price> {
    let prices = definition.prices.iter();
    prices
        .map(|one| Price {
            model: one.model.0.clone(),
            input: one.input.0,
            cache_read: one.cache_read.unwrap_or(one.input).0,
            cache_write: one.cache_write.unwrap_or(one.input).0,
            output: one.output.0,
        })
        .collect()
}

/// Whether any agent of the run is confined. Whoever of them is not is not told of a sandbox when it starts.
fn any_sandbox(definition: &Definition) -> bool {
    let of_hats = definition.hats.0.iter().filter_map(|(_, hat)| hat.sandbox);
    of_hats.chain([definition.sandbox]).any(SandboxLevel::is_on)
}

fn sandbox(definition: &Definition) -> SandboxPlan {
    SandboxPlan {
        agent: definition.sandbox,
        gates: definition.gates_sandbox,
        fallback: definition.sandbox_fallback,
        access: definition.sandbox_access.clone(),
    }
}
