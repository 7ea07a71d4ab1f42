//! A copy of the workspace to break, and cargo runs in it.

use crate::{Result, repo};
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// What cargo needs to resolve and build the workspace. Files at the top are copied all.
const FOLDERS: &[&str] = &["crates/", "xtask/", ".cargo/"];

pub struct Copy {
    dir: PathBuf,
}

/// How a cargo run went.
#[derive(Debug)]
pub struct Run {
    pub succeeded: bool,
    pub timed_out: bool,
    /// stdout, then stderr.
    pub output: String,
}

impl Copy {
    /// Makes the copy equal to the tree. Files that are equal are left alone, so that cargo rebuilds only what changed.
    pub fn new(root: &Path, dir: &Path) -> Result<Copy> {
        let copy = Copy { dir: dir.to_path_buf() };
        let wanted: BTreeSet<String> = repo::file_names(root)?
            .into_iter()
            .filter(|name| !name.contains('/') || FOLDERS.iter().any(|folder| name.starts_with(folder)))
            .collect();
        for name in &wanted {
            let bytes = std::fs::read(root.join(name)).map_err(|error| format!("{name}: {error}"))?;
            if std::fs::read(dir.join(name)).ok().as_ref() != Some(&bytes) {
                copy.put(name, &bytes)?;
            }
        }
        copy.remove_others(dir, &wanted)?;
        Ok(copy)
    }

    /// Removes what an earlier tree had and this one has not: a stale file could still be compiled.
    fn remove_others(&self, folder: &Path, wanted: &BTreeSet<String>) -> Result<()> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.strip_prefix(&self.dir).unwrap_or(&path).to_string_lossy().into_owned();
            if path.is_dir() {
                self.remove_others(&path, wanted)?;
            } else if !wanted.contains(&name) {
                std::fs::remove_file(&path).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.dir.join(name);
        let folder = path.parent().unwrap_or(&self.dir);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, bytes))
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    pub fn read(&self, name: &str) -> Result<String> {
        std::fs::read_to_string(self.dir.join(name)).map_err(|error| format!("{name}: {error}"))
    }

    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        self.put(name, text.as_bytes())
    }

    /// Runs cargo in the copy. After `patience` its whole process group is killed.
    pub fn cargo(&self, target: &Path, args: &[&str], more: &[&str], patience: Duration) -> Result<Run> {
        let mut cargo = repo::cargo(&self.dir);
        cargo.args(args).args(more).env("CARGO_TARGET_DIR", target);
        cargo.env("CARGO_TERM_COLOR", "never").env("RUST_BACKTRACE", "0");
        // Every mutant is one more link.
        cargo.env("CARGO_PROFILE_RELEASE_LTO", "off");
        run(&mut cargo, patience)
    }
}

fn run(command: &mut Command, patience: Duration) -> Result<Run> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let (send, receive) = mpsc::channel();
    let pipes: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
    ];
    let readers = pipes.map(|pipe| {
        let done = send.clone();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let result = pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut bytes));
            drop(done);
            result.map(|_| String::from_utf8_lossy(&bytes).into_owned())
        })
    });
    drop(send);
    // Nothing is ever sent: both readers at their end is a disconnect.
    let timed_out = receive.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout);
    if timed_out {
        let group = format!("-{}", child.id());
        repo::stdout_of(Command::new("kill").args(["-s", "KILL", "--", &group]))?;
    }
    let status = child.wait().map_err(|error| format!("cannot wait for {command:?}: {error}"))?;
    let _: std::result::Result<(), _> = receive.recv();
    let mut output = String::new();
    for reader in readers {
        let text = reader.join().map_err(|_| "a reader of cargo's output panicked".to_owned())?;
        output.push_str(&text.map_err(|error| format!("cannot read cargo's output: {error}"))?);
    }
    Ok(Run { succeeded: status.success(), timed_out, output })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test alone under cargo's own place for such things.
    fn scratch(name: &str) -> PathBuf {
        let dir = repo::root().join("target/xtask-tests").join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn the_copy_has_the_workspace_and_drops_what_is_gone() {
        let dir = scratch("copy");
        std::fs::create_dir_all(dir.join("crates/old/src")).unwrap();
        std::fs::write(dir.join("crates/old/src/lib.rs"), "stale").unwrap();
        std::fs::write(dir.join("Cargo.toml"), "stale").unwrap();
        let copy = Copy::new(&repo::root(), &dir).unwrap();
        assert!(copy.read("Cargo.toml").unwrap().contains("[workspace]"));
        assert!(copy.read("crates/ralph-core/src/lib.rs").is_ok());
        assert!(copy.read("xtask/Cargo.toml").is_ok());
        assert!(copy.read("crates/old/src/lib.rs").is_err());
        let stamp = || dir.join("Cargo.lock").metadata().unwrap().modified().unwrap();
        let before = stamp();
        Copy::new(&repo::root(), &dir).unwrap();
        assert_eq!(stamp(), before, "an equal file is left alone");
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn both_streams_and_the_status_are_kept() {
        let run =
            run(Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]), Duration::MAX).unwrap();
        assert_eq!((run.succeeded, run.timed_out, run.output.as_str()), (false, false, "out\nerr\n"));
    }

    #[test]
    fn one_that_does_not_end_is_killed_with_its_children() {
        let run =
            run(Command::new("sh").args(["-c", "echo out; sleep 1000 & wait"]), Duration::from_millis(50))
                .unwrap();
        assert!(run.timed_out && !run.succeeded, "{run:?}");
    }
}
