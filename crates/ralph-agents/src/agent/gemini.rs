//! Gemini CLI. Text comes in deltas; what stands between two tool events is one message, and the final word is what
//! comes after the last of them. A shell command that failed is called a success, so results of shells are unknown.

use ralph_core::usage::Usage;

use super::command::{CommandLine, Flag, Model, Prompt};
use super::{AgentDef, BaseUrl, StreamFacts, Told, ToolResults};
use crate::failure::class::{class_of, status_in};
use crate::signal::{AgentSignal, Scope};
use crate::stream::json::Json;
use crate::stream::text::Tail;
use crate::stream::{Decode, LineDialogue, text};
use crate::tool::{OpenCalls, ToolCall, ToolKind, ToolResult, usual_kind};

pub(super) const DEF: AgentDef = AgentDef {
    name: "gemini",
    file_names: &["gemini"],
    summary: "Gemini CLI.",
    folders: &["~/.gemini/"],
    hosts: &["generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"],
    base_urls: &[BaseUrl {
        key: "GEMINI_API_KEY",
        variable: "GOOGLE_GEMINI_BASE_URL",
        usual: "https://generativelanguage.googleapis.com",
    }],
    stream: StreamFacts {
        format: "gemini-stream-json",
        end_event: true,
        answered: false,
        tokens: Told::AtEnd,
        cost: false,
        calls: Told::AsItGoes,
        tool_results: ToolResults::Unsure,
    },
    line: CommandLine {
        program: "gemini",
        flags: &[Flag::strict("--output-format", "stream-json", &["-o"])],
        bypass: &[Flag::plain("--yolo", &["-y", "--approval-mode"]), Flag::plain("--skip-trust", &[])],
        model: Model::Flag("--model", &["-m"]),
        prompt: Prompt::Stdin,
        // Without a launcher in between, signals reach the agent itself.
        env: &[("GEMINI_CLI_NO_RELAUNCH", "true")],
        ..CommandLine::PLAIN
    },
    dialogue: || LineDialogue::boxed(Gemini::default()),
};

#[derive(Default)]
struct Gemini {
    said: Tail,
    /// What a result means depends on the tool.
    open: OpenCalls,
    /// What it says on stderr of a try that failed, so far.
    notice: Option<Notice>,
}

impl Decode for Gemini {
    const LONG_RESULT: Option<(&'static str, &'static str)> = Some(("\"tool_result\"", "\"tool_id\":\""));

