//! Everything of the process layer that only Linux has.
//!
//! # Why a keeper
//!
//! A person presses Ctrl-C twice, the kernel runs out of memory, a laptop's battery dies: ralph can vanish at any
//! instant without running a line of its own code. Then an agent, and every test server it started, would go on
//! changing the workspace while the next run begins. So the killing must be done by somebody else, who notices
//! the death by itself. That is the keeper: a second process of the same binary whose only input is a socket to
//! ralph. The kernel closes ralph's end however ralph dies, the keeper reads the end of the stream, and kills.
//!
//! The keeper holds the workspace lock too (a duplicate of ralph's descriptor, so the same `flock`). The lock is
//! free only when both are gone, and the keeper goes only when everything below it is dead: "I got the lock"
//! means "nothing of the old run is alive". The agent never has the descriptor, so it cannot keep the lock.
//!
//! # Why a subreaper
//!
//! A process group or session is left by one `setsid`, and a daemon forks twice so that its parent is gone and it
//! belongs to nobody. But an orphan always gets a new parent: the nearest living ancestor that asked to be a
//! *child subreaper*, and only then init. The keeper asks. Ancestry cannot be changed in any other way, so
//! whatever the agent starts is a descendant of the keeper for as long as it lives. (What asks *another* process,
//! such as a container daemon or `systemd-run`, to start something is not below the keeper. Nor is the keeper safe
//! from an agent that hunts it down. Both are the sandbox's business.)
//!
//! # Why not `PR_SET_PDEATHSIG`
//!
//! It fires when the *thread* that spawned the child ends, not the process; it is lost on exec of a setuid
//! program; it reaches the direct child only; and it has to be set between fork and exec, which safe code cannot. It is
//! good for one thing: a keeper that was stopped is sent CONT by it, and a namespace's init, whose parent has one thread, KILL.
//!
//! # Why the sweep ends, and ends with nothing alive
//!
//! [`sweep`] repeats: collect the dead; if `wait` says that there is no child at all (`ECHILD`), stop; otherwise
//! send SIGKILL to all descendants that `/proc` shows and block until one more child has died.
//!
//! - *Nothing alive at the end.* A living descendant has a chain of parents up to the keeper. The lowest link is
//!   a child of the keeper, dead or alive, so `wait` does not say `ECHILD`.
//! - *Every round makes progress.* A direct child cannot vanish: only the keeper can collect it. So a direct child
//!   that was alive before the round is listed in `/proc`, with the keeper as its parent, and gets SIGKILL. The
//!   block after the round ends with its death.
//! - *Nothing outruns it.* A fork that meets a pending signal is restarted after the signal, that is never. So who
//!   is killed has no later children, and earlier ones come to the keeper by the rule above. A crowd that forks
//!   faster than it can be listed dies as a process group, which the kernel signals as one. A chain of processes
//!   that each fork, change session and exit has one living member at a time, a child of the keeper and the newest
//!   process there is: the list is worked from its newest end, each one killed as soon as it is recognised, so
//!   the time from seeing to killing is a few system calls.
//! - *Nobody else is hit.* A process group belongs to one session, and a session passes on by fork only, so every
//!   group that a descendant is in consists of descendants, except the keeper's own, which is left out. A number
//!   would have to be freed and given out anew within those few system calls to mean somebody else.
//!
//! A process stuck in the kernel, or one of another user (`sudo`), cannot be killed. Then the keeper stays, with the
//! lock, until it is gone; ralph reports it after a bound and goes on.
//!
//! `/proc/PID/task/TID/children` would save the search but is a kernel option that many builds lack. The search
//! costs about a millisecond, and only when something was left behind.
//!
//! # Names
//!
//! `pkill -9 ralph` and `killall -9 ralph` must not hit the keeper. They look at the command name, which is the name
//! of the executed file, and (`-f`) at the command line. So the keeper is executed as `/proc/self/exe` and then
//! renamed, and its arguments do not have the word. `/proc/self/exe` has a second use: after an upgrade in the middle
//! of the night it is still the old binary, which speaks the same protocol.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::{env, fs};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpgrp, getpid, kill_process,
    kill_process_group, pidfd_open, pidfd_send_signal, set_child_subreaper, set_parent_process_death_signal,
    setsid, wait, waitid,
};

