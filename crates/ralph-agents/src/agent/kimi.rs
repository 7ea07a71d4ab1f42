//! Kimi Code. The prompt goes in as an argument. Its end is the `session.resume_hint`; what went wrong stands on stderr
//! only, among the output of tools. No tokens, no cost. Final word: the last assistant message that calls no tool.

use super::command::{CommandLine, Flag, Model, Prompt};
use super::{AgentDef, StreamFacts, Told, ToolResults};
use crate::failure::class::{class_of, status_in};
use crate::signal::AgentSignal;
use crate::stream::json::Json;
use crate::stream::{Decode, LineDialogue, text};
use crate::tool::{OpenCalls, ToolCall, ToolKind, ToolResult, usual_kind};

pub(super) const DEF: AgentDef = AgentDef {
    name: "kimi",
    file_names: &["kimi", "kimi-code"],
    summary: "Kimi Code.",
    folders: &["~/.kimi/"],
    hosts: &["api.moonshot.ai", "api.moonshot.cn", "api.kimi.com", "auth.kimi.com"],
    base_urls: &[],
    stream: StreamFacts {
        format: "kimi-stream-json",
        end_event: true,
        answered: false,
        tokens: Told::Never,
        cost: false,
        calls: Told::AtEnd,
        tool_results: ToolResults::Unsure,
    },
    line: CommandLine {
        program: "kimi",
        // With a prompt on its command line it asks for no permissions.
        flags: &[Flag::strict("--output-format", "stream-json", &[])],
        model: Model::Flag("--model", &["-m"]),
        prompt: Prompt::Flag("-p", &["--prompt"]),
        ..CommandLine::PLAIN
    },
    dialogue: || LineDialogue::boxed(Kimi::default()),
};

const ERROR_PREFIX: &str = "error: failed to run prompt: ";

#[derive(Default)]
struct Kimi {
    final_text: String,
    /// The last error line on stderr. A tool may print such a line too: it counts only if the end never comes.
    error: Option<String>,
    ended: bool,
    /// What a result means depends on the tool.
    open: OpenCalls,
}

impl Decode for Kimi {
    const LONG_RESULT: Option<(&'static str, &'static str)> =
        Some(("\"role\":\"tool\"", "\"tool_call_id\":\""));

    fn stdout(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool {
        let Some(event @ Json::Object(_)) = Json::parse(line) else { return false };
        match (event["role"].text(), event["type"].text()) {
            ("assistant", _) => self.assistant(&event, out),
            ("tool", _) => self.tool(&event, out),
            ("meta", "turn.step.retrying") => retry(&event, out),
            ("meta", "session.resume_hint") => {
                self.ended = true;
                out.push(AgentSignal::Session { id: event["session_id"].text().to_string(), model: None });
                let text = std::mem::take(&mut self.final_text);
                out.push(AgentSignal::Result { ok: true, text, reason: "session.resume_hint".to_string() });
            }
            _ => {}
        }
        true
    }

    fn stderr(&mut self, line: &str, _out: &mut Vec<AgentSignal>) -> bool {
        let Some(error) = line.strip_prefix(ERROR_PREFIX) else { return false };
        self.error = Some(text::message(error));
        true
    }

    fn finish(&mut self, out: &mut Vec<AgentSignal>) {
        let Some(message) = self.error.take().filter(|_| !self.ended) else { return };
        let (code, rest) = message.split_once(": ").unwrap_or(("", &message));
        let http = status_in(rest);
        let class = class_of(http, code, rest);
        out.push(AgentSignal::Error { fatal: true, class, http, retry_after_ms: None, message });
    }
}

impl Kimi {
    fn assistant(&mut self, event: &Json<'_>, out: &mut Vec<AgentSignal>) {
        let text = text::bounded(event["content"].text().to_string());
        if !text.is_empty() {
            out.push(AgentSignal::Text { text: text.clone(), delta: false });
        }
        let calls = event["tool_calls"].list();
        self.final_text = if calls.is_empty() { text } else { String::new() };
        for call in calls {
            let (id, name) = (call["id"].text(), call["function"]["name"].text());
            let input = Json::parse(call["function"]["arguments"].text()).unwrap_or(Json::Null);
            let call = ToolCall {
                id: id.to_string(),
                kind: usual_kind(name),
                name: name.to_string(),
                command: input["command"].string(),
                path: input["path"].string(),
            };
            self.open.begin(&call);
            out.push(AgentSignal::ToolCall(call));
        }
    }

    /// The stream has no error flag. Of a command, the last line tells; of other tools, nothing does.
    fn tool(&mut self, event: &Json<'_>, out: &mut Vec<AgentSignal>) {
        let (id, output) = (event["tool_call_id"].text(), event["content"].text());
        let shell = self.open.end(id).is_some_and(|call| call.kind == ToolKind::Shell);
        let said = output.trim_end().rsplit('\n').next().unwrap_or("");
        let code = said
            .strip_prefix("Command failed with exit code: ")
            .and_then(|code| code.trim_end_matches('.').parse().ok());
        let (ok, exit_code) = match (shell, code) {
            (true, Some(code)) => (Some(false), Some(code)),
            // Killed or timed-out commands say so in other words, so success is a guess.
            (true, None) | (false, _) => (None, None),
        };
        out.push(AgentSignal::ToolResult(ToolResult {
            id: id.to_string(),
            ok,
            exit_code,
            output: text::excerpt(output),
        }));
    }
}

fn retry(event: &Json<'_>, out: &mut Vec<AgentSignal>) {
    out.push(AgentSignal::Retry {
        attempt: event["failed_attempt"].u64(),
        max: event["max_attempts"].u64(),
        delay_ms: event["delay_ms"].u64(),
        http: event["status_code"].u16(),
        reason: text::message(event["error_message"].text()),
    });
}
