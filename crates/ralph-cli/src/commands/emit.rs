//! `ralph emit`: called by the agent to publish a topic.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use ralph_core::event::{Event, TopicRejected};
use ralph_core::hat::{MAX_PAYLOAD, Payload};
use ralph_model::{Asked, Request};
use ralph_store::ask_for_events;

use crate::args::EmitArgs;
use crate::error::CliError;

pub fn emit(args: EmitArgs) -> Result<u8, CliError> {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let (Some(socket), Some(token)) = (var("RALPH_SOCKET"), var("RALPH_TOKEN")) else {
        return Err(CliError::Usage(
            "this is not inside a run: `ralph emit` is for the agent that ralph has started".to_owned(),
        ));
    };
    let payload = payload(args.payload, args.json)?;
    let token = Some(token.to_string_lossy().into_owned());
    let asked = Asked { token, request: Request::Emit { topic: args.topic.clone(), payload } };
    let events = ask_for_events(&PathBuf::from(socket), &asked)
        .map_err(|error| CliError::Failed(format!("`{}` is refused: {error}", args.topic)))?;
    let rejected = events.iter().find_map(|event| match event {
        Event::TopicRejected(rejected) => Some(rejected),
        _ => None,
    });
    match (rejected, events.is_empty()) {
        (Some(rejected), _) => Err(CliError::Failed(refusal(rejected))),
        (None, true) => Err(CliError::Failed("this run has no hats, so nobody hears of it".to_owned())),
        // Nothing is printed: it would be in the output of the agent, which is looked at and shown.
        (None, false) => Ok(0),
    }
}

fn refusal(rejected: &TopicRejected) -> String {
    let may = match rejected.may_publish.is_empty() {
        true => "nothing".to_owned(),
        false => rejected.may_publish.join(", "),
    };
    format!("{}\n`{}` may publish: {may}", rejected.why, rejected.hat)
}

fn payload(given: Option<OsString>, json: Option<String>) -> Result<Payload, CliError> {
    let bytes = match (given, json) {
        (_, Some(json)) => {
            serde_json::from_str::<serde::de::IgnoredAny>(&json)
                .map_err(|error| CliError::Usage(format!("`--json`: this is no JSON: {error}")))?;
            json.into_bytes()
        }
        (Some(text), None) if text == "-" => {
            let mut bytes = Vec::new();
            // One byte more than is allowed, so that too long is told from just long enough.
            std::io::stdin().take(MAX_PAYLOAD as u64 + 1).read_to_end(&mut bytes)?;
            bytes
        }
        (Some(text), None) => text.into_vec(),
        (None, None) => Vec::new(),
    };
    match bytes.len() > MAX_PAYLOAD {
        true => Err(CliError::Usage(format!(
            "the payload is longer than {MAX_PAYLOAD} bytes; put it into a file and publish its path"
        ))),
        false => Ok(Payload::from_bytes(bytes)),
    }
}
