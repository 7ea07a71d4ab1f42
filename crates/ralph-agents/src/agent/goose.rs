//! goose. Exit code 0 even on API errors, which it reports as a message without an id. Text comes in deltas that share a
//! message id; final word: the text after the last tool event. Cached tokens are not told apart.

use ralph_core::usage::Usage;

use super::command::{CommandLine, Flag, Model, Prompt};
use super::{AgentDef, BaseUrl, StreamFacts, Told, ToolResults};
use crate::failure::class::{class_of, status_in};
use crate::signal::{AgentSignal, Scope};
use crate::stream::json::Json;
use crate::stream::text::Tail;
use crate::stream::{Decode, LineDialogue, text};
use crate::tool::{ToolCall, ToolResult, usual_kind};

pub(super) const DEF: AgentDef = AgentDef {
    name: "goose",
    file_names: &["goose"],
    summary: "goose.",
    folders: &["~/.config/goose/", "~/.local/share/goose/", "~/.local/state/goose/"],
    hosts: &[],
    base_urls: &[
        BaseUrl { key: "OPENAI_API_KEY", variable: "OPENAI_HOST", usual: "https://api.openai.com" },
        BaseUrl { key: "ANTHROPIC_API_KEY", variable: "ANTHROPIC_HOST", usual: "https://api.anthropic.com" },
    ],
    stream: StreamFacts {
        format: "goose-stream-json",
        end_event: true,
        answered: false,
        tokens: Told::AtEnd,
        cost: false,
        calls: Told::AsItGoes,
        tool_results: ToolResults::ExitCodes,
    },
    line: CommandLine {
        program: "goose",
        subcommand: &["run"],
        flags: &[
            Flag::plain("-q", &["--quiet"]),
            Flag::strict("--output-format", "stream-json", &[]),
            Flag::plain("--no-session", &["--name", "-n", "--resume", "-r", "--session-id"]),
            Flag::strict("-i", "-", &["--instructions"]),
        ],
        bypass_env: &[("GOOSE_MODE", "auto")],
        model: Model::Env("GOOSE_MODEL"),
        prompt: Prompt::Stdin,
        ..CommandLine::PLAIN
    },
    dialogue: || LineDialogue::boxed(Goose::default()),
};

const ERROR_PREFIX: &str = "Ran into this error: ";
const ERROR_SUFFIX: &str = "\n\nPlease retry if you think this is a transient or recoverable error.";

#[derive(Default)]
struct Goose {
    message_id: String,
    said: Tail,
    open_tools: usize,
    /// Its model has said something or called a tool.
    answered: bool,
    error: Option<String>,
}

/// The error in goose's own words.
fn own_error(text: &str) -> Option<&str> {
    match text.strip_prefix(ERROR_PREFIX) {
        Some(error) => Some(error.strip_suffix(ERROR_SUFFIX).unwrap_or(error)),
        None => text.starts_with("Network error: ").then_some(text),
    }
}

impl Decode for Goose {
    fn stdout(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool {
        let Some(event @ Json::Object(_)) = Json::parse(line) else { return false };
        match event["type"].text() {
            "message" => self.message(&event["message"], out),
            "error" => self.fail(event["error"].text(), out),
            "complete" => self.complete(&event, out),
            _ => {}
        }
        true
    }
}

impl Goose {
    fn message(&mut self, message: &Json<'_>, out: &mut Vec<AgentSignal>) {
        let id = message["id"].text();
        if id != self.message_id {
            self.whole(out);
            self.message_id = id.to_string();
        }
        let assistant = message["role"].text() == "assistant";
        for block in message["content"].list() {
            match block["type"].text() {
                "text" if assistant => self.say(id, block["text"].text(), out),
                "toolRequest" => self.call(block, out),
                "toolResponse" => self.answer(block, out),
                "systemNotification" => self.note(block, out),
                _ => {}
            }
        }
    }

