//! What ralph and a keeper say to each other: one JSON object a line over a Unix socket.
//!
//! ```text
//! keeper  ready | refused       in its own session, deaf to signals: it can be given work
//! ralph  spec (+ fds)           once: the lock, the program's end of its standard input, the door to the proxy
//! keeper  started | spawn_failed
//! ralph  stand, go_on          any number of times
//! keeper  stands                for each `stand`
//! ralph  terminate, kill       any number of times; closing the socket is `kill`
//! keeper  killing               only if it came to that
//! keeper  exited                the program itself
//! keeper  swept                 everything below it; the lock is released before this is said
//! ```

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::event::Exit;
use ralph_core::failure::Breach;
use rustix::io::{FdFlags, fcntl_setfd, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::confine::Confine;
use super::types::{Spec, Stdin};

/// From the keeper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Message {
    Ready {
        /// It is the init of a namespace, and this is its process id where ralph is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        init: Option<i32>,
    },
    /// There can be no namespace.
    Refused {
        why: String,
    },
    Started {
        pid: i32,
    },
    /// There is no program.
    SpawnFailed {
        exit: Exit,
    },
    Killing,
    /// From the keeper above an init: somebody outside has stopped that.
    InitStopped {
        ended: bool,
    },
    /// Everything below it has stopped.
    Stands,
    Exited {
        exit: Exit,
        micros: u64,
        /// It had been told to end before it did.
        told: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        breach: Option<Breach>,
    },
    Swept {
        killed: u32,
    },
}

/// To the keeper.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Terminate {
        grace_ms: u64,
    },
    Kill,
    /// Everything below the keeper stands still until it is to go on.
    Stand,
    GoOn,
}

/// What a keeper needs of a [`Spec`].
#[derive(Serialize, Deserialize)]
struct Work {
    program: Bytes,
    args: Vec<Bytes>,
    env: Vec<(Bytes, Option<Bytes>)>,
    cwd: Bytes,
    stdin: WorkStdin,
    kill_leftovers: bool,
    #[serde(default)]
    confine: Confine,
    /// The door is sent along, behind everything else.
    #[serde(default)]
    has_door: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WorkStdin {
    Null,
    File(Bytes),
    /// The program's end of the pipe is sent along, behind the lock.
    Pipe,
}

/// Descriptors that are sent along with the work.
#[derive(Default)]
pub(super) struct WorkDescriptors {
    pub(super) lock: Option<OwnedFd>,
    /// The program's end of the pipe that is its standard input.
    pub(super) stdin: Option<OwnedFd>,
    /// Where to send the socket of the way out.
    pub(super) door: Option<OwnedFd>,
}

/// A path or argument: a JSON string if it is UTF-8, else an array of its bytes.
struct Bytes(OsString);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => to.serialize_str(text),
            None => to.collect_seq(self.0.as_bytes()),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Raw(Vec<u8>),
        }
        Ok(Self(match Either::deserialize(from)? {
            Either::Text(text) => text.into(),
            Either::Raw(bytes) => OsString::from_vec(bytes),
        }))
    }
}

impl From<&Spec> for Work {
    fn from(spec: &Spec) -> Self {
        let bytes = |text: &OsString| Bytes(text.clone());
        let path = |path: &PathBuf| Bytes(path.clone().into_os_string());
        Self {
            program: path(&spec.program),
            args: spec.args.iter().map(bytes).collect(),
            env: spec.env.iter().map(|(key, value)| (bytes(key), value.as_ref().map(bytes))).collect(),
            cwd: path(&spec.cwd),
            stdin: match &spec.stdin {
                Stdin::Null => WorkStdin::Null,
                Stdin::File(file) => WorkStdin::File(path(file)),
                Stdin::Pipe => WorkStdin::Pipe,
            },
            kill_leftovers: spec.kill_leftovers,
            confine: spec.confine.clone(),
            has_door: spec.door.is_some(),
        }
    }
}

impl From<Work> for Spec {
    fn from(work: Work) -> Self {
        Self {
            program: work.program.0.into(),
            args: work.args.into_iter().map(|arg| arg.0).collect(),
            env: work.env.into_iter().map(|(key, value)| (key.0, value.map(|value| value.0))).collect(),
            cwd: work.cwd.0.into(),
            stdin: match work.stdin {
                WorkStdin::Null => Stdin::Null,
                WorkStdin::File(path) => Stdin::File(path.0.into()),
                WorkStdin::Pipe => Stdin::Pipe,
            },
            kill_leftovers: work.kill_leftovers,
            drain: Duration::ZERO,
            confine: work.confine,
            door: None,
        }
    }
}

/// Paths whatever their bytes.
pub(super) mod paths {
    use super::{Bytes, Deserialize, Deserializer, PathBuf, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|path| Bytes(path.clone().into_os_string())))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let paths: Vec<Bytes> = Vec::deserialize(from)?;
        Ok(paths.into_iter().map(|path| path.0.into()).collect())
    }
}

fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

pub(super) fn send(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    socket.write_all(&line(message)?)
}

/// An error means that the keeper did not get the whole line, and so did nothing about it.
pub(super) fn send_spec(
    mut socket: &UnixStream,
    spec: &Spec,
    lock: Option<BorrowedFd<'_>>,
    stdin: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let line = line(&Work::from(spec))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let door = spec.door.as_ref().map(AsFd::as_fd);
    let fds: Vec<BorrowedFd<'_>> = lock.into_iter().chain(stdin).chain(door).collect();
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("no room for the workspace lock, the standard input and the door"));
    }
    let sent = retry_on_intr(|| sendmsg(socket, &[IoSlice::new(&line)], &mut ancillary, SendFlags::empty()))?;
    socket.write_all(line.get(sent..).unwrap_or_default())
}

