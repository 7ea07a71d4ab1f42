//! OpenAI Chat Completions: most CLIs that take a server of one's own.

use super::http::Response;
use super::{Answer, event};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn usage(answer: &Answer) -> Value {
    let tokens = answer.tokens;
    let input = tokens.input + tokens.cached;
    json!({"prompt_tokens": input, "completion_tokens": tokens.output, "total_tokens": input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": 0}})
}

fn calls(answer: &Answer) -> Vec<Value> {
    let of = |(index, call): (usize, &super::Invocation)| {
        json!({"index": index, "id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": call.arguments().to_string()}})
    };
    answer.calls.iter().enumerate().map(of).collect()
}

fn finish(answer: &Answer) -> &'static str {
    if answer.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn head(answer: &Answer, object: &str, choices: Value) -> Value {
    json!({"id": format!("chatcmpl-{}", answer.number), "object": object, "created": 1_700_000_000,
        "model": answer.model, "choices": choices})
}

pub fn whole(answer: &Answer) -> Value {
    let mut message = json!({"role": "assistant", "content": answer.text});
    if !answer.calls.is_empty() {
        message["tool_calls"] = json!(calls(answer));
    }
    let choices = json!([{"index": 0, "message": message, "finish_reason": finish(answer)}]);
    let mut said = head(answer, "chat.completion", choices);
    said["usage"] = usage(answer);
    said
}

pub fn stream(answer: &Answer) -> String {
    let chunk = |delta: Value, finish: Option<&str>| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        event(None, &head(answer, "chat.completion.chunk", choices))
    };
    let mut out = chunk(json!({"role": "assistant", "content": ""}), None);
    out.push_str(&chunk(json!({"content": answer.text}), None));
    if !answer.calls.is_empty() {
        out.push_str(&chunk(json!({"tool_calls": calls(answer)}), None));
    }
    out.push_str(&chunk(json!({}), Some(finish(answer))));
    let mut last = head(answer, "chat.completion.chunk", json!([]));
    last["usage"] = usage(answer);
    out.push_str(&event(None, &last));
    out.push_str("data: [DONE]\n\n");
    out
}

/// A plan's limit, for Chat and for Responses. `retry-after` is short: else CLIs wait by themselves, silently.
pub fn limited(left: Duration) -> Response {
    let seconds = left.as_secs() + 1;
    let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() + seconds;
    let message = format!("The usage limit has been reached. Try again in {seconds} seconds.");
    let body = json!({"error": {"type": "usage_limit_reached", "code": "usage_limit_reached", "message": message,
        "param": null, "plan_type": "plus", "resets_at": until, "resets_in_seconds": seconds}});
    Response::json(429, body).header("retry-after", 1)
}
