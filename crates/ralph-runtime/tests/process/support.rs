use std::fs;
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use ralph_core::plan::Contain;
use ralph_runtime::process::{Finished, Handle, Spec, Stream, Supervisor, keeper_exe};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A test that waits this long for an event has failed.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub static SUPERVISOR: LazyLock<Supervisor> =
    LazyLock::new(|| Supervisor::new(keeper_exe().unwrap(), 1, contain()));

/// What every test is run with, one after the other.
pub const CONTAIN_KEY: &str = "PROCESS_TEST_CONTAIN";

pub fn contain() -> Contain {
    match std::env::var_os(CONTAIN_KEY) {
        Some(_) => Contain::Namespace,
        None => Contain::Keeper,
    }
}

pub fn sh(script: &str) -> Spec {
    Spec { args: vec!["-c".into(), script.into()], ..Spec::new("/bin/sh", "/") }
}

/// In the environment of a process and so of everything it starts, whatever it does to its parents and sessions.
pub struct Mark(String);

pub const MARK_KEY: &str = "PROCESS_TEST_MARK";

impl Mark {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(format!("<{}-{}>", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    pub fn value(&self) -> &str {
        &self.0
    }

    pub fn on(&self, mut spec: Spec) -> Spec {
        spec.env.push((MARK_KEY.into(), Some(self.value().into())));
        spec
    }

    /// Living processes with this mark: id, name, command line.
    pub fn processes(&self) -> Vec<(Pid, String, String)> {
        let entry = format!("{MARK_KEY}={}", self.0);
        let mut found = Vec::new();
        for dir in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) =
                dir.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
            else {
                continue;
            };
            let read = |file: &str| fs::read(dir.path().join(file)).unwrap_or_default();
            if read("environ").split(|&byte| byte == 0).any(|part| part == entry.as_bytes()) {
                let text =
                    |file: &str| String::from_utf8_lossy(&read(file)).replace('\0', " ").trim().to_owned();
                found.push((pid, text("comm"), text("cmdline")));
            }
        }
        found
    }

    pub fn assert_nothing_alive(&self) {
        assert_eq!(self.processes(), []);
    }
}

/// Waits for the end of a process, whoever's child it is.
pub fn await_end(pid: Pid) {
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let patience = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
    let ended = poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&patience)).unwrap();
    assert_eq!(ended, 1, "{pid:?} does not end");
}

/// A field of /proc/PID/stat, counted from the state (0), the parent (1), the group (2), the session (3).
pub fn stat(pid: u32, field: usize) -> String {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    line[line.rfind(')').unwrap() + 1..].split_ascii_whitespace().nth(field).unwrap().to_owned()
}

/// Nobody but its parent is told when a process stops, so this looks until it has.
pub fn await_stopped(pid: u32) {
    let start = Instant::now();
    while stat(pid, 0) != "T" {
        assert!(start.elapsed() < PATIENCE, "{pid} does not stop");
        std::thread::yield_now();
    }
}

/// A program under way.
pub struct Run {
    pub handle: Handle,
    end: Receiver<Finished>,
    output: Arc<Mutex<(Vec<u8>, Vec<u8>)>>,
    news: Receiver<()>,
}

pub struct Done {
    pub end: Finished,
    pub stdout: String,
    pub stderr: String,
}

pub fn start(spec: Spec) -> Run {
    start_with(&SUPERVISOR, spec, None)
}

pub fn start_with(supervisor: &Supervisor, spec: Spec, lock: Option<BorrowedFd<'_>>) -> Run {
    let output = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let (tell, news) = channel();
    let (ended, end) = channel();
    let sink = collect(Arc::clone(&output), tell);
    let handle = supervisor.spawn(spec, lock, sink, move |exit| ended.send(exit).unwrap_or_default());
    Run { handle, end, output, news }
}

fn collect(output: Arc<Mutex<(Vec<u8>, Vec<u8>)>>, tell: Sender<()>) -> impl FnMut(Stream, &[u8]) + Send {
    move |stream, chunk| {
        let mut output = output.lock().unwrap();
        match stream {
            Stream::Stdout => output.0.extend_from_slice(chunk),
            Stream::Stderr => output.1.extend_from_slice(chunk),
        }
        tell.send(()).unwrap_or_default();
    }
}

impl Run {
    /// Blocks until stdout holds `text`.
    pub fn await_output(&self, text: &str) -> String {
        let start = Instant::now();
        loop {
            let stdout = String::from_utf8_lossy(&self.output.lock().unwrap().0).into_owned();
            if stdout.contains(text) {
                return stdout;
            }
            match self.news.recv_timeout(PATIENCE.saturating_sub(start.elapsed())) {
                Ok(()) => {}
                Err(error) => panic!("no {text:?} ({error}), only {stdout:?}"),
            }
        }
    }

    pub fn await_exit(self) -> Done {
        let end = match self.end.recv_timeout(PATIENCE) {
            Ok(end) => end,
            Err(RecvTimeoutError::Timeout) => panic!("no exit in {PATIENCE:?}"),
            Err(RecvTimeoutError::Disconnected) => panic!("on_exit was dropped uncalled"),
        };
        let output = self.output.lock().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Done { end, stdout: text(&output.0), stderr: text(&output.1) }
    }
}

pub fn run(spec: Spec) -> Done {
    start(spec).await_exit()
}

/// By another process: a descriptor open for writing in this one could be caught by a fork on another thread, and
/// the file could not be executed until that has exec'd ("text file busy").
pub fn write_file(path: &Path, content: &[u8], mode: u32) {
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "cat > \"$0\" && chmod \"$1\" \"$0\""])
        .arg(path)
        .arg(format!("{mode:o}"))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.take().unwrap().write_all(content).unwrap();
    assert!(shell.wait().unwrap().success());
}
