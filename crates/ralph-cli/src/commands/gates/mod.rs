//! `ralph gates`: list, run, audit.

mod audit;
mod list;
mod run;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use ralph_config::gates::{Gates, Listed};
use ralph_config::{Env, Sources};
use ralph_core::stop::Interrupt;

use super::workspace;
use crate::args::{DefinitionArgs, GatesArgs, GatesCommand};
use crate::error::CliError;

pub fn gates(args: GatesArgs) -> Result<u8, CliError> {
    match args.command {
        GatesCommand::List(args) => list::list(args),
        GatesCommand::Run(args) => run::run(args),
        GatesCommand::Audit(args) => audit::audit(args),
    }
}

/// The gates that are meant, and the workspace that they are for.
fn load(target: Option<String>, args: &DefinitionArgs) -> Result<(PathBuf, Gates), CliError> {
    let workspace = workspace(&args.at.workspace)?;
    let mut sources = Sources::new(workspace.clone());
    sources.target = target;
    sources.sets.clone_from(&args.sets);
    sources.preset.clone_from(&args.preset);
    sources.env = Env::from_process();
    let mut gates = ralph_config::gates::gates(&sources)?;
    if super::held_out::is_inside() {
        // They are held out from whoever asks here.
        gates.gates.retain(|listed| !listed.gate.hidden);
    }
    Ok((workspace, gates))
}

/// The same where there has to be something to run.
fn load_some(target: Option<String>, args: &DefinitionArgs) -> Result<(PathBuf, Vec<Listed>), CliError> {
    let (workspace, gates) = load(target, args)?;
    match gates.gates.is_empty() {
        true if super::held_out::is_inside() => {
            Err(CliError::Usage("there is no gate that an agent may run here".to_owned()))
        }
        true => Err(CliError::Usage(none(&gates))),
        false => Ok((workspace, gates.gates)),
    }
}

/// There is no gate, and what to do about it.
fn none(gates: &Gates) -> String {
    let how = match gates.offered.as_slice() {
        [] => "add one to the definition: gates: [{name: tests, run: make test, kind: test}]".to_owned(),
        found => {
            let found: Vec<String> = found.iter().map(|gate| format!("`{}`", gate.run.join(" "))).collect();
            format!("`gates: auto` in the definition would run {}", found.join(", "))
        }
    };
    format!("there is no gate\n{how}")
}

/// One line on the terminal that is replaced by the next.
struct Progress {
    shown: bool,
}

impl Progress {
    fn new(json: bool) -> Self {
        Self { shown: !json && std::io::stderr().is_terminal() }
    }

    fn say(&self, text: &str) {
        if self.shown {
            let width = ralph_ui::stderr_width().unwrap_or(80).saturating_sub(1);
            let text: String =
                text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(width).collect();
            eprint!("\r\x1b[2K{text}");
            let _ = std::io::stderr().flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            eprint!("\r\x1b[2K");
        }
    }
}

pub fn exit_code(by: Interrupt) -> u8 {
    match by {
        Interrupt::Term => 143,
        Interrupt::Hup => 129,
        _ => 130,
    }
}
