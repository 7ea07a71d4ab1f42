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
use super::loop_detection::{self, LoopDetectionDef};
use super::memory;
use super::proof;
use super::source::{Layer, SourceMap, Span};
use super::validate::{self, Settings};
use super::value::{Count, Delay, Factor, Limit, Ratio, Text, Timeout, Usd};
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
            preset: self.preset.clone(),
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
            stuck: loop_detection::plan(definition),
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

/// What can be changed when a run is resumed: another task or agent would be another run.
const CHANGEABLE: [&str; 2] = ["event_loop", "loop_detection"];
/// What cannot be changed of them.
const FIXED: [&str; 5] =
    ["completion_promise", "kill_leftovers", "max_consecutive_blocked", "required_events", "starting_event"];
/// Who sets one of these means them, whatever the plan says about their use.
const SIMILARITY: [&str; 3] =
    ["enable_similarity_detection", "similarity_threshold", "similarity_window_size"];

/// Whether a path of a setting is one of stuck detection.
pub fn is_about_stuck(path: &str) -> bool {
    let (head, tail) = path.trim().split_once('.').unwrap_or((path.trim(), ""));
    head == "loop_detection" || (head == "event_loop" && SIMILARITY.contains(&tail))
}

/// The plan of a run that is resumed, with what the command line changes about it.
pub fn change_plan(
    plan: &Plan,
    sets: &[String],
    flags: &Flags,
    cost_enforceable: bool,
) -> Result<Plan, ConfigError> {
    let mut map = SourceMap::default();
    let source = map.add(Layer::File, "the plan of this run", "");
    let span = Span { source, start: 0, end: 0 };
    let mut found = Vec::new();
    let mut trees = Vec::new();
    for item in sets {
        match layers::read_set(&mut map, item) {
            Ok(tree) => trees.push(tree),
            Err(one) => found.push(one),
        }
    }
    trees.extend(flags.read(&mut map));
    let mut root = Node::from_json(&settings_of(plan), span);
    drop_unset(&mut root);
    let sets = |tree: &Node, key: &str| tree.find(&format!("event_loop.{key}")).is_some();
    if trees.iter().any(|tree| SIMILARITY.iter().any(|key| sets(tree, key))) {
        layers::take_at(&mut root, "loop_detection.similarity");
    }
    for mut tree in trees {
        found.extend(check_layer(&map, &mut tree));
        found.extend(fixed(&map, &tree));
        layers::overlay(&mut root, tree);
    }
    if let Some(error) = ConfigError::from_all(found) {
        return Err(error);
    }
    let settings = Settings { map, root };
    let definition: Definition =
        de::from_node(&settings.root).map_err(|error| error.into_diagnostic(&settings.map))?;
    let changed = &definition.event_loop;
    let mut found = validate::bounds(&settings, changed, cost_enforceable);
    found.extend(loop_detection::check(&settings, &definition));
    match ConfigError::from_all(found) {
        Some(error) => Err(error),
        None => Ok(Plan {
            limits: Limits { iteration_timeout: keep(plan, changed), ..limits(changed) },
            pace: Pace {
                delay: changed.delay.0,
                failure_backoff: pace(changed).failure_backoff,
                ..plan.pace.clone()
            },
            stuck: loop_detection::plan(&definition),
            ..plan.clone()
        }),
    }
}

/// What a resume can change, as the plan has it.
fn settings_of(plan: &Plan) -> serde_json::Value {
    serde_json::json!({
        "event_loop": event_loop(plan),
        "loop_detection": LoopDetectionDef::of(&plan.stuck),
    })
}

/// What is not set in the plan is absent, not empty.
fn drop_unset(root: &mut Node) {
    let event_loop = ["silence_timeout", "completion_promise", "starting_event"].iter().chain(&SIMILARITY);
    let paths = event_loop.map(|key| format!("event_loop.{key}"));
    for path in paths.chain(["loop_detection.similarity".to_owned(), "loop_detection.signature".to_owned()]) {
        if root.find(&path).is_some_and(|entry| entry.value.is_null()) {
            layers::take_at(root, &path);
        }
    }
}

/// Settings that a resume does not change.
fn fixed(map: &SourceMap, tree: &Node) -> Vec<super::Diagnostic> {
    let inner = FIXED.iter().filter_map(|key| {
        let path = format!("event_loop.{key}");
        tree.find(&path).map(|entry| (path, entry.key_span))
    });
    let outer = tree.entries().iter().filter(|entry| !CHANGEABLE.contains(&entry.key.as_str()));
    let outer = outer.map(|entry| (entry.key.clone(), entry.key_span));
    let refused = inner.chain(outer).map(|(path, span)| {
        let message = format!("`{path}` cannot be changed when a run is resumed");
        super::Diagnostic::new(message).at(map.place(span))
    });
    refused.collect()
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
        // How it is used stands in `loop_detection`.
        enable_similarity_detection: None,
        similarity_window_size: Some(Count(u32::try_from(plan.stuck.similarity_window).unwrap_or(u32::MAX))),
        similarity_threshold: Some(Ratio(plan.stuck.similarity_threshold)),
    }
}
