//! What can be asked of a run over its control socket, by whom, and what is answered. One JSON object a line.

use std::fmt;

use ralph_core::event::Event;
use ralph_core::hat::Payload;
use ralph_core::ids::{RunId, Seq};
use ralph_core::input::Command;
use serde::{Deserialize, Serialize};

use crate::snapshot::RunSnapshot;

/// Raised when something that was understood is understood no longer. Additions leave it as it is.
pub const PROTOCOL_VERSION: u32 = 1;

/// What a connection may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// See the run: its snapshot and its records.
    Watch,
    /// Everything a person can ask of the run.
    Steer,
    /// Publish topics for the iteration that is running.
    Emit,
    /// Say for the iteration that is running what an agent can say: complete, blocked, a state, a delay. No request needs
    /// this right yet.
    Declare,
}

impl Right {
    /// Of whoever can enter the run's folder.
    pub const OWNER: &'static [Right] = &[Right::Watch, Right::Steer, Right::Emit, Right::Declare];
    /// Of what the run itself has started, without a token.
    pub const INSIDE: &'static [Right] = &[];
    /// Of the token that an agent finds in its environment.
    pub const ITERATION: &'static [Right] = &[Right::Emit, Right::Declare];
}

/// One line to the socket: a request, and in whose name. A request with a token has the rights of that token and no others;
/// one without has those of the owner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    #[serde(flatten)]
    pub request: Request,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// Versions, and what this connection may do.
    Hello,
    /// The run as it is now.
    Snapshot,
    /// The records from this number on, those there are and then those to come. Nothing else is answered after it.
    Subscribe {
        #[serde(default)]
        from: Seq,
    },
    /// What a person asks of the run.
    Command(Command),
    /// What an agent publishes, with the token of its iteration.
    Emit {
        topic: String,
        #[serde(default)]
        payload: Payload,
    },
}

impl Request {
    /// What is needed to ask for it. Anybody may say hello.
    pub fn right(&self) -> Option<Right> {
        match self {
            Request::Hello => None,
            Request::Snapshot | Request::Subscribe { .. } => Some(Right::Watch),
            Request::Command(_) => Some(Right::Steer),
            Request::Emit { .. } => Some(Right::Emit),
        }
    }

    /// Why somebody with these rights may not ask for it.
    pub fn refusal(&self, rights: &[Right]) -> Option<String> {
        let right = self.right().filter(|right| !rights.contains(right))?;
        Some(match right {
            Right::Steer => {
                "an agent may not steer the run it works for; `ralph emit` is what it has, and what it prints"
                    .to_owned()
            }
            Right::Watch => "an agent may not watch the run it works for over its socket".to_owned(),
            Right::Emit | Right::Declare => {
                "this is not the token of the iteration that is running".to_owned()
            }
        })
    }
}

impl From<Request> for Asked {
    /// In the owner's name.
    fn from(request: Request) -> Self {
        Self { token: None, request }
    }
}

