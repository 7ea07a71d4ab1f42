//! What a program prints: every byte, in flat memory, and no survivor can hold up the end.

use std::fs;
use std::sync::mpsc::channel;
use std::time::Duration;

use ralph_runtime::process::{Exit, Finished, Spec, Stream};
use rustix::process::{Signal, kill_process_group};

use crate::support::{Mark, PATIENCE, SUPERVISOR, run, sh, start};

crate::trials![
    a_quarter_of_a_gigabyte_is_counted_exactly_in_flat_memory,
    bytes_are_not_touched_and_streams_not_mixed,
    a_background_child_that_holds_stdout_does_not_delay_the_exit,
    a_survivor_that_is_kept_holds_stdout_for_the_drain_bound_only,
    what_the_agent_wrote_is_read_even_if_the_drain_bound_is_nothing,
    a_survivor_that_never_stops_writing_is_given_up,
];

fn resident_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim_end_matches("kB").trim().parse::<usize>().unwrap() * 1024
}

fn a_quarter_of_a_gigabyte_is_counted_exactly_in_flat_memory() {
    const SIZE: u64 = 256 << 20;
    let before = resident_bytes();
    let (tell, exit) = channel();
    let (tell_count, counted) = channel();
    let (mut stdout, mut stderr, mut chunks, mut peak) = (0, 0, 0, 0);
    SUPERVISOR.spawn(
        sh(&format!("head -c {SIZE} /dev/zero & head -c 1000001 /dev/zero >&2; wait")),
        None,
        move |stream, chunk| {
            match stream {
                Stream::Stdout => stdout += chunk.len() as u64,
                Stream::Stderr => stderr += chunk.len() as u64,
            }
            chunks += 1;
            if chunks % 256 == 0 {
                peak = peak.max(resident_bytes());
            }
            tell_count.send((stdout, stderr, peak)).unwrap();
        },
        move |exit| tell.send(exit).unwrap(),
    );
    let end = exit.recv_timeout(PATIENCE * 3).unwrap();
    let (stdout, stderr, peak) = counted.try_iter().last().unwrap();
    assert_eq!((end.exit, end.drained), (Exit::Code(0), true));
    assert_eq!((stdout, stderr), (SIZE, 1_000_001));
    assert!(peak > 0 && peak.saturating_sub(before) < 32 << 20, "{before} bytes grew to {peak}");
}

fn bytes_are_not_touched_and_streams_not_mixed() {
    let (tell, exit) = channel();
    let (tell_bytes, bytes) = channel();
    SUPERVISOR.spawn(
        sh(r"printf 'a\377\000b\r\n'; printf '\376' >&2"),
        None,
        move |stream, chunk| tell_bytes.send((stream, chunk.to_vec())).unwrap(),
        move |exit| tell.send(exit).unwrap(),
    );
    exit.recv_timeout(PATIENCE).unwrap();
    let chunks: Vec<_> = bytes.try_iter().collect();
    let all = |of: Stream| -> Vec<u8> {
        chunks.iter().filter(|(stream, _)| *stream == of).flat_map(|(_, chunk)| chunk.clone()).collect()
    };
    assert_eq!((all(Stream::Stdout), all(Stream::Stderr)), (b"a\xff\0b\r\n".to_vec(), b"\xfe".to_vec()));
}

fn a_background_child_that_holds_stdout_does_not_delay_the_exit() {
    let done = run(sh("sleep 1000 & echo end"));
    assert_eq!((done.end.exit, done.stdout.as_str()), (Exit::Code(0), "end\n"));
    assert_eq!((done.end.killed_leftovers, done.end.drained), (1, true));
}

/// Runs a script whose leftovers are kept, looks, and then removes them.
fn run_and_keep(script: &str, drain: Duration, look: impl FnOnce(Finished, String)) {
    let mark = Mark::new();
    let run = start(mark.on(Spec { kill_leftovers: false, drain, ..sh(script) }));
    let handle = run.handle.clone();
    let done = run.await_exit();
    let alive = mark.processes();
    let group = handle.pid().and_then(|pid| rustix::process::Pid::from_raw(pid as i32)).unwrap();
    kill_process_group(group, Signal::KILL).unwrap_or_default();
    assert_eq!(alive.len(), 1, "{alive:?}");
    assert_eq!((&done.end.exit, done.end.killed_leftovers), (&Exit::Code(0), 0));
    look(done.end, done.stdout);
}

fn a_survivor_that_is_kept_holds_stdout_for_the_drain_bound_only() {
    run_and_keep("sleep 1000 & echo end", Duration::from_millis(50), |end, stdout| {
        assert_eq!((end.drained, stdout.as_str()), (false, "end\n"));
    });
    // One that closes its output does not even cost the bound.
    run_and_keep("sleep 1000 >/dev/null 2>&1 & echo end", PATIENCE * 100, |end, stdout| {
        assert_eq!((end.drained, stdout.as_str()), (true, "end\n"));
    });
}

fn what_the_agent_wrote_is_read_even_if_the_drain_bound_is_nothing() {
    run_and_keep("sleep 1000 & head -c 1000000 /dev/zero", Duration::ZERO, |end, stdout| {
        assert_eq!((end.drained, stdout.len()), (false, 1_000_000));
    });
}

fn a_survivor_that_never_stops_writing_is_given_up() {
    run_and_keep(
        "echo first; exec 3>&1; trap '' PIPE; while :; do echo y; done & :",
        Duration::ZERO,
        |end, stdout| {
            assert!(!end.drained);
            assert!(stdout.starts_with("first\n"));
        },
    );
}
