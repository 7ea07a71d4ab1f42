//! A network of its own: nothing but the loopback interface, so that servers of tests work and nothing leaves but by ralph's proxy.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use rustix::thread::UnshareFlags;

use super::super::namespace::unshare;

/// For this thread and what it starts.
pub(super) fn leave() -> Result<(), String> {
    unshare(UnshareFlags::NEWNET).map_err(|error| format!("no network of its own: {error}"))?;
    // Without it the network is no less closed; servers on the loopback address do not work.
    let _ = loopback_up();
    Ok(())
}

/// `RTM_NEWLINK` for interface 1, the loopback: header, `ifinfomsg`.
fn loopback_up() -> Result<(), Errno> {
    const NEWLINK: u16 = 16;
    const REQUEST_ACK: u16 = 1 | 4;
    const UP: u32 = 1;
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEWLINK.to_ne_bytes());
    message.extend(REQUEST_ACK.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([0; 4]);
    message.extend(1_i32.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    let socket: OwnedFd = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    sendto(&socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 256];
    recv(&socket, &mut answer[..], RecvFlags::empty())?;
    Ok(())
}