    fn stdout(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool {
        let Some(event @ Json::Object(_)) = Json::parse(line) else { return false };
        match event["type"].text() {
            "init" => {
                let (id, model) = (event["session_id"].text().to_string(), event["model"].string());
                out.push(AgentSignal::Session { id, model });
            }
            "message" if event["role"].text() == "assistant" => self.say(&event, out),
            "tool_use" => self.tool_use(&event, out),
            "tool_result" => self.tool_result(&event, out),
            // A warning or a loop notice: the result says whether it was the end.
            "error" => out.push(error(false, event["message"].text(), "")),
            "result" => self.result(&event, out),
            _ => {}
        }
        true
    }

    fn stderr(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool {
        if let Some(notice) = Notice::begins(line) {
            self.end_notice(out);
            self.notice = Some(notice);
        } else if let Some(notice) = &mut self.notice {
            notice.add(line);
        } else {
            return false;
        }
        if self.notice.as_ref().is_some_and(Notice::is_whole) {
            self.end_notice(out);
        }
        true
    }

    fn finish(&mut self, out: &mut Vec<AgentSignal>) {
        self.end_notice(out);
    }
}

/// Lines of a notice. Google's words for a limit take four.
const NOTICE_LINES: usize = 12;
/// What ends a notice; the error itself may follow on the same line.
const ENDS: [&str; 3] = ["Retrying after ", "Retrying with backoff", "Max attempts reached"];

/// "Attempt 1 failed: …", with an error of several lines, up to what the CLI does next.
struct Notice {
    attempt: u64,
    words: String,
    lines: usize,
}

impl Notice {
    fn begins(line: &str) -> Option<Notice> {
        let (attempt, rest) = line.strip_prefix("Attempt ")?.split_once(" failed")?;
        let (attempt, words) = (attempt.parse().ok()?, text::noise(rest.trim_start_matches([':', '.', ' '])));
        Some(Notice { attempt, words, lines: 1 })
    }

    fn add(&mut self, line: &str) {
        self.words.push('\n');
        self.words.push_str(&text::noise(line));
        self.lines += 1;
    }

    fn is_whole(&self) -> bool {
        self.lines >= NOTICE_LINES || ENDS.iter().any(|end| self.words.contains(end))
    }

    fn signal(self) -> AgentSignal {
        let (reason, next) = self.words.split_once(ENDS[0]).unwrap_or((&self.words, ""));
        let delay = next.split_once("ms");
        AgentSignal::Retry {
            attempt: Some(self.attempt),
            max: None,
            delay_ms: delay.and_then(|(ms, _)| ms.parse().ok()),
            http: status_in(reason),
            reason: text::message(reason.trim_end_matches(['.', ' '])),
        }
    }
}

impl Gemini {
    fn end_notice(&mut self, out: &mut Vec<AgentSignal>) {
        out.extend(self.notice.take().map(Notice::signal));
    }

    fn say(&mut self, event: &Json<'_>, out: &mut Vec<AgentSignal>) {
        let text = event["content"].text();
        self.said.push(text);
        if event["delta"].bool() == Some(true) {
            out.push(AgentSignal::Text { text: text.to_string(), delta: true });
        } else {
            self.whole(out);
        }
    }

    /// The deltas so far are a message.
    fn whole(&mut self, out: &mut Vec<AgentSignal>) -> String {
        let text = self.said.take();
        if !text.is_empty() {
            out.push(AgentSignal::Text { text: text.clone(), delta: false });
        }
        text
    }

    fn tool_use(&mut self, event: &Json<'_>, out: &mut Vec<AgentSignal>) {
        self.whole(out);
        let (id, name, input) = (event["tool_id"].text(), event["tool_name"].text(), &event["parameters"]);
        let call = ToolCall {
            id: id.to_string(),
            kind: usual_kind(name),
            name: name.to_string(),
            command: input["command"].string(),
            path: input["file_path"].string().or_else(|| input["path"].string()),
        };
        self.open.begin(&call);
        out.push(AgentSignal::ToolCall(call));
    }

    fn tool_result(&mut self, event: &Json<'_>, out: &mut Vec<AgentSignal>) {
        self.whole(out);
        let id = event["tool_id"].text();
        let shell = self.open.end(id).is_some_and(|call| call.kind == ToolKind::Shell);
        let ok = match event["status"].text() {
            "success" if shell => None,
            "success" => Some(true),
            "error" => Some(false),
            _ => None,
        };
        let output = event["error"]["message"].str().or(event["output"].str()).unwrap_or("");
        let output = text::excerpt(output);
        out.push(AgentSignal::ToolResult(ToolResult { id: id.to_string(), ok, exit_code: None, output }));
    }

    fn result(&mut self, event: &Json<'_>, out: &mut Vec<AgentSignal>) {
        let stats = &event["stats"];
        if !stats.is_null() {
            out.push(AgentSignal::Usage { usage: usage(stats), scope: Scope::Run });
        }
        if event["status"].text() == "success" {
            let text = self.whole(out);
            out.push(AgentSignal::Result { ok: true, text, reason: "success".to_string() });
            return;
        }
        // What was said before the error is torn.
        self.said.clear();
        let (kind, message) = (event["error"]["type"].text(), event["error"]["message"].text());
        out.push(error(true, message, kind));
        out.push(AgentSignal::Result { ok: false, text: text::message(message), reason: kind.to_string() });
    }
}

fn error(fatal: bool, message: &str, kind: &str) -> AgentSignal {
    let http = status_in(message);
    let class = class_of(http, kind, message);
    AgentSignal::Error { fatal, class, http, retry_after_ms: None, message: text::message(message) }
}

fn usage(stats: &Json<'_>) -> Usage {
    let number = |key| stats[key].u64();
    let cache_read = number("cached").unwrap_or(0);
    let sent = number("input_tokens");
    let input = number("input").or_else(|| sent.map(|all| all.saturating_sub(cache_read)));
    let said = number("output_tokens").unwrap_or(0);
    // Thinking is in the total only. It is paid like any other output.
    let output =
        number("total_tokens").zip(sent).map_or(said, |(all, sent)| all.saturating_sub(sent).max(said));
    Usage { input: input.unwrap_or(0), cache_read, cache_write: 0, output, reasoning: output - said }
}
