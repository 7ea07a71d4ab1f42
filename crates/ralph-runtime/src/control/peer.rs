//! Who is at the other end of a connection: a person, or something that this very ralph has started.
//!
//! An agent can drop its token from its environment, and then looks like its owner: it is the same user. What it cannot drop are
//! its ancestors. Everything that ralph starts stays below it, because the keepers take in what loses its parent; so a process
//! that has this ralph above it belongs to the run.

use std::os::unix::net::UnixStream;

/// More processes than any chain of parents has.
#[cfg(target_os = "linux")]
const MAX_DEPTH: usize = 10_000;

/// Whether the other end is below this process. One that cannot be found any more is taken for that.
#[cfg(target_os = "linux")]
pub(super) fn is_inside(stream: &UnixStream) -> bool {
    let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) else { return true };
    let own = std::process::id();
    let Ok(first) = u32::try_from(peer.pid.as_raw_nonzero().get()) else { return true };
    // Tests and keys at the terminal ask from the process of the run itself.
    first != own && is_below(first, own, &parent_of)
}

/// There is no way to tell.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_inside(_: &UnixStream) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn is_below(first: u32, above: u32, parent_of: &dyn Fn(u32) -> Option<u32>) -> bool {
    let mut pid = first;
    for _ in 0..MAX_DEPTH {
        match parent_of(pid) {
            Some(parent) if parent == above => return true,
            Some(0 | 1) => return false,
            Some(parent) => pid = parent,
            None => return true,
        }
    }
    true
}

#[cfg(target_os = "linux")]
fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything, brackets too.
    let rest = stat.get(memchr::memrchr(b')', &stat)? + 1..)?;
    std::str::from_utf8(rest).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_this_process_above_it_is_inside_and_so_is_one_that_is_gone() {
        let family = |pid| match pid {
            7 => Some(6),
            6 => Some(5),
            5 => Some(1),
            20 => Some(1),
            30 => Some(31),
            31 => Some(30),
            _ => None,
        };
        assert!(is_below(7, 5, &family) && is_below(6, 5, &family));
        assert!(!is_below(20, 5, &family) && !is_below(7, 20, &family));
        assert!(is_below(99, 5, &family), "gone");
        assert!(is_below(30, 5, &family), "a circle");
        let own = std::process::id();
        assert_eq!(parent_of(own), Some(std::os::unix::process::parent_id()));
    }
}
