//! The way into a live run: a socket in a folder that only its owner can enter. `docs/protocol.md` says what is spoken there.
//!
//! Each connection has a thread of its own. What is asked of the run goes into the driver's inbox like everything else; records are
//! read from the journal's file, never taken from the driver. So a reader that is slow, or stopped, holds up its own thread and
//! nothing else.

mod connection;
mod peer;
mod subscriber;
mod watched;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Weak};

use ralph_model::{Complaint, Reply};
use ralph_store::{RunDir, short_folder};

use crate::driver::Envelope;
use crate::token::Tokens;
use subscriber::Subscribers;
use watched::Watched;

/// How long a connection that could not be accepted waits for the next try.
const ACCEPT_AGAIN: std::time::Duration = std::time::Duration::from_millis(100);
/// Connections at the same time. Each may cost a thread and, for a moment, the longest request.
const MAX_CONNECTIONS: usize = 64;

/// What all connections share.
pub(crate) struct Service {
    pub(crate) run: RunDir,
    pub(crate) version: String,
    pub(crate) inbox: Sender<Envelope>,
    pub(crate) tokens: Arc<Tokens>,
    connections: AtomicUsize,
    subscribers: Subscribers,
    watched: Watched,
    over: AtomicBool,
    pub(crate) at_work: Weak<()>,
}

impl Service {
    pub(crate) fn new(
        run: RunDir,
        version: &str,
        inbox: Sender<Envelope>,
        tokens: Arc<Tokens>,
        at_work: Weak<()>,
    ) -> Self {
        Self {
            run,
            version: version.to_owned(),
            inbox,
            tokens,
            connections: AtomicUsize::new(0),
            subscribers: Subscribers::default(),
            watched: Watched::default(),
            over: AtomicBool::new(false),
            at_work,
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}

/// The open socket; removed when dropped.
pub(crate) struct Server {
    paths: Vec<PathBuf>,
    service: Arc<Service>,
}

/// Where somebody came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// The run's own socket: who reaches it without a token is its owner.
    Owner,
    /// The one that a confined agent reaches: without a token nobody may ask anything.
    Agent,
}

impl Server {
    pub(crate) fn start(service: Service) -> io::Result<Self> {
        let path = service.run.socket();
        if path.parent() != Some(&service.run.path) {
            make_short_folder()?;
        }
        // A run that was killed leaves its socket; the journal's lock says that it is dead.
        let _ = fs::remove_file(&path);
        let mut server = Self { paths: Vec::new(), service: Arc::new(service) };
        server.open(path, Door::Owner)?;
        Ok(server)
    }

    /// The door for confined agents, in the room that they have.
    pub(crate) fn open_for_agents(&mut self) -> io::Result<()> {
        let path = self.service.run.emit_socket();
        let _ = fs::remove_file(&path);
        self.open(path, Door::Agent)
    }

    fn open(&mut self, path: PathBuf, door: Door) -> io::Result<()> {
        let listener = UnixListener::bind(&path)?;
        self.paths.push(path);
        let service = Arc::clone(&self.service);
        std::thread::Builder::new()
            .name("control".into())
            .spawn(move || accept(&listener, door, &service))?;
        Ok(())
    }
}

impl Drop for Server {
    /// Subscribers that read get the last records; those that do not are left behind.
    fn drop(&mut self) {
        self.service.over.store(true, Ordering::Release);
        for path in &self.paths {
            // The listener sleeps until somebody comes.
            let _ = UnixStream::connect(path);
            let _ = fs::remove_file(path);
        }
        self.service.subscribers.finish();
    }
}

fn accept(listener: &UnixListener, door: Door, service: &Arc<Service>) {
    for stream in listener.incoming() {
        if service.is_over() {
            return;
        }
        let Ok(stream) = stream else {
            // No file descriptor is left for the connection that waits: at once there will be none either.
            std::thread::sleep(ACCEPT_AGAIN);
            continue;
        };
        let Some(seat) = Seat::take(service) else {
            let message =
                format!("the run has {MAX_CONNECTIONS} connections already; close one of them first");
            let _ = connection::reply(&stream, &Reply::error(Complaint::Busy, message));
            continue;
        };
        let _ = std::thread::Builder::new()
            .name("control".into())
            .spawn(move || connection::serve(&stream, door, &seat.0));
    }
}

/// One of the connections that there may be, until it is dropped.
struct Seat(Arc<Service>);

impl Seat {
    fn take(service: &Arc<Service>) -> Option<Self> {
        let seat = Self(Arc::clone(service));
        // Counted first and given back by the drop, so two that come at once cannot both take the last one.
        (service.connections.fetch_add(1, Ordering::Relaxed) < MAX_CONNECTIONS).then_some(seat)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
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
