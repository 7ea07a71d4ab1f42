//! Runs without a terminal, and screens that come and go.

use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;

use rustix::io::ioctl_fionread;
use rustix::termios::tcgetattr;

use crate::harness::*;
use crate::pty::{Pty, Seated};

const PATIENT: &str = "say working\nwait-for go\nsay <ralph>COMPLETE</ralph>";

/// Starts a run in the background and returns its id.
fn detached(world: &World, script: &str, args: &[&str]) -> String {
    let agent = world.agent(script);
    let given = ["run", "--detach", "-p", "x", "-a", &agent].into_iter().chain(args.iter().copied());
    let done = world.ralph(given).expect(0);
    let id = world.run_id();
    assert!(done.stdout.contains(&format!("ralph attach {id}")), "{}", done.stdout);
    id
}

#[test]
fn a_run_in_the_background_has_a_session_of_its_own_and_is_waited_for() {
    let world = World::new();
    let id = detached(&world, PATIENT, &[]);
    let pid = world.wait_for("agent.text", 1).last("run.started")["pid"].as_u64().expect("a pid");
    let stat = read(std::path::Path::new(&format!("/proc/{pid}/stat")));
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a stat").1.split_whitespace().collect();
    assert_eq!(fields[3], pid.to_string(), "it leads a session");
    assert_eq!(fields[4], "0", "it has no terminal");
    let waiting = world.start(["wait", &id]);
    world.write("go", "");
    let waited = waiting.wait().expect(0);
    assert!(waited.stdout.contains("complete") || waited.stdout.contains("unproved"), "{}", waited.stdout);
    assert_eq!(world.stopped().0, "complete");
    world.expect_no_survivors();
    world.verify();
}

#[test]
fn what_is_wrong_with_a_run_in_the_background_is_told_before_it_starts() {
    let world = World::new();
    let done = world.ralph(["run", "--detach", "-p", "x", "-a", "./no-such-agent"]).expect(2);
    assert!(done.stderr.contains("no-such-agent"), "{}", done.stderr);
    assert!(world.run_dirs().is_empty());
}

#[test]
fn a_run_in_the_background_is_resumed_in_the_background() {
    let world = World::new();
    let id = detached(&world, "say one", &["-n", "1"]);
    world.ralph(["wait", &id]).expect(3);
    world.ralph(["resume", "--detach", &id, "-n", "2"]).expect(0);
    world.ralph(["wait", &id]).expect(3);
    assert_eq!(world.events().finished(), [1, 2]);
}

#[test]
fn a_hangup_that_nohup_ignores_is_ignored() {
    let world = World::new();
    let agent = world.agent(PATIENT);
    let mut command = world.command("nohup");
    command.args([RALPH, "run", "-p", "x", "-a", &agent]);
    let live = world.spawn(command);
    world.wait_for("agent.text", 1);
    live.signal(Signal::HUP);
    world.write("go", "");
    live.wait().expect(0);
    assert_eq!(world.events().of("stop.requested").len(), 0);
}

#[test]
fn an_attached_screen_sees_what_was_and_what_comes_and_ends_as_the_run_does() {
    let world = World::new();
    let id = detached(&world, "on 2: wait-for go\nsay here", &["-n", "2"]);
    world.wait_for("iteration.started", 2);
    let screen = world.start(["attach", &id]);
    wait_until("the screen has begun", || screen.stdout().contains("#1 "));
    world.write("go", "");
    let seen = screen.wait().expect(3).stdout;
    assert!(seen.contains("#1 ok") && seen.contains("#2 ok") && seen.contains("max_iterations"), "{seen}");
    let again = world.ralph(["attach", &id]).expect(3).stdout;
    assert!(again.contains("max_iterations") && !again.contains("#1 ok"), "the end of it alone: {again}");
}

#[test]
fn a_screen_is_left_without_stopping_the_run_and_gives_the_terminal_back() {
    let world = World::new();
    let id = detached(&world, PATIENT, &[]);
    world.wait_for("agent.text", 1);
    for keys in [&b"d"[..], b"q", b"\x03"] {
        let pty = Pty::new();
        let before = tcgetattr(pty.open()).expect("its modes").local_modes;
        let mut person = Seated::start(&world, pty, &["attach", &id], "it goes on");
        person.await_screen("? keys");
        keys.iter().chain(keys).for_each(|key| person.press(*key));
        let seen = person.ends(0);
        assert!(seen.contains("attached to run"), "{seen:?}");
        assert_eq!(tcgetattr(&person.terminal).expect("its modes").local_modes, before);
    }
    assert_eq!(world.events().of("stop.requested").len(), 0);
    world.write("go", "");
    world.ralph(["wait", &id]).expect(0);
}

#[test]
fn a_screen_that_is_killed_is_nothing_to_the_run() {
    let world = World::new();
    let id = detached(&world, PATIENT, &[]);
    world.wait_for("agent.text", 1);
    for _ in 0..5 {
        let screen = world.start(["attach", &id]);
        wait_until("the screen has begun", || {
            screen.stdout().contains("working") || screen.stdout().contains(&id)
        });
        screen.kill();
    }
    world.write("go", "");
    world.ralph(["wait", &id]).expect(0);
    world.verify();
}

