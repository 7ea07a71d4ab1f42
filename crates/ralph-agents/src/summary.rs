//! What one run of an agent came to, folded from its signals. Bounded whatever the agent prints.

use ralph_core::usage::Usage;

use crate::signal::{AgentSignal, FailureClass, LimitStatus};
use crate::stream::text;
use crate::tool::{OpenCalls, ToolCall};
use crate::totals::Totals;

/// Lines of noise kept for the message of a run that failed without a word in its stream.
const NOISE_KEPT: usize = 5;
/// Windows that are told apart.
const WINDOWS: usize = 8;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunSummary {
    pub session: Option<String>,
    pub model: Option<String>,
    pub totals: Totals,
    /// The stream's own end; the last one, if there are several.
    pub result: Option<StreamResult>,
    /// The last error the CLI gave up over.
    pub error: Option<ErrorSeen>,
    /// How much of each window of the plan is used, where it said so.
    pub quotas: Vec<QuotaTold>,
    /// A usage limit that was hit.
    pub limit: Option<LimitSeen>,
    /// The CLI was trying again when this was last heard of it.
    pub retrying: Option<RetrySeen>,
    pub retries: u64,
    /// Times in a row that its context was too long, with no tool called in between: it compacts and asks again in vain.
    pub overflows: u32,
    /// Calls of tools that have not ended.
    pub open: OpenCalls,
    /// The last lines that were not part of the stream.
    pub noise: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StreamResult {
    pub ok: bool,
    pub text: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ErrorSeen {
    pub class: FailureClass,
    pub http: Option<u16>,
    pub retry_after_ms: Option<u64>,
    pub message: String,
}

/// How much of a window of the plan is used.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaTold {
    pub window: String,
    /// From 0 to 1.
    pub used: f64,
    /// Seconds since 1970.
    pub resets_at: Option<i64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LimitSeen {
    pub resets_at: Option<i64>,
    pub window: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RetrySeen {
    pub http: Option<u16>,
    /// How long it waits before that, where it said so.
    pub delay_ms: Option<u64>,
    pub reason: String,
}

impl RunSummary {
    /// For a process that goes on with a session, see [`Totals::resumed`].
    pub fn resumed(usage: Usage) -> RunSummary {
        RunSummary { totals: Totals::resumed(usage), ..RunSummary::default() }
    }

    /// Gives the call of a tool that is over with this signal: by its result, or because too many were open.
    pub fn observe(&mut self, signal: &AgentSignal) -> Option<ToolCall> {
        self.totals.observe(signal);
        self.note_quota(signal);
        match signal {
            AgentSignal::Session { id, model } => {
                self.session = Some(id.clone());
                self.model = model.clone().or(self.model.take());
            }
            AgentSignal::Text { .. } => self.retrying = None,
            AgentSignal::ToolCall(call) => {
                self.retrying = None;
                self.overflows = 0;
                return self.open.begin(call);
            }
            AgentSignal::ToolResult(result) => return self.open.end(&result.id),
            AgentSignal::Retry { http, delay_ms, reason, .. } => {
                self.retries += 1;
                // A notice on the other stream may tell less of the same retry.
                let known = self.retrying.take().and_then(|retry| retry.http);
                let (http, delay_ms) = (http.or(known), *delay_ms);
                self.retrying = Some(RetrySeen { http, delay_ms, reason: reason.clone() });
            }
            AgentSignal::RateLimit { status: LimitStatus::Rejected, resets_at, window, .. } => {
                self.limit = Some(LimitSeen { resets_at: *resets_at, window: window.clone() });
            }
            AgentSignal::Error { fatal: true, class, http, retry_after_ms, message } => {
                let (class, http, retry_after_ms) = (*class, *http, *retry_after_ms);
                let overflows = self.overflows.saturating_add(1);
                self.overflows = if class == FailureClass::ContextTooLong { overflows } else { 0 };
                self.error = Some(ErrorSeen { class, http, retry_after_ms, message: message.clone() });
            }
            AgentSignal::Result { ok, text, reason } => {
                let (text, reason) = (text.clone(), text::message(reason));
                self.result = Some(StreamResult { ok: *ok, text, reason });
            }
            AgentSignal::Noise { line } => {
                if self.noise.len() >= NOISE_KEPT {
                    self.noise.remove(0);
                }
                self.noise.push(line.clone());
            }
            _ => {}
        }
        None
    }

    fn note_quota(&mut self, signal: &AgentSignal) {
        let AgentSignal::RateLimit { resets_at, window: Some(window), used: Some(used), .. } = signal else {
            return;
        };
        self.quotas.retain(|one| one.window != *window);
        if self.quotas.len() < WINDOWS {
            self.quotas.push(QuotaTold { window: window.clone(), used: *used, resets_at: *resets_at });
        }
    }

    /// The agent's final word, if its stream ended well.
    pub fn final_text(&self) -> Option<&str> {
        self.result.as_ref().filter(|result| result.ok).map(|result| result.text.as_str())
    }
}