/// One line from the socket. The records of a subscription come as they are, without a `reply`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    Hello(Hello),
    /// What came of a command: the events that are now on disk, none if nothing changed.
    Events {
        events: Vec<Event>,
    },
    Snapshot {
        snapshot: Box<RunSnapshot>,
    },
    /// The first record that follows has this number, or a later one.
    Subscribed {
        from: Seq,
    },
    Error {
        error: Complaint,
        /// For a person.
        message: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL_VERSION`] of this ralph.
    pub protocol: u32,
    /// The version of ralph that works on the run.
    pub ralph: String,
    /// [`crate::SNAPSHOT_VERSION`] of this ralph.
    pub snapshot: u32,
    pub run: RunId,
    pub rights: Vec<Right>,
}

/// Why a request was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Complaint {
    /// Not a request that this ralph understands.
    BadRequest,
    /// Longer than a request may be; the connection is closed.
    TooLarge,
    /// The connection does not have the right.
    Refused,
    /// Too many connections; this one is closed.
    Busy,
    /// The run has ended, or does not answer.
    Ended,
    /// The run could not do it, by no fault of the request.
    Failed,
}

impl Reply {
    pub fn error(error: Complaint, message: impl fmt::Display) -> Self {
        Reply::Error { error, message: message.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::event::{Guidance, HatReset, StopHow, StopRequest};
    use ralph_core::stop::Interrupt;

    use super::*;

    fn stop(how: StopHow) -> Request {
        Request::Command(Command::StopRun(StopRequest { how, by: Interrupt::Int }))
    }

    #[test]
    fn every_request_is_one_flat_object() {
        let text = |text: &str| text.to_owned();
        for (json, request) in [
            (r#"{"request":"hello"}"#, Request::Hello),
            (r#"{"request":"snapshot"}"#, Request::Snapshot),
            (r#"{"request":"subscribe","from":7}"#, Request::Subscribe { from: Seq(7) }),
            (
                r#"{"request":"command","command":"stop","how":"after_iteration","by":"int"}"#,
                stop(StopHow::AfterIteration),
            ),
            (r#"{"request":"command","command":"pause"}"#, Request::Command(Command::PauseRun)),
            (
                r#"{"request":"command","command":"unpause","now":true}"#,
                Request::Command(Command::UnpauseRun { now: true }),
            ),
            (
                r#"{"request":"command","command":"say","text":"hi"}"#,
                Request::Command(Command::AddGuidance(Guidance { text: text("hi") })),
            ),
            (
                r#"{"request":"command","command":"reset_hat","hat":"a"}"#,
                Request::Command(Command::ResetHat(HatReset { hat: "a".into() })),
            ),
            (r#"{"request":"command","command":"review_loop"}"#, Request::Command(Command::ReviewLoop)),
            (r#"{"request":"command","command":"skip_wait"}"#, Request::Command(Command::SkipWait)),
            (
                r#"{"request":"emit","topic":"a.b","payload":"x"}"#,
                Request::Emit { topic: text("a.b"), payload: Payload::from_bytes(b"x".to_vec()) },
            ),
        ] {
            let asked = Asked::from(request);
            assert_eq!(serde_json::to_string(&asked).expect("JSON"), json);
            assert_eq!(serde_json::from_str::<Asked>(json).expect(json), asked);
        }
        let short: Asked = serde_json::from_str(r#"{"request":"command","command":"stop","how":"kill"}"#)
            .expect("a request");
        assert_eq!(short.request, stop(StopHow::Kill), "who asks need not be said");
        let with_token: Asked =
            serde_json::from_str(r#"{"request":"hello","token":"t"}"#).expect("a request");
        assert_eq!(with_token.token.as_deref(), Some("t"));
        for bad in [
            r#"{"request":"command","command":"resume"}"#,
            r#"{"request":"command"}"#,
            r#"{"command":"pause"}"#,
            "[]",
        ] {
            assert!(serde_json::from_str::<Asked>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_iteration_may_emit_and_nothing_else_and_a_stranger_nothing() {
        let emit = Request::Emit { topic: "a.b".to_owned(), payload: Payload::default() };
        let all = [
            Request::Hello,
            Request::Snapshot,
            Request::Subscribe { from: Seq(1) },
            stop(StopHow::Kill),
            emit,
        ];
        let allowed =
            |rights: &[Right]| -> Vec<bool> { all.iter().map(|it| it.refusal(rights).is_none()).collect() };
        assert_eq!(allowed(Right::OWNER), [true; 5]);
        assert_eq!(allowed(Right::ITERATION), [true, false, false, false, true]);
        assert_eq!(allowed(&[]), [true, false, false, false, false]);
        let told = stop(StopHow::Kill).refusal(Right::ITERATION).expect("refused");
        assert!(told.contains("`ralph emit` is what it has"), "{told}");
    }
}
