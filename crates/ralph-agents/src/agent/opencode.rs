//! opencode. No end event: the run ended well if its last step ended with `stop`. Final word: the last text of that step.

use ralph_core::usage::Usage;

use super::command::{CommandLine, Flag, Model, Prompt};
use super::{AgentDef, StreamFacts, Told, ToolResults};
use crate::failure::class::{class_of, status_in};
use crate::signal::{AgentSignal, Scope};
use crate::stream::json::Json;
use crate::stream::{Decode, LineDialogue, text};
use crate::tool::{ToolCall, ToolResult, usual_kind};

pub(super) const DEF: AgentDef = AgentDef {
    name: "opencode",
    file_names: &["opencode"],
    summary: "opencode.",
    folders: &[
        "~/.config/opencode/",
        "~/.local/share/opencode/",
        "~/.local/state/opencode/",
        "~/.cache/opencode/",
    ],
    hosts: &["opencode.ai", "models.dev"],
    base_urls: &[],
    stream: StreamFacts {
        format: "opencode-json",
        end_event: false,
        answered: false,
        tokens: Told::AsItGoes,
        cost: true,
        calls: Told::AtEnd,
        tool_results: ToolResults::ExitCodes,
    },
    line: CommandLine {
        program: "opencode",
        subcommand: &["run"],
        flags: &[
            Flag::strict("--format", "json", &[]),
            // Its stream says nothing of a request that it tries again; its log does.
            Flag::plain("--print-logs", &[]),
            Flag::with("--log-level", "ERROR", &[]),
        ],
        bypass: &[Flag::plain("--auto", &[])],
        model: Model::Flag("--model", &["-m"]),
        prompt: Prompt::Stdin,
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        ..CommandLine::PLAIN
    },
    dialogue: || LineDialogue::boxed(Opencode::default()),
};

#[derive(Default)]
struct Opencode {
    session: bool,
    last_text: String,
    /// How the last step ended, or that an error came after it.
    end: Option<End>,
}

enum End {
    Step(String),
    Error(String),
}

impl Decode for Opencode {
    fn stdout(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool {
        let Some(event @ Json::Object(_)) = Json::parse(line) else { return false };
        if let (false, Some(id)) = (self.session, event["sessionID"].string()) {
            self.session = true;
            out.push(AgentSignal::Session { id, model: None });
        }
        let part = &event["part"];
        match event["type"].text() {
            "step_start" => {
                self.end = None;
                // A step that says nothing leaves no older word standing.
                self.last_text.clear();
            }
            // A synthetic text is what opencode itself tells the model.
            "text" if part["synthetic"].bool() != Some(true) => {
                let text = text::bounded(part["text"].text().to_string());
                self.last_text.clone_from(&text);
                out.push(AgentSignal::Text { text, delta: false });
            }
            "tool_use" => {
                self.last_text.clear();
                tool(part, out);
            }
            "step_finish" => self.step_finish(part, out),
            "error" => self.error(&event["error"], out),
            _ => {}
        }
        true
    }

    /// `level=ERROR … message="stream error" … error.error="AI_APICallError: …"`, also of requests that it tries again.
    fn stderr(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool {
        // A title that could not be made up stops nothing.
        let own = line.contains(" level=ERROR ") && line.contains(" message=\"stream error\" ");
        let Some((_, reason)) =
            line.split_once(" error.error=").filter(|_| own && !line.contains(" small=true "))
        else {
            return false;
        };
        let reason = text::message(reason.trim_matches('"'));
        let http = status_in(&reason);
        out.push(AgentSignal::Retry { attempt: None, max: None, delay_ms: None, http, reason });
        true
    }

    fn finish(&mut self, out: &mut Vec<AgentSignal>) {
        let (ok, reason) = match self.end.take() {
            Some(End::Step(reason)) => (reason == "stop", reason),
            Some(End::Error(message)) => (false, message),
            None => return,
        };
        let text = if ok { std::mem::take(&mut self.last_text) } else { String::new() };
        out.push(AgentSignal::Result { ok, text, reason });
    }
}

impl Opencode {
    fn step_finish(&mut self, part: &Json<'_>, out: &mut Vec<AgentSignal>) {
        let tokens = &part["tokens"];
        let number = |json: &Json<'_>| json.u64().unwrap_or(0);
        if !tokens.is_null() {
            out.push(AgentSignal::Usage { usage: usage(tokens), scope: Scope::Step });
        }
        // A model whose price it does not know costs it 0.
        if let Some(usd) = part["cost"].f64().filter(|usd| *usd > 0.0 || number(&tokens["total"]) == 0) {
            out.push(AgentSignal::Cost { usd, scope: Scope::Step });
        }
        self.end = Some(End::Step(part["reason"].text().to_string()));
    }

    fn error(&mut self, error: &Json<'_>, out: &mut Vec<AgentSignal>) {
        let data = &error["data"];
        let name = error["name"].text();
        let message = data["message"].str().or(error["message"].str()).unwrap_or(name);
        let http = data["statusCode"].u16();
        // The body carries the provider's error code.
        let codes = format!("{name} {}", text::start(data["responseBody"].text(), 2000));
        let class = class_of(http, &codes, message);
        let message = text::message(message);
        self.end = Some(End::Error(message.clone()));
        let retry_after_ms = retry_after(&data["responseHeaders"]);
        out.push(AgentSignal::Error { fatal: true, class, http, retry_after_ms, message });
    }
}

fn usage(tokens: &Json<'_>) -> Usage {
    let number = |key: &str| tokens[key].u64().unwrap_or(0);
    let cache = |key: &str| tokens["cache"][key].u64().unwrap_or(0);
    let (output, reasoning) = (number("output"), number("reasoning"));
    let sent = [number("input"), cache("read"), cache("write")].into_iter().fold(0, u64::saturating_add);
    // Whether thinking is part of the output depends on the release. The total tells.
    let received = tokens["total"].u64().map_or(output, |total| total.saturating_sub(sent));
    Usage {
        input: number("input"),
        cache_read: cache("read"),
        cache_write: cache("write"),
        output: received.clamp(output, output.saturating_add(reasoning)),
        reasoning,
    }
}

fn retry_after(headers: &Json<'_>) -> Option<u64> {
    let ms = headers["retry-after-ms"].str().and_then(|value| value.trim().parse::<f64>().ok());
    let s = headers["retry-after"].str().and_then(|value| value.trim().parse::<f64>().ok());
    ms.or(s.map(|seconds| seconds * 1000.0)).filter(|ms| (0.0..1e13).contains(ms)).map(|ms| ms as u64)
}

/// A tool shows up once, when it has ended.
fn tool(part: &Json<'_>, out: &mut Vec<AgentSignal>) {
    let (state, name) = (&part["state"], part["tool"].text());
    let (id, input) = (part["callID"].text(), &state["input"]);
    out.push(AgentSignal::ToolCall(ToolCall {
        id: id.to_string(),
        kind: usual_kind(name),
        name: name.to_string(),
        command: input["command"].string(),
        path: input["filePath"].string().or_else(|| input["path"].string()),
    }));
    let exit_code = state["metadata"]["exit"].i64();
    let ok = match (state["status"].text(), name, exit_code) {
        ("error", ..) | (_, "invalid", _) => Some(false),
        (_, _, Some(code)) if code != 0 => Some(false),
        ("completed", ..) => Some(true),
        _ => None,
    };
    let output = state["output"].str().or(state["error"].str()).unwrap_or("");
    out.push(AgentSignal::ToolResult(ToolResult {
        id: id.to_string(),
        ok,
        exit_code,
        output: text::excerpt(output),
    }));
}
