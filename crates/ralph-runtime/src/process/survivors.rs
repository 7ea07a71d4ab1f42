//! What is left of processes whose keeper died: orphans that came to ralph itself, and those of an earlier session.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use ralph_core::event::{KeeperStarted, ProcessMark};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, waitid,
};

use super::keeper::timespec;
use super::linux::{Family, kill, newest_first};

/// How long what was killed may take to be gone.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a keeper that hears of ralph's end only now may take to end everything itself.
const GRACE: Duration = Duration::from_secs(1);

pub(super) fn become_reaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Kills and collects every child but the keepers, and everything below such a child. Returns how many were killed.
pub(super) fn sweep_orphans(keepers: &HashSet<u32>) -> u32 {
    let until = Instant::now() + PATIENCE;
    let known: HashSet<Pid> = keepers.iter().filter_map(|id| number(*id)).collect();
    let mut killed = HashSet::new();
    loop {
        let mut family = Family::below_but(getpid(), &known);
        let mut groups = HashSet::from([rustix::process::getpgrp()]);
        let mut orphans = Vec::new();
        for pid in newest_first() {
            let Some(found) = family.member(pid) else { continue };
            if !found.dead {
                kill(pid, found, &mut groups);
                killed.insert(pid);
            }
            if found.parent == Some(getpid()) {
                orphans.push(pid);
            }
        }
        if orphans.is_empty() || Instant::now() >= until {
            return u32::try_from(killed.len()).unwrap_or(u32::MAX);
        }
        orphans.into_iter().for_each(|pid| collect(pid, until));
    }
}

