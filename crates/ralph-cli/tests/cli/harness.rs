//! A world of its own for every test: home, state, workspace and environment; and ralph in it.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process, kill_process_group};
pub use serde_json::{Value, json};
use tempfile::TempDir;

/// Nothing that is waited for takes this long unless it never comes.
const PATIENCE: Duration = Duration::from_secs(60);
const MARK: &str = "RALPH_TEST_WORLD";

pub const RALPH: &str = env!("CARGO_BIN_EXE_ralph");
pub const FAKE_AGENT: &str = env!("CARGO_BIN_EXE_fake-agent");
/// What a RALPH.md without a word of ralph's own is told.
pub const NO_FINISH: &str = "note: the agent is not told how to finish: this RALPH.md is sent as it is written; add gates or `completion_promise`, or say in it to end with <ralph>COMPLETE</ralph> alone on a line\n";
/// What a run outside git says of itself on standard error.
pub const NO_NET: &str =
    "note: this is no git repository, so nothing brings back what an agent breaks; --git-init makes one\n";
/// For runs whose agent fails: no time is lost on backing off.
pub const NO_BACKOFF: [&str; 2] = ["--set", "event_loop.failure_backoff.initial=1ms"];

pub struct World {
    root: TempDir,
    files: Cell<u32>,
}

impl World {
    pub fn new() -> Self {
        let root = TempDir::new().expect("a folder");
        let world = Self { root, files: Cell::new(0) };
        for dir in ["home", "config", "work", "files"] {
            fs::create_dir(world.path(dir)).expect("a folder");
        }
        world
    }

