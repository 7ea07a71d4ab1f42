//! A place to run the real program in: a release build, a folder of its own, an environment without the user's settings.

use crate::{Result, repo};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// An agent that does the same each time is looked at like any other, but not stopped for it.
pub const WATCHED: [&str; 2] = ["--set", "loop_detection.action=warn"];

pub struct Lab {
    dir: PathBuf,
    pub ralph: PathBuf,
}

impl Lab {
    /// Builds `ralph` and makes the folder. It is outside the repository, whose `.gitignore` would count in it.
    pub fn new(name: &str) -> Result<Lab> {
        Lab::built(name, &["--release"], "release")
    }

    /// With the build that tests use, where speed does not matter.
    pub fn debug(name: &str) -> Result<Lab> {
        Lab::built(name, &[], "debug")
    }

    fn built(name: &str, how: &[&str], profile: &str) -> Result<Lab> {
        let root = repo::root();
        let mut build = repo::cargo(&root);
        build.args(["build", "--quiet", "--bin", "ralph"]).args(how);
        let status = build.status().map_err(|error| format!("cannot start cargo: {error}"))?;
        if !status.success() {
            return Err("ralph does not build".into());
        }
        let built = target(&root)?.join(profile).join("ralph");
        let dir = std::env::temp_dir().join(format!("ralph-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        // A copy: a build in the meantime must not change what is measured.
        let ralph = dir.join("ralph");
        std::fs::copy(&built, &ralph).map_err(|error| format!("{}: {error}", built.display()))?;
        let lab = Lab { dir, ralph };
        lab.folder("home")?;
        Ok(lab)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// A new, empty folder.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        empty(self.path(name))
    }

    pub fn file(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.path(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// `ralph` with its state in this folder, and nothing of the user's.
    pub fn ralph(&self, state: &Path) -> Command {
        let mut command = Command::new(&self.ralph);
        for (key, _) in std::env::vars_os() {
            if key.to_string_lossy().starts_with("RALPH_") {
                command.env_remove(key);
            }
        }
        command.env("HOME", self.path("home")).env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        command.env("RALPH_STATE_DIR", state).env("NO_COLOR", "1").current_dir(&self.dir);
        command.stdin(Stdio::null());
        command
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn target(root: &Path) -> Result<PathBuf> {
    let text = repo::stdout_of(repo::cargo(root).args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    metadata["target_directory"].as_str().map(PathBuf::from).ok_or_else(|| "no target folder".into())
}

pub fn empty(path: PathBuf) -> Result<PathBuf> {
    match std::fs::remove_dir_all(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(format!("{}: {error}", path.display()));
        }
        _ => {}
    }
    std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// How long a command takes that must end with one of these codes. What it prints goes nowhere unless it was told.
pub fn timed(command: &mut Command, codes: &[i32]) -> Result<Duration> {
    let start = Instant::now();
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    let took = start.elapsed();
    match status.code().filter(|code| codes.contains(code)) {
        Some(_) => Ok(took),
        None => Err(format!("{command:?} ended with {status}")),
    }
}

/// The only run in a state folder.
pub fn only_run(state: &Path) -> Result<PathBuf> {
    let runs = state.join("runs");
    let entries = std::fs::read_dir(&runs).map_err(|error| format!("{}: {error}", runs.display()))?;
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    match paths.as_slice() {
        [run] => Ok(run.clone()),
        others => Err(format!("{} has {} runs, not one", runs.display(), others.len())),
    }
}

/// The living processes of which this is true, with their command lines. The dead have no environment and no folder.
pub fn living(mine: impl Fn(&Path) -> bool) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit());
    pids.map(|entry| entry.path()).filter(|process| mine(process)).map(|process| named(&process)).collect()
}

fn named(process: &Path) -> String {
    let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
    let words = String::from_utf8_lossy(&line).replace('\0', " ");
    format!("{} `{}`", process.file_name().unwrap_or_default().to_string_lossy(), words.trim())
}

/// A number of `/proc/PID/status`, in KiB, while the process lives.
pub fn proc_status(pid: u32, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_ends_otherwise_is_no_measurement() {
        let command = |code: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("exit {code}")]);
            command
        };
        assert!(timed(&mut command("3"), &[0, 3]).is_ok());
        assert!(timed(&mut command("4"), &[0, 3]).unwrap_err().contains("exit status: 4"));
    }

    #[test]
    fn the_memory_of_a_process_is_read_while_it_lives() {
        let me = std::process::id();
        assert!(proc_status(me, "VmHWM").unwrap() >= proc_status(me, "VmRSS").unwrap() / 2);
        assert_eq!(proc_status(me, "VmNothing"), None);
        assert_eq!(proc_status(u32::MAX, "VmHWM"), None);
    }
}
