//! Anthropic Messages: claude and opencode.

use super::http::Response;
use super::{Answer, event};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn usage(answer: &Answer, output: u64) -> Value {
    let tokens = answer.tokens;
    json!({"input_tokens": tokens.input, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": tokens.cached, "output_tokens": output})
}

fn stop(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn head(answer: &Answer, content: Value, stop: Value, output: u64) -> Value {
    json!({"id": format!("msg_{:06}", answer.number), "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage(answer, output)})
}

pub fn whole(answer: &Answer) -> Value {
    let mut content = vec![json!({"type": "text", "text": answer.text})];
    content.extend(answer.calls.iter().map(|call| {
        json!({"type": "tool_use", "id": format!("toolu_{}", call.id), "name": call.name, "input": call.arguments()})
    }));
    head(answer, json!(content), json!(stop(answer)), answer.tokens.output)
}

pub fn stream(answer: &Answer) -> String {
    let mut out = String::new();
    let mut say = |data: Value| out.push_str(&event(data["type"].as_str(), &data));
    say(json!({"type": "message_start", "message": head(answer, json!([]), Value::Null, 1)}));
    let mut block = |index: usize, start: Value, delta: Value| {
        say(json!({"type": "content_block_start", "index": index, "content_block": start}));
        say(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        say(json!({"type": "content_block_stop", "index": index}));
    };
    block(0, json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": answer.text}));
    for (index, call) in answer.calls.iter().enumerate() {
        let id = format!("toolu_{}", call.id);
        let start = json!({"type": "tool_use", "id": id, "name": call.name, "input": {}});
        let arguments = call.arguments().to_string();
        block(index + 1, start, json!({"type": "input_json_delta", "partial_json": arguments}));
    }
    let delta = json!({"stop_reason": stop(answer), "stop_sequence": null});
    say(json!({"type": "message_delta", "delta": delta, "usage": usage(answer, answer.tokens.output)}));
    say(json!({"type": "message_stop"}));
    out
}

/// As the service words it for an account, with the headers that tell when it ends.
pub fn limited(left: Duration) -> Response {
    let seconds = left.as_secs() + 1;
    let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() + seconds;
    let message =
        format!("This request would exceed your account's rate limit. Your limit will reset at {until}.");
    let body = json!({"type": "error", "error": {"type": "rate_limit_error", "message": message}});
    Response::json(429, body)
        .header("anthropic-ratelimit-unified-status", "rejected")
        .header("anthropic-ratelimit-unified-reset", until)
        .header("anthropic-ratelimit-unified-representative-claim", "five_hour")
        .header("anthropic-ratelimit-unified-5h-status", "rejected")
        .header("anthropic-ratelimit-unified-5h-reset", until)
        .header("retry-after", seconds)
        .header("x-should-retry", "false")
}
