//! Google's protocol: gemini.

use super::http::Response;
use super::{Answer, event};
use serde_json::{Value, json};
use std::time::Duration;

fn said(answer: &Answer, parts: Vec<Value>, finish: Option<&str>) -> Value {
    let tokens = answer.tokens;
    let input = tokens.input + tokens.cached;
    // Thinking is paid like any other output, but counted apart.
    let thoughts = tokens.output / 4;
    json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": finish}],
        "usageMetadata": {"promptTokenCount": input, "cachedContentTokenCount": tokens.cached,
            "candidatesTokenCount": tokens.output - thoughts, "thoughtsTokenCount": thoughts,
            "totalTokenCount": input + tokens.output},
        "modelVersion": answer.model, "responseId": format!("resp-{}", answer.number)})
}

fn calls(answer: &Answer) -> impl Iterator<Item = Value> {
    answer
        .calls
        .iter()
        .map(|call| json!({"functionCall": {"id": call.id, "name": call.name, "args": call.arguments()}}))
}

pub fn whole(answer: &Answer) -> Value {
    let parts = std::iter::once(json!({ "text": answer.text })).chain(calls(answer)).collect();
    said(answer, parts, Some("STOP"))
}

pub fn stream(answer: &Answer) -> String {
    let text = event(None, &said(answer, vec![json!({ "text": answer.text })], None));
    let rest = event(None, &said(answer, calls(answer).collect(), Some("STOP")));
    format!("{text}{rest}")
}

/// The quota of a day: the CLI gives up at once.
pub fn limited(left: Duration) -> Response {
    let message = format!(
        "You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: \
         generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0. Please retry in {}s.",
        left.as_secs() + 1
    );
    let violation = json!({"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
        "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"});
    let details =
        json!([{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}]);
    let error = json!({"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details});
    Response::json(429, json!({ "error": error }))
}
