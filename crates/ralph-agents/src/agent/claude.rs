//! Claude Code. Its stream format is also that of amp and, with differences, of qwen.
//!
//! Final word: `result.result`.

mod line;
mod torn;

use serde_json::value::RawValue;

use ralph_core::usage::Usage;

use self::line::*;
use self::torn::Torn;
use super::command::{CommandLine, Flag, Model, Prompt};
use super::{AgentDef, BaseUrl, StreamFacts, Told, ToolResults};
use crate::failure::class::{class_of, status_in};
use crate::signal::{AgentSignal, LimitStatus, Scope};
use crate::stream::lax::{List, Obj, Str};
use crate::stream::text;
use crate::stream::{Decode, LineDialogue};
use crate::tool::{OpenCalls, ToolCall, ToolKind, ToolResult, usual_kind};

pub(super) const DEF: AgentDef = AgentDef {
    name: "claude",
    file_names: &["claude"],
    summary: "Claude Code.",
    folders: &[
        "~/.claude/",
        "~/.claude.json",
        "~/.claude.json.lock",
        "~/.config/claude/",
        "~/.cache/claude/",
        "~/.local/share/claude/",
        "~/.local/state/claude/",
    ],
    hosts: &["api.anthropic.com", "platform.claude.com", "console.anthropic.com", "claude.ai"],
    base_urls: &[
        BaseUrl {
            key: "ANTHROPIC_API_KEY",
            variable: "ANTHROPIC_BASE_URL",
            usual: "https://api.anthropic.com",
        },
        BaseUrl {
            key: "ANTHROPIC_AUTH_TOKEN",
            variable: "ANTHROPIC_BASE_URL",
            usual: "https://api.anthropic.com",
        },
    ],
    stream: StreamFacts {
        format: "claude-stream-json",
        end_event: true,
        answered: false,
        tokens: Told::AsItGoes,
        cost: true,
        calls: Told::AsItGoes,
        tool_results: ToolResults::ExitCodes,
    },
    line: CommandLine {
        program: "claude",
        flags: &[
            Flag::plain("-p", &["--print"]),
            Flag::strict("--output-format", "stream-json", &[]),
            // Without it the CLI refuses stream-json.
            Flag::plain("--verbose", &[]),
            // Whole messages come with a placeholder for their output: limits would see next to nothing of it.
            Flag::plain("--include-partial-messages", &[]),
        ],
        bypass: &[Flag::plain(
            "--dangerously-skip-permissions",
            &["--permission-mode", "--permission-prompt-tool"],
        )],
        // As root the CLI refuses the flag above unless told that it runs in a sandbox. It is set only together with
        // the flag and only as root, and printed like the flag.
        bypass_env_root: &[("IS_SANDBOX", "1")],
        model: Model::Flag("--model", &[]),
        prompt: Prompt::Stdin,
        // An update in the middle of a run would change the agent under the loop.
        env: &[("DISABLE_AUTOUPDATER", "1")],
        ..CommandLine::PLAIN
    },
    dialogue: || LineDialogue::boxed(Claude::new(&CLAUDE)),
};

/// In what formats of this family differ.
pub(super) struct Dialect {
    /// `input_tokens` counts cached tokens too.
    pub input_includes_cached: bool,
    /// Messages carry a placeholder for their output; the true number comes with the partial messages.
    pub output_in_delta: bool,
    /// The exit code in the text of a shell tool's result.
    pub exit_code: fn(&str) -> Option<i64>,
    /// A line of stderr that means something.
    pub stderr: fn(&str, &mut Vec<AgentSignal>) -> bool,
}

pub(super) const CLAUDE: Dialect =
    Dialect { input_includes_cached: false, output_in_delta: true, exit_code, stderr: |_, _| false };

fn exit_code(output: &str) -> Option<i64> {
    output.strip_prefix("Exit code ")?.split_whitespace().next()?.parse().ok()
}

pub(super) struct Claude {
    dialect: &'static Dialect,
    session: bool,
    /// An API error was reported as an assistant message; the result only repeats its text.
    error_seen: bool,
    /// The message whose use was counted last.
    message_id: String,
    /// What a result means depends on the tool.
    open: OpenCalls,
    torn: Torn,
}

impl Claude {
    pub(super) fn new(dialect: &'static Dialect) -> Self {
        Claude {
            dialect,
            session: false,
            error_seen: false,
            message_id: String::new(),
            open: OpenCalls::default(),
            torn: Torn::default(),
        }
    }
}

impl Decode for Claude {
    const LONG_RESULT: Option<(&'static str, &'static str)> = Some(("\"tool_result\"", "\"tool_use_id\":\""));

