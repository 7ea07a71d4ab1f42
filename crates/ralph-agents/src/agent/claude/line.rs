//! The lines of Claude Code's stream, as far as ralph reads them.
//!
//! The structs borrow from the line and hold what is read; all else is stepped over without being decoded, tool outputs
//! above all.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::stream::lax::{Flag as Bool, List, Num, Obj, Str, Values};

/// A line of the stream.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Event<'a> {
    pub(super) r#type: Str<'a>,
    pub(super) subtype: Str<'a>,
    pub(super) session_id: Str<'a>,
    /// Set on what a subagent says and does.
    pub(super) parent_tool_use_id: Str<'a>,
    pub(super) model: Str<'a>,
    pub(super) message: Obj<Message<'a>>,
    pub(super) event: Obj<Partial<'a>>,
    /// A code on an assistant message and on a retry, an object on a result of qwen.
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    pub(super) errors: List<Str<'a>>,
    pub(super) is_api_error_message: Bool,
    pub(super) api_error_status: Num,
    pub(super) api_error_type: Str<'a>,
    pub(super) api_error: Str<'a>,
    // result
    pub(super) is_error: Bool,
    pub(super) result: Str<'a>,
    pub(super) terminal_reason: Str<'a>,
    pub(super) usage: Obj<Tokens>,
    #[serde(rename = "modelUsage")]
    pub(super) model_usage: Values<ModelTokens>,
    pub(super) total_cost_usd: Num,
    // system/api_retry
    pub(super) attempt: Num,
    pub(super) max_retries: Num,
    pub(super) retry_delay_ms: Num,
    pub(super) error_status: Num,
    /// system/retry of qwen
    pub(super) data: Obj<RetryData<'a>>,
    pub(super) rate_limit_info: Obj<LimitInfo<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    pub(super) id: Str<'a>,
    pub(super) model: Str<'a>,
    pub(super) usage: Obj<Tokens>,
    pub(super) content: List<Obj<Block<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Block<'a> {
    pub(super) r#type: Str<'a>,
    pub(super) text: Str<'a>,
    pub(super) id: Str<'a>,
    pub(super) name: Str<'a>,
    pub(super) input: Obj<Input<'a>>,
    pub(super) tool_use_id: Str<'a>,
    pub(super) is_error: Bool,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Input<'a> {
    pub(super) command: Str<'a>,
    pub(super) file_path: Str<'a>,
    pub(super) path: Str<'a>,
    pub(super) notebook_path: Str<'a>,
    pub(super) cmd: Str<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Partial<'a> {
    pub(super) r#type: Str<'a>,
    pub(super) delta: Obj<Delta<'a>>,
    pub(super) usage: Obj<Tokens>,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Delta<'a> {
    pub(super) r#type: Str<'a>,
    pub(super) text: Str<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Tokens {
    pub(super) input_tokens: Num,
    pub(super) cache_creation_input_tokens: Num,
    pub(super) cache_read_input_tokens: Num,
    pub(super) output_tokens: Num,
    pub(super) output_tokens_details: Obj<OutputDetails>,
}

/// The share of one model. Also right where `usage` is not: it is all zero when a budget ran out.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ModelTokens {
    pub(super) input_tokens: Num,
    pub(super) cache_creation_input_tokens: Num,
    pub(super) cache_read_input_tokens: Num,
    pub(super) output_tokens: Num,
    pub(super) thinking_tokens: Num,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct OutputDetails {
    pub(super) thinking_tokens: Num,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct RetryData<'a> {
    pub(super) reason: Str<'a>,
    pub(super) attempt: Num,
    #[serde(rename = "maxRetries")]
    pub(super) max_retries: Num,
    #[serde(rename = "delayMs")]
    pub(super) delay_ms: Num,
    /// The text so far stays, and the next try is joined to it.
    #[serde(rename = "preserveText")]
    pub(super) preserve_text: Bool,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct LimitInfo<'a> {
    pub(super) status: Str<'a>,
    pub(super) resets_at: Num,
    pub(super) rate_limit_type: Str<'a>,
    pub(super) utilization: Num,
}

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ErrorObject<'a> {
    pub(super) message: Str<'a>,
}