    /// Most of its notes tell what it does now. These tell that it gave up.
    fn note(&mut self, block: &Json<'_>, out: &mut Vec<AgentSignal>) {
        let (kind, note) = (block["notificationType"].text(), block["msg"].text());
        if kind == "creditsExhausted" {
            self.fail_as("credits_exhausted", note, out);
        } else if note.starts_with("Unable to continue") {
            self.fail(note, out);
        }
    }

    fn say(&mut self, id: &str, text: &str, out: &mut Vec<AgentSignal>) {
        // goose's own words have no id; the model's have one.
        if id.is_empty()
            && let Some(error) = own_error(text)
        {
            self.fail(error, out);
            return;
        }
        self.answered |= !id.is_empty();
        self.said.push(text);
        out.push(AgentSignal::Text { text: text.to_string(), delta: true });
    }

    fn fail(&mut self, message: &str, out: &mut Vec<AgentSignal>) {
        self.fail_as("", message, out);
    }

    fn fail_as(&mut self, code: &str, message: &str, out: &mut Vec<AgentSignal>) {
        // What was said before is torn.
        self.said.clear();
        let message = text::message(message);
        let http = status_in(&message);
        let class = class_of(http, code, &message);
        self.error = Some(message.clone());
        out.push(AgentSignal::Error { fatal: true, class, http, retry_after_ms: None, message });
    }

    fn whole(&mut self, out: &mut Vec<AgentSignal>) -> String {
        let text = self.said.take();
        if !text.is_empty() {
            out.push(AgentSignal::Text { text: text.clone(), delta: false });
        }
        text
    }

    fn call(&mut self, block: &Json<'_>, out: &mut Vec<AgentSignal>) {
        self.whole(out);
        self.answered = true;
        self.open_tools += 1;
        let call = &block["toolCall"]["value"];
        let (name, input) = (call["name"].text(), &call["arguments"]);
        // Tools of extensions are `extension__tool`.
        let kind = usual_kind(name.rsplit("__").next().unwrap_or(name));
        out.push(AgentSignal::ToolCall(ToolCall {
            id: block["id"].text().to_string(),
            kind,
            name: name.to_string(),
            command: input["command"].string(),
            path: input["path"].string(),
        }));
    }

    fn answer(&mut self, block: &Json<'_>, out: &mut Vec<AgentSignal>) {
        self.whole(out);
        self.open_tools = self.open_tools.saturating_sub(1);
        let result = &block["toolResult"];
        let value = &result["value"];
        let exit_code = value["structuredContent"]["exit_code"].i64();
        let failed = result["status"].text() == "error"
            || value["isError"].bool() == Some(true)
            || exit_code.is_some_and(|code| code != 0);
        let texts = value["content"].list().iter().map(|block| block["text"].text());
        let output = texts.collect::<Vec<_>>().join("\n");
        let output = if output.is_empty() { result["error"].text() } else { &output };
        let ok = Some(!failed);
        let (id, output) = (block["id"].text().to_string(), text::excerpt(output));
        out.push(AgentSignal::ToolResult(ToolResult { id, ok, exit_code, output }));
    }

    fn complete(&mut self, event: &Json<'_>, out: &mut Vec<AgentSignal>) {
        if let (Some(input), Some(output)) = (event["input_tokens"].u64(), event["output_tokens"].u64()) {
            out.push(AgentSignal::Usage {
                usage: Usage { input, output, ..Usage::default() },
                scope: Scope::Run,
            });
        }
        let (ok, reason) = match self.error.take() {
            Some(error) => (false, error),
            // After an interrupt goose says "complete" as well.
            None if self.open_tools > 0 => (false, "ended while a tool was running".to_string()),
            // Some services never tell tokens: of them it is what the model said that counts.
            None if !self.answered && event["total_tokens"].is_null() => {
                (false, "ended without an answer of its model".to_string())
            }
            None => (true, "complete".to_string()),
        };
        let text = if ok { self.whole(out) } else { String::new() };
        out.push(AgentSignal::Result { ok, text, reason });
    }
}
