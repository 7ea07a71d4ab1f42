//! Rules that no single setting can check by itself.

use ralph_core::plan::EventLoop;
use ralph_core::plan::value::{CommandLine, shell_operator};

use super::agent::{AgentSpec, CliDef, PromptMode};
use super::definition::Definition;
use super::diagnostic::{Diagnostic, quote};
use super::gates::Auto;
use super::source::SourceMap;
use super::yaml::Node;

const ITERATIONS: &str = "event_loop.max_iterations";
const RUNTIME: &str = "event_loop.max_runtime";

/// All settings, with their places.
#[derive(Debug, Clone)]
pub struct Settings {
    pub map: SourceMap,
    pub root: Node,
    /// Where settings come from that are not in the tree.
    pub others: &'static str,
    /// What `gates: auto` stands for.
    pub auto: Auto,
}

impl Settings {
    /// Points a message at the value of a setting, or at nothing where it was not set.
    pub fn at(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        let found = Diagnostic::new(message);
        match self.root.at(path) {
            Some(value) => found.at(self.map.place(value.span)),
            None => found,
        }
    }

    /// Points a message at an item of a list.
    pub fn at_item(&self, path: &str, index: usize, message: impl Into<String>) -> Diagnostic {
        let found = Diagnostic::new(message);
        match self.root.find(path).and_then(|entry| entry.value.items().get(index)) {
            Some(item) => found.at(self.map.place(item.span)),
            None => found,
        }
    }

    /// `ralph.yml:4:3`, `--set`, `-n`, or `default`.
    pub fn origin(&self, path: &str) -> String {
        match self.root.find(path) {
            Some(entry) => self.map.place(entry.key_span).short(),
            None => self.others.to_owned(),
        }
    }
}

/// The agent, or why there is none.
pub fn agent(settings: &Settings, definition: &Definition) -> Result<AgentSpec, Diagnostic> {
    if let Some(agent) = &definition.agent {
        return agent.resolve().ok_or_else(|| {
            settings
                .at("agent", "`agent`: the command is missing")
                .help("write the program to run, such as ./my-agent.sh")
        });
    }
    if let Some(cli) = &definition.cli {
        return cli_agent(settings, cli);
    }
    Err(Diagnostic::new("there is no agent to run")
        .help("name one with `-a`, or with `agent` in the definition: agent: ./my-agent.sh"))
}

/// Agents whose command line is written for a shell.
pub fn shell_lines(settings: &Settings, definition: &Definition) -> Vec<Diagnostic> {
    let agent = definition.agent.as_ref().and_then(|agent| agent.command.as_ref());
    let cli = definition.cli.as_ref().and_then(|cli| cli.command.as_ref());
    let mut lines: Vec<(String, &CommandLine)> = Vec::new();
    lines.extend(agent.map(|line| ("agent.command".to_owned(), line)));
    lines.extend(cli.map(|line| ("cli.command".to_owned(), line)));
    lines.extend(definition.fallback.iter().enumerate().map(|(i, line)| (format!("fallback.{i}"), line)));
    for (id, hat) in &definition.hats.0 {
        let line = hat.agent.as_ref().and_then(|agent| agent.command.as_ref());
        lines.extend(line.map(|line| (format!("hats.{id}.agent.command"), line)));
    }
    let wrong = lines.into_iter().filter_map(|(path, line)| Some((path, shell_operator(line.words())?)));
    wrong
        .map(|(path, word)| {
            let message = format!("the agent: no shell runs, so {} is only a word", quote(word));
            settings.at(&path, message).help("write a script, or `sh -c '…'`")
        })
        .collect()
}

fn cli_agent(settings: &Settings, cli: &CliDef) -> Result<AgentSpec, Diagnostic> {
    if cli.prompt_mode == Some(PromptMode::Stdin) && cli.prompt_flag.is_some() {
        return Err(settings
            .at("cli.prompt_flag", "`cli.prompt_flag` has no effect with `prompt_mode: stdin`")
            .help("remove it, or use `prompt_mode: arg`"));
    }
    if cli.backend.as_ref().is_some_and(|name| name.0 == "auto") {
        return Err(settings
            .at("cli.backend", "`cli.backend: auto` is a ralph-orchestrator setting that ralph does not have")
            .help("name the agent"));
    }
    cli.resolve().ok_or_else(|| match cli.is_custom() {
        true => settings.at("cli.backend", "`cli.backend: custom` needs `cli.command`"),
        false => settings.at("cli", "`cli` names no agent").help("set `cli.backend`, or use `agent`"),
    })
}

/// A run cannot be made endless. `cost_enforceable`: the agent reports what it costs while it works.
pub fn bounds(settings: &Settings, limits: &EventLoop, cost_enforceable: bool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let cost = limits.max_cost_usd.is_some();
    if limits.max_iterations.is_none() && limits.max_runtime.is_none() {
        let (path, message, other) = match cost && cost_enforceable {
            false => {
                (ITERATIONS, "`max_iterations: none` needs another limit, and there is none", "max_runtime")
            }
            // The cost alone bounds the iterations, not the time that one of them may take.
            true => (
                RUNTIME,
                "`max_runtime: none` is possible only while `max_iterations` holds",
                "max_iterations",
            ),
        };
        let origin = settings.origin(&format!("event_loop.{other}"));
        let mut one = settings.at(path, message).note(format!("`{other}: none` comes from {origin}"));
        if cost && !cost_enforceable {
            one = one.note("`max_cost_usd` cannot be enforced: this agent does not report what it costs");
        }
        found.push(one.help(format!("limit `{ITERATIONS}` or `{RUNTIME}`")));
    }
    let backoff = &limits.failure_backoff;
    if backoff.initial > backoff.max {
        let path = match settings.root.find("event_loop.failure_backoff.initial") {
            Some(_) => "event_loop.failure_backoff.initial",
            None => "event_loop.failure_backoff.max",
        };
        found.push(settings.at(path, "`failure_backoff`: `initial` is longer than `max`"));
    }
    found
}
