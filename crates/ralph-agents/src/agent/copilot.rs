//! GitHub Copilot CLI. No tokens and no cost in its stream. A failed shell command is a success to it; the exit code
//! tells. Final word: the last assistant message that calls no tool.

use super::command::{CommandLine, Flag, Model, Prompt};
use super::{AgentDef, BaseUrl, StreamFacts, Told, ToolResults};
use crate::failure::class::class_of;
use crate::signal::AgentSignal;
use crate::stream::json::Json;
use crate::stream::{Decode, LineDialogue, text};
use crate::tool::{ToolCall, ToolResult, usual_kind};

pub(super) const DEF: AgentDef = AgentDef {
    name: "copilot",
    file_names: &["copilot"],
    summary: "GitHub Copilot CLI.",
    folders: &["~/.copilot/", "~/.config/github-copilot", "~/.config/gh"],
    hosts: &["api.github.com", "github.com", "*.githubcopilot.com"],
    base_urls: &[BaseUrl {
        key: "COPILOT_PROVIDER_API_KEY",
        variable: "COPILOT_PROVIDER_BASE_URL",
        usual: "https://api.openai.com/v1",
    }],
    stream: StreamFacts {
        format: "copilot-json",
        end_event: true,
        answered: false,
        tokens: Told::Never,
        cost: false,
        calls: Told::AsItGoes,
        tool_results: ToolResults::ExitCodes,
    },
    line: CommandLine {
        program: "copilot",
        flags: &[Flag::strict("--output-format", "json", &[]), Flag::plain("--no-auto-update", &[])],
        bypass: &[Flag::plain("--allow-all", &["--yolo", "--allow-all-tools", "--allow-tool"])],
        model: Model::Flag("--model", &[]),
        prompt: Prompt::Stdin,
        ..CommandLine::PLAIN
    },
    dialogue: || LineDialogue::boxed(Copilot::default()),
};

#[derive(Default)]
struct Copilot {
    final_text: String,
    /// Status of the last failed call, for the retry notice that follows it.
    http: Option<u16>,
    error: String,
}

impl Decode for Copilot {
    const LONG_RESULT: Option<(&'static str, &'static str)> =
        Some(("\"tool.execution_complete\"", "\"toolCallId\":\""));

    fn stdout(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool {
        let Some(event @ Json::Object(_)) = Json::parse(line) else { return false };
        let data = &event["data"];
        match event["type"].text() {
            "assistant.message_delta" => {
                out.push(AgentSignal::Text { text: data["deltaContent"].text().to_string(), delta: true });
            }
            "assistant.message" => self.message(data, out),
            "tool.execution_start" => call(data, out),
            "tool.execution_complete" => ended(data, out),
            "model.call_failure" => {
                self.http = data["statusCode"].u16();
                self.error = text::message(data["errorMessage"].text());
            }
            "assistant.turn_retry" => {
                let reason = format!("{} {}", data["reason"].text(), self.error);
                let http = self.http;
                let reason = reason.trim().to_string();
                out.push(AgentSignal::Retry { attempt: None, max: None, delay_ms: None, http, reason });
            }
            "session.error" => {
                let (http, message) = (data["statusCode"].u16(), text::message(data["message"].text()));
                let class = class_of(http, data["errorType"].text(), &message);
                out.push(AgentSignal::Error { fatal: true, class, http, retry_after_ms: None, message });
            }
            "result" => self.result(&event, out),
            _ => {}
        }
        true
    }
}

impl Copilot {
    fn message(&mut self, data: &Json<'_>, out: &mut Vec<AgentSignal>) {
        let text = text::bounded(data["content"].text().to_string());
        if !text.is_empty() {
            out.push(AgentSignal::Text { text: text.clone(), delta: false });
        }
        self.final_text = if data["toolRequests"].list().is_empty() { text } else { String::new() };
    }

    fn result(&mut self, event: &Json<'_>, out: &mut Vec<AgentSignal>) {
        if let Some(id) = event["sessionId"].string() {
            out.push(AgentSignal::Session { id, model: None });
        }
        let ok = event["exitCode"].i64() == Some(0);
        let code = event["exitCode"].i64().map_or("none".to_string(), |code| code.to_string());
        let text = if ok { std::mem::take(&mut self.final_text) } else { String::new() };
        out.push(AgentSignal::Result { ok, text, reason: format!("exitCode {code}") });
    }
}

fn call(data: &Json<'_>, out: &mut Vec<AgentSignal>) {
    let (name, input) = (data["toolName"].text(), &data["arguments"]);
    out.push(AgentSignal::ToolCall(ToolCall {
        id: data["toolCallId"].text().to_string(),
        kind: usual_kind(name),
        name: name.to_string(),
        command: input["command"].string(),
        path: input["path"].string(),
    }));
}

fn ended(data: &Json<'_>, out: &mut Vec<AgentSignal>) {
    let exit_code = data["shellExecution"]["exitCode"].i64();
    let ok = match (data["success"].bool(), exit_code) {
        (Some(false), _) => Some(false),
        (_, Some(code)) if code != 0 => Some(false),
        (Some(true), _) => Some(true),
        _ => None,
    };
    let output = data["result"]["content"].str().or(data["error"]["message"].str()).unwrap_or("");
    let (id, output) = (data["toolCallId"].text().to_string(), text::excerpt(output));
    out.push(AgentSignal::ToolResult(ToolResult { id, ok, exit_code, output }));
}
