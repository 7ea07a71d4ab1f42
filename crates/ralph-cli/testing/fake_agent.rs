//! A scripted agent for the tests of the whole program.
//!
//! `fake-agent FILE [ARG…]` follows the steps in a file, one a line. `fake-agent -c 'STEP; STEP'` takes them from an
//! argument. A line that is empty or begins with `#` says nothing. In a step `%i` is the iteration, `%a` the attempt and
//! `%r` the run. Files are relative to the workspace. A step may stand behind conditions: `on 2:` (this iteration),
//! `on 2+:` (this and later ones), `attempt 1:`, `hat reviewer:`.
//!
//! | step | |
//! |---|---|
//! | `say TEXT`, `err TEXT` | a line on stdout, on stderr |
//! | `exit N`, `kill-self SIGNAL` | ends: the exit code, or the number of the signal |
//! | `sleep 500ms`, `sleep 5s` | |
//! | `wait-for FILE` | until the file is there |
//! | `read-stdin`, `save-prompt FILE`, `echo-prompt` | takes the prompt and drops, keeps or prints it |
//! | `save-args FILE` | the arguments behind the script, one a line |
//! | `save-env FILE NAME…` | `NAME=value` lines |
//! | `write FILE TEXT` | |
//! | `append FILE` | one line `run iteration attempt pid`, to count executions |
//! | `sh TEXT` | a shell command; its failure is this agent's |
//! | `emit TOPIC PAYLOAD` | `ralph emit` |
//! | `reach FILE KIND ADDRESS` | tries to speak to somebody, and writes what came of it; `reach.rs` has the kinds |
//! | `ignore-term` | from here on TERM does nothing |
//! | `spawn-child` | a child that ignores TERM and sleeps |
//! | `daemon` | the same in its own session, its parent gone |
//! | `hold-stdout 25s` | a child that keeps stdout open |
//! | `flood BYTES lines\|line\|random [stderr]` | exactly so many bytes; lines are numbered and 80 bytes long |
//!
//! What is left to sleep ends by itself after two minutes, so a failed test leaves nothing behind for long.

mod reach;

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

const LONG: &str = "120s";
/// A mistake in a script. No test expects it of an agent.
const BAD_SCRIPT: u8 = 99;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let steps = match (args.next().as_deref(), args.next()) {
        (Some("-c"), Some(text)) => Ok(text.replace(';', "\n")),
        // The middle one of a double fork: a session of its own, and gone.
        (Some("--daemon"), None) => match rustix::process::setsid() {
            Ok(_) => sleeper(Stdio::null()).map(|()| String::new()),
            Err(error) => Err(error.into()),
        },
        (Some(file), _) => fs::read_to_string(file),
        (None, _) => Err(io::Error::other("no script")),
    };
    let done = steps.and_then(|steps| {
        for line in steps.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(code) = step(&expand(line))? {
                return Ok(code);
            }
        }
        Ok(0)
    });
    ExitCode::from(done.unwrap_or_else(|error| {
        eprintln!("fake-agent: {error}");
        BAD_SCRIPT
    }))
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn expand(line: &str) -> String {
    let line = line.replace("%i", &env("RALPH_ITERATION")).replace("%a", &env("RALPH_ATTEMPT"));
    line.replace("%r", &env("RALPH_RUN_ID"))
}

/// Some code: the agent ends with it.
fn step(line: &str) -> io::Result<Option<u8>> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "on" | "attempt" | "hat" => return conditional(word, rest),
        "emit" => {
            let (topic, payload) = rest.split_once(' ').unwrap_or((rest, ""));
            return Ok(failure(Command::new("ralph").args(["emit", topic, payload]).status()?));
        }
        "exit" => return Ok(Some(number(rest)?)),
        "sh" => return Ok(failure(Command::new("sh").args(["-c", rest]).status()?)),
        "say" => print(&mut io::stdout(), format!("{rest}\n").as_bytes())?,
        "err" => print(&mut io::stderr(), format!("{rest}\n").as_bytes())?,
        "sleep" => sleep(duration(rest)?),
        "wait-for" => wait_for(rest)?,
        "read-stdin" => drop(prompt()?),
        "save-prompt" => fs::write(rest, prompt()?)?,
        "echo-prompt" => print(&mut io::stdout(), &prompt()?)?,
        "save-args" => fs::write(rest, lines(std::env::args().skip(2)))?,
        "save-env" => {
            let (file, names) = rest.split_once(' ').unwrap_or((rest, ""));
            fs::write(file, lines(names.split(' ').map(|name| format!("{name}={}", env(name)))))?;
        }
        "write" => {
            let (file, text) = rest.split_once(' ').unwrap_or((rest, ""));
            fs::write(file, text)?;
        }
        "append" => append(rest)?,
        "reach" => reach::reach(rest)?,
        "ignore-term" => drop(signal_hook::flag::register(15, Arc::new(AtomicBool::new(false)))?),
        "spawn-child" => sleeper(Stdio::null())?,
        "daemon" => return Ok(failure(myself().arg("--daemon").stdout(Stdio::null()).status()?)),
        "hold-stdout" => drop(myself().args(["-c", &format!("sleep {rest}")]).spawn()?),
        "flood" => flood(rest)?,
        "kill-self" => kill_self(number(rest)?)?,
        _ => return Err(io::Error::other(format!("unknown step: {line}"))),
    }
    Ok(None)
}

