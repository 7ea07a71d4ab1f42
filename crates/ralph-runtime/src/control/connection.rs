//! One connection: requests, each answered before the next is read.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::Duration;

use ralph_core::event::{Event, StopHow, TopicEmitted};
use ralph_core::hat::Payload;
use ralph_core::input::{Command, Input, Report};
use ralph_model::{Asked, Complaint, Hello, PROTOCOL_VERSION, Reply, Request, Right, SNAPSHOT_VERSION};
use serde::Serialize;

use super::{Door, Service, peer, subscriber};
use crate::driver::Envelope;
use crate::token::Token;
use crate::watchdog;

/// The longest payload, of characters that JSON writes with six bytes, and more than enough for everything around it.
const MAX_REQUEST: usize = 16 << 20;
/// A run that does not answer by then is stuck on its disk. A connection that asks nothing for this long is closed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Answers until the other side has no more requests.
pub(super) fn serve(stream: &UnixStream, door: Door, service: &Service) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let is_inside = peer::is_inside(stream);
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        // Nobody is there any more, or asks anything.
        let Ok(1..) = (&mut reader).take(MAX_REQUEST as u64 + 1).read_until(b'\n', &mut line) else { return };
        if line.len() > MAX_REQUEST {
            let message = format!("a request has at most {MAX_REQUEST} bytes");
            let _ = reply(stream, &Reply::error(Complaint::TooLarge, message));
            return;
        }
        let answered = match admit(&line, door, is_inside, service) {
            Ok((Request::Subscribe { from }, _)) => return subscriber::serve(stream, service, from),
            Ok((request, caller)) => {
                // The end of the run waits for this: who asks for the end is told.
                let changes = matches!(request, Request::Command(_) | Request::Emit { .. });
                let _answering = changes.then(|| service.subscribers.answering());
                reply(stream, &answer(request, &caller, service))
            }
            Err(complaint) => reply(stream, &complaint),
        };
        if answered.is_err() {
            return;
        }
    }
}

pub(super) fn reply(mut stream: &UnixStream, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// In whose name something is asked.
struct Caller {
    rights: &'static [Right],
    token: Option<Token>,
}

/// A request that may be asked, and by whom it is.
fn admit(line: &[u8], door: Door, is_inside: bool, service: &Service) -> Result<(Request, Caller), Reply> {
    let asked: Asked = serde_json::from_slice(line).map_err(|error| {
        let message = format!("this ralph does not understand the request: {error}");
        Reply::error(Complaint::BadRequest, message)
    })?;
    let token = asked.token.as_deref().and_then(|secret| service.tokens.find(secret));
    let rights = match (&asked.token, &token) {
        (None, _) if door == Door::Agent => &[],
        // Whatever became of its token.
        (None, _) if is_inside => Right::INSIDE,
        (None, _) => Right::OWNER,
        (Some(_), Some(_)) => Right::ITERATION,
        (Some(_), None) => &[],
    };
    match asked.request.refusal(rights) {
        Some(message) => Err(Reply::error(Complaint::Refused, message)),
        None => Ok((asked.request, Caller { rights, token })),
    }
}

fn answer(request: Request, caller: &Caller, service: &Service) -> Reply {
    match request {
        Request::Hello => Reply::Hello(Hello {
            protocol: PROTOCOL_VERSION,
            ralph: service.version.clone(),
            snapshot: SNAPSHOT_VERSION,
            run: service.run.id.clone(),
            rights: caller.rights.to_vec(),
        }),
        Request::Command(command) => hand_over(Input::Command(command), service),
        Request::Emit { topic, payload } => match &caller.token {
            Some(Token { iteration, attempt, .. }) => {
                let emitted = TopicEmitted { iteration: *iteration, attempt: *attempt, topic, payload };
                hand_over(Input::Report(Report::TopicEmitted(emitted)), service)
            }
            None => Reply::error(
                Complaint::Refused,
                "a topic is published with the token of the iteration that is running",
            ),
        },
        Request::Snapshot => match service.watched.snapshot(&service.run) {
            Ok(Some(snapshot)) => Reply::Snapshot { snapshot: Box::new(snapshot) },
            Ok(None) => Reply::error(Complaint::Failed, "the run has not begun yet"),
            Err(error) => Reply::error(Complaint::Failed, error),
        },
        // Answered by the thread of the connection itself, which does nothing else from then on.
        Request::Subscribe { from } => Reply::Subscribed { from },
    }
}

/// Gives an input to the driver and waits until what came of it is on disk.
fn hand_over(input: Input, service: &Service) -> Reply {
    if let Input::Command(Command::StopRun(stop)) = &input
        && stop.how != StopHow::AfterIteration
    {
        watchdog::expect_end(&service.at_work, watchdog::PATIENCE, watchdog::give_up);
    }
    let ended = || Reply::error(Complaint::Ended, "the run has just ended");
    let (reply, events) = mpsc::channel();
    if service.inbox.send(Envelope { input, reply: Some(reply) }).is_err() {
        return ended();
    }
    match events.recv_timeout(PATIENCE) {
        Ok(events) => Reply::Events { events: events.into_iter().map(without_payload).collect() },
        Err(mpsc::RecvTimeoutError::Disconnected) => ended(),
        Err(mpsc::RecvTimeoutError::Timeout) => Reply::error(Complaint::Ended, "the run does not answer"),
    }
}

/// The sender of a payload knows it.
fn without_payload(event: Event) -> Event {
    match event {
        Event::TopicEmitted(emitted) => {
            Event::TopicEmitted(TopicEmitted { payload: Payload::default(), ..emitted })
        }
        other => other,
    }
}