pub(super) use super::namespace::{Outside, become_init, enter};
pub(super) use super::survivors::{become_reaper, is_gone_by, mark, sweep_orphans};

/// What Linux gives an unprivileged user for a pipe: fewer, longer reads.
const PIPE_SIZE: usize = 1 << 20;

/// The executable to start keepers from: this very program.
pub fn keeper_exe() -> io::Result<PathBuf> {
    let this = Path::new("/proc/self/exe");
    if this.exists() { Ok(this.to_owned()) } else { env::current_exe() }
}

/// A child, as its parent sees it stop.
pub(super) struct Stoppable(OwnedFd);

impl Stoppable {
    pub(super) fn of(child: &Child) -> Option<Self> {
        pidfd_open(Pid::from_child(child), PidfdFlags::empty()).ok().map(Self)
    }

    /// Returns when it has been stopped; `false` when it is ending.
    pub(super) fn await_stop(&self) -> bool {
        // Its end is for somebody else to collect, so it is only looked at.
        let look = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        loop {
            match waitid(WaitId::PidFd(self.0.as_fd()), look) {
                Err(Errno::INTR) => {}
                Ok(Some(seen)) if seen.stopped() => {
                    let taken = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
                    // It may go on already.
                    if matches!(waitid(WaitId::PidFd(self.0.as_fd()), taken), Ok(Some(_))) {
                        return true;
                    }
                }
                Ok(_) | Err(_) => return false,
            }
        }
    }

    pub(super) fn set_going(&self) {
        let _ = pidfd_send_signal(&self.0, Signal::CONT);
    }

    pub(super) fn end(&self) {
        let _ = pidfd_send_signal(&self.0, Signal::KILL);
    }
}

pub(super) fn become_keeper() -> io::Result<()> {
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    // Should it be stopped, it goes on when ralph dies. (Also when the thread that started it ends, which harms nobody.)
    set_parent_process_death_signal(Some(Signal::CONT))?;
    // Cosmetic if it fails.
    let _ = rustix::thread::set_name(c"agent-keeper");
    Ok(())
}

