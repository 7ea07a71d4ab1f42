//! The only way out for a program in a network of its own: a listening socket that is made in there and handed out to ralph.
//!
//! A socket stays in the network that it was made in, whoever holds it. So ralph, outside, accepts connections that programs
//! inside make to their own loopback interface, and there is nothing between the two networks but ralph.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::io::{FdFlags, fcntl_setfd, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Where programs inside find the proxy. Below the ports that a system gives out by itself.
pub(crate) const AT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 28_790);

/// The keeper's end, which goes to it with the work.
#[derive(Debug, Clone)]
pub struct Door(Arc<OwnedFd>);

/// ralph's end.
#[derive(Debug)]
pub struct Doorway(UnixStream);

impl PartialEq for Door {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Door {}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Door {
    pub(crate) fn new() -> io::Result<(Self, Doorway)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Self(Arc::new(theirs.into())), Doorway(ours)))
    }
}

impl Doorway {
    /// Waits for the socket. Nothing if there will be none: the program did not start.
    pub(crate) fn listener(&self) -> Option<TcpListener> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0; 1];
        let into = &mut [IoSliceMut::new(&mut byte)];
        retry_on_intr(|| recvmsg(&self.0, into, &mut ancillary, RecvFlags::empty())).ok()?;
        let fds = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        let listener: OwnedFd = fds?;
        fcntl_setfd(&listener, FdFlags::CLOEXEC).ok()?;
        Some(TcpListener::from(listener))
    }

    /// For who shall end a wait.
    pub(crate) fn try_clone(&self) -> io::Result<UnixStream> {
        self.0.try_clone()
    }
}

/// In the keeper, within the new network: opens the way.
pub(super) fn open(door: BorrowedFd<'_>) -> io::Result<()> {
    send(door, TcpListener::bind(AT)?)
}

fn send(door: BorrowedFd<'_>, listener: TcpListener) -> io::Result<()> {
    let fds = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("no room for a socket"));
    }
    retry_on_intr(|| sendmsg(door, &[IoSlice::new(b"!")], &mut ancillary, SendFlags::empty()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    #[test]
    fn a_socket_comes_through_the_door_and_none_where_nobody_is_behind_it() {
        let (door, way) = Door::new().expect("a pair");
        let handed = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = handed.local_addr().expect("an address");
        send(door.as_fd(), handed).expect("sent");
        let got = way.listener().expect("the socket");
        let mut client = TcpStream::connect(at).expect("connected");
        client.write_all(b"x").expect("written");
        let mut byte = [0];
        got.accept().expect("accepted").0.read_exact(&mut byte).expect("read");
        assert_eq!(byte, *b"x");

        let (door, way) = Door::new().expect("a pair");
        drop(door);
        assert!(way.listener().is_none());
    }
}
