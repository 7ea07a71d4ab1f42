//! aider, by its documented command line. Plain text; errors of the model API are lines of litellm.

use super::any_command::TextDialogue;
use super::command::{CommandLine, Flag, Model, Prompt};
use super::{AgentDef, BaseUrl, StreamFacts, Told, ToolResults};
use crate::failure::class::{class_of, status_in};
use crate::signal::{AgentSignal, Scope};
use crate::stream::text;

pub(super) const DEF: AgentDef = AgentDef {
    name: "aider",
    file_names: &["aider"],
    summary: "aider: one message from a file, then it ends.",
    folders: &["~/.aider/", "~/.aider.conf.yml"],
    hosts: &[],
    base_urls: &[
        BaseUrl { key: "OPENAI_API_KEY", variable: "OPENAI_API_BASE", usual: "https://api.openai.com/v1" },
        BaseUrl {
            key: "ANTHROPIC_API_KEY",
            variable: "ANTHROPIC_API_BASE",
            usual: "https://api.anthropic.com",
        },
    ],
    stream: StreamFacts {
        format: "aider-text",
        end_event: false,
        answered: false,
        tokens: Told::Never,
        cost: true,
        calls: Told::Never,
        tool_results: ToolResults::None,
    },
    line: CommandLine {
        program: "aider",
        flags: &[
            Flag::plain("--no-pretty", &["--pretty"]),
            Flag::plain("--no-stream", &["--stream"]),
            Flag::plain("--no-check-update", &["--check-update"]),
            Flag::plain("--no-fancy-input", &["--fancy-input"]),
        ],
        bypass: &[Flag::plain("--yes-always", &["--yes"])],
        model: Model::Flag("--model", &[]),
        prompt: Prompt::FileFlag("--message-file", &["-f", "--message", "--msg", "-m"]),
        ..CommandLine::PLAIN
    },
    dialogue: || Box::new(TextDialogue::with(notice)),
};

fn notice(line: &str, failed: &mut Option<String>, out: &mut Vec<AgentSignal>) -> bool {
    if let Some((kind, rest)) = line.strip_prefix("litellm.").and_then(|rest| rest.split_once(':'))
        && (kind.ends_with("Error") || kind.ends_with("Timeout"))
    {
        let (class, http) = (class_of(None, kind, rest), status_in(rest));
        *failed = Some(text::message(line));
        out.push(AgentSignal::Error {
            fatal: true,
            class,
            http,
            retry_after_ms: None,
            message: text::message(line),
        });
        return true;
    }
    if let Some(seconds) = line.strip_prefix("Retrying in ").and_then(|rest| rest.split_once(" seconds")) {
        *failed = None;
        let delay_ms = seconds.0.parse::<f64>().ok().map(|seconds| (seconds * 1000.0) as u64);
        out.push(AgentSignal::Retry {
            attempt: None,
            max: None,
            delay_ms,
            http: None,
            reason: "model error".into(),
        });
        return true;
    }
    // "Tokens: 2.1k sent, 15 received. Cost: $0.0014 message, $0.0120 session."
    if line.starts_with("Tokens: ")
        && let Some((_, cost)) = line.split_once("Cost: $")
    {
        let session = cost.split_once("message, $").and_then(|(_, rest)| rest.split(' ').next());
        if let Some(usd) = session.and_then(|usd| usd.parse::<f64>().ok()).filter(|usd| usd.is_finite()) {
            out.push(AgentSignal::Cost { usd, scope: Scope::Run });
        }
        return true;
    }
    false
}
