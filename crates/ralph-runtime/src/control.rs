//! The way into a live run: a socket in a folder that only its owner can enter. One JSON line in, one out.

use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use ralph_core::event::{Event, Guidance, HatReset, StopHow, StopRequest, TopicEmitted};
use ralph_core::hat::Payload;
use ralph_core::input::{Command, Input, Report};
use ralph_core::stop::Interrupt;
use ralph_store::RunDir;
use serde::{Deserialize, Serialize};

use crate::driver::Envelope;
use crate::token::{Token, Tokens};

/// What can be asked of a live run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Request {
    Stop {
        how: StopHow,
    },
    Pause,
    Unpause {
        /// Also end a wait for a usage limit.
        now: bool,
    },
    Say {
        text: String,
    },
    ResetHat {
        hat: String,
    },
    /// By the agent, with the token of its iteration.
    Emit {
        token: String,
        topic: String,
        payload: Payload,
    },
}

impl Request {
    fn into_input(self, tokens: &Tokens) -> Result<Input, String> {
        let command = match self {
            Request::Stop { how } => Command::StopRun(StopRequest { how, by: Interrupt::Int }),
            Request::Pause => Command::PauseRun,
            Request::Unpause { now } => Command::UnpauseRun { now },
            Request::Say { text } => Command::AddGuidance(Guidance { text }),
            Request::ResetHat { hat } => Command::ResetHat(HatReset { hat }),
            Request::Emit { token, topic, payload } => {
                let Some(Token { iteration, attempt, .. }) = tokens.find(&token) else {
                    return Err("this is not the token of the iteration that is running".to_owned());
                };
                let emitted = TopicEmitted { iteration, attempt, topic, payload };
                return Ok(Input::Report(Report::TopicEmitted(emitted)));
            }
        };
        Ok(Input::Command(command))
    }
}

/// What came of it: the events that are now on disk, none if nothing changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Response {
    Events(Vec<Event>),
    Error(String),
}

/// The kernel takes at most 107 bytes; longer paths go into a short folder.
const MAX_SOCKET_PATH: usize = 100;
/// The longest payload, of characters that JSON writes with six bytes.
const MAX_REQUEST: u64 = 16 << 20;
/// A run that does not answer by then is stuck on its disk.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn socket_path(run: &RunDir) -> PathBuf {
    let path = run.path.join("control");
    if path.as_os_str().len() < MAX_SOCKET_PATH { path } else { short_folder().join(&run.id.0) }
}

fn short_folder() -> PathBuf {
    PathBuf::from(format!("/tmp/ralph-{}", rustix::process::getuid().as_raw()))
}

/// The open socket; removed when dropped.
pub(crate) struct Server {
    path: PathBuf,
    over: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(run: &RunDir, inbox: Sender<Envelope>, tokens: Arc<Tokens>) -> io::Result<Self> {
        let path = socket_path(run);
        if path.parent() != Some(&run.path) {
            make_short_folder()?;
        }
        // A run that was killed leaves its socket; the journal's lock says that it is dead.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        std::thread::Builder::new().name("control".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let (inbox, tokens) = (inbox.clone(), Arc::clone(&tokens));
                let _ = std::thread::Builder::new()
                    .name("control".into())
                    .spawn(move || serve(&stream, &inbox, &tokens));
            }
        })?;
        Ok(Self { path, over })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // The listener sleeps until somebody comes.
        let _ = UnixStream::connect(&self.path);
        let _ = fs::remove_file(&self.path);
    }
}

/// Somebody else may have made the folder first: then it is not used.
fn make_short_folder() -> io::Result<()> {
    let folder = short_folder();
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let meta = fs::symlink_metadata(&folder)?;
    if meta.is_dir() && meta.uid() == rustix::process::getuid().as_raw() && meta.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!("{} is not a private folder of yours", folder.display())))
}

fn serve(stream: &UnixStream, inbox: &Sender<Envelope>, tokens: &Tokens) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let mut line = String::new();
    let response = match BufReader::new(stream.take(MAX_REQUEST)).read_line(&mut line) {
        Ok(_) => answer(&line, inbox, tokens),
        Err(error) => Response::Error(error.to_string()),
    };
    let _ = write_line(stream, &response);
}

fn answer(line: &str, inbox: &Sender<Envelope>, tokens: &Tokens) -> Response {
    let request: Request = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => return Response::Error(format!("this ralph does not understand the request: {error}")),
    };
    let (reply, events) = mpsc::channel();
    let input = match request.into_input(tokens) {
        Ok(input) => input,
        Err(message) => return Response::Error(message),
    };
    let envelope = Envelope { input, reply: Some(reply) };
    if inbox.send(envelope).is_err() {
        return Response::Error("the run has just ended".to_owned());
    }
    match events.recv_timeout(PATIENCE) {
        Ok(events) => Response::Events(events.into_iter().map(without_payload).collect()),
        Err(mpsc::RecvTimeoutError::Disconnected) => Response::Error("the run has just ended".to_owned()),
        Err(mpsc::RecvTimeoutError::Timeout) => Response::Error("the run does not answer".to_owned()),
    }
}

/// Who sent it knows what it was.
fn without_payload(event: Event) -> Event {
    match event {
        Event::TopicEmitted(emitted) => {
            Event::TopicEmitted(TopicEmitted { payload: Payload::default(), ..emitted })
        }
        other => other,
    }
}

fn write_line(mut stream: &UnixStream, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Asks a live run for something.
pub fn ask(run: &RunDir, request: &Request) -> io::Result<Vec<Event>> {
    ask_at(&socket_path(run), request)
}

/// The same, by the path of the socket, which an agent finds in its environment.
pub fn ask_at(socket: &Path, request: &Request) -> io::Result<Vec<Event>> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE + Duration::from_secs(5)))?;
    write_line(&stream, request)?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    match serde_json::from_str(&line) {
        Ok(Response::Events(events)) => Ok(events),
        Ok(Response::Error(message)) => Err(io::Error::other(message)),
        Err(_) if line.is_empty() => Err(io::Error::other("the run has just ended")),
        Err(error) => Err(error.into()),
    }
}
