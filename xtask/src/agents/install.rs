//! The real CLIs, pinned, from npm, in a cache that all clones share.

use super::cli::Cli;
use crate::Result;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Some CLIs need a newer node than machines have, and npm on an older one silently picks older packages.
const NODE: (&str, &str) = ("node", "22.23.3");

/// A registry that does not answer by then counts as out of reach.
const PING: Duration = Duration::from_secs(20);
/// The longest installation.
const INSTALL: Duration = Duration::from_secs(300);

pub struct Installed {
    pub program: PathBuf,
    /// The folder of the node to use, where the CLI is a program for node.
    pub node: Option<PathBuf>,
}

/// `$XDG_CACHE_HOME/ralph/agents`, else in the home folder.
pub fn cache() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    Ok(base.ok_or("neither XDG_CACHE_HOME nor HOME is set")?.join("ralph/agents"))
}

/// Why these CLIs cannot be had on this machine now; nothing if they can.
pub fn impossible(clis: &[&Cli]) -> Option<String> {
    let asked = |program: &str, args: &[&str]| bounded(Command::new(program).args(args), PING).err();
    let node = asked("node", &["--version"]).map(|why| format!("there is no node: {why}"));
    node.or_else(|| {
        let npm = || asked("npm", &["ping", "--loglevel=error", "--fetch-retries=0"]);
        let missing = !clis.iter().all(|cli| is_cached(cli));
        missing.then(npm).flatten().map(|why| format!("npm is out of reach: {why}"))
    })
}

fn is_cached(cli: &Cli) -> bool {
    let ready = |name, version| cache().is_ok_and(|cache| folder(&cache, name, version).is_dir());
    ready(cli.name, cli.version) && (!cli.needs_node || ready(NODE.0, NODE.1))
}

pub fn install(cli: &Cli) -> Result<Installed> {
    let cache = cache()?;
    let node = match cli.needs_node {
        true => Some(package(&cache, NODE.0, NODE.0, NODE.1, None)?.join("node_modules/node/bin")),
        false => None,
    };
    let folder = package(&cache, cli.name, cli.package, cli.version, node.as_deref())?;
    let program = folder.join("node_modules/.bin").join(cli.name);
    match program.exists() {
        true => Ok(Installed { program, node }),
        false => Err(format!("{}@{} has no program `{}`", cli.package, cli.version, cli.name)),
    }
}

fn folder(cache: &Path, name: &str, version: &str) -> PathBuf {
    cache.join(format!("{name}-{version}"))
}

/// The folder of a package. It appears whole or not at all.
fn package(cache: &Path, name: &str, package: &str, version: &str, node: Option<&Path>) -> Result<PathBuf> {
    let folder = folder(cache, name, version);
    if folder.is_dir() {
        return Ok(folder);
    }
    let new = cache.join(format!(".{name}-{version}-{}", std::process::id()));
    let new = crate::lab::empty(new)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(&new);
    npm.arg(format!("{package}@{version}"));
    if let Some(node) = node {
        npm.env("PATH", path_with(node));
    }
    println!("installing {package}@{version}");
    let installed = bounded(&mut npm, INSTALL).and_then(|()| {
        std::fs::rename(&new, &folder).map_err(|error| format!("{}: {error}", folder.display()))
    });
    if let Err(why) = installed {
        let _ = std::fs::remove_dir_all(&new);
        // Another task may have been quicker.
        if !folder.is_dir() {
            return Err(format!("{package}@{version} cannot be installed: {why}"));
        }
    }
    Ok(folder)
}

/// This folder before all others.
pub fn path_with(first: &Path) -> std::ffi::OsString {
    let mut path = first.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}

fn bounded(command: &mut Command, most: Duration) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("`{program}` does not start: {error}"))?;
    let said = child.stderr.take();
    let said = std::thread::spawn(move || said.map(std::io::read_to_string).transpose());
    let ended = wait(&mut child, most)?;
    let said = said.join().ok().and_then(std::result::Result::ok).flatten().unwrap_or_default();
    // npm warns first, and ends with where its log is.
    let line = said.lines().find(|line| line.contains("error")).or_else(|| said.lines().last());
    match ended {
        None => Err(format!("`{program}` did not end within {} s", most.as_secs())),
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("`{program}` failed ({status}): {}", line.unwrap_or_default().trim())),
    }
}

/// Nothing if it had to be killed.
fn wait(child: &mut Child, most: Duration) -> Result<Option<std::process::ExitStatus>> {
    let deadline = Instant::now() + most;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut sh = Command::new("sh");
        sh.args(["-c", script]);
        sh
    }

    #[test]
    fn a_command_that_fails_or_hangs_says_so() {
        assert_eq!(bounded(&mut sh("exit 0"), PING), Ok(()));
        let why = |script: &str| bounded(&mut sh(script), PING).unwrap_err();
        let failed = why("echo careful >&2; echo npm error no network >&2; echo log >&2; exit 3");
        assert!(failed.contains("exit status: 3") && failed.ends_with("npm error no network"), "{failed}");
        assert!(why("echo a >&2; echo b >&2; exit 1").ends_with(": b"));
        let why = bounded(&mut sh("exec sleep 60"), Duration::ZERO).unwrap_err();
        assert!(why.contains("did not end within 0 s"), "{why}");
        assert!(bounded(&mut Command::new("no-such-npm"), PING).unwrap_err().contains("does not start"));
    }
}
