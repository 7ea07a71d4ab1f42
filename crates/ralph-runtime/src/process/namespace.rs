//! A pid namespace around a program: what the keeper does before it, and what the first process in it does.
//!
//! The keeper asks for a namespace and starts its *init*, the first process in there. Init does what a keeper without a
//! namespace does, and one thing more: when it dies, however it dies, the kernel kills everything in the namespace, and
//! whoever waits for init waits for all of it. Nothing inside can stop or kill it: the kernel drops the signals that the first
//! process of a namespace has no handler for, KILL and STOP too, when they come from inside. Nothing inside can even name a
//! process outside: numbers mean processes of the namespace there, and `/proc` shows no others.
//!
//! Who is not root needs a user namespace for it, in which the user is who they were. There nobody else exists: files of
//! other users belong to `nobody`, and setuid programs (`sudo`) change nothing.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{
    Pid, PidfdFlags, Signal, getgid, getuid, pidfd_open, set_parent_process_death_signal, setsid,
};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, set_capabilities,
};

/// The next process that this one starts is the first of a new pid namespace. Says why there can be none.
pub(super) fn enter() -> Result<(), String> {
    let wanted = UnshareFlags::NEWPID | UnshareFlags::NEWNS;
    match unshare(wanted) {
        Ok(()) => {}
        Err(Errno::PERM) => {
            // Asked before: the number is another one to who has no place in the new namespace yet.
            let (uid, gid) = (getuid().as_raw(), getgid().as_raw());
            unshare(wanted | UnshareFlags::NEWUSER).map_err(|error| said("no user namespace", error))?;
            stay_who_you_are(uid, gid).map_err(|error| said("the user namespace takes no user", error))?;
            keep_the_right_to_mount().map_err(|error| said("the user namespace gives no rights", error))?;
        }
        Err(error) => return Err(said("no pid namespace", error)),
    }
    // What is mounted outside shows inside, and nothing the other way round.
    let apart = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", apart).map_err(|error| said("mounts cannot be set apart", error))
}

fn said(what: &str, error: impl Into<io::Error>) -> String {
    format!("{what}: {}", error.into())
}

/// It is deprecated for the sake of one flag, which leaves threads with different descriptors. That is not asked for here.
#[allow(deprecated)]
pub(super) fn unshare(flags: UnshareFlags) -> Result<(), Errno> {
    rustix::thread::unshare(flags.difference(UnshareFlags::FILES))
}

fn stay_who_you_are(uid: u32, gid: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
}

/// And to set up a network in there. Over the exec that makes init, and no further.
fn keep_the_right_to_mount() -> Result<(), Errno> {
    let kept = [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN];
    let mut sets = capabilities(None)?;
    sets.inheritable |= kept[0] | kept[1];
    set_capabilities(None, sets)?;
    kept.into_iter().try_for_each(|right| configure_capability_in_ambient_set(right, true))
}

/// The `/proc` of the world around a namespace, as it was when init came.
pub(super) struct Outside(OwnedFd);

/// Becomes the first process of the namespace. Returns the number that the keeper knows this process by, and the way to
/// find others.
pub(super) fn become_init() -> Result<(i32, Outside), String> {
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let outside = open("/proc", folder, Mode::empty()).map_err(|error| said("no /proc", error))?;
    let number = fs::read_link("/proc/self").map_err(|error| said("no /proc/self", error))?;
    let number = number.to_str().and_then(|number| number.parse().ok());
    let number = number.ok_or("/proc/self is no process")?;
    setsid().map_err(|error| said("no session", error))?;
    let plain = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", plain, None).map_err(|error| said("no /proc of its own", error))?;
    if !Path::new("/proc/self").exists() {
        return Err("/proc does not show the namespace".to_owned());
    }
    drop_what_programs_would_inherit().map_err(|error| said("rights cannot be dropped", error))?;
    // Last: a change of rights switches it off again.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| said("no signal", error))?;
    let _ = rustix::thread::set_name(c"agent-keeper");
    Ok((number, Outside(outside)))
}

fn drop_what_programs_would_inherit() -> Result<(), Errno> {
    clear_ambient_capability_set()?;
    let mut sets = capabilities(None)?;
    sets.inheritable = CapabilitySet::empty();
    set_capabilities(None, sets)
}

impl Outside {
    /// The number by which the world around knows a process that has not been collected yet.
    pub(super) fn number_of(&self, pid: Pid) -> Option<i32> {
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        let path = format!("self/fdinfo/{}", pidfd.as_raw_fd());
        let info = openat(&self.0, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let info = io::read_to_string(File::from(info)).ok()?;
        info.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok().filter(|pid| *pid > 0)
    }
}
