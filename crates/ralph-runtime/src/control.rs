//! The way into a live run: a socket in a folder that only its owner can enter. One JSON line in, one out.

use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use ralph_core::event::{Event, Guidance, StopHow, StopRequest};
use ralph_core::input::{Command, Input};
use ralph_core::stop::Interrupt;
use serde::{Deserialize, Serialize};

use crate::driver::Envelope;
use crate::store::RunDir;

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
}

impl From<Request> for Command {
    fn from(request: Request) -> Self {
        match request {
            Request::Stop { how } => Command::StopRun(StopRequest { how, by: Interrupt::Int }),
            Request::Pause => Command::PauseRun,
            Request::Unpause { now } => Command::UnpauseRun { now },
            Request::Say { text } => Command::AddGuidance(Guidance { text }),
        }
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
const MAX_REQUEST: u64 = 4 << 20;
/// A run that does not answer by then is stuck on its disk.
const PATIENCE: Duration = Duration::from_secs(30);

fn socket_path(run: &RunDir) -> PathBuf {
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
    pub(crate) fn start(run: &RunDir, inbox: Sender<Envelope>) -> io::Result<Self> {
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
                let inbox = inbox.clone();
                let _ =
                    std::thread::Builder::new().name("control".into()).spawn(move || serve(&stream, &inbox));
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

fn serve(stream: &UnixStream, inbox: &Sender<Envelope>) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let mut line = String::new();
    let response = match BufReader::new(stream.take(MAX_REQUEST)).read_line(&mut line) {
        Ok(_) => answer(&line, inbox),
        Err(error) => Response::Error(error.to_string()),
    };
    let _ = write_line(stream, &response);
}

fn answer(line: &str, inbox: &Sender<Envelope>) -> Response {
    let request: Request = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(error) => return Response::Error(format!("this ralph does not understand the request: {error}")),
    };
    let (reply, events) = mpsc::channel();
    let envelope = Envelope { input: Input::Command(request.into()), reply: Some(reply) };
    if inbox.send(envelope).is_err() {
        return Response::Error("the run has just ended".to_owned());
    }
    match events.recv_timeout(PATIENCE) {
        Ok(events) => Response::Events(events),
        Err(mpsc::RecvTimeoutError::Disconnected) => Response::Error("the run has just ended".to_owned()),
        Err(mpsc::RecvTimeoutError::Timeout) => Response::Error("the run does not answer".to_owned()),
    }
}

fn write_line(mut stream: &UnixStream, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Asks a live run for something.
pub fn ask(run: &RunDir, request: &Request) -> io::Result<Vec<Event>> {
    let stream = UnixStream::connect(socket_path(run))?;
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
