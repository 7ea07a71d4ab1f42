//! What a sandboxed agent, and a sandboxed gate, can reach; and that one which cannot be had is refused.

mod network;
mod secrets;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::*;

/// A home that is not below the folder for temporary files, which a sandbox replaces.
struct Place {
    world: World,
    home: TempDir,
}

impl Place {
    fn new() -> Self {
        let home = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a home");
        for folder in [".ssh", "notes", ".hidden"] {
            fs::create_dir(home.path().join(folder)).expect("a folder");
        }
        fs::write(home.path().join(".ssh/key"), "SECRET-KEY").expect("a key");
        fs::write(home.path().join("notes/open"), "open").expect("a file");
        Self { world: World::new(), home }
    }

    fn home(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Runs a shell script as the agent.
    fn run(&self, script: &str, args: &[&str]) -> Done {
        self.world.write("agent.sh", &format!("cat > /dev/null\n{script}\n"));
        let mut ralph = self.world.command(env!("CARGO_BIN_EXE_ralph"));
        ralph
            .env("HOME", self.home.path())
            .args(["run", "-p", "work", "-a", "sh agent.sh", "--once"])
            .args(args);
        self.world.spawn(ralph).wait()
    }

    fn found(&self, name: &str) -> String {
        fs::read_to_string(self.world.work(name)).unwrap_or_default().trim().to_owned()
    }

    fn containment(&self) -> Value {
        self.world.events().fields("run.started", "containment")[0].clone()
    }

    /// Whether this machine has what these tests are about.
    fn has_sandbox(&self) -> bool {
        self.run("true", &["--sandbox", "strict", "--set", "sandbox_fallback=warn"]).expect(0);
        let found = self.containment();
        let has = found["missing"].as_array().is_none_or(Vec::is_empty);
        if !has {
            println!("not tested: {}", found["missing"]);
        }
        fs::remove_dir_all(self.world.state()).expect("the state");
        has
    }
}

/// Writes `yes` or `no` into a file of the workspace.
fn probe(name: &str, command: &str) -> String {
    format!("if {command} > /dev/null 2>&1; then echo yes > {name}; else echo no > {name}; fi\n")
}

fn reach(home: &Path, state: &Path) -> String {
    let (home, state) = (home.display(), state.display());
    [
        probe("writes-work", "echo x > own.txt"),
        probe("renames", "mkdir -p sub && mv own.txt sub/own.txt"),
        probe("writes-temp", "echo x > \"$TMPDIR/x\" && echo x > /tmp/x"),
        probe("writes-home", &format!("echo x > {home}/written")),
        probe("writes-notes", &format!("echo x >> {home}/notes/open")),
        probe("reads-notes", &format!("cat {home}/notes/open")),
        probe("reads-key", &format!("cat {home}/.ssh/key")),
        probe("reads-journal", &format!("cat {state}/runs/*/journal.jsonl")),
        probe("writes-journal", &format!("for j in {state}/runs/*/journal.jsonl; do echo x >> $j; done")),
    ]
    .concat()
}

#[test]
fn an_agent_in_a_sandbox_reaches_its_workspace_and_no_secret() {
    let place = Place::new();
    if !place.has_sandbox() {
        return;
    }
    let script = reach(place.home.path(), &place.world.state());
    place.run(&script, &["--sandbox", "workspace"]).expect(0);
    let found: Vec<(&str, String)> = [
        ("writes-work", "yes"),
        ("renames", "yes"),
        ("writes-temp", "yes"),
        ("writes-home", "no"),
        ("writes-notes", "no"),
        ("reads-notes", "yes"),
        ("reads-key", "no"),
        ("reads-journal", "no"),
        ("writes-journal", "no"),
    ]
    .iter()
    .filter(|(name, expected)| place.found(name) != *expected)
    .map(|(name, _)| (*name, place.found(name)))
    .collect();
    assert_eq!(found, [], "what is not as it should be");
    assert!(!place.home("written").exists());
    assert_eq!(place.containment()["sandbox"]["agent"], "workspace");

    place.run(&script, &["--sandbox", "strict"]).expect(0);
    assert_eq!((place.found("writes-work").as_str(), place.found("reads-notes").as_str()), ("yes", "no"));

    // Else it would damage the journal of the run that looks.
    let script: String = script
        .lines()
        .filter(|line| !line.contains("writes-journal"))
        .map(|line| format!("{line}\n"))
        .collect();
    place.run(&script, &[]).expect(0);
    assert_eq!((place.found("reads-key").as_str(), place.found("writes-home").as_str()), ("yes", "yes"));
    assert_eq!(place.containment()["sandbox"], Value::Null);
}

#[test]
fn settings_hide_and_open_more() {
    let place = Place::new();
    if !place.has_sandbox() {
        return;
    }
    fs::write(place.home(".hidden/x"), "x").expect("a file");
    place
        .world
        .write("ralph.yml", "sandbox: workspace\nsandbox_access: {hide: [~/.hidden], write: [~/notes]}\n");
    let home = place.home.path().display().to_string();
    let script = probe("reads-hidden", &format!("cat {home}/.hidden/x"))
        + &probe("writes-notes", &format!("echo x > {home}/notes/mine"))
        + &probe("reads-key", &format!("cat {home}/.ssh/key"));
    place.run(&script, &[]).expect(0);
    assert_eq!(place.found("reads-hidden"), "no");
    assert_eq!(place.found("writes-notes"), "yes");
    assert!(place.home("notes/mine").exists());
    assert_eq!(place.found("reads-key"), "yes", "the list is the setting's, whole");
}

#[test]
fn a_sandboxed_agent_publishes_and_does_not_steer() {
    let place = Place::new();
    if !place.has_sandbox() {
        return;
    }
    place.world.write(
        "ralph.yml",
        "sandbox: workspace\nhats: {one: {triggers: [task.start], publishes: [task.*]}}\n",
    );
    let script = "ralph emit task.ready x > emitted 2>&1 || echo failed >> emitted
        env -u RALPH_TOKEN ralph stop $RALPH_RUN_ID > stopped 2>&1 && echo yes > stops || echo no > stops";
    place.run(script, &["-n", "1"]);
    assert!(!place.found("emitted").contains("failed"), "{}", place.found("emitted"));
    assert_eq!(place.world.events().fields("topic.emitted", "topic"), ["task.ready"]);
    assert_eq!(place.found("stops"), "no");
    assert_eq!(place.world.events().of("stop.requested").len(), 0);
}

#[test]
fn strict_has_no_network_but_its_own_loopback() {
    let place = Place::new();
    if !place.has_sandbox() {
        return;
    }
    let outside = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = outside.local_addr().expect("an address").port();
    let connect = |port: u16| format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
    let script = probe("connects", &connect(port))
        + &probe("loopback", "grep -q ' lo:' /proc/net/dev && bash -c 'exec 3<>/dev/udp/127.0.0.1/9'");
    place.run(&script, &["--sandbox", "workspace"]).expect(0);
    assert_eq!(place.found("connects"), "yes");
    place.run(&script, &["--sandbox", "strict"]).expect(0);
    assert_eq!((place.found("connects").as_str(), place.found("loopback").as_str()), ("no", "yes"));
}

#[test]
fn a_gate_can_be_confined_too() {
    let place = Place::new();
    if !place.has_sandbox() {
        return;
    }
    let gate = format!("{{name: leak, run: \"sh -c 'echo x > {}'\"}}", place.home("leaked").display());
    place.world.write("ralph.yml", &format!("gates: [{gate}]\n"));
    let claim = "echo '<ralph>COMPLETE</ralph>'";
    place.run(claim, &["--set", "gates_sandbox=workspace"]);
    assert_eq!(place.world.events().fields("gate.finished", "passed"), [false]);
    assert!(!place.home("leaked").exists());
    place.run(claim, &[]).expect(0);
    assert!(place.home("leaked").exists());
}

#[test]
fn what_cannot_be_enforced_is_an_error_before_anything_starts() {
    let place = Place::new();
    place.world.write("ralph.yml", "sandbox: strict\nsandbox_access: {hosts: [\"https://example.com/\"]}\n");
    let done = place.run("touch started", &[]).expect(2);
    assert!(done.stderr.contains("is an address of a page"), "{}", done.stderr);
    place.world.write("ralph.yml", "sandbox: strict\n");
    let done = place.run("touch started", &["--set", "limits.cpus=2"]).expect(2);
    assert!(
        done.stderr.contains("limits.cpus") && done.stderr.contains("sandbox_fallback"),
        "{}",
        done.stderr
    );
    assert!(!place.world.work("started").exists());
    assert_eq!(place.world.run_dirs(), [] as [PathBuf; 0], "nothing is left of it");
}

#[test]
fn an_agent_that_writes_more_than_it_may_has_failed_and_is_told_why() {
    let place = Place::new();
    let script = "head -c 3000000 /dev/zero > big; exit $?";
    place.run(script, &["--set", "limits.disk=1M"]);
    let size = fs::metadata(place.world.work("big")).expect("the file").len();
    assert_eq!(size, 1 << 20);
    assert_eq!(place.world.events().fields("iteration.finished", "outcome"), ["failed"]);
}