/// `None` if ralph went away before it had any work.
pub(super) fn receive_spec(
    socket: &UnixStream,
    lines: &mut Lines,
) -> io::Result<Option<(Spec, WorkDescriptors)>> {
    let mut fds: Vec<OwnedFd> = Vec::new();
    loop {
        if let Some(work) = lines.next::<Work>() {
            let work = work?;
            let door = if work.has_door { fds.pop() } else { None };
            let spec = Spec::from(work);
            let stdin = if spec.stdin == Stdin::Pipe { fds.pop() } else { None };
            return Ok(Some((spec, WorkDescriptors { door, stdin, lock: fds.pop() })));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut chunk = [0; 16 * 1024];
        let got = retry_on_intr(|| {
            recvmsg(socket, &mut [IoSliceMut::new(&mut chunk)], &mut ancillary, RecvFlags::empty())
        })?;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                fds.extend(received);
            }
        }
        for fd in &fds {
            // Not atomic with the receipt, which is fine: a keeper has one thread.
            fcntl_setfd(fd.as_fd(), FdFlags::CLOEXEC)?;
        }
        if got.bytes == 0 {
            return Ok(None);
        }
        lines.push(chunk.get(..got.bytes).unwrap_or_default());
    }
}

/// Bytes received that do not make a whole line yet.
#[derive(Default)]
pub(super) struct Lines {
    pending: Vec<u8>,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Reads what is there, blocking if nothing is. `Ok(false)` is the end.
    pub(super) fn fill(&mut self, mut socket: &UnixStream) -> io::Result<bool> {
        let mut chunk = [0; 4096];
        loop {
            match socket.read(&mut chunk) {
                Ok(got) => {
                    self.push(chunk.get(..got).unwrap_or_default());
                    return Ok(got > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Option<io::Result<T>> {
        let end = self.pending.iter().position(|&byte| byte == b'\n')?;
        let line: Vec<u8> = self.pending.drain(..=end).collect();
        Some(serde_json::from_slice(&line).map_err(io::Error::from))
    }
}

#[cfg(test)]
mod tests {
    use super::super::confine::{Network, Reach, Usage};
    use super::super::door::Door;
    use super::*;

    #[test]
    fn a_spec_arrives_as_it_was_sent_whatever_its_bytes_and_size() {
        let odd = OsString::from_vec(b"a\xff\n\0\"b".to_vec());
        let reach = Reach { write: vec![odd.clone().into()], network: Network::Open, ..Reach::default() };
        let spec = Spec {
            program: "/bin/x".into(),
            args: vec![odd.clone(), "x".repeat(1 << 20).into(), OsString::new()],
            env: vec![("SET".into(), Some(odd.clone())), ("GONE".into(), None)],
            cwd: PathBuf::from(odd),
            stdin: Stdin::File("/p".into()),
            kill_leftovers: false,
            drain: Duration::ZERO,
            confine: Confine { usage: Usage::default(), reach: Some(reach) },
            door: None,
        };
        let (ralph, keeper) = UnixStream::pair().unwrap();
        let (received, along) = std::thread::scope(|scope| {
            scope.spawn(|| send_spec(&ralph, &spec, Some(ralph.as_fd()), None).unwrap());
            receive_spec(&keeper, &mut Lines::default()).unwrap().unwrap()
        });
        assert_eq!(received, spec);
        let flags = rustix::io::fcntl_getfd(along.lock.expect("the fd came along")).unwrap();
        assert!(flags.contains(FdFlags::CLOEXEC) && along.stdin.is_none());
    }

    #[test]
    fn the_lock_and_the_standard_input_are_not_taken_for_each_other() {
        let (ralph, keeper) = UnixStream::pair().unwrap();
        let (read, write) = rustix::pipe::pipe().unwrap();
        let (door, _way) = Door::new().unwrap();
        let spec = Spec { stdin: Stdin::Pipe, door: Some(door), ..Spec::new("/bin/x", "/") };
        send_spec(&ralph, &spec, Some(ralph.as_fd()), Some(read.as_fd())).unwrap();
        let (_, WorkDescriptors { lock, stdin, door }) =
            receive_spec(&keeper, &mut Lines::default()).unwrap().unwrap();
        assert!(lock.is_some() && door.is_some());
        rustix::io::write(&write, b"!").unwrap();
        let mut byte = [0];
        assert_eq!((rustix::io::read(stdin.unwrap(), &mut byte), byte), (Ok(1), *b"!"));
    }

    #[test]
    fn a_spec_cut_short_is_no_work() {
        let (mut ralph, keeper) = UnixStream::pair().unwrap();
        ralph.write_all(br#"{"program":"/bin/x","args":[]"#).unwrap();
        drop(ralph);
        assert!(receive_spec(&keeper, &mut Lines::default()).unwrap().is_none());
    }

    #[test]
    fn lines_come_out_one_by_one_and_only_when_whole() {
        let mut lines = Lines::default();
        lines.push(b"1\n2\n3");
        assert_eq!(lines.next::<u8>().unwrap().unwrap(), 1);
        assert_eq!(lines.next::<u8>().unwrap().unwrap(), 2);
        assert!(lines.next::<u8>().is_none());
        lines.push(b"4\nx\n");
        assert_eq!(lines.next::<u8>().unwrap().unwrap(), 34);
        assert!(lines.next::<u8>().unwrap().is_err());
    }
}
