//! From a definition to the plan that the engine follows.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::plan::{AgentPlan, Backoff, Limits, Pace, Plan, Price, SignalPlan, Task};

use super::agent::AgentSpec;
use super::commands;
use super::definition::{Definition, EventLoop, FailureBackoff};
use super::diagnostic::ConfigError;
use super::hats::HatsPlace;
use super::idle;
use super::layers::{self, Flags};
use super::memory;
use super::proof;
use super::source::{Layer, SourceMap, Span};
use super::validate::{self, Settings};
use super::value::{Count, Delay, Factor, Limit, Text, Timeout, Usd};
use super::yaml::Node;
use super::{Loaded, check_layer, de};

/// An agent whose stream shows its work is not silent for longer than this, unless the definition says otherwise.
const STREAM_SILENCE: Duration = Duration::from_secs(600);

/// The text of the promise that ends a run, unless the definition has its own.
const COMPLETION_SIGNAL: &str = "RALPH_PROMISE_COMPLETE";

impl Loaded {
    /// `is_root` tells whether the agent will run as root: some refuse to, unless told that it is fine.
    pub fn to_plan(&self, log_dir: Option<PathBuf>, is_root: bool) -> Result<Plan, ConfigError> {
        let definition = &self.definition;
        let at = |path: &str, message: &str| self.error_at(path, message, None);
        let agent = self.agent.to_plan(is_root).map_err(|message| at(self.agent_path(), &message))?;
        let mut fallback = Vec::new();
        for line in &definition.fallback {
            let Some(spec) = AgentSpec::of_line(line) else { continue };
            fallback.push(spec.to_plan(is_root).map_err(|message| at("fallback", &message))?);
        }
        let mut limits = limits(&definition.event_loop);
        let args = self.args.clone().unwrap_or_default();
        let folder = self.file.as_deref().and_then(Path::parent);
        let given = self.args.as_ref();
        let commands = commands::plan(&self.settings, definition, given, &self.workspace, folder)?;
        // A RALPH.md asks for credit unless it says otherwise, anything else only if it says so.
        let credit = definition.credit.unwrap_or(matches!(self.task, Task::RalphMd(_)));
        let mut signals = signals(&definition.event_loop);
        proof::add_regexes(&mut signals, &definition.stop);
        let hats = HatsPlace {
            settings: &self.settings,
            agent: &self.agent,
            folder: folder.unwrap_or(&self.workspace),
            is_root,
        };
        let hats = hats.plan(definition, &self.task)?;
        let of_hats = hats.iter().flat_map(|hats| &hats.hats).filter_map(|hat| hat.agent.as_ref());
        // A plain command may have nothing to say for hours.
        let is_stream = std::iter::once(&agent).chain(&fallback).chain(of_hats).all(AgentPlan::shows_work);
        if definition.event_loop.silence_timeout.is_none() && is_stream {
            limits.silence_timeout = Some(STREAM_SILENCE);
        }
        let idle = idle::plan(&self.settings, definition, &self.workspace, folder)?;
        let fallback_after = definition.fallback_after.0;
        let fallback_wait = definition.fallback_wait.0;
        Ok(Plan {
            source: self.file.clone(),
            commands,
            idle,
            args,
            credit,
            fallback,
            prices: prices(definition),
            limits,
            pace: Pace { fallback_after, fallback_wait, ..pace(&definition.event_loop) },
            signals: SignalPlan { completion_signal: completion_signal(definition), ..signals },
            proof: proof::proof(definition),
            memory: memory::memory(definition, &self.task, &self.settings),
            guardrails: definition.core.guardrails.iter().map(|text| text.0.clone()).collect(),
            scratchpad: memory::scratchpad(definition),
            specs_dir: definition.core.specs_dir.as_ref().map(|text| PathBuf::from(&text.0)),
            once: !definition.enabled,
            kill_leftovers: definition.event_loop.kill_leftovers,
            log_dir,
            hats,
            ..Plan::new(&self.name, &self.workspace, self.task.clone(), agent)
        })
    }
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

fn limits(from: &EventLoop) -> Limits {
    Limits {
        max_iterations: from.max_iterations.get().map(|count| count.0),
        max_runtime: from.max_runtime.get().map(|time| time.0),
        max_wall_time: from.max_wall_time.0,
        max_cost_usd: from.max_cost_usd.get().map(|usd| usd.0),
        max_tokens: from.max_tokens.get().map(|count| u64::from(count.0)),
        max_wait: from.max_wait.0,
        max_outages: from.max_outages.0,
        max_consecutive_failures: from.max_consecutive_failures.0,
        stop_on_error: from.stop_on_error,
        iteration_timeout: Some(from.iteration_timeout.0),
        silence_timeout: from.silence_timeout.and_then(|limit| limit.get()).map(|time| time.0),
        max_attempts: from.max_attempts.0,
    }
}

fn pace(from: &EventLoop) -> Pace {
    let backoff = &from.failure_backoff;
    Pace {
        delay: from.delay.0,
        failure_backoff: Backoff { initial: backoff.initial.0, factor: backoff.factor.0, max: backoff.max.0 },
        ..Pace::default()
    }
}

fn signals(from: &EventLoop) -> SignalPlan {
    SignalPlan {
        completion_promise: from.completion_promise.as_ref().map(|text| text.0.clone()),
        ..SignalPlan::default()
    }
}

/// What a `<promise>` has to hold, where the definition wants one.
fn completion_signal(definition: &Definition) -> Option<String> {
    let text = definition.completion_signal.as_ref().map_or(COMPLETION_SIGNAL, |text| &text.0);
    definition.stop_on_completion_signal.then(|| text.to_owned())
}

/// The plan of a run that is resumed, with what the command line changes about it. Only `event_loop` can change:
/// another task or agent would be another run.
pub fn change_limits(
    plan: &Plan,
    sets: &[String],
    flags: &Flags,
    cost_enforceable: bool,
) -> Result<Plan, ConfigError> {
    let mut map = SourceMap::default();
    let source = map.add(Layer::File, "the plan of this run", "");
    let span = Span { source, start: 0, end: 0 };
    let json = serde_json::json!({ "event_loop": event_loop(plan) });
    let mut root = Node::from_json(&json, span);
    // What is not set in the plan is absent, not empty.
    for key in ["silence_timeout", "completion_promise", "starting_event"] {
        if root.find(&format!("event_loop.{key}")).is_some_and(|entry| entry.value.is_null()) {
            layers::take_at(&mut root, &format!("event_loop.{key}"));
        }
    }
    let mut found = Vec::new();
    let mut trees = Vec::new();
    for item in sets {
        match layers::read_set(&mut map, item) {
            Ok(tree) => trees.push(tree),
            Err(one) => found.push(one),
        }
    }
    trees.extend(flags.read(&mut map));
    for mut tree in trees {
        found.extend(check_layer(&map, &mut tree));
        for key in ["starting_event", "required_events", "max_consecutive_blocked"] {
            if let Some(entry) = tree.find(&format!("event_loop.{key}")) {
                let message = format!("`event_loop.{key}` can not be changed when a run is resumed");
                found.push(super::Diagnostic::new(message).at(map.place(entry.key_span)));
            }
        }
        for entry in tree.entries().iter().filter(|entry| entry.key != "event_loop") {
            let message = format!("`{}` can not be changed when a run is resumed", entry.key);
            found.push(super::Diagnostic::new(message).at(map.place(entry.key_span)));
        }
        layers::overlay(&mut root, tree);
    }
    if let Some(error) = ConfigError::from_all(found) {
        return Err(error);
    }
    let settings = Settings { map, root };
    let changed: EventLoop = match settings.root.entry("event_loop") {
        Some(entry) => de::from_node(&entry.value).map_err(|error| error.into_diagnostic(&settings.map))?,
        None => event_loop(plan),
    };
    match ConfigError::from_all(validate::bounds(&settings, &changed, cost_enforceable)) {
        Some(error) => Err(error),
        None => Ok(Plan {
            limits: Limits { iteration_timeout: keep(plan, &changed), ..limits(&changed) },
            pace: pace(&changed),
            signals: SignalPlan {
                completion_promise: signals(&changed).completion_promise,
                ..plan.signals.clone()
            },
            kill_leftovers: changed.kill_leftovers,
            ..plan.clone()
        }),
    }
}

/// A plan may have no timeout where a definition has to: it stays that way unless one is given.
fn keep(plan: &Plan, changed: &EventLoop) -> Option<Duration> {
    let default = EventLoop::default().iteration_timeout;
    match plan.limits.iteration_timeout {
        None if changed.iteration_timeout == default => None,
        _ => Some(changed.iteration_timeout.0),
    }
}

fn event_loop(plan: &Plan) -> EventLoop {
    let Plan { limits, pace, signals, .. } = plan;
    let time = |value| Limit::At(Timeout(value));
    let default = EventLoop::default();
    EventLoop {
        max_iterations: limits.max_iterations.map_or(Limit::Lifted, |count| Limit::At(Count(count))),
        max_runtime: limits.max_runtime.map_or(Limit::Lifted, time),
        max_wall_time: Timeout(limits.max_wall_time),
        max_cost_usd: limits.max_cost_usd.map_or(Limit::Lifted, |usd| Limit::At(Usd(usd))),
        max_tokens: limits
            .max_tokens
            .map_or(Limit::Lifted, |count| Limit::At(Count(u32::try_from(count).unwrap_or(u32::MAX)))),
        max_wait: Timeout(limits.max_wait),
        max_outages: Count(limits.max_outages),
        max_consecutive_failures: Count(limits.max_consecutive_failures),
        iteration_timeout: limits.iteration_timeout.map_or(default.iteration_timeout, Timeout),
        silence_timeout: limits.silence_timeout.map(time),
        delay: Delay(pace.delay),
        failure_backoff: FailureBackoff {
            initial: Timeout(pace.failure_backoff.initial),
            factor: Factor(pace.failure_backoff.factor),
            max: Timeout(pace.failure_backoff.max),
        },
        stop_on_error: limits.stop_on_error,
        max_attempts: Count(limits.max_attempts),
        completion_promise: signals.completion_promise.clone().map(Text),
        kill_leftovers: plan.kill_leftovers,
        // About hats, which a resume does not change.
        starting_event: None,
        required_events: Vec::new(),
        max_consecutive_blocked: default.max_consecutive_blocked,
    }
}
