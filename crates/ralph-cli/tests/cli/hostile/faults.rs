//! The rest of what must never happen, one by one: hangs before the start, journals of others, names that cannot be written down.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn pipe(path: &Path) {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .expect("a pipe");
}

const DONE: &str = "say <ralph>COMPLETE</ralph>";

#[test]
fn a_pipe_in_the_workspace_keeps_no_run_from_starting_or_ending() {
    for place in [".git", ".gitignore"] {
        let world = World::new();
        pipe(&world.work(place));
        world.run("say working", &["-n", "1"]).expect(3);
    }
    for place in ["index", "HEAD", "config", "info/exclude"] {
        let world = world();
        let path = world.work(format!(".git/{place}"));
        let _ = fs::remove_file(&path);
        pipe(&path);
        world.run("say working", &["-n", "1"]).expect(3);
    }
}

#[test]
fn a_prompt_that_becomes_a_pipe_is_an_error_that_says_so() {
    let world = World::new();
    world.write("task.md", "the task");
    let agent = world.path("a.sh");
    fs::write(&agent, "rm -f task.md; mkfifo task.md\n").expect("write");
    let agent = format!("sh {}", agent.display());
    let args = ["run", "-f", "task.md", "-a", &agent, "-n", "3", "--stop-on-error"];
    world.ralph(args).expect(1);
    let exits = world.events().fields("agent.exited", "exit");
    assert!(exits.iter().any(|exit| exit.to_string().contains("it is a pipe, not a file")), "{exits:?}");
}

#[test]
fn a_prompt_that_comes_through_a_pipe_is_a_prompt() {
    let world = World::new();
    let mut shell = world.command("bash");
    let line = format!("exec {RALPH} run -f <(echo the piped task) -a '{}' -n 1", world.agent("say ok"));
    shell.args(["-c", &line]);
    world.spawn(shell).wait().expect(3);
    let started = world.events();
    assert_eq!(started.last("run.started")["plan"]["task"]["text"], "the piped task\n");
}

#[test]
fn a_name_that_is_not_utf_8_is_refused_before_anything_starts() {
    let world = World::new();
    let name = OsStr::from_bytes(b"w\xff");
    fs::create_dir(world.work(name)).expect("a folder");
    let mut args: Vec<&OsStr> = ["run", "-p", "x", "-a", "true", "-C"].map(OsStr::new).to_vec();
    args.push(name);
    let done = world.ralph(&args).expect(2);
    assert!(done.stderr.contains("is not UTF-8"), "{}", done.stderr);
    let mut args: Vec<&OsStr> = ["run", "-p", "x", "-a", "true", "--log-dir"].map(OsStr::new).to_vec();
    args.push(name);
    let done = world.ralph(&args).expect(2);
    assert!(done.stderr.contains("log folder"), "{}", done.stderr);
    assert!(world.run_dirs().is_empty());
}

#[test]
fn everything_is_private_whatever_the_mask() {
    let world = World::new();
    let mut shell = world.command("sh");
    let line =
        format!("umask 000; exec {RALPH} run -p x -a '{}' -n 1 --log-dir logs/deep", world.agent("say ok"));
    shell.args(["-c", &line]);
    world.spawn(shell).wait().expect(3);
    let mut open = vec![world.state(), world.work(".ralph"), world.work("logs")];
    let mut seen = 0;
    while let Some(path) = open.pop() {
        let meta = fs::symlink_metadata(&path).expect("status");
        if meta.is_symlink() {
            continue;
        }
        seen += 1;
        assert_eq!(meta.permissions().mode() & 0o077, 0, "{}", path.display());
        open.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
    }
    assert!(seen > 12, "{seen}");
}

#[test]
fn a_journal_that_cannot_be_read_is_called_what_it_is() {
    let fresh = || {
        let world = World::new();
        world.run("say ok", &["-n", "1"]).expect(3);
        world
    };
    let said = |world: &World| {
        let (status, resume) = (world.ralph(["status"]), world.ralph(["resume", &world.run_id()]));
        assert!(status.status.code() != Some(0) && resume.status.code() != Some(0));
        format!("{}\n{}", status.stderr, resume.stderr)
    };
    let world = fresh();
    let text = read(&world.journal());
    fs::write(world.journal(), text.replacen("{\"seq\":1", "x\"seq\":1", 1)).expect("write");
    assert!(said(&world).matches("its first record is damaged").count() >= 1, "{}", said(&world));
    let world = fresh();
    fs::remove_file(world.journal()).expect("removed");
    pipe(&world.journal());
    assert!(said(&world).contains("it is a pipe, not a file"), "{}", said(&world));
    let world = fresh();
    fs::rename(world.journal(), world.path("real")).expect("moved");
    symlink(world.path("real"), world.journal()).expect("a link");
    assert!(said(&world).contains("it is a link"), "{}", said(&world));
}

#[test]
fn without_its_mark_a_journal_is_not_taken_for_whole() {
    let world = World::new();
    world.run("say ok", &["-n", "2"]).expect(3);
    let text = read(&world.journal());
    let cut = text.match_indices('\n').map(|(at, _)| at + 1).nth(4).expect("lines");
    for remove in [true, false] {
        match remove {
            true => fs::remove_file(world.run_dir().join("journal.mark")).expect("removed"),
            false => fs::write(world.run_dir().join("journal.mark"), "").expect("emptied"),
        }
        fs::write(world.journal(), &text[..cut]).expect("cut");
        let done = world.ralph(["resume", "-n", "4"]).expect(1);
        assert!(
            done.stderr.contains("has lost its mark") && done.stderr.contains("--recover"),
            "{}",
            done.stderr
        );
    }
    world.ralph(["resume", "--recover", "-n", "4", &world.run_id()]).expect(3);
}