/// Also after this process has become another program.
pub(super) fn end_with_parent() {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

/// Makes the pipe larger if allowed. Returns its size.
pub(super) fn grow_pipe(pipe: impl AsFd) -> usize {
    rustix::pipe::fcntl_setpipe_size(&pipe, PIPE_SIZE)
        .or_else(|_| rustix::pipe::fcntl_getpipe_size(&pipe))
        .unwrap_or(PIPE_SIZE)
}

/// Kills and collects everything below this process. `agent` is the direct child, `reaped` if it has been collected
/// already. Returns how many were killed, not counting the agent.
pub(super) fn sweep(agent: Pid, reaped: bool, on_reaped: &mut dyn FnMut(Pid, WaitStatus)) -> u32 {
    let me = getpid();
    let mut killed = HashSet::new();
    if !reaped {
        // Quick, and right even where /proc cannot be read.
        let _ = kill_process_group(agent, Signal::KILL);
    }
    let mut options = WaitOptions::NOHANG;
    loop {
        match wait(options) {
            Ok(Some((pid, status))) => {
                if status.terminating_signal() == Some(Signal::KILL.as_raw()) {
                    killed.insert(pid);
                }
                on_reaped(pid, status);
                options = WaitOptions::NOHANG;
            }
            Ok(None) => {
                kill_below(me, &mut killed);
                options = WaitOptions::empty();
            }
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    killed.remove(&agent);
    u32::try_from(killed.len()).unwrap_or(u32::MAX)
}

fn kill_below(me: Pid, killed: &mut HashSet<Pid>) {
    let mut family = Family::below(me);
    let mut groups = HashSet::from([getpgrp()]);
    for pid in newest_first() {
        let Some(found) = family.member(pid) else { continue };
        kill(pid, found, &mut groups);
        if !found.dead {
            killed.insert(pid);
        }
    }
}

/// The group first: nobody in it gets to see another one die and to act on it.
pub(super) fn kill(pid: Pid, found: Stat, groups_done: &mut HashSet<Pid>) {
    if let Some(group) = found.group.filter(|group| groups_done.insert(*group)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = kill_process(pid, Signal::KILL);
}

/// Looks at everything below this process for as long as there is somebody new. A crowd that forks faster is not waited for.
const HALT_ROUNDS: usize = 50;

/// Stops everything below this process. Returns who did not stand still before.
///
/// Parents first, so that none sees its child stop and acts on it. Who is stopped forks no more, and a fork that meets the signal
/// is begun again after it: a round that finds nobody new has stopped all.
pub(super) fn halt() -> Vec<Pid> {
    let mut halted = Vec::new();
    for _ in 0..HALT_ROUNDS {
        let mut family = Family::below(getpid());
        let moving: Vec<Pid> = newest_first()
            .into_iter()
            .rev()
            .filter(|pid| !halted.contains(pid))
            .filter(|pid| family.member(*pid).is_some_and(|found| !found.dead && !found.stopped))
            .collect();
        if moving.is_empty() {
            break;
        }
        for pid in moving {
            if kill_process(pid, Signal::STOP).is_ok() {
                halted.push(pid);
            }
        }
    }
    halted
}

/// Lets these go on, those of them that are still below this process.
pub(super) fn set_going(halted: &[Pid]) {
    let mut family = Family::below(getpid());
    for pid in halted.iter().rev().filter(|pid| family.member(**pid).is_some()) {
        let _ = kill_process(*pid, Signal::CONT);
    }
}

/// For ralph, when a keeper died under its program: kills the keeper's session and everything below it. Weaker than
/// [`sweep`], as orphans that left the session cannot be told from strangers. The dead keeper must not be collected
/// yet, so that its number still means its session. Returns how many were killed.
pub(super) fn kill_session(keeper: u32) -> u32 {
    let Some(session) = i32::try_from(keeper).ok().and_then(Pid::from_raw) else { return 0 };
    let mut killed = HashSet::new();
    // Ends: whoever is new in a round was forked before its parent was killed.
    loop {
        let mut family = Family::of_session(session);
        let members: Vec<(Pid, Stat)> = newest_first()
            .into_iter()
            .filter_map(|pid| Some((pid, family.member(pid).filter(|found| !found.dead)?)))
            .filter(|(pid, _)| *pid != session && !killed.contains(pid))
            .collect();
        if members.is_empty() {
            return u32::try_from(killed.len()).unwrap_or(u32::MAX);
        }
        let mut groups = HashSet::from([getpgrp()]);
        for (pid, found) in members {
            kill(pid, found, &mut groups);
            killed.insert(pid);
        }
    }
}

/// Newest as far as numbers tell.
pub(super) fn newest_first() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut pids: Vec<Pid> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw))
        .collect();
    pids.sort_unstable_by_key(|pid| Reverse(pid.as_raw_pid()));
    pids
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) dead: bool,
    stopped: bool,
    pub(super) parent: Option<Pid>,
    group: Option<Pid>,
    session: Option<Pid>,
}

impl Stat {
    fn read(pid: Pid) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?)
    }

    /// `pid (name) state parent group session …`, where the name may hold anything, `)` and spaces too.
    fn parse(line: &[u8]) -> Option<Self> {
        let name_end = line.iter().rposition(|&byte| byte == b')')?;
        let mut fields = str::from_utf8(line.get(name_end + 1..)?).ok()?.split_ascii_whitespace();
        let state = fields.next()?;
        let (dead, stopped) = (matches!(state, "Z" | "X"), matches!(state, "T" | "t"));
        let mut pid = || -> Option<Option<Pid>> { Some(fields.next()?.parse().ok().and_then(Pid::from_raw)) };
        Some(Self { dead, stopped, parent: pid()?, group: pid()?, session: pid()? })
    }
}

