//! Asking something of a live run, over the socket in its folder.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::event::Event;
use ralph_model::{Asked, Complaint, Reply};

use crate::run_dir::RunDir;

/// The kernel takes at most 107 bytes; longer paths go into a short folder.
const MAX_SOCKET_PATH: usize = 100;
/// A run that does not answer by then is stuck on its disk, and has said so.
const PATIENCE: Duration = Duration::from_secs(35);

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("cannot be reached: {0}")]
    Io(#[from] io::Error),
    #[error("{message}")]
    Complaint { error: Complaint, message: String },
    #[error("stands still (Ctrl-Z, or a STOP signal): `fg` in its shell or `kill -CONT {pid}` lets it go on")]
    Stands { pid: i32 },
    #[error("has just ended")]
    Ended,
    #[error("gave an answer that this ralph does not understand: {0}")]
    Answer(String),
}

impl RunDir {
    /// Where the process that works on the run listens.
    pub fn socket(&self) -> PathBuf {
        let path = self.path.join("control");
        if path.as_os_str().len() < MAX_SOCKET_PATH { path } else { short_folder().join(&self.id.0) }
    }

    /// What of the run its confined programs may reach: the way to `ralph`, temporary files, and the socket below.
    pub fn room(&self) -> PathBuf {
        let state = self.path.parent().and_then(Path::parent).unwrap_or(&self.path);
        let room = |state: &Path| state.join("rooms").join(&self.id.0);
        let here = room(state);
        match here.join(EMIT).as_os_str().len() < MAX_SOCKET_PATH {
            true => here,
            false => room(&short_folder()),
        }
    }

    /// Where a confined agent may publish, and ask nothing else.
    pub fn emit_socket(&self) -> PathBuf {
        self.room().join(EMIT)
    }
}

const EMIT: &str = "emit";

/// Where sockets are whose own folder has too long a name.
pub fn short_folder() -> PathBuf {
    PathBuf::from(format!("/tmp/ralph-{}", rustix::process::getuid().as_raw()))
}

/// The way to a run that can answer.
pub(crate) fn connect(socket: &Path) -> Result<UnixStream, AskError> {
    let stream = UnixStream::connect(socket)?;
    match stopped_peer(&stream) {
        Some(pid) => Err(AskError::Stands { pid }),
        None => Ok(stream),
    }
}

/// The process that listens there, if it has been stopped.
#[cfg(target_os = "linux")]
fn stopped_peer(stream: &UnixStream) -> Option<i32> {
    let pid = rustix::net::sockopt::socket_peercred(stream).ok()?.pid.as_raw_nonzero().get();
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything, brackets too.
    let behind_name = stat.get(memchr::memrchr(b')', &stat)? + 1..)?;
    behind_name.starts_with(b" T").then_some(pid)
}

#[cfg(not(target_os = "linux"))]
fn stopped_peer(_: &UnixStream) -> Option<i32> {
    None
}

/// Asks one thing and returns the answer.
pub fn ask(socket: &Path, asked: &Asked) -> Result<Reply, AskError> {
    let mut stream = connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(asked).map_err(io::Error::from)?;
    line.push(b'\n');
    // A run that refuses the connection has answered before it could read this.
    let sent = stream.write_all(&line);
    let mut answer = String::new();
    match BufReader::new(&stream).read_line(&mut answer) {
        Ok(0) | Err(_) if sent.is_err() => return Err(sent.map_or_else(AskError::Io, |()| AskError::Ended)),
        Ok(0) => return Err(AskError::Ended),
        Ok(_) => {}
        Err(error) => return Err(AskError::Io(error)),
    }
    match serde_json::from_slice(answer.as_bytes()) {
        Ok(Reply::Error { error, message }) => Err(AskError::Complaint { error, message }),
        Ok(reply) => Ok(reply),
        Err(error) => Err(AskError::Answer(error.to_string())),
    }
}

/// The same for a request that is answered with events.
pub fn ask_for_events(socket: &Path, asked: &Asked) -> Result<Vec<Event>, AskError> {
    match ask(socket, asked)? {
        Reply::Events { events } => Ok(events),
        other => Err(AskError::Answer(format!("{other:?}"))),
    }
}
