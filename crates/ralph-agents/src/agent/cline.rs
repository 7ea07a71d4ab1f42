//! Cline. The prompt goes in as the last argument. Final word: `run_result.text`.

use ralph_core::usage::Usage;

use super::command::{CommandLine, Flag, Model, Prompt};
use super::{AgentDef, StreamFacts, Told, ToolResults};
use crate::failure::class::{class_of, status_in};
use crate::signal::{AgentSignal, Scope};
use crate::stream::json::Json;
use crate::stream::{Decode, LineDialogue, text};
use crate::tool::{ToolCall, ToolKind, ToolResult, usual_kind};

pub(super) const DEF: AgentDef = AgentDef {
    name: "cline",
    file_names: &["cline"],
    summary: "Cline.",
    folders: &["~/.cline/"],
    hosts: &["api.cline.bot"],
    base_urls: &[],
    stream: StreamFacts {
        format: "cline-json",
        end_event: true,
        answered: false,
        tokens: Told::AsItGoes,
        cost: true,
        calls: Told::AsItGoes,
        tool_results: ToolResults::ExitCodes,
    },
    line: CommandLine {
        program: "cline",
        flags: &[Flag::plain("--json", &[])],
        bypass: &[Flag::with("--auto-approve", "true", &["--yolo", "-y"])],
        model: Model::Flag("-m", &["--model"]),
        prompt: Prompt::Last,
        ..CommandLine::PLAIN
    },
    dialogue: || LineDialogue::boxed(Cline::default()),
};

#[derive(Default)]
struct Cline {
    session: bool,
    aborted: bool,
}

impl Decode for Cline {
    const LONG_RESULT: Option<(&'static str, &'static str)> = Some(("\"content_end\"", "\"toolCallId\":\""));

    fn stdout(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool {
        let Some(event @ Json::Object(_)) = Json::parse(line) else { return false };
        match event["type"].text() {
            "hook_event" => {
                if let (false, Some(id)) = (self.session, event["taskId"].string()) {
                    self.session = true;
                    out.push(AgentSignal::Session { id, model: None });
                }
            }
            "agent_event" => agent_event(&event["event"], out),
            "run_result" => run_result(&event, out),
            // After an interrupt it may come behind a result that says "completed".
            "run_aborted" if !self.aborted => {
                self.aborted = true;
                let reason = format!("aborted: {}", event["reason"].text());
                out.push(AgentSignal::Result { ok: false, text: String::new(), reason });
            }
            _ => {}
        }
        true
    }
}

fn agent_event(event: &Json<'_>, out: &mut Vec<AgentSignal>) {
    match (event["type"].text(), event["contentType"].text()) {
        ("content_start", "text") => {
            out.push(AgentSignal::Text { text: event["text"].text().to_string(), delta: true });
        }
        ("content_end", "text") => {
            let text = text::bounded(event["text"].text().to_string());
            out.push(AgentSignal::Text { text, delta: false });
        }
        ("content_start", "tool") => call(event, out),
        ("content_end", "tool") => ended(event, out),
        ("usage", _) => {
            // Totals of the run so far, so that a limit can act before the end.
            let number = |key| event[key].u64().unwrap_or(0);
            let cache_read = number("totalCacheReadTokens");
            let cache_write = number("totalCacheWriteTokens");
            let usage =
                split(number("totalInputTokens"), cache_read, cache_write, number("totalOutputTokens"));
            out.push(AgentSignal::Usage { usage, scope: Scope::Run });
        }
        ("error", _) => {
            let message = text::message(event["error"]["message"].text());
            let http = status_in(&message);
            let class = class_of(http, code(event["errorClass"].text()), &message);
            // A failed tool call is reported here as well; it is recoverable and not the end.
            let fatal = event["recoverable"].bool() == Some(false);
            out.push(AgentSignal::Error { fatal, class, http, retry_after_ms: None, message });
        }
        _ => {}
    }
}

/// Cline's classes in words the classification knows.
fn code(class: &str) -> &str {
    match class {
        "auth" => "authentication_error",
        "rate_limit" => "rate_limit",
        "context_length" | "context" => "context_length_exceeded",
        "network" => "network error",
        "billing" | "credits" => "insufficient credits",
        _ => "",
    }
}

fn call(event: &Json<'_>, out: &mut Vec<AgentSignal>) {
    let (name, input) = (event["toolName"].text(), &event["input"]);
    let commands: Vec<&str> = input["commands"].list().iter().filter_map(Json::str).collect();
    let command = if commands.is_empty() { input["command"].string() } else { Some(commands.join("\n")) };
    out.push(AgentSignal::ToolCall(ToolCall {
        id: event["toolCallId"].text().to_string(),
        kind: usual_kind(name),
        name: name.to_string(),
        command,
        path: input["path"].string(),
    }));
}

/// The output is one record, or one for each command.
fn ended(event: &Json<'_>, out: &mut Vec<AgentSignal>) {
    let records = match &event["output"] {
        Json::List(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    let shell = usual_kind(event["toolName"].text()) == ToolKind::Shell;
    let failed =
        records.iter().find(|record| record["success"].bool() == Some(false) || !record["error"].is_null());
    let all_ok = !records.is_empty() && records.iter().all(|record| record["success"].bool() == Some(true));
    let (ok, exit_code) = match failed {
        Some(record) => (Some(false), exit_code(record["error"].text()).filter(|_| shell)),
        None if all_ok => (Some(true), shell.then_some(0)),
        None => (None, None),
    };
    let output = records.iter().map(|record| match record["result"].text() {
        "" => record["error"].text(),
        result => result,
    });
    let output = text::excerpt(&output.collect::<Vec<_>>().join("\n"));
    out.push(AgentSignal::ToolResult(ToolResult {
        id: event["toolCallId"].text().to_string(),
        ok,
        exit_code,
        output,
    }));
}

fn exit_code(error: &str) -> Option<i64> {
    error.strip_prefix("Command exited with code ")?.trim().parse().ok()
}

fn run_result(event: &Json<'_>, out: &mut Vec<AgentSignal>) {
    let usage = &event["usage"];
    if !usage.is_null() {
        let number = |key| usage[key].u64().unwrap_or(0);
        let usage = split(
            number("inputTokens"),
            number("cacheReadTokens"),
            number("cacheWriteTokens"),
            number("outputTokens"),
        );
        out.push(AgentSignal::Usage { usage, scope: Scope::Run });
    }
    // Cline says 0 for models whose price it does not know.
    if let Some(usd) = usage["totalCost"].f64().filter(|usd| *usd > 0.0) {
        out.push(AgentSignal::Cost { usd, scope: Scope::Run });
    }
    let reason = event["finishReason"].text();
    let text = text::bounded(event["text"].text().to_string());
    out.push(AgentSignal::Result { ok: reason == "completed", text, reason: reason.to_string() });
}

/// Cline's input includes what came from the cache.
fn split(input: u64, cache_read: u64, cache_write: u64, output: u64) -> Usage {
    let input = input.saturating_sub(cache_read).saturating_sub(cache_write);
    Usage { input, cache_read, cache_write, output, reasoning: 0 }
}