/// The processes below a process, or in and below a session, learnt by climbing from child to parent.
pub(super) struct Family {
    root: Option<Pid>,
    session: Option<Pid>,
    known: HashMap<Pid, bool>,
}

impl Family {
    fn below(root: Pid) -> Self {
        Self { root: Some(root), session: None, known: HashMap::from([(root, true)]) }
    }

    /// Without those, and what is below them.
    pub(super) fn below_but(root: Pid, others: &HashSet<Pid>) -> Self {
        let mut family = Self::below(root);
        family.known.extend(others.iter().map(|pid| (*pid, false)));
        family
    }

    fn of_session(session: Pid) -> Self {
        Self { root: None, session: Some(session), known: HashMap::new() }
    }

    /// The state of `pid`, if that process belongs to the family. The root does not.
    pub(super) fn member(&mut self, pid: Pid) -> Option<Stat> {
        let mut path = Vec::new();
        let mut first = None;
        let mut next = Some(pid);
        // A chain that breaks because a parent died meanwhile counts as a stranger's: it leads to the keeper in
        // the next round.
        let belongs = loop {
            let Some(pid) = next else { break false };
            if let Some(&known) = self.known.get(&pid) {
                break known;
            }
            let Some(stat) = Stat::read(pid) else { break false };
            first = first.or(Some(stat));
            path.push(pid);
            if self.session.is_some() && stat.session == self.session {
                break true;
            }
            next = stat.parent.filter(|parent| !path.contains(parent));
        };
        self.known.extend(path.iter().map(|&pid| (pid, belongs)));
        // Not read above: its child came first and led here.
        let stat = first.or_else(|| if path.is_empty() && belongs { Stat::read(pid) } else { None });
        stat.filter(|_| belongs && self.root != Some(pid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pid(raw: i32) -> Option<Pid> {
        Pid::from_raw(raw)
    }

    #[test]
    fn a_name_cannot_forge_the_fields_after_it() {
        let stat = Stat::parse(b"12 (a) S 1 1 1 (x) \xff) R 7 8 9 0 -1 4194304").unwrap();
        assert_eq!(
            stat,
            Stat { dead: false, stopped: false, parent: pid(7), group: pid(8), session: pid(9) }
        );
        assert!(Stat::parse(b"12 (zombie) Z 7 8 9 0").unwrap().dead);
    }

    #[test]
    fn a_kernel_thread_has_no_parent_and_a_cut_line_is_nothing() {
        assert_eq!(Stat::parse(b"2 (kthreadd) S 0 0 0 0").unwrap().parent, None);
        for line in [&b""[..], b"12 (x", b"12 (x)", b"12 (x) S 1 2"] {
            assert_eq!(Stat::parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn family_is_children_and_grandchildren_only() {
        // A shell gives its background commands an empty stdin, so `cat` has to be handed the open one by name.
        let mut shell = std::process::Command::new("/bin/sh")
            .args(["-c", "exec 3<&0; cat <&3 & echo $!; wait"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        io::BufRead::read_line(&mut io::BufReader::new(shell.stdout.take().unwrap()), &mut line).unwrap();
        let grandchild = line.trim().parse().ok().and_then(Pid::from_raw).unwrap();
        let child = Pid::from_child(&shell);

        let mut family = Family::below(getpid());
        assert_eq!(family.member(grandchild).unwrap().parent, Some(child));
        assert_eq!(family.member(child).unwrap().parent, Some(getpid()));
        assert_eq!(family.member(getpid()), None);
        assert_eq!(family.member(rustix::process::getppid().unwrap()), None);
        assert!(Family::below(grandchild).member(child).is_none());

        kill_process(grandchild, Signal::KILL).unwrap();
        shell.wait().unwrap();
    }
}
