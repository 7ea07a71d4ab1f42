//! Codex. Final word: the last `agent_message`. Top-level `error` events are mostly retry notices; `turn.failed` is final.

use ralph_core::usage::Usage;

use super::command::{CommandLine, Flag, Model, Prompt};
use super::{AgentDef, StreamFacts, Told, ToolResults};
use crate::failure::class::{class_of, status_in};
use crate::signal::{AgentSignal, Scope};
use crate::stream::json::Json;
use crate::stream::{Decode, LineDialogue, text};
use crate::tool::{ToolCall, ToolKind, ToolResult, usual_kind};

pub(super) const DEF: AgentDef = AgentDef {
    name: "codex",
    file_names: &["codex"],
    summary: "OpenAI Codex.",
    folders: &["~/.codex/"],
    hosts: &["api.openai.com", "chatgpt.com", "auth.openai.com"],
    base_urls: &[],
    stream: StreamFacts {
        format: "codex-json",
        end_event: true,
        answered: false,
        tokens: Told::AtEnd,
        cost: false,
        calls: Told::AsItGoes,
        tool_results: ToolResults::ExitCodes,
    },
    line: CommandLine {
        program: "codex",
        subcommand: &["exec", "e"],
        flags: &[Flag::plain("--json", &["--experimental-json"])],
        bypass: &[Flag::plain(
            "--dangerously-bypass-approvals-and-sandbox",
            &["--yolo", "--full-auto", "--sandbox", "-s", "--ask-for-approval", "-a"],
        )],
        model: Model::Flag("--model", &["-m"]),
        prompt: Prompt::StdinArg("-"),
        ..CommandLine::PLAIN
    },
    dialogue: || LineDialogue::boxed(Codex::default()),
};

#[derive(Default)]
struct Codex {
    last_message: String,
}

impl Decode for Codex {
    fn stdout(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool {
        let Some(event @ Json::Object(_)) = Json::parse(line) else { return false };
        let item = &event["item"];
        match event["type"].text() {
            "thread.started" => {
                out.push(AgentSignal::Session { id: event["thread_id"].text().to_string(), model: None });
            }
            "item.started" => self.started(item, out),
            "item.completed" => self.completed(item, out),
            "error" => notice(event["message"].text(), out),
            "turn.completed" => {
                out.push(AgentSignal::Usage { usage: usage(&event["usage"]), scope: Scope::Thread });
                let text = std::mem::take(&mut self.last_message);
                out.push(AgentSignal::Result { ok: true, text, reason: "turn.completed".to_string() });
            }
            "turn.failed" => failed(event["error"]["message"].text(), out),
            _ => {}
        }
        true
    }

    fn long(&mut self, head: &str, tail: &str, out: &mut Vec<AgentSignal>) {
        // A command that printed megabytes: its id is at the front, its exit code at the end.
        if !head.contains("\"item.completed\"") {
            return;
        }
        let Some((id, _)) = head.split_once("\"id\":\"").and_then(|(_, rest)| rest.split_once('"')) else {
            return;
        };
        let exit_code = tail
            .rsplit_once("\"exit_code\":")
            .and_then(|(_, rest)| rest.split([',', '}']).next()?.trim().parse::<i64>().ok());
        let output = text::NOT_SHOWN.to_string();
        let ok = exit_code.map(|code| code == 0);
        out.push(AgentSignal::ToolResult(ToolResult {
            id: text::start(id, 200).to_string(),
            ok,
            exit_code,
            output,
        }));
    }
}

impl Codex {
    fn started(&self, item: &Json<'_>, out: &mut Vec<AgentSignal>) {
        let name = item["type"].text();
        if !is_tool(name) {
            return;
        }
        let added = item["changes"].list().first().is_some_and(|change| change["kind"].text() == "add");
        let kind = if name == "file_change" && added { ToolKind::Write } else { usual_kind(name) };
        out.push(AgentSignal::ToolCall(ToolCall {
            id: item["id"].text().to_string(),
            kind,
            name: name.to_string(),
            command: item["command"].string(),
            path: item["changes"].list().first().and_then(|change| change["path"].string()),
        }));
    }

    fn completed(&mut self, item: &Json<'_>, out: &mut Vec<AgentSignal>) {
        match item["type"].text() {
            "agent_message" => {
                let text = text::bounded(item["text"].text().to_string());
                self.last_message.clone_from(&text);
                out.push(AgentSignal::Text { text, delta: false });
            }
            // Such an item is a warning; the run goes on.
            "error" => out.push(error(false, item["message"].text())),
            name if is_tool(name) => {
                let exit_code = item["exit_code"].i64();
                let ok = match (item["status"].text(), exit_code) {
                    ("failed" | "declined", _) => Some(false),
                    (_, Some(code)) => Some(code == 0),
                    ("completed", None) => Some(true),
                    _ => None,
                };
                let output = text::excerpt(item["aggregated_output"].text());
                out.push(AgentSignal::ToolResult(ToolResult {
                    id: item["id"].text().to_string(),
                    ok,
                    exit_code,
                    output,
                }));
            }
            _ => {}
        }
    }
}

fn is_tool(name: &str) -> bool {
    matches!(name, "command_execution" | "file_change" | "mcp_tool_call" | "web_search")
}

/// "Reconnecting... 2/4 (stream disconnected …)" is a retry; anything else comes again as `turn.failed`.
fn notice(message: &str, out: &mut Vec<AgentSignal>) {
    let Some(rest) = message.strip_prefix("Reconnecting... ") else {
        out.push(error(false, message));
        return;
    };
    let (count, reason) = rest
        .split_once(" (")
        .map_or((rest, ""), |(count, reason)| (count, reason.strip_suffix(')').unwrap_or(reason)));
    let (attempt, max) = count.split_once('/').unwrap_or((count, ""));
    out.push(AgentSignal::Retry {
        attempt: attempt.parse().ok(),
        max: max.parse().ok(),
        delay_ms: None,
        http: status_in(reason),
        reason: text::message(reason),
    });
}

fn failed(message: &str, out: &mut Vec<AgentSignal>) {
    out.push(error(true, message));
    out.push(AgentSignal::Result {
        ok: false,
        text: text::message(message),
        reason: "turn.failed".to_string(),
    });
}

fn error(fatal: bool, message: &str) -> AgentSignal {
    let http = status_in(message);
    let class = class_of(http, "", message);
    AgentSignal::Error { fatal, class, http, retry_after_ms: None, message: text::message(message) }
}

/// The input includes what came from the cache. Cumulative over the thread.
fn usage(usage: &Json<'_>) -> Usage {
    let number = |key| usage[key].u64().unwrap_or(0);
    let (cache_read, cache_write) = (number("cached_input_tokens"), number("cache_write_input_tokens"));
    Usage {
        input: number("input_tokens").saturating_sub(cache_read).saturating_sub(cache_write),
        cache_read,
        cache_write,
        output: number("output_tokens"),
        reasoning: number("reasoning_output_tokens"),
    }
}
