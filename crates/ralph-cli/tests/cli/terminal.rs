//! ralph on a terminal.

use std::io::Read;

use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use crate::harness::*;
use crate::pty::{Pty, Seated};

/// Runs a short loop on a terminal and gives back all that was written to it.
fn on_a_terminal(world: &World, env: &[(&str, &str)]) -> String {
    let agent = world.agent("say reading the code\nsleep 300ms\nsay <ralph>COMPLETE</ralph>");
    shown_by(world, &["run", "-p", "x", "-a", &agent], env, 0)
}

/// What ralph writes to a terminal, of this width if it has one, when all goes well.
fn shown_by(world: &World, args: &[&str], env: &[(&str, &str)], columns: u16) -> String {
    let mut pty = Pty::new();
    if columns > 0 {
        let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&pty.master, size).expect("a size");
    }
    let mut command = world.command(RALPH);
    command.args(args).stdin(pty.open()).stdout(pty.open()).stderr(pty.open());
    command.env("TERM", "xterm-256color").envs(env.iter().copied());
    let mut child = command.spawn().expect("start");
    // The command holds the terminal open; without it the end of ralph is the end of what is written.
    drop(command);
    let mut seen = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(n @ 1..) = pty.master.read(&mut chunk) {
        seen.extend_from_slice(&chunk[..n]);
    }
    assert_eq!(child.wait().expect("wait").code(), Some(0));
    String::from_utf8_lossy(&seen).into_owned()
}

/// Whether there is an escape that sets a colour or a weight.
fn has_style(text: &str) -> bool {
    text.split("\u{1b}[")
        .skip(1)
        .any(|part| part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

#[test]
fn a_terminal_gets_a_live_line_and_colours() {
    let world = World::new();
    let seen = on_a_terminal(&world, &[]);
    assert!(seen.contains("reading the code"), "the live line shows what the agent says: {seen:?}");
    assert!(seen.contains("#1 ") && has_style(&seen), "{seen:?}");
}

#[test]
fn what_is_too_wide_for_a_terminal_breaks_between_words() {
    let world = World::new();
    let why = "no such table: customers, orders, and what else was expected";
    world.run(&format!("err {why}\nexit 9"), &["-n", "1"]).expect(3);
    let plain = [("NO_COLOR", "1")];
    for command in ["explain", "status", "replay"] {
        let seen = shown_by(&world, &[command], &plain, 60);
        assert!(!seen.contains(why) && seen.contains("customers,"), "{seen}");
        let lines = || seen.lines().map(str::trim_end);
        // The workspace is one word.
        let words = lines().filter(|line| !line.contains("/work"));
        assert!(words.clone().all(|line| line.chars().count() <= 60), "{command}: {seen}");
        let joined: String = lines().flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
        assert!(joined.contains(why), "{joined}");
    }
    let seen = shown_by(&world, &["events"], &plain, 60);
    let joined: String = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!seen.contains(why) && joined.contains(why), "{seen}");
    let gate = "gates=[{name: tests, run: npm test -- --reporter dot, kind: test}]";
    let seen = shown_by(&world, &["gates", "list", "--set", gate], &plain, 60);
    let lines: Vec<&str> = seen.lines().map(str::trim_end).collect();
    assert_eq!(
        lines,
        ["tests  npm test -- --reporter dot", "       test, required, at every completion, 10m, --set"]
    );
    // A pipe gets it as it is.
    assert!(world.ralph(["explain"]).expect(0).stdout.contains(why));
}

#[test]
fn no_color_is_honoured() {
    let world = World::new();
    let seen = on_a_terminal(&world, &[("NO_COLOR", "1")]);
    assert!(seen.contains("complete") && !has_style(&seen), "{seen:?}");
}

#[test]
fn a_dumb_terminal_gets_plain_lines() {
    let world = World::new();
    let seen = on_a_terminal(&world, &[("TERM", "dumb")]);
    assert!(seen.contains("complete") && !seen.contains('\u{1b}'), "{seen:?}");
}

#[test]
fn the_key_r_ends_a_wait_and_the_terminal_is_as_before() {
    let world = World::new();
    let pty = Pty::new();
    let before = tcgetattr(pty.open()).expect("its modes").local_modes;
    let agent = world.agent("say <!-- ralph:state idle -->");
    let args = ["run", "-p", "x", "-a", &agent, "-n", "2", "--set", "idle.delay=1h"];
    let mut person = Seated::start(&world, pty, &args, "limit reached");
    person.await_screen("(r: go on now)");
    person.press(b'r');
    let seen = person.ends(3);
    assert!(seen.contains("next look in") && seen.contains("(r: go on now)"), "{seen:?}");
    let events = world.events();
    assert_eq!(events.of("wait.skipped").len(), 1);
    assert_eq!(events.last("delay.ended")["early"], true);
    assert_eq!(tcgetattr(&person.terminal).expect("its modes").local_modes, before);
    world.verify();
}