#[test]
fn a_journal_of_a_newer_ralph_is_no_damage() {
    use ralph_core::record::Chain;
    let world = World::new();
    world.run("say ok", &["-n", "1"]).expect(3);
    let text = read(&world.journal());
    let rewrite = |change: &dyn Fn(&str) -> String| {
        let mut chain = Chain::default();
        let all: String = text.lines().map(|line| resealed(&change(line), &mut chain)).collect();
        fs::write(world.journal(), &all).expect("write");
        let mark = ralph_store::Mark { len: all.len() as u64, seq: text.lines().count() as u64 };
        fs::write(world.run_dir().join("journal.mark"), mark.encode()).expect("write");
    };
    rewrite(&|line| line.replace("\"type\":\"agent.spawned\"", "\"type\":\"moon.risen\""));
    world.ralph(["status"]).expect(0);
    world.ralph(["resume", "-n", "2", &world.run_id()]).expect(3);
    assert!(read(&world.journal()).contains("moon.risen"), "it is kept");
    rewrite(&|line| line.replace("\"format\":1", "\"format\":99"));
    let done = world.ralph(["resume", "-n", "3", &world.run_id()]).expect(1);
    assert!(
        done.stderr.contains("written by a newer ralph") && !done.stderr.contains("damaged"),
        "{}",
        done.stderr
    );
}

/// A line with its checksum as it has to be.
fn resealed(line: &str, chain: &mut ralph_core::record::Chain) -> String {
    let body = line.rsplit_once(",\"crc\"").expect("a checksum").0;
    chain.seal(body)
}

#[test]
fn events_that_cannot_be_written_are_a_failure() {
    let world = World::new();
    let mut shell = world.command("sh");
    let agent = world.agent(DONE);
    shell.args(["-c", &format!("exec {RALPH} run -p x -a '{agent}' --json > /dev/full")]);
    let done = world.spawn(shell).wait().expect(1);
    assert!(done.stderr.contains("cannot write the events to standard output"), "{}", done.stderr);
    assert_eq!(world.stopped().1, 0, "the run itself is what it is");
}

#[test]
fn clean_and_resume_never_leave_a_run_half_there() {
    for round in 0..10 {
        let world = World::new();
        world.run("say ok", &["-n", "1"]).expect(3);
        let id = world.run_id();
        let resume = world.start(["resume", "-n", "2", &id]);
        let clean = world.start(["clean", "--keep", "0"]);
        let (resume, clean) = (resume.wait(), clean.wait());
        assert_eq!(clean.status.code(), Some(0), "{round}: {}", clean.stderr);
        let is_there = world.run_dirs().len() == 1;
        match resume.status.code() {
            Some(3) => assert!(is_there || clean.stdout.contains(&id), "{round}"),
            _ => assert!(!is_there, "{round}: {} {}", resume.stderr, clean.stdout),
        }
        if is_there {
            assert!(world.journal().is_file() && world.run_dir().join("journal.mark").is_file(), "{round}");
        }
    }
}

#[test]
fn keys_by_reference_reach_the_agent_and_nothing_else() {
    let world = World::new();
    fs::write(world.path("key"), "from-a-file-31415\n").expect("write");
    fs::write(world.path("printed"), "from-a-command-2718\n").expect("write");
    world.write(
        "ralph.yml",
        "prompt: x\nagent:\n  command: sh a.sh\n  env:\n    A: {env: SOURCE_OF_A}\n    B: {file: ../key}\n    \
         C: {command: cat ../printed}\n    D: plain-value-1618\n",
    );
    world.write("a.sh", "echo $A $B $C $D; printf '%s' \"$A$B$C$D\" | wc -c\n");
    let mut ralph = world.command(RALPH);
    ralph.args(["run", "-n", "2", "-v"]).env("SOURCE_OF_A", "from-a-variable-577");
    let done = world.spawn(ralph).wait().expect(3);
    assert!(done.stdout.contains("[redacted] [redacted] [redacted] [redacted]"), "{}", done.stdout);
    assert!(done.stdout.contains("71"), "the agent had them all: {}", done.stdout);
    for secret in ["from-a-file", "from-a-command-2", "from-a-variable"] {
        let found = holding(&world.state(), secret.as_bytes());
        assert!(found.is_empty(), "{secret}: {found:?}");
    }
    let kept = holding(&world.state(), b"plain-value-1618");
    assert!(kept.iter().all(|path| path.ends_with("secrets.json")), "{kept:?}");
    for args in [&["check", "--show"][..], &["check", "--json"], &["run", "--dry-run"], &["events", "--json"]]
    {
        let done = world.ralph(args).expect(0);
        assert!(!done.stdout.contains("plain-value-1618"), "{args:?}");
    }
    let done = world.ralph(["run", "-n", "1", "--stop-on-error"]).expect(1);
    assert!(
        world.events().last("agent.exited").to_string().contains("SOURCE_OF_A is not set"),
        "{}",
        done.stdout
    );
}

#[test]
fn a_huge_gitignore_costs_little_memory() {
    let world = world();
    let text: String = (0..60_000).map(|n| format!("some/folder/{n:05}*.o\n")).collect();
    world.write(".gitignore", &text);
    let mut live = world.start_run("wait-for go", &["-n", "1"]);
    world.wait_for("agent.spawned", 1);
    let peak = live.peak_memory();
    world.write("go", "");
    assert!(!live.has_ended() || live.has_ended());
    live.wait();
    assert!(peak < 120 << 20, "{} MB", peak >> 20);
}
