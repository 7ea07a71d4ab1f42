//! Tries on this machine what a run relies on, with real processes: for `ralph doctor`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use ralph_core::event::{ContainedBy, Containment, Exit};
use ralph_core::plan::Contain;

use crate::process::confine::{Confine, Network, Reach, landlock_version};
use crate::process::{Finished, Spec, Supervisor, keeper_exe};

/// A trial that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// What became of an escaper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escape {
    pub containment: Containment,
    /// Processes that outlived it.
    pub survivors: usize,
}

/// Starts a program that leaves a daemon behind and kills what guards it, and counts what is left when ralph has heard of its end.
pub fn escape(contain: Contain) -> io::Result<Escape> {
    let supervisor = Supervisor::new(keeper_exe()?, 1, contain);
    let containment = supervisor.containment()?;
    let mark = format!("RALPH_TRIAL={}-{contain:?}", std::process::id());
    let script =
        "( (setsid sh -c 'sleep 1000 & wait' </dev/null >/dev/null 2>&1 &) & ); kill -9 $PPID; sleep 0.05";
    let mut spec = shell(script, Path::new("/"));
    let (name, value) = mark.split_once('=').unwrap_or_default();
    spec.env.push((name.into(), Some(value.into())));
    run(&supervisor, spec)?;
    Ok(Escape { containment, survivors: crate::process::end_marked(&mark) })
}

/// Whether a sandbox can be switched on here with nothing missing.
pub fn can_confine() -> bool {
    let contained = || Supervisor::new(keeper_exe()?, 0, Contain::Auto).containment();
    landlock_version() >= crate::sandbox::LANDLOCK_NEEDED
        && contained().is_ok_and(|found| found.by == ContainedBy::Namespace)
}

/// What a confined program could do that it must not, a sentence each; and the version of Landlock.
pub fn sandbox(contain: Contain, folder: &Path) -> io::Result<(u32, Vec<String>)> {
    let landlock = landlock_version();
    if landlock == 0 {
        return Ok((0, Vec::new()));
    }
    let (own, other) = (folder.join("own"), folder.join("other"));
    for place in [&own, &other] {
        std::fs::create_dir_all(place)?;
    }
    std::fs::write(other.join("secret"), "secret")?;
    let supervisor = Supervisor::new(keeper_exe()?, 1, contain);
    let reads = ["/bin", "/usr", "/lib", "/lib64", "/etc", "/proc"].iter().map(PathBuf::from);
    let reach = Reach {
        read: reads.filter_map(|path| path.canonicalize().ok()).collect(),
        write: vec![own.clone(), "/dev/null".into()],
        network: Network::Open,
        ..Reach::default()
    };
    let script = format!(
        "echo x > {own}/fine; cat {other}/secret > {own}/read 2>/dev/null; echo x > {other}/written",
        own = own.display(),
        other = other.display()
    );
    let mut spec = shell(&script, &own);
    spec.confine = Confine { reach: Some(reach), ..Confine::default() };
    let finished = run(&supervisor, spec)?;
    let mut wrong = Vec::new();
    if let Exit::NotStarted { message } = finished.exit {
        wrong.push(message);
    } else if !own.join("fine").exists() {
        wrong.push("it cannot write where it may".to_owned());
    }
    if std::fs::read(own.join("read")).is_ok_and(|text| !text.is_empty()) {
        wrong.push("it reads what it may not".to_owned());
    }
    if other.join("written").exists() {
        wrong.push("it writes where it may not".to_owned());
    }
    Ok((landlock, wrong))
}

fn shell(script: &str, cwd: &Path) -> Spec {
    Spec { args: vec!["-c".into(), script.into()], ..Spec::new("/bin/sh", cwd) }
}

fn run(supervisor: &Supervisor, spec: Spec) -> io::Result<Finished> {
    let (tell, told) = mpsc::channel();
    let handle = supervisor.spawn(spec, None, |_, _| {}, move |finished| drop(tell.send(finished)));
    told.recv_timeout(PATIENCE).map_err(|_| {
        handle.kill();
        io::Error::from(io::ErrorKind::TimedOut)
    })
}
