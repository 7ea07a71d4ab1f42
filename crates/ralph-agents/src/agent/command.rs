//! Command lines: what an agent needs, completed with what the user gave, no flag twice.

use thiserror::Error;

use super::AgentDef;

/// What one iteration asks of an agent's command line. The working folder is the caller's business.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The program, if it is not simply the agent's name: `./bin/claude`.
    pub program: Option<String>,
    /// The user's own arguments. They come first and win over what ralph would add.
    pub args: Vec<String>,
    pub model: Option<String>,
    /// Let the agent work without asking anybody.
    pub autonomous: bool,
    /// ralph runs as root.
    pub is_root: bool,
}

/// How to start an agent. Environment: added to the inherited one; the user's own settings come after and win.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSpec {
    pub program: String,
    pub args: Vec<Arg>,
    pub env: Vec<(String, String)>,
    pub prompt: PromptInput,
    /// The flags and variables among these that switch off permission questions. For printing at the start.
    pub bypass: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg {
    Text(String),
    /// The prompt itself. One argument must be shorter than 128 KiB on Linux.
    Prompt,
    /// The path of a file with the prompt.
    PromptFile,
}

/// How the prompt goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptInput {
    Stdin,
    Arg,
    File,
    /// By the agent's dialogue, see [`Dialogue::open`](crate::Dialogue::open).
    Dialogue,
}

impl CommandSpec {
    /// The arguments with the prompt put in.
    pub fn argv(&self, prompt: &str, prompt_file: &str) -> Vec<String> {
        self.args
            .iter()
            .map(|arg| match arg {
                Arg::Text(text) => text.clone(),
                Arg::Prompt => prompt.to_string(),
                Arg::PromptFile => prompt_file.to_string(),
            })
            .collect()
    }
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum CommandError {
    #[error("{agent}: `{flag} {given}` cannot be used: ralph needs `{flag} {needed}`")]
    Conflict { agent: &'static str, flag: String, given: String, needed: &'static str },
    #[error("{agent}: `{flag}` is how ralph passes the prompt; leave it out")]
    PromptGiven { agent: &'static str, flag: &'static str },
    #[error("{agent} has no option for a model; leave `model` out")]
    NoModel { agent: &'static str },
    #[error("the agent `command` needs a program to run")]
    NoProgram,
}

/// A flag the agent needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag {
    pub name: &'static str,
    pub value: Option<&'static str>,
    /// Other flags that settle the same question. If the user gave one of them, ours is left out.
    pub same: &'static [&'static str],
    /// With another value ralph could not read the output.
    pub strict: bool,
}

impl Flag {
    pub const fn plain(name: &'static str, same: &'static [&'static str]) -> Flag {
        Flag { name, value: None, same, strict: false }
    }

    pub const fn with(name: &'static str, value: &'static str, same: &'static [&'static str]) -> Flag {
        Flag { name, value: Some(value), same, strict: false }
    }