    /// A path beside the workspace, by its true name.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.path().canonicalize().expect("the folder").join(name)
    }

    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    pub fn work(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path("work").join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.work(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("write");
    }

    pub fn read(&self, name: &str) -> String {
        read(&self.work(name))
    }

    fn new_file(&self, kind: &str) -> PathBuf {
        self.files.set(self.files.get() + 1);
        self.path("files").join(format!("{kind}-{}", self.files.get()))
    }

    /// The command line of an agent that follows this script.
    pub fn agent(&self, script: &str) -> String {
        let path = self.new_file("script");
        fs::write(&path, script).expect("write");
        format!("{FAKE_AGENT} {}", path.display())
    }

    /// Any program in this world.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        // A process group of its own, as a shell gives to what it starts.
        command.env_clear().current_dir(self.path("work")).stdin(Stdio::null()).process_group(0);
        command
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_STATE_HOME", self.path("xdg-state"))
            .env("RALPH_STATE_DIR", self.state())
            .env(MARK, self.path(""));
        command
    }

    pub fn ralph<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Done {
        self.start(args).wait()
    }

    pub fn start<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Live {
        let mut command = self.command(RALPH);
        command.args(args);
        self.spawn(command)
    }

    /// Output goes to files: nobody has to read for it to go on, and anybody can look.
    pub fn spawn(&self, mut command: Command) -> Live {
        let (out, err) = (self.new_file("stdout"), self.new_file("stderr"));
        let file = |path: &Path| File::create(path).expect("create");
        let child = command.stdout(file(&out)).stderr(file(&err)).spawn().expect("start");
        Live { child, out, err, ended: None }
    }

    /// `ralph run -p task -a AGENT` and more.
    pub fn run(&self, script: &str, args: &[&str]) -> Done {
        self.start_run(script, args).wait()
    }

    pub fn start_run(&self, script: &str, args: &[&str]) -> Live {
        let agent = self.agent(script);
        let mut all = vec!["run", "-p", "the task", "-a", &agent];
        all.extend(args);
        self.start(all)
    }

    pub fn run_dirs(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.state().join("runs")) else { return Vec::new() };
        let mut dirs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        dirs.sort();
        dirs
    }

    /// The only run, or the newest.
    pub fn run_dir(&self) -> PathBuf {
        self.run_dirs().pop().expect("a run")
    }

    pub fn run_id(&self) -> String {
        self.run_dir().file_name().expect("a name").to_string_lossy().into_owned()
    }

    pub fn journal(&self) -> PathBuf {
        self.run_dir().join("journal.jsonl")
    }

    /// What `ralph events --json` says.
    pub fn events(&self) -> Events {
        let done = self.ralph(["events", "--json"]).expect(0);
        Events(done.json_lines())
    }

    /// The journal as far as it is written, without asking ralph.
    fn glance(&self) -> Events {
        let dirs = self.run_dirs();
        let text = dirs.last().and_then(|dir| fs::read(dir.join("journal.jsonl")).ok()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        Events(text.lines().map_while(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Watches the journal.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&Events) -> bool) -> Events {
        let mut last = None;
        wait_until(what, || {
            let events = self.glance();
            let found = is_so(&events);
            last = Some(events);
            found
        });
        last.expect("looked at least once")
    }

    /// Waits for the nth event of a type.
    pub fn wait_for(&self, kind: &str, n: usize) -> Events {
        self.wait_until(&format!("{kind} {n}"), |events| events.of(kind).len() >= n)
    }

    pub fn wait_for_file(&self, name: &str) {
        let path = self.work(name);
        wait_until(&format!("the file {name}"), || path.exists());
    }

    /// How the newest run ended: reason and exit code.
    pub fn stopped(&self) -> (String, i64) {
        let events = self.events();
        let stopped = events.last("run.stopped");
        (
            stopped["reason"].as_str().expect("a reason").to_owned(),
            stopped["exit_code"].as_i64().expect("a code"),
        )
    }

    pub fn verify(&self) {
        let done = self.ralph(["replay", "--verify"]).expect(0);
        assert!(done.stdout.contains("all as recorded"), "{}", done.stdout);
    }

    /// Processes of this world that are alive: ralph, its keepers, agents and whatever they left.
    pub fn survivors(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.path("").display());
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let is_pid = |path: &Path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        };
        let ours = |path: &PathBuf| {
            let environ = fs::read(path.join("environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|var| var == mark.as_bytes())
        };
        let name = |path: PathBuf| {
            let line = fs::read(path.join("cmdline")).unwrap_or_default();
            format!("{} {}", path.display(), String::from_utf8_lossy(&line).replace('\0', " "))
        };
        entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| is_pid(path))
            .filter(ours)
            .map(name)
            .collect()
    }

    /// Ends what a test let live, each by its id.
    pub fn kill_survivors(&self) {
        for line in self.survivors() {
            let pid = line.split(' ').next().and_then(|path| path.rsplit('/').next());
            if let Some(pid) = pid.and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    /// All of them are gone before long; they would sleep for two minutes.
    pub fn expect_no_survivors(&self) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !self.survivors().is_empty() {
            assert!(Instant::now() < deadline, "still alive: {:#?}", self.survivors());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.kill_survivors();
    }
}

pub fn read(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8_lossy(&bytes).into_owned()
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The records of a run.
pub struct Events(pub Vec<Value>);

impl Events {
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.0.iter().filter(|event| event["type"] == kind).collect()
    }

    pub fn last(&self, kind: &str) -> &Value {
        self.of(kind).pop().unwrap_or_else(|| panic!("no {kind} in {:?}", self.kinds()))
    }

    pub fn kinds(&self) -> Vec<&str> {
        self.0.iter().filter_map(|event| event["type"].as_str()).collect()
    }

    /// A field of every event of a type.
    pub fn fields(&self, kind: &str, field: &str) -> Vec<Value> {
        self.of(kind).into_iter().map(|event| event[field].clone()).collect()
    }

    /// Numbers of the finished iterations, in order.
    pub fn finished(&self) -> Vec<u64> {
        self.of("iteration.finished").iter().filter_map(|event| event["iteration"].as_u64()).collect()
    }
}

/// A program that ended.
#[derive(Debug)]
pub struct Done {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(
            self.status.code(),
            Some(code),
            "signal {:?}\nstdout: {}\nstderr: {}",
            self.status.signal(),
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {}", self.stdout))
    }

    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        self.stdout.lines().map(parse).collect()
    }
}

/// A program that runs. Killed when the test is over.
pub struct Live {
    child: Child,
    out: PathBuf,
    err: PathBuf,
    ended: Option<ExitStatus>,
}

impl Live {
    fn pid(&self) -> Pid {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a pid")
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("a live process");
    }

    /// Ctrl-C as a terminal sends it: to all of the process group.
    pub fn ctrl_c(&self) {
        kill_process_group(self.pid(), Signal::INT).expect("a live group");
    }

    /// The most bytes of memory it has used so far.
    pub fn peak_memory(&self) -> u64 {
        let status = read(Path::new(&format!("/proc/{}/status", self.child.id())));
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    pub fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().expect("wait");
        }
        self.ended.is_some()
    }

    pub fn stdout(&self) -> String {
        read(&self.out)
    }

    pub fn wait(mut self) -> Done {
        let deadline = Instant::now() + PATIENCE;
        while !self.has_ended() {
            assert!(
                Instant::now() < deadline,
                "it does not end\nstdout: {}\nstderr: {}",
                read(&self.out),
                read(&self.err)
            );
            std::thread::sleep(Duration::from_millis(2));
        }
        let status = self.ended.take().expect("ended");
        self.ended = Some(status);
        Done { status, stdout: read(&self.out), stderr: read(&self.err) }
    }

    /// kill -9, and collected.
    pub fn kill(mut self) {
        if !self.has_ended() {
            self.child.kill().expect("kill");
            self.child.wait().expect("wait");
            self.ended = Some(ExitStatus::from_raw(9));
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if !self.has_ended() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
