//! Nothing is left alive: not after a normal exit, and not after kill -9 of the supervising process.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

use ralph_runtime::process::{Exit, Spec, Supervisor, keeper_exe};
use rustix::fs::{FlockOperation, flock};
use rustix::process::Pid;

use crate::support::{MARK_KEY, Mark, PATIENCE, await_end, contain, run, sh, start, stat, write_file};

crate::trials![
    leftovers_are_killed_after_a_normal_exit,
    a_crowd_that_keeps_forking_is_killed,
    a_process_that_hops_from_session_to_session_is_killed,
    orphans_that_end_by_themselves_leave_no_zombies,
    kill_9_of_the_supervisor_leaves_nothing_at_any_moment,
];

pub const HELPER_ARG: &str = "__supervise";

/// A TERM-ignoring child, a grandchild that called setsid and lost its parents, and a tree in another session.
const STUBBORN: &str = "
    (trap '' TERM HUP INT; while :; do sleep 1000; done) &
    ( (setsid sleep 1001 &) & )
    setsid sh -c 'trap \"\" TERM; sleep 1002 & (sleep 1003 & sleep 1004) & exit 0'
";

fn leftovers_are_killed_after_a_normal_exit() {
    let mark = Mark::new();
    let done = run(mark.on(sh(&format!("{STUBBORN}\nexit 4"))));
    mark.assert_nothing_alive();
    assert_eq!(done.end.exit, Exit::Code(4));
    // Some may not have been forked yet when their parent was killed; the two the script itself started were.
    assert!(done.end.killed_leftovers >= 2, "{:?}", done.end);
    assert!(done.end.drained && !done.end.leftovers_alive);
}

fn a_crowd_that_keeps_forking_is_killed() {
    let mark = Mark::new();
    // Bounded, so that a bug costs the machine 2000 sleepers and not its life.
    let fork = "i=0; while [ $i -lt 500 ]; do sleep 1000 & i=$((i+1)); done; wait";
    let script = format!("for n in 1 2; do ({fork}) & setsid sh -c '{fork}' & done; sleep 0.05; exit 0");
    let done = run(mark.on(sh(&script)));
    mark.assert_nothing_alive();
    assert_eq!(done.end.exit, Exit::Code(0));
    assert!(done.end.killed_leftovers > 4, "{:?}", done.end);
}

fn a_process_that_hops_from_session_to_session_is_killed() {
    let mark = Mark::new();
    let dir = tempfile::tempdir().unwrap();
    let hop = dir.path().join("hop");
    write_file(&hop, b"#!/bin/sh\nsetsid \"$0\" &\nexit 0\n", 0o755);
    let done = run(mark.on(sh(&format!("{} & sleep 0.05; exit 0", hop.display()))));
    mark.assert_nothing_alive();
    assert_eq!((&done.end.exit, done.end.leftovers_alive), (&Exit::Code(0), false));
    assert!(done.end.killed_leftovers >= 1, "{:?}", done.end);
}

fn orphans_that_end_by_themselves_leave_no_zombies() {
    let run = start(sh("i=0; while [ $i -lt 50 ]; do (true &); i=$((i+1)); done; echo up; exec sleep 1000"));
    run.await_output("up");
    let keeper = stat(run.handle.pid().unwrap(), 1);
    let zombies = || {
        let pids = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = pids.filter_map(|pid| std::fs::read_to_string(pid.path().join("stat")).ok());
        lines.filter(|line| line.contains(&format!(") Z {keeper} "))).count()
    };
    let start = std::time::Instant::now();
    while zombies() > 0 {
        assert!(start.elapsed() < PATIENCE, "{} zombies stay", zombies());
        std::thread::yield_now();
    }
    run.handle.kill();
    run.await_exit();
}

/// The process that is killed: holds a lock and runs one short agent after the other.
pub fn helper_main(dir: PathBuf) -> ! {
    let lock = File::open(dir).expect("the directory to lock");
    flock(&lock, FlockOperation::NonBlockingLockExclusive).expect("a free lock");
    let supervisor = Supervisor::new(keeper_exe().expect("a keeper"), 1, contain());
    let script = format!("{STUBBORN}\necho up; sleep 0.01");
    loop {
        let (ended, exit) = channel();
        let spec: Spec = sh(&script);
        supervisor.spawn(
            spec,
            Some(lock.as_fd()),
            |_, chunk| print!("{}", String::from_utf8_lossy(chunk)),
            move |exit| ended.send(exit).unwrap_or_default(),
        );
        exit.recv().expect("an exit");
    }
}

fn kill_9_of_the_supervisor_leaves_nothing_at_any_moment() {
    const ROUNDS: u64 = 40;
    let seed = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let mut random = seed;
    let mut hit_an_agent = 0;
    for round in 0..ROUNDS {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = Duration::from_micros((random >> 33) % 40_000);
        hit_an_agent += u64::from(kill_9_at(round, moment));
    }
    // Otherwise the test would show nothing.
    assert!(hit_an_agent > 0, "not one of {ROUNDS} kills hit a keeper at work, seed {seed}");
}

/// One that has just been executed does not have its name yet, one that is exiting has no command line any more.
fn is_keeper((_, name, cmdline): &(Pid, String, String)) -> bool {
    name == "agent-keeper" || cmdline.starts_with("agent-keeper")
}

/// Returns whether a keeper was at work at the time.
fn kill_9_at(round: u64, moment: Duration) -> bool {
    let mark = Mark::new();
    let dir = tempfile::tempdir().unwrap();
    let mut helper = Command::new(keeper_exe().unwrap())
        .arg(HELPER_ARG)
        .arg(dir.path())
        .env(MARK_KEY, mark.value())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(helper.stdout.take().unwrap());
    // Every other time the very first start is what gets hit.
    if round.is_multiple_of(2) {
        output.read_line(&mut String::new()).unwrap();
    }
    std::thread::sleep(moment);
    helper.kill().unwrap();
    helper.wait().unwrap();
    let at_work = flock(File::open(dir.path()).unwrap(), FlockOperation::NonBlockingLockExclusive).is_err();

    // The contract: who gets the lock may rely on nothing being alive.
    let (locked, got_lock) = channel();
    let path = dir.path().to_owned();
    std::thread::spawn(move || {
        let ours = File::open(path).unwrap();
        flock(&ours, FlockOperation::LockExclusive).unwrap();
        locked.send(ours).unwrap_or_default();
    });
    let _ours = got_lock.recv_timeout(PATIENCE).expect("the lock is never released");
    let (keepers, agents): (Vec<_>, Vec<_>) = mark.processes().into_iter().partition(is_keeper);
    assert_eq!(agents, [], "alive after kill -9 at {moment:?}");
    // A keeper that had no work, or is done, holds no lock; it goes by itself.
    keepers.iter().for_each(|(pid, ..)| await_end(*pid));
    mark.assert_nothing_alive();
    at_work
}
