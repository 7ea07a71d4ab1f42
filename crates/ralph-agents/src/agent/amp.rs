//! Amp, by its documented command line. Its `--stream-json` is made to be that of Claude Code.

use super::claude::{CLAUDE, Claude};
use super::command::{CommandLine, Flag, Model, Prompt};
use super::{AgentDef, StreamFacts, Told, ToolResults};
use crate::stream::LineDialogue;

pub(super) const DEF: AgentDef = AgentDef {
    name: "amp",
    file_names: &["amp"],
    summary: "Amp.",
    folders: &["~/.config/amp/", "~/.local/share/amp/", "~/.cache/amp/"],
    hosts: &["ampcode.com"],
    base_urls: &[],
    stream: StreamFacts {
        format: "amp-stream-json",
        end_event: true,
        answered: false,
        tokens: Told::Never,
        cost: false,
        calls: Told::AsItGoes,
        tool_results: ToolResults::Unsure,
    },
    line: CommandLine {
        program: "amp",
        flags: &[
            Flag::plain("--execute", &["-x"]),
            Flag::plain("--stream-json", &["--stream-json-thinking"]),
        ],
        bypass: &[Flag::plain("--dangerously-allow-all", &[])],
        model: Model::None,
        prompt: Prompt::Stdin,
        ..CommandLine::PLAIN
    },
    dialogue: || LineDialogue::boxed(Claude::new(&CLAUDE)),
};
