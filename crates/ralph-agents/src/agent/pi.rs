//! pi. Exit code 0 even on API errors: the last assistant message's `stopReason` tells. Final word: its text.

use ralph_core::usage::Usage;

use super::command::{CommandLine, Flag, Model, Prompt};
use super::{AgentDef, StreamFacts, Told, ToolResults};
use crate::failure::class::{class_of, status_in};
use crate::signal::{AgentSignal, Scope};
use crate::stream::json::Json;
use crate::stream::{Decode, LineDialogue, text};
use crate::tool::{ToolCall, ToolKind, ToolResult, usual_kind};

pub(super) const DEF: AgentDef = AgentDef {
    name: "pi",
    file_names: &["pi"],
    summary: "pi.",
    folders: &["~/.pi/"],
    hosts: &[],
    base_urls: &[],
    stream: StreamFacts {
        format: "pi-json",
        end_event: true,
        answered: false,
        tokens: Told::AsItGoes,
        cost: true,
        calls: Told::AsItGoes,
        tool_results: ToolResults::ExitCodes,
    },
    line: CommandLine {
        program: "pi",
        // pi asks for no permissions.
        flags: &[Flag::strict("--mode", "json", &[]), Flag::plain("-p", &["--print"])],
        model: Model::Flag("--model", &[]),
        prompt: Prompt::Stdin,
        env: &[("PI_SKIP_VERSION_CHECK", "1")],
        ..CommandLine::PLAIN
    },
    dialogue: || LineDialogue::boxed(Pi::default()),
};

#[derive(Default)]
struct Pi {
    /// How the last assistant message ended, and its text.
    last: Option<Last>,
}

struct Last {
    stop: String,
    text: String,
    error: Option<AgentSignal>,
}

impl Decode for Pi {
    const LONG_RESULT: Option<(&'static str, &'static str)> =
        Some(("\"tool_execution_end\"", "\"toolCallId\":\""));

    fn stdout(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool {
        // Repeats everything that was said; may be as long as the whole session.
        if line.starts_with("{\"type\":\"agent_end\"") || line.starts_with("{\"type\":\"turn_end\"") {
            return crate::stream::json::is_json(line);
        }
        let Some(event @ Json::Object(_)) = Json::parse(line) else { return false };
        match event["type"].text() {
            "session" => out.push(AgentSignal::Session { id: event["id"].text().to_string(), model: None }),
            "message_update" => delta(&event["assistantMessageEvent"], out),
            "message_end" if event["message"]["role"].text() == "assistant" => {
                self.message(&event["message"], out)
            }
            "tool_execution_start" => call(&event, out),
            "tool_execution_end" => ended(&event, out),
            "auto_retry_start" => retry(&event, out),
            "agent_settled" => self.settled(out),
            _ => {}
        }
        true
    }
}

impl Pi {
    fn message(&mut self, message: &Json<'_>, out: &mut Vec<AgentSignal>) {
        let texts = message["content"].list().iter().filter(|block| block["type"].text() == "text");
        let said = texts.map(|block| block["text"].text()).collect::<Vec<_>>().join("\n");
        let stop = message["stopReason"].text().to_string();
        let failed = matches!(stop.as_str(), "error" | "aborted");
        if !said.is_empty() && !failed {
            out.push(AgentSignal::Text { text: text::bounded(said.clone()), delta: false });
        }
        let usage = usage(&message["usage"]);
        if let Some(usage) = usage {
            out.push(AgentSignal::Usage { usage, scope: Scope::Step });
        }
        // A model whose price it does not know costs it 0.
        let free = usage.is_none_or(|usage| usage.is_zero());
        if let Some(usd) = message["usage"]["cost"]["total"].f64().filter(|usd| *usd > 0.0 || free) {
            out.push(AgentSignal::Cost { usd, scope: Scope::Step });
        }
        let error = failed.then(|| error(message["errorMessage"].str().unwrap_or(&stop)));
        self.last = Some(Last { stop, text: said, error });
    }

    fn settled(&mut self, out: &mut Vec<AgentSignal>) {
        let Some(last) = self.last.take() else {
            out.push(AgentSignal::Result { ok: false, text: String::new(), reason: "no answer".to_string() });
            return;
        };
        let ok = last.error.is_none() && last.stop == "stop";
        out.extend(last.error);
        let text = if ok { text::bounded(last.text) } else { String::new() };
        out.push(AgentSignal::Result { ok, text, reason: last.stop });
    }
}

fn error(message: &str) -> AgentSignal {
    let http = status_in(message);
    let class = class_of(http, "", message);
    AgentSignal::Error { fatal: true, class, http, retry_after_ms: None, message: text::message(message) }
}

fn delta(event: &Json<'_>, out: &mut Vec<AgentSignal>) {
    if event["type"].text() == "text_delta" {
        out.push(AgentSignal::Text { text: event["delta"].text().to_string(), delta: true });
    }
}

fn call(event: &Json<'_>, out: &mut Vec<AgentSignal>) {
    let (name, input) = (event["toolName"].text(), &event["args"]);
    out.push(AgentSignal::ToolCall(ToolCall {
        id: event["toolCallId"].text().to_string(),
        kind: usual_kind(name),
        name: name.to_string(),
        command: input["command"].string(),
        path: input["path"].string().or_else(|| input["file_path"].string()),
    }));
}

fn ended(event: &Json<'_>, out: &mut Vec<AgentSignal>) {
    let blocks = event["result"]["content"].list().iter().map(|block| block["text"].text());
    let output = blocks.collect::<Vec<_>>().join("\n");
    let failed = event["isError"].bool() == Some(true);
    let shell = usual_kind(event["toolName"].text()) == ToolKind::Shell;
    let said = output.rsplit_once("Command exited with code ").and_then(|(_, code)| code.trim().parse().ok());
    let exit_code = if !shell { None } else { said.filter(|_| failed).or((!failed).then_some(0)) };
    let ok = Some(!failed);
    let (id, output) = (event["toolCallId"].text().to_string(), text::excerpt(&output));
    out.push(AgentSignal::ToolResult(ToolResult { id, ok, exit_code, output }));
}

fn retry(event: &Json<'_>, out: &mut Vec<AgentSignal>) {
    let reason = event["errorMessage"].text();
    out.push(AgentSignal::Retry {
        attempt: event["attempt"].u64(),
        max: event["maxAttempts"].u64(),
        delay_ms: event["delayMs"].u64(),
        http: status_in(reason),
        reason: text::message(reason),
    });
}

fn usage(usage: &Json<'_>) -> Option<Usage> {
    if usage.is_null() {
        return None;
    }
    let number = |key| usage[key].u64().unwrap_or(0);
    Some(Usage {
        input: number("input"),
        cache_read: number("cacheRead"),
        cache_write: number("cacheWrite"),
        output: number("output"),
        reasoning: number("reasoning"),
    })
}
