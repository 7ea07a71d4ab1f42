//! The way out of a program that has no network of its own: an HTTP proxy in ralph, which knows the hosts that are named.
//!
//! ```text
//! agent ── loopback of its own network ──► socket, made in there (process/door.rs) ──► proxy ──► hosts that are named
//! ```
//!
//! - `head.rs`, `body.rs`: a request, read strictly.
//! - `dial.rs`: which hosts and addresses, and the connection to one.
//! - `keys.rs`, `tls.rs`: what goes to `/to/HOST/…` of the proxy itself is sent on by TLS, with keys that the program has
//!   placeholders for.
//! - `connection.rs`: what becomes of one request.
//!
//! A thread for each connection, of which there are a bounded number. When the program has ended so has its proxy, with all
//! its connections.

pub mod body;
mod connection;
mod dial;
pub mod head;
mod keys;
mod tls;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use ralph_core::plan::Host;

pub(crate) use self::keys::Key;

use crate::lock;
use crate::process::confine::Network;
use crate::process::{Door, Doorway, PROXY_AT, Spec};

/// So many connections at the same time. The next one waits.
const MAX_CONNECTIONS: usize = 128;
/// What stands before the host in a path of the proxy itself.
pub(crate) const TO: &str = "/to/";
const STACK: usize = 256 * 1024;
/// How long to wait for a connection to end where the system has no room for another one.
const NO_ROOM: Duration = Duration::from_secs(1);

/// What a program may ask of the proxy.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rules {
    pub(crate) hosts: Vec<Host>,
    pub(crate) keys: Vec<Key>,
}

/// The proxy of one program. Ends when it is dropped.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
}

struct Shared {
    rules: Rules,
    way: UnixStream,
    open: Mutex<Open>,
    changed: Condvar,
}

#[derive(Default)]
struct Open {
    ended: bool,
    listener: Option<TcpListener>,
    next: u64,
    /// Both ends of each connection.
    lines: HashMap<u64, Vec<TcpStream>>,
}

/// One connection, which is known to the proxy until it ends.
struct Line {
    shared: Arc<Shared>,
    rules: Rules,
    number: u64,
}

/// What a program finds in its environment, in the spellings that are in use.
pub(crate) fn environment() -> Vec<(OsString, Option<OsString>)> {
    let here = format!("http://{PROXY_AT}");
    let same = "localhost,127.0.0.1,::1";
    let pairs =
        [("HTTP_PROXY", here.as_str()), ("HTTPS_PROXY", &here), ("ALL_PROXY", &here), ("NO_PROXY", same)];
    let lower = pairs.map(|(name, value)| (name.to_ascii_lowercase(), value));
    let upper = pairs.map(|(name, value)| (name.to_owned(), value));
    let all = upper.into_iter().chain(lower).map(|(name, value)| (name.into(), Some(value.into())));
    // Without it node's own `fetch` does not look at the others.
    all.chain([("NODE_USE_ENV_PROXY".into(), Some("1".into()))]).collect()
}

impl Proxy {
    /// A proxy for a program that has rules for one.
    pub(crate) fn of(rules: Option<Rules>, spec: &mut Spec) -> Result<Option<Self>, String> {
        let Some(rules) = rules else { return Ok(None) };
        let opened = Self::open(rules).map_err(|error| format!("no proxy for its network: {error}"))?;
        let (proxy, door) = opened;
        spec.door = Some(door);
        if let Some(reach) = &mut spec.confine.reach {
            reach.network = Network::Proxy;
        }
        Ok(Some(proxy))
    }

    /// A proxy, and the door for the program that it is for.
    fn open(rules: Rules) -> io::Result<(Self, Door)> {
        let (door, way) = Door::new()?;
        let (open, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { rules, way: way.try_clone()?, open, changed });
        let theirs = Arc::clone(&shared);
        let builder = std::thread::Builder::new().name("proxy".into()).stack_size(STACK);
        builder.spawn(move || theirs.attend(&way))?;
        Ok((Self { shared }, door))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        lock(&self.open)
    }

    fn attend(self: &Arc<Self>, way: &Doorway) {
        let Some(listener) = way.listener() else { return };
        {
            let mut open = self.open();
            if open.ended {
                return;
            }
            open.listener = listener.try_clone().ok();
        }
        while self.has_room() {
            match listener.accept() {
                Ok((client, _)) => self.begin(client),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.wait_a_little(),
            }
        }
    }

    /// Waits until another connection may be accepted. Not if that never comes.
    fn has_room(&self) -> bool {
        let open = self.open();
        let full = |open: &mut Open| !open.ended && open.lines.len() >= MAX_CONNECTIONS;
        let open = self.changed.wait_while(open, full).unwrap_or_else(std::sync::PoisonError::into_inner);
        !open.ended
    }

    fn wait_a_little(&self) {
        let open = self.open();
        if !open.ended {
            drop(self.changed.wait_timeout(open, NO_ROOM));
        }
    }

    fn begin(self: &Arc<Self>, client: TcpStream) {
        let number = {
            let mut open = self.open();
            open.next += 1;
            let number = open.next;
            open.lines.insert(number, Vec::new());
            number
        };
        let line = Line { shared: Arc::clone(self), rules: self.rules.clone(), number };
        let builder = std::thread::Builder::new().name("proxy-line".into()).stack_size(STACK);
        // Without a thread the line is dropped, and the client hears the end of it.
        let _ = builder.spawn(move || {
            if line.hold(&client).is_ok() {
                connection::serve(&line, client);
            }
        });
    }

    fn end(&self) {
        let mut open = self.open();
        open.ended = true;
        let _ = self.way.shutdown(Shutdown::Both);
        if let Some(listener) = open.listener.take() {
            // Whoever waits for a connection is woken.
            let _ = rustix::net::shutdown(&listener, rustix::net::Shutdown::Both);
        }
        for stream in open.lines.values().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }
}

impl Line {
    /// This end of the connection ends with the proxy.
    fn hold(&self, stream: &TcpStream) -> io::Result<()> {
        let stream = stream.try_clone()?;
        let mut open = self.shared.open();
        if open.ended {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        open.lines.entry(self.number).or_default().push(stream);
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.shared.open().lines.remove(&self.number);
        self.shared.changed.notify_all();
    }
}