    fn stdout(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool {
        let Ok(event) = serde_json::from_str::<Event<'_>>(line) else { return false };
        match (&*event.r#type, &*event.subtype) {
            ("system", "init") => self.session(&event, out),
            ("system", "api_retry" | "retry") => self.retry(&event, out),
            ("assistant", _) => self.assistant(&event, out),
            ("user", _) => self.tool_results(&event, out),
            ("stream_event", _) => self.partial(&event, out),
            ("rate_limit_event", _) => rate_limit(&event, out),
            ("result", _) => self.result(&event, out),
            _ => {}
        }
        true
    }

    fn stderr(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool {
        (self.dialect.stderr)(line, out)
    }
}

impl Claude {
    fn session(&mut self, event: &Event<'_>, out: &mut Vec<AgentSignal>) {
        if !std::mem::replace(&mut self.session, true) {
            out.push(AgentSignal::Session { id: event.session_id.to_string(), model: event.model.owned() });
        }
    }

    fn assistant(&mut self, event: &Event<'_>, out: &mut Vec<AgentSignal>) {
        let blocks = blocks(event);
        if event.is_api_error_message.0 == Some(true) {
            let message = blocks.map(|block| &*block.text).collect::<Vec<_>>().join("\n");
            self.error_seen = true;
            out.push(api_error(event, &message));
            return;
        }
        self.step(event, out);
        for block in blocks {
            match &*block.r#type {
                // What a subagent says, it says to its parent.
                "text" if event.parent_tool_use_id.is_empty() => {
                    let text = text::bounded(self.torn.block(&block.text).to_string());
                    if !text.is_empty() {
                        out.push(AgentSignal::Text { text, delta: false });
                    }
                }
                "tool_use" => out.push(self.tool_call(block)),
                _ => {}
            }
        }
        self.torn.message_ends();
    }

    fn retry(&mut self, event: &Event<'_>, out: &mut Vec<AgentSignal>) {
        let data = event.data.0.as_ref();
        if data.is_some_and(|data| data.preserve_text.0 == Some(true)) {
            self.torn.broken();
        }
        retry(event, out);
    }

    /// What a model call used, so that a limit can act before the result comes and replaces these sums. Each block of a
    /// message repeats it.
    fn step(&mut self, event: &Event<'_>, out: &mut Vec<AgentSignal>) {
        let Some(message) = &event.message.0 else { return };
        let Some(tokens) = message.usage.0.as_ref().filter(|_| *message.id != *self.message_id) else {
            return;
        };
        self.message_id = message.id.to_string();
        let mut usage = self.usage(tokens);
        if self.dialect.output_in_delta {
            usage.output = 0;
        }
        if !usage.is_zero() {
            // A subagent may answer by another model.
            out.extend(message.model.owned().map(|name| AgentSignal::Model { name }));
            out.push(AgentSignal::Usage { usage, scope: Scope::Step });
        }
    }

    fn partial(&mut self, event: &Event<'_>, out: &mut Vec<AgentSignal>) {
        let Some(part) = &event.event.0 else { return };
        let own = event.parent_tool_use_id.is_empty();
        if own && &*part.r#type == "message_start" {
            self.torn.message_begins();
        }
        match (&*part.r#type, &part.delta.0, &part.usage.0) {
            ("content_block_delta", Some(delta), _)
                if &*delta.r#type == "text_delta" && !delta.text.is_empty() =>
            {
                if own {
                    self.torn.delta(&delta.text);
                }
                out.push(AgentSignal::Text { text: delta.text.to_string(), delta: true });
            }
            ("message_delta", _, Some(tokens)) if self.dialect.output_in_delta => {
                let output = tokens.output_tokens.count();
                out.push(AgentSignal::Usage {
                    usage: Usage { output, ..Usage::default() },
                    scope: Scope::Step,
                });
            }
            _ => {}
        }
    }

