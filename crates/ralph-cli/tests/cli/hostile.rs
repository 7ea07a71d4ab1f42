//! Agents that are not on our side: each does one thing to the run, claims to be done, and has a gate that never passes. Whatever it
//! did: no false completion, no secret on disk or on the screen, nothing written outside, no hang, nothing left alive.
//!
//! `cargo test -p ralph-cli --test cli hostile -- --nocapture` prints the counts of the table in `docs/trust.md`.

mod attacks;
mod faults;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::harness::*;
use attacks::{ATTACKS, Attack};

/// Each attack is tried this often.
const ROUNDS: usize = 2;
const SECRET: &str = "kJ8-hunter+two/42=zZ";
/// What stands beside the workspace, and must stay as it is.
const THEIRS: &str = "theirs";

fn world() -> World {
    let world = World::new();
    fs::create_dir(world.path("outside")).expect("a folder");
    fs::write(world.path("outside/file"), THEIRS).expect("write");
    fs::write(world.path("gate.sh"), "exit 1\n").expect("write");
    world.write("ralph.yml", "gates: [{name: never, run: sh ../gate.sh}]\n");
    let mut git = world.command("git");
    git.args(["init", "-q"]);
    world.spawn(git).wait().expect(0);
    world
}

/// What an attack finds: `$RUN` is the folder of the run, `$OUT` a place that is not its business, `$RALPH_ITERATION` the turn.
fn script(attack: &Attack) -> String {
    format!(
        "RUN=$(dirname \"$RALPH_BIN\")/..; OUT=$RALPH_WORKSPACE/../outside\n{}\necho '<ralph>COMPLETE</ralph>'\n",
        attack.script
    )
}

struct Outcome {
    done: Done,
    world: World,
}

fn run(attack: &Attack) -> Outcome {
    let world = world();
    let agent = world.path("agent.sh");
    fs::write(&agent, script(attack)).expect("write");
    let mut ralph = world.command(RALPH);
    let agent = format!("sh {}", agent.display());
    ralph.args(["run", "-p", "the task", "-a", &agent, "-n", "3", "--max-runtime", "20s"]);
    ralph.args(NO_BACKOFF).env("MY_API_KEY", SECRET);
    let done = world.spawn(ralph).wait();
    Outcome { done, world }
}

/// What is wrong with how it ended; nothing is right.
fn faults(attack: &Attack, Outcome { done, world }: &Outcome) -> Vec<String> {
    let mut faults = Vec::new();
    let code = done.status.code().unwrap_or(-1);
    if code == 0 {
        faults.push("it was believed".to_owned());
    }
    if code == 130
        || done.stderr.contains("stopped by a person")
        || done.stdout.contains("stopped by a person")
    {
        faults.push("it spoke as a person".to_owned());
    }
    if !(attack.says.is_empty() || done.stderr.contains(attack.says) || done.stdout.contains(attack.says)) {
        faults.push(format!("nobody was told `{}`: {}{}", attack.says, done.stdout, done.stderr));
    }
    let shown = [("stdout", &done.stdout), ("stderr", &done.stderr)];
    faults.extend(
        shown.iter().filter(|(_, text)| text.contains("hunter")).map(|(name, _)| format!("secret on {name}")),
    );
    for place in [world.state(), world.work(".ralph")] {
        faults.extend(holding(&place, b"hunter").iter().map(|path| format!("secret in {}", path.display())));
    }
    let outside: Vec<PathBuf> = files(&world.path("outside"));
    if outside.len() != 1 || fs::read(&outside[0]).ok().as_deref() != Some(THEIRS.as_bytes()) {
        faults.push(format!("written outside: {outside:?}"));
    }
    faults
}

/// All files below a folder; links are not followed.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found
}

fn holding(folder: &Path, text: &[u8]) -> Vec<PathBuf> {
    let is_file = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    let holds = |path: &PathBuf| {
        fs::read(path).is_ok_and(|bytes| bytes.windows(text.len()).any(|window| window == text))
    };
    files(folder).into_iter().filter(is_file).filter(holds).collect()
}

#[test]
fn no_attack_gets_anywhere() {
    let jobs: Vec<&Attack> = ATTACKS.iter().cycle().take(ATTACKS.len() * ROUNDS).collect();
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(attack) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run(attack);
                    let mut faults = faults(attack, &outcome);
                    outcome.world.expect_no_survivors();
                    faults.iter_mut().for_each(|fault| *fault = format!("{}: {fault}", attack.name));
                    failed.lock().expect("a lock").append(&mut faults);
                }
            });
        }
    });
    let failed = failed.into_inner().expect("a lock");
    println!("{} runs of {} attacks, {} faults", jobs.len(), ATTACKS.len(), failed.len());
    assert!(jobs.len() >= 100, "{}", jobs.len());
    assert!(failed.is_empty(), "{failed:#?}");
}