fn conditional(word: &str, rest: &str) -> io::Result<Option<u8>> {
    let (wanted, then) = rest.split_once(": ").ok_or_else(|| io::Error::other(format!("no step: {rest}")))?;
    if word == "hat" {
        return if env("RALPH_HAT") == wanted { step(then) } else { Ok(None) };
    }
    let now: u32 = number(&env(if word == "on" { "RALPH_ITERATION" } else { "RALPH_ATTEMPT" }))?;
    let holds = match wanted.strip_suffix('+') {
        Some(from) => now >= number(from)?,
        None => now == number(wanted)?,
    };
    if holds { step(then) } else { Ok(None) }
}

fn number<T: std::str::FromStr>(text: &str) -> io::Result<T> {
    text.trim().parse().map_err(|_| io::Error::other(format!("not a number: {text}")))
}

fn duration(text: &str) -> io::Result<Duration> {
    match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(millis), _) => Ok(Duration::from_millis(number(millis)?)),
        (None, Some(seconds)) => Ok(Duration::from_secs(number(seconds)?)),
        (None, None) => Err(io::Error::other(format!("not a time: {text}"))),
    }
}

fn lines(items: impl Iterator<Item = String>) -> String {
    items.map(|item| item + "\n").collect()
}

fn print(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes).and_then(|()| out.flush())
}

fn prompt() -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text)?;
    Ok(text)
}

fn failure(status: std::process::ExitStatus) -> Option<u8> {
    (!status.success()).then_some(1)
}

fn myself() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.stdin(Stdio::null());
    command
}

/// A child that ignores TERM; it is not waited for.
fn sleeper(out: Stdio) -> io::Result<()> {
    let mut command = myself();
    command.args(["-c", &format!("ignore-term; sleep {LONG}")]).stdout(out).stderr(Stdio::null());
    command.spawn().map(drop)
}

fn wait_for(file: &str) -> io::Result<()> {
    let deadline = Instant::now() + duration(LONG)?;
    while !Path::new(file).exists() {
        if Instant::now() > deadline {
            return Err(io::Error::other(format!("{file} did not come")));
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// In one write, so that lines of several agents do not mix.
fn append(file: &str) -> io::Result<()> {
    let (run, iteration, attempt) = (env("RALPH_RUN_ID"), env("RALPH_ITERATION"), env("RALPH_ATTEMPT"));
    let line = format!("{run} {iteration} {attempt} {}\n", std::process::id());
    OpenOptions::new().create(true).append(true).open(file)?.write_all(line.as_bytes())
}

fn kill_self(signal: i32) -> io::Result<()> {
    let signal = rustix::process::Signal::from_named_raw(signal);
    let signal = signal.ok_or_else(|| io::Error::other("not a signal"))?;
    // Rust's own handler of SIGSEGV takes the first one and steps aside.
    for _ in 0..2 {
        rustix::process::kill_process(rustix::process::getpid(), signal)?;
    }
    sleep(duration(LONG)?);
    Ok(())
}

fn flood(rest: &str) -> io::Result<()> {
    let words: Vec<&str> = rest.split(' ').collect();
    let (bytes, kind) = match words[..] {
        [bytes, kind] | [bytes, kind, "stderr"] => (number::<u64>(bytes)?, kind),
        _ => return Err(io::Error::other(format!("not a flood: {rest}"))),
    };
    let mut out: Box<dyn Write> =
        if words.len() == 3 { Box::new(io::stderr().lock()) } else { Box::new(io::stdout().lock()) };
    let mut left = bytes;
    let (mut line, mut seed) = (0u64, 0x9e37_79b9_7f4a_7c15_u64);
    let mut chunk = Vec::with_capacity(80 * 1024);
    while left > 0 {
        chunk.clear();
        for _ in 0..1024 {
            match kind {
                "lines" => writeln!(chunk, "{line:079}")?,
                "line" => chunk.extend_from_slice(&[b'x'; 80]),
                "random" => {
                    for _ in 0..10 {
                        seed ^= seed << 13;
                        seed ^= seed >> 7;
                        seed ^= seed << 17;
                        chunk.extend_from_slice(&seed.to_le_bytes());
                    }
                }
                _ => return Err(io::Error::other(format!("not a flood: {rest}"))),
            }
            line += 1;
        }
        let size = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
        out.write_all(&chunk[..size])?;
        left -= size as u64;
    }
    out.flush()
}