    pub const fn strict(name: &'static str, value: &'static str, same: &'static [&'static str]) -> Flag {
        Flag { name, value: Some(value), same, strict: true }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Model {
    /// The flag, and its other spellings.
    Flag(&'static str, &'static [&'static str]),
    Env(&'static str),
    None,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Prompt {
    Stdin,
    /// On stdin, asked for by this last argument.
    StdinArg(&'static str),
    /// As the value of a flag.
    Flag(&'static str, &'static [&'static str]),
    /// As the last argument.
    Last,
    /// In a file, named by a flag.
    FileFlag(&'static str, &'static [&'static str]),
}

/// An agent's command line, as data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandLine {
    /// Empty for `command`, which has no program of its own.
    pub program: &'static str,
    /// Ours first, then other names of it.
    pub subcommand: &'static [&'static str],
    pub flags: &'static [Flag],
    pub bypass: &'static [Flag],
    pub bypass_env: &'static [(&'static str, &'static str)],
    /// Needed in addition when ralph runs as root.
    pub bypass_env_root: &'static [(&'static str, &'static str)],
    pub model: Model,
    pub prompt: Prompt,
    pub env: &'static [(&'static str, &'static str)],
}

impl CommandLine {
    pub const PLAIN: CommandLine = CommandLine {
        program: "",
        subcommand: &[],
        flags: &[],
        bypass: &[],
        bypass_env: &[],
        bypass_env_root: &[],
        model: Model::None,
        prompt: Prompt::Stdin,
        env: &[],
    };
}

/// No colours, no cursor movements, no questions to a terminal that is not there.
const COMMON_ENV: [(&str, &str); 3] = [("TERM", "dumb"), ("NO_COLOR", "1"), ("DO_NOT_TRACK", "1")];

pub(super) fn complete(def: &AgentDef, turn: &Turn) -> Result<CommandSpec, CommandError> {
    let line = &def.line;
    let program = match &turn.program {
        Some(program) => program.clone(),
        None if line.program.is_empty() => return Err(CommandError::NoProgram),
        None => line.program.to_string(),
    };
    let mut args = Args { agent: def.name, list: turn.args.clone() };
    args.subcommand(line.subcommand);
    for flag in line.flags {
        args.add(flag)?;
    }
    let mut env: Vec<(String, String)> = pairs(COMMON_ENV.iter().chain(line.env));
    let mut bypass = Vec::new();
    if turn.autonomous {
        for flag in line.bypass {
            if args.add(flag)? {
                bypass
                    .push(flag.value.map_or(flag.name.to_string(), |value| format!("{} {value}", flag.name)));
            }
        }
        let root = if turn.is_root { line.bypass_env_root } else { &[] };
        let added = pairs(line.bypass_env.iter().chain(root));
        bypass.extend(added.iter().map(|(name, value)| format!("{name}={value}")));
        env.extend(added);
    }
    if let Some(model) = &turn.model {
        match line.model {
            Model::Flag(name, same) => args.add_value(name, same, model),
            Model::Env(name) => env.push((name.to_string(), model.clone())),
            Model::None => return Err(CommandError::NoModel { agent: def.name }),
        }
    }
    let (args, prompt) = match def.stream.answered {
        true => (args.list.into_iter().map(Arg::Text).collect(), PromptInput::Dialogue),
        false => args.with_prompt(line.prompt)?,
    };
    Ok(CommandSpec { program, args, env, prompt, bypass })
}

pub(super) fn model_in(def: &AgentDef, args: &[String]) -> Option<String> {
    let Model::Flag(name, same) = def.line.model else { return None };
    let args = Args { agent: def.name, list: args.to_vec() };
    std::iter::once(&name).chain(same).find_map(|name| match args.given(name)? {
        Given::Value(model) => Some(model),
        Given::Alone => None,
    })
}

fn pairs<'a>(pairs: impl Iterator<Item = &'a (&'a str, &'a str)>) -> Vec<(String, String)> {
    pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

struct Args {
    agent: &'static str,
    list: Vec<String>,
}

impl Args {
    fn subcommand(&mut self, names: &[&str]) {
        let Some(ours) = names.first() else { return };
        // A word that happens to be the value of a flag is not looked at: flags with values name no subcommands.
        if !self.list.iter().take_while(|arg| *arg != "--").any(|arg| names.contains(&arg.as_str())) {
            self.list.insert(0, ours.to_string());
        }
    }

    /// Adds the flag unless the user settled the question. True: it was added.
    fn add(&mut self, flag: &Flag) -> Result<bool, CommandError> {
        for name in std::iter::once(&flag.name).chain(flag.same) {
            let Some(given) = self.given(name) else { continue };
            if flag.strict
                && let (Given::Value(given), Some(needed)) = (&given, flag.value)
                && given != needed
            {
                let (flag, given) = (name.to_string(), given.clone());
                return Err(CommandError::Conflict { agent: self.agent, flag, given, needed });
            }
            return Ok(false);
        }
        self.insert(flag.name, flag.value);
        Ok(true)
    }

    fn add_value(&mut self, name: &str, same: &[&str], value: &str) {
        if !std::iter::once(&name).chain(same).any(|name| self.given(name).is_some()) {
            self.insert(name, Some(value));
        }
    }

    /// Behind the user's own arguments, but before a `--`.
    fn insert(&mut self, name: &str, value: Option<&str>) {
        let at = self.list.iter().position(|arg| arg == "--").unwrap_or(self.list.len());
        let new = std::iter::once(name).chain(value).map(str::to_string);
        self.list.splice(at..at, new);
    }

    /// The user's own use of a flag, as `--flag value`, `--flag=value`, `-f value`, `-f=value` or `-fvalue`.
    fn given(&self, name: &str) -> Option<Given> {
        let mut list = self.list.iter().take_while(|arg| *arg != "--").peekable();
        while let Some(arg) = list.next() {
            if arg == name {
                return Some(list.peek().map_or(Given::Alone, |value| Given::Value(value.to_string())));
            }
            let Some(rest) = arg.strip_prefix(name) else { continue };
            if let Some(value) = rest.strip_prefix('=') {
                return Some(Given::Value(value.to_string()));
            }
            if name.len() == 2 && !name.starts_with("--") {
                return Some(Given::Value(rest.to_string()));
            }
        }
        None
    }

    fn with_prompt(mut self, prompt: Prompt) -> Result<(Vec<Arg>, PromptInput), CommandError> {
        if let Prompt::Flag(name, same) | Prompt::FileFlag(name, same) = prompt {
            for flag in std::iter::once(&name).chain(same) {
                if self.given(flag).is_some() {
                    return Err(CommandError::PromptGiven { agent: self.agent, flag });
                }
            }
        }
        if let Prompt::StdinArg(arg) = prompt
            && self.list.last().map(String::as_str) != Some(arg)
        {
            self.list.push(arg.to_string());
        }
        let mut args: Vec<Arg> = self.list.into_iter().map(Arg::Text).collect();
        let input = match prompt {
            Prompt::Stdin | Prompt::StdinArg(_) => PromptInput::Stdin,
            Prompt::Flag(name, _) => {
                args.extend([Arg::Text(name.to_string()), Arg::Prompt]);
                PromptInput::Arg
            }
            Prompt::Last => {
                args.push(Arg::Prompt);
                PromptInput::Arg
            }
            Prompt::FileFlag(name, _) => {
                args.extend([Arg::Text(name.to_string()), Arg::PromptFile]);
                PromptInput::File
            }
        };
        Ok((args, input))
    }
}

enum Given {
    Alone,
    Value(String),
}