fn collect(pid: Pid, until: Instant) {
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if is_gone_by(&pidfd, until) {
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

/// Waits for the end of a process and, where it is an init, of all that is in its namespace.
pub(super) fn is_gone_by(pidfd: &impl std::os::fd::AsFd, until: Instant) -> bool {
    loop {
        let left = timespec(until.saturating_duration_since(Instant::now()));
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&left)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// A process as it is now, so that it can be told from a later one with its number.
pub(super) fn mark(pid: u32) -> Option<ProcessMark> {
    Some(ProcessMark { pid, started: started(pid)?, boot: boot()? })
}

fn boot() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// The 22nd field of its status, counted behind the name, which may hold anything.
fn started(pid: u32) -> Option<u64> {
    let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let name_end = line.iter().rposition(|&byte| byte == b')')?;
    let fields = str::from_utf8(line.get(name_end + 1..)?).ok()?;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

fn number(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

/// What of an earlier session is still alive is ended. `is_own`: whether an environment is that of a process of the run.
/// Returns how many there were, or that some could not be ended.
pub fn sweep_survivors(keepers: &[KeeperStarted], variable: &str) -> io::Result<u32> {
    let until = Instant::now() + PATIENCE;
    let mut count = 0;
    let mut stay = false;
    for keeper in keepers {
        for mark in keeper.init.iter() {
            let ended = end(mark, until);
            count += u32::from(ended.is_some());
            stay |= ended == Some(false);
        }
        if let Some(pidfd) = open(&keeper.keeper) {
            count += 1;
            // It may be stopped; set going it hears of ralph's end, and ends what is below it better than we can.
            let _ = pidfd_send_signal(&pidfd, Signal::CONT);
            if !is_gone_by(&pidfd, Instant::now() + GRACE) {
                count += kill_below(keeper.keeper.pid);
                stay |= end(&keeper.keeper, until) == Some(false);
            }
        }
    }
    if !keepers.is_empty() {
        count += kill_marked(variable, until, &mut stay);
    }
    match stay {
        true => Err(io::Error::other(
            "processes of the earlier session cannot be ended (they are stuck in the kernel, or another user's)",
        )),
        false => Ok(count),
    }
}

/// Whether it could be ended; nothing if it was gone.
fn end(mark: &ProcessMark, until: Instant) -> Option<bool> {
    let pidfd = open(mark)?;
    let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    Some(is_gone_by(&pidfd, until))
}

/// The process that was marked, and no other one with its number.
fn open(mark: &ProcessMark) -> Option<std::os::fd::OwnedFd> {
    let pidfd = pidfd_open(number(mark.pid)?, PidfdFlags::empty()).ok()?;
    // Looked at behind the open: while the descriptor is there, the number is this process's.
    let same = boot().as_ref() == Some(&mark.boot) && started(mark.pid) == Some(mark.started);
    // One that has ended and waits to be collected is nothing to end.
    (same && !is_gone_by(&pidfd, Instant::now())).then_some(pidfd)
}

fn kill_below(root: u32) -> u32 {
    let Some(root) = number(root) else { return 0 };
    let mut family = Family::below_but(root, &HashSet::new());
    let mut groups = HashSet::from([rustix::process::getpgrp()]);
    let mut count = 0;
    for pid in newest_first() {
        if let Some(found) = family.member(pid).filter(|found| !found.dead) {
            kill(pid, found, &mut groups);
            count += 1;
        }
    }
    count
}

/// Ends everything with this in its environment. Returns how many there were.
pub fn end_marked(variable: &str) -> usize {
    kill_marked(variable, Instant::now() + PATIENCE, &mut false) as usize
}

/// Everything with this in its environment: who lost its keeper belongs to nobody, and is known by nothing else.
fn kill_marked(variable: &str, until: Instant, stay: &mut bool) -> u32 {
    let mut killed = HashSet::new();
    loop {
        let looks: Vec<_> = newest_first().into_iter().map(|pid| (pid, look(pid, variable))).collect();
        let found: Vec<Pid> =
            looks.iter().filter(|(_, look)| *look == Look::Marked).map(|(pid, _)| *pid).collect();
        let starting = looks.iter().any(|(_, look)| *look == Look::Starting);
        if (found.is_empty() && !starting) || Instant::now() >= until {
            *stay |= !found.is_empty();
            return u32::try_from(killed.len()).unwrap_or(u32::MAX);
        }
        for pid in found {
            let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            if look(pid, variable) == Look::Marked && pidfd_send_signal(&pidfd, Signal::KILL).is_ok() {
                killed.insert(pid);
                is_gone_by(&pidfd, until);
            }
        }
        if starting {
            std::thread::yield_now();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Marked,
    Other,
    /// A new program is being laid into the process: for a moment neither its environment nor its arguments are there.
    Starting,
}

fn look(pid: Pid, variable: &str) -> Look {
    if pid == getpid() {
        return Look::Other;
    }
    let of = |file: &str| format!("/proc/{}/{file}", pid.as_raw_pid());
    // One that has ended has no environment any more.
    let read = |file: &str| fs::read(of(file)).unwrap_or_default();
    let mut environment = read("environ");
    if environment.is_empty() {
        let has_arguments = !read("cmdline").is_empty();
        // A thread of the kernel and one that has ended have no program, either.
        if !has_arguments && fs::read_link(of("exe")).is_ok() {
            return Look::Starting;
        }
        environment = read("environ");
    }
    match environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes()) {
        true => Look::Marked,
        false => Look::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_is_ended_by_its_mark_and_another_one_with_its_number_is_not() {
        let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
        let keeper = mark(sleeper.id()).unwrap();
        let other = ProcessMark { started: keeper.started + 1, ..keeper.clone() };
        let earlier = ProcessMark { boot: "another".to_owned(), ..keeper.clone() };
        let started = |init: ProcessMark| KeeperStarted {
            keeper: ProcessMark { pid: 0, started: 0, boot: String::new() },
            init: Some(init),
        };
        let nobody = "RALPH_RUN_ID=nobody-has-this";
        assert_eq!(sweep_survivors(&[started(other), started(earlier)], nobody).unwrap(), 0);
        assert!(sleeper.try_wait().unwrap().is_none());
        assert_eq!(sweep_survivors(&[started(keeper.clone())], nobody).unwrap(), 1);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&sleeper.wait().unwrap()), Some(9));
        assert_eq!(sweep_survivors(&[started(keeper)], nobody).unwrap(), 0);
    }

    #[test]
    fn who_belongs_to_nobody_is_known_by_its_environment() {
        let value = format!("{}-orphan", std::process::id());
        let mut sleeper = Command::new("sleep").arg("1000").env("RALPH_RUN_ID", &value).spawn().unwrap();
        let sleeper_id = number(sleeper.id()).unwrap();
        let gone =
            KeeperStarted { keeper: ProcessMark { pid: 0, started: 0, boot: String::new() }, init: None };
        let swept = std::thread::scope(|scope| {
            let collected = scope.spawn(|| sleeper.wait().unwrap());
            let swept = sweep_survivors(&[gone], &format!("RALPH_RUN_ID={value}"));
            // Were it still alive, the thread would wait for it and the test never end.
            let _ = rustix::process::kill_process(sleeper_id, Signal::KILL);
            collected.join().unwrap();
            swept
        });
        assert_eq!(swept.unwrap(), 1);
    }
}
