//! The agents ralph knows. A new one is one file here and one line in [`AGENTS`].

mod aider;
mod amp;
mod any_command;
mod claude;
mod cline;
mod codex;
mod command;
mod copilot;
mod gemini;
mod goose;
mod kimi;
mod opencode;
mod pi;
mod qwen;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

pub use command::{Arg, CommandError, CommandSpec, PromptInput, Turn};

use thiserror::Error;

use crate::dialogue::Dialogue;
use command::CommandLine;

/// Every agent, in the order they are shown.
pub const AGENTS: &[AgentDef] = &[
    claude::DEF,
    codex::DEF,
    opencode::DEF,
    gemini::DEF,
    qwen::DEF,
    pi::DEF,
    goose::DEF,
    copilot::DEF,
    kimi::DEF,
    cline::DEF,
    amp::DEF,
    aider::DEF,
    any_command::DEF,
];

/// An agent CLI.
pub struct AgentDef {
    pub name: &'static str,
    /// File names the program is recognised by, without `.exe`, `.cmd` and the like.
    pub file_names: &'static [&'static str],
    pub summary: &'static str,
    /// Where it keeps its settings, its login and its memory: a sandboxed one may write there too. A folder's name ends with
    /// `/`; it is made if it is not there.
    pub folders: &'static [&'static str],
    /// The hosts that its program itself speaks to: its model and its login, where it has one of its own. A strict sandbox lets it.
    pub hosts: &'static [&'static str],
    /// How it is told whom to speak to, for each variable in which it looks for a key.
    pub base_urls: &'static [BaseUrl],
    pub stream: StreamFacts,
    line: CommandLine,
    dialogue: fn() -> Box<dyn Dialogue>,
}

/// A variable that names the service behind a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaseUrl {
    /// The variable of the key.
    pub key: &'static str,
    /// The variable of the address.
    pub variable: &'static str,
    /// What it is where the user says nothing.
    pub usual: &'static str,
}

/// What an agent's output can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamFacts {
    /// The name of the format, as in `output: claude-stream-json`.
    pub format: &'static str,
    /// The stream has an event that says how it ended. If it does not come, the run failed, whatever the exit code.
    pub end_event: bool,
    /// The agent is talked to while it works: its standard input stays open for its dialogue, which brings the prompt too.
    pub answered: bool,
    pub tokens: Told,
    pub cost: bool,
    /// When a call of a tool is told. At its end: while the agent is silent, a tool may run.
    pub calls: Told,
    pub tool_results: ToolResults,
}

/// When a stream says a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    Never,
    /// Nothing can act on it inside an iteration.
    AtEnd,
    AsItGoes,
}

/// How much a stream says of the tools that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolResults {
    /// Nothing.
    None,
    /// That they ended, not how.
    Unsure,
    /// How they ended, with the exit codes of commands.
    ExitCodes,
}

impl AgentDef {
    pub fn command(&self, turn: &Turn) -> Result<CommandSpec, CommandError> {
        command::complete(self, turn)
    }

    /// The model that the user's own arguments ask for.
    pub fn model_in(&self, args: &[String]) -> Option<String> {
        command::model_in(self, args)
    }

    /// A new dialogue, for one process.
    pub fn dialogue(&self) -> Box<dyn Dialogue> {
        (self.dialogue)()
    }
}

impl std::fmt::Debug for AgentDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentDef").field("name", &self.name).finish_non_exhaustive()
    }
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("unknown {what} `{name}`{}; known: {}", nearest.map(|it| format!(", did you mean `{it}`?")).unwrap_or_default(), known.join(", "))]
pub struct UnknownAgent {
    pub what: &'static str,
    pub name: String,
    pub nearest: Option<&'static str>,
    pub known: Vec<&'static str>,
}

/// The agent of this name.
pub fn by_name(name: &str) -> Result<&'static AgentDef, UnknownAgent> {
    find("agent", name, |def| def.name)
}

/// The agent whose output has this format: `output: claude-stream-json`. Its dialogue and its verdict rules apply.
pub fn by_format(format: &str) -> Result<&'static AgentDef, UnknownAgent> {
    find("output format", format, |def| def.stream.format)
}

fn find(
    what: &'static str,
    name: &str,
    key: fn(&AgentDef) -> &'static str,
) -> Result<&'static AgentDef, UnknownAgent> {
    AGENTS.iter().find(|def| key(def) == name).ok_or_else(|| {
        let mut known: Vec<&'static str> = AGENTS.iter().map(key).collect();
        known.dedup();
        UnknownAgent { what, name: name.to_string(), nearest: nearest(name, &known), known }
    })
}

fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    known
        .iter()
        .map(|known| (strsim::jaro_winkler(&name, known), *known))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// The agent a program is, by its file name.
pub fn by_program(program: &str) -> Option<&'static AgentDef> {
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    let stem =
        [".exe", ".cmd", ".bat", ".ps1"].iter().find_map(|suffix| file.strip_suffix(suffix)).unwrap_or(&file);
    AGENTS.iter().find(|def| def.file_names.contains(&stem))
}
