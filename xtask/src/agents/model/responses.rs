//! OpenAI Responses: codex.

use super::{Answer, Input, Invocation, event};
use serde_json::{Value, json};

fn item(number: u64, call: &Invocation) -> Value {
    let id = format!("fc_{number}_{}", call.id);
    let mut item = match &call.input {
        Input::Program(program) => {
            json!({"type": "custom_tool_call", "id": id, "call_id": call.id, "name": call.name,
                "input": program, "status": "completed"})
        }
        Input::Arguments(arguments) => {
            json!({"type": "function_call", "id": id, "call_id": call.id, "name": call.name,
                "arguments": arguments.to_string(), "status": "completed"})
        }
    };
    if let Some(namespace) = &call.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn items(answer: &Answer) -> Vec<Value> {
    let said = json!({"type": "message", "id": format!("msg_{}", answer.number), "role": "assistant",
        "status": "completed", "content": [{"type": "output_text", "text": answer.text, "annotations": []}]});
    std::iter::once(said).chain(answer.calls.iter().map(|call| item(answer.number, call))).collect()
}

pub fn whole(answer: &Answer) -> Value {
    let tokens = answer.tokens;
    let input = tokens.input + tokens.cached;
    json!({"id": format!("resp_{}", answer.number), "object": "response", "created_at": 1_700_000_000,
        "model": answer.model, "status": "completed", "error": null, "output": items(answer),
        "usage": {"input_tokens": input, "input_tokens_details": {"cached_tokens": tokens.cached},
            "output_tokens": tokens.output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + tokens.output}})
}

pub fn stream(answer: &Answer) -> String {
    let mut out = String::new();
    let mut say = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        out.push_str(&event(Some(kind), &data));
    };
    let last = whole(answer);
    let mut first = last.clone();
    (first["status"], first["output"], first["usage"]) = (json!("in_progress"), json!([]), Value::Null);
    say("response.created", json!({ "response": first }));
    for (index, item) in items(answer).into_iter().enumerate() {
        if item["type"] == "message" {
            let mut begun = item.clone();
            (begun["status"], begun["content"]) = (json!("in_progress"), json!([]));
            say("response.output_item.added", json!({"output_index": index, "item": begun}));
            let delta = json!({"output_index": index, "content_index": 0, "item_id": item["id"], "delta": answer.text});
            say("response.output_text.delta", delta);
        } else {
            say("response.output_item.added", json!({"output_index": index, "item": item}));
        }
        say("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    say("response.completed", json!({ "response": last }));
    out
}