#[test]
fn what_is_typed_at_a_run_is_not_left_for_the_shell() {
    let world = World::new();
    let pty = Pty::new();
    let before = tcgetattr(pty.open()).expect("its modes").local_modes;
    let agent = world.agent("on 1: wait-for go\nsay <ralph>COMPLETE</ralph>");
    let mut person = Seated::start(&world, pty, &["run", "-p", "x", "-a", &agent], "unproved");
    person.await_screen("? keys");
    b"touch pwned\n\x1b[A\nls\n".iter().for_each(|key| person.press(*key));
    world.write("go", "");
    person.ends(0);
    let left = ioctl_fionread(person.terminal.as_fd()).expect("a count");
    assert_eq!(left, 0, "bytes are left for the shell");
    assert_eq!(tcgetattr(&person.terminal).expect("its modes").local_modes, before);
    assert!(!world.work("pwned").exists());
}

#[test]
fn a_person_kills_an_iteration_by_a_key_and_says_something() {
    let world = World::new();
    let agent = world.agent("save-prompt prompt-%i.txt\non 1: sleep 60s\nsay <ralph>COMPLETE</ralph>");
    let mut person = Seated::start(&world, Pty::new(), &["run", "-p", "x", "-a", &agent], "unproved");
    person.await_screen("? keys");
    world.wait_for("agent.spawned", 1);
    b"guse the small parser\n".iter().for_each(|key| person.press(*key));
    world.wait_for("guidance.added", 1);
    b"ky".iter().for_each(|key| person.press(*key));
    person.ends(0);
    let finished = world.events();
    assert_eq!(finished.of("iteration.finished")[0]["error"], "ended by a person");
    assert!(world.read("prompt-2.txt").contains("use the small parser"));
    world.verify();
}

/// A PATH with a program of this name, and a shell.
fn with_program(world: &World, name: &str, script: &str) -> String {
    let bin = world.path("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let program = bin.join(name);
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("write");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    // The system's own must not be found.
    let _ = std::os::unix::fs::symlink("/bin/sh", bin.join("sh"));
    bin.display().to_string()
}

const AWAKE: [&str; 2] = ["--set", "keep_awake=true"];

#[test]
fn the_machine_is_held_awake_from_the_start_of_a_run_to_its_end_however_that_comes() {
    let world = World::new();
    let told = world.path("told");
    let script = format!(
        "echo \"$$ $0 $*\" >> {}; while [ \"${{1##*/}}\" != sh ]; do shift; done; exec \"$@\"",
        told.display()
    );
    let path = with_program(&world, "systemd-inhibit", &script) + ":/usr/bin:/bin";
    let agent = world.agent(PATIENT);
    let start = |command: &str| {
        let mut command_line = world.command(RALPH);
        command_line.env("PATH", &path);
        match command {
            "run" => command_line.args(["run", "-p", "x", "-a", &agent]).args(AWAKE),
            other => command_line.arg(other),
        };
        world.spawn(command_line)
    };
    let times = || read(&told).lines().count();
    // By its command line: in a namespace of its own it has another number.
    let is_held = || world.survivors().iter().any(|process| process.contains("sleep 2000000000"));
    let live = start("run");
    let events = world.wait_for("agent.text", 1);
    let started = events.last("run.started");
    let program = format!("{}/systemd-inhibit", world.path("bin").display());
    assert_eq!(started["containment"]["kept_awake_by"], program.as_str());
    let line = read(&told);
    assert!(line.contains("--what=idle:sleep --mode=block --who=ralph --why=run "), "{line}");
    assert!(is_held(), "as long as the run works");
    assert!(world.ralph(["status"]).expect(0).stdout.contains(&format!("kept awake by {program}")));
    live.kill();
    wait_until("nobody holds it awake for a run that was killed", || !is_held());
    let live = start("resume");
    wait_until("it is held again", || times() == 2 && is_held());
    world.write("go", "");
    live.wait().expect(0);
    assert!(!is_held(), "it may sleep again");
    world.expect_no_survivors();
}

#[test]
fn a_machine_that_cannot_be_held_awake_is_told_of_and_the_run_goes_on() {
    let world = World::new();
    let agent = world.agent("say hi");
    let run = |path: &str| {
        let mut command = world.command(RALPH);
        command.env("PATH", path).args(["run", "-p", "x", "-a", &agent, "--once"]).args(AWAKE);
        let shown = world.spawn(command).wait().expect(0).stdout;
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let empty = with_program(&world, "other", "true");
    let none = run(&empty);
    assert!(
        none.contains("`keep_awake` needs systemd-inhibit or caffeinate, and neither is on PATH"),
        "{none}"
    );
    let path = with_program(&world, "caffeinate", "echo 'no power at all' >&2; exit 3");
    let refused = run(&path);
    assert!(refused.contains("bin/caffeinate does not hold it awake: no power at all"), "{refused}");
}
