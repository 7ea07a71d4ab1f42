//! `keep_awake`: a program of the system holds the machine awake while the run lasts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use ralph_core::ids::RunId;

use crate::process::{Exit, Finished, Handle, Spec, Stream, Supervisor, resolve_program};

/// The programs that can, and how they are asked. What is behind that is a command: they hold the machine awake while it runs.
const PROGRAMS: [(&str, &[&str]); 2] = [
    ("systemd-inhibit", &["--what=idle:sleep", "--mode=block", "--who=ralph"]),
    ("caffeinate", &["-i", "-s"]),
];
/// Says that it has been started, and stays. Its keeper ends it with the run, however that ends.
const STAYS: &str = "echo; exec sleep 2000000000";
/// The program asks a service of the system, and is believed to be refused if it says nothing for this long.
const PATIENCE: Duration = Duration::from_secs(3);
/// Of what it says about a refusal.
const MOST: usize = 400;

/// Until it is dropped.
pub(crate) struct Awake {
    handle: Handle,
    exits: Receiver<Finished>,
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.handle.kill();
        let _ = self.exits.recv_timeout(PATIENCE);
    }
}

/// What the program does that holds the machine awake.
enum Heard {
    Holds,
    Says(Vec<u8>),
}

/// Names the program, by its true place from now on; or says why the machine may fall asleep.
pub(crate) fn keep(supervisor: &Supervisor, run: &RunId) -> Result<(PathBuf, Awake), String> {
    let path = std::env::var_os("PATH");
    let find = |name: &str| resolve_program(name, Path::new("/"), path.as_deref()).ok();
    let found = PROGRAMS.iter().find_map(|(name, args)| Some((find(name)?, *name, *args)));
    let (program, name, args) = found.ok_or(
        "the machine may fall asleep: `keep_awake` needs systemd-inhibit or caffeinate, and neither is on PATH",
    )?;
    let shell = find("sh").ok_or("the machine may fall asleep: `keep_awake` needs `sh` on PATH")?;
    let mut spec = Spec::new(&program, "/");
    spec.args = args.iter().map(OsString::from).collect();
    if name == "systemd-inhibit" {
        spec.args.push(format!("--why=run {run}").into());
    }
    spec.args.extend([shell.into_os_string(), "-c".into(), STAYS.into()]);
    let (tell, hears) = mpsc::channel();
    let (done, exits) = mpsc::channel();
    let told = tell.clone();
    let sink = move |stream, bytes: &[u8]| {
        let heard = if stream == Stream::Stdout { Heard::Holds } else { Heard::Says(bytes.to_vec()) };
        let _ = told.send(heard);
    };
    let handle = supervisor.spawn(spec, None, sink, move |finished| {
        let _ = done.send(finished);
        drop(tell);
    });
    let awake = Awake { handle, exits };
    let mut said = Vec::new();
    loop {
        match hears.recv_timeout(PATIENCE) {
            Ok(Heard::Holds) => return Ok((program, awake)),
            Ok(Heard::Says(bytes)) if said.len() < MOST => said.extend(bytes),
            Ok(Heard::Says(_)) => {}
            Err(_) => break,
        }
    }
    let why = refusal(&said, awake.exits.try_recv().ok());
    Err(format!("the machine may fall asleep: {} does not hold it awake: {why}", program.display()))
}

fn refusal(said: &[u8], finished: Option<Finished>) -> String {
    let text = String::from_utf8_lossy(&said[..said.len().min(MOST)]);
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    match (last, finished.map(|finished| finished.exit)) {
        (Some(line), _) => line.to_owned(),
        (None, Some(Exit::Code(code))) => format!("exit code {code}"),
        (None, Some(_)) => "it ended at once".to_owned(),
        (None, None) => "it says nothing".to_owned(),
    }
}