    fn tool_call(&mut self, block: &Block<'_>) -> AgentSignal {
        let kind = usual_kind(&block.name);
        let input = block.input.0.as_ref();
        let first = |fields: &[&Str<'_>]| fields.iter().find_map(|field| field.owned());
        let command = input.and_then(|input| first(&[&input.command, &input.cmd]));
        let path = input.and_then(|input| first(&[&input.file_path, &input.path, &input.notebook_path]));
        let call = ToolCall { id: block.id.to_string(), kind, name: block.name.to_string(), command, path };
        self.open.begin(&call);
        AgentSignal::ToolCall(call)
    }

    fn tool_results(&mut self, event: &Event<'_>, out: &mut Vec<AgentSignal>) {
        let blocks = blocks(event);
        for block in blocks.filter(|block| &*block.r#type == "tool_result") {
            let id = block.tool_use_id.to_string();
            let failed = block.is_error.0 == Some(true);
            let output = block.content.map(tool_output).unwrap_or_default();
            let shell = self.open.end(&id).filter(|call| call.kind == ToolKind::Shell);
            let exit_code = shell.and_then(|_| (self.dialect.exit_code)(&output).or((!failed).then_some(0)));
            let ok = Some(!failed);
            out.push(AgentSignal::ToolResult(ToolResult { id, ok, exit_code, output }));
        }
    }

    fn result(&mut self, event: &Event<'_>, out: &mut Vec<AgentSignal>) {
        let models = Some(&event.model_usage.0).filter(|models| !models.is_empty());
        let usage = models
            .map(|models| of_models(models))
            .or_else(|| event.usage.0.as_ref().map(|tokens| self.usage(tokens)));
        if let Some(usage) = usage {
            out.push(AgentSignal::Usage { usage, scope: Scope::Run });
        }
        if let Some(usd) = event.total_cost_usd.0 {
            out.push(AgentSignal::Cost { usd, scope: Scope::Run });
        }
        // `subtype` is "success" on API errors too; `is_error` is what counts, and its absence is no success.
        let ok =
            event.is_error.0 == Some(false) && (event.subtype.is_empty() || &*event.subtype == "success");
        let message = failure_message(event);
        if !ok && !self.error_seen {
            out.push(api_error(event, &message));
        }
        let reason = match (&*event.terminal_reason, &*event.subtype) {
            ("", subtype) => subtype,
            (reason, _) => reason,
        };
        let mut told = || self.torn.rest().unwrap_or_else(|| text::bounded(event.result.to_string()));
        let text = if ok { told() } else { text::message(&message) };
        out.push(AgentSignal::Result { ok, text, reason: reason.to_string() });
    }

    fn usage(&self, tokens: &Tokens) -> Usage {
        let input = tokens.input_tokens.count();
        let cache_read = tokens.cache_read_input_tokens.count();
        let details = tokens.output_tokens_details.0.as_ref();
        Usage {
            input: if self.dialect.input_includes_cached { input.saturating_sub(cache_read) } else { input },
            cache_read,
            cache_write: tokens.cache_creation_input_tokens.count(),
            output: tokens.output_tokens.count(),
            reasoning: details.map_or(0, |details| details.thinking_tokens.count()),
        }
    }
}

/// The blocks of a line's message.
fn blocks<'a, 'b>(event: &'b Event<'a>) -> impl Iterator<Item = &'b Block<'a>> {
    event.message.0.iter().flat_map(|message| &message.content.0).filter_map(|block| block.0.as_ref())
}

fn of_models(models: &[ModelTokens]) -> Usage {
    let mut sum = Usage::default();
    for tokens in models {
        sum.add(&Usage {
            input: tokens.input_tokens.count(),
            cache_read: tokens.cache_read_input_tokens.count(),
            cache_write: tokens.cache_creation_input_tokens.count(),
            output: tokens.output_tokens.count(),
            reasoning: tokens.thinking_tokens.count(),
        });
    }
    sum
}

fn failure_message(event: &Event<'_>) -> String {
    if !event.result.is_empty() {
        return event.result.to_string();
    }
    let object = event.error.and_then(|raw| serde_json::from_str::<ErrorObject<'_>>(raw.get()).ok());
    if let Some(object) = object.filter(|object| !object.message.is_empty()) {
        return object.message.to_string();
    }
    event.errors.0.iter().map(|error| error.to_string()).collect::<Vec<_>>().join("; ")
}

fn api_error(event: &Event<'_>, message: &str) -> AgentSignal {
    let code =
        event.error.and_then(|raw| serde_json::from_str::<Str<'_>>(raw.get()).ok()).unwrap_or_default();
    let http = event.api_error_status.u16().or_else(|| status_in(message));
    let codes = [&*code, &*event.api_error_type, &*event.api_error, &*event.terminal_reason].join(" ");
    let class = class_of(http, &codes, message);
    AgentSignal::Error { fatal: true, class, http, retry_after_ms: None, message: text::message(message) }
}

fn retry(event: &Event<'_>, out: &mut Vec<AgentSignal>) {
    let code =
        event.error.and_then(|raw| serde_json::from_str::<Str<'_>>(raw.get()).ok()).unwrap_or_default();
    let data = event.data.0.as_ref();
    let delay_ms = event.retry_delay_ms.u64().or_else(|| data.and_then(|data| data.delay_ms.u64()));
    let reason = code.owned().or_else(|| data.and_then(|data| data.reason.owned())).unwrap_or_default();
    out.push(AgentSignal::Retry {
        attempt: event.attempt.u64().or_else(|| data.and_then(|data| data.attempt.u64())),
        max: event.max_retries.u64().or_else(|| data.and_then(|data| data.max_retries.u64())),
        delay_ms,
        http: event.error_status.u16(),
        reason: text::message(&reason),
    });
}

fn rate_limit(event: &Event<'_>, out: &mut Vec<AgentSignal>) {
    let Some(info) = &event.rate_limit_info.0 else { return };
    let status = match &*info.status {
        "rejected" => LimitStatus::Rejected,
        "allowed_warning" | "warning" => LimitStatus::Warning,
        "allowed" if info.utilization.0.is_some() => LimitStatus::Allowed,
        _ => return,
    };
    let (resets_at, used) = (info.resets_at.i64(), info.utilization.0);
    out.push(AgentSignal::RateLimit { status, resets_at, window: info.rate_limit_type.owned(), used });
}

/// A tool result's content is a string, or a list of blocks.
fn tool_output(raw: &RawValue) -> String {
    let json = raw.get();
    if json.starts_with('"') {
        return text::excerpt_of_raw(json).into_owned();
    }
    let blocks = serde_json::from_str::<List<Obj<Block<'_>>>>(json).unwrap_or_default().0;
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block.0.as_ref())
        .map(|block| &*block.text)
        .filter(|text| !text.is_empty())
        .collect();
    text::excerpt(&texts.join("\n"))
}
