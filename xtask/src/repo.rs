//! The files of the repository and the commands that tasks run in it.

use crate::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace root: the folder above this crate.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The cargo that runs us, so that every step uses one toolchain.
pub fn cargo(dir: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(dir);
    command
}

/// Runs a command to its end. Its stdout when it succeeds, else what it was and what it said.
pub fn stdout_of(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command.output().map_err(|error| format!("`{shown}` did not start: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{shown}` failed ({}): {}", output.status, said.trim()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{shown}` printed text that is not UTF-8"))
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Every file git tracks or would add, relative to the root. Ignored files are not ours to judge.
pub fn file_names(root: &Path) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let mut names: Vec<String> = match stdout_of(&mut git) {
        Ok(list) => list.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        // An unpacked archive is no clone.
        Err(_) => walk(root, "").map_err(|error| format!("cannot list the files: {error}"))?,
    };
    // A path in conflict is listed once a side; a deleted one is listed until the deletion is staged.
    names.sort();
    names.dedup();
    names.retain(|name| root.join(name).symlink_metadata().is_ok_and(|meta| meta.is_file()));
    Ok(names)
}

/// What `.gitignore` has, and git's own folder.
const NOT_OURS: &[&str] = &["target", ".ralph", ".git"];

fn walk(root: &Path, folder: &str) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if !entry.file_type()?.is_dir() {
            names.push(path);
        } else if !NOT_OURS.contains(&name.as_str()) {
            names.extend(walk(root, &path)?);
        }
    }
    Ok(names)
}

/// The text files by name. What is not UTF-8 or has a NUL is not text.
pub fn text_files(root: &Path) -> Result<BTreeMap<String, String>> {
    let mut texts = BTreeMap::new();
    for name in file_names(root)? {
        let bytes = std::fs::read(root.join(&name)).map_err(|error| format!("{name}: {error}"))?;
        if let Ok(text) = String::from_utf8(bytes)
            && !text.contains('\0')
        {
            texts.insert(name, text);
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listing_has_sources_and_no_build_products() {
        let names = file_names(&root()).unwrap();
        assert!(names.iter().any(|name| name == "xtask/src/repo.rs"));
        assert!(!names.iter().any(|name| name.starts_with("target/")));
        assert!(names.is_sorted());
    }

    #[test]
    fn without_git_the_sources_are_found_too() {
        let names = walk(&root(), "").unwrap();
        assert!(names.iter().any(|name| name == "xtask/src/repo.rs"));
        assert!(names.iter().any(|name| name == "Cargo.toml"));
        assert!(!names.iter().any(|name| name.starts_with("target/") || name.starts_with(".git/")));
    }

    #[test]
    fn a_failing_command_says_what_it_was_and_what_it_said() {
        let error = stdout_of(Command::new("sh").args(["-c", "echo no luck >&2; exit 3"])).unwrap_err();
        assert!(error.contains("`sh -c"), "{error}");
        assert!(error.contains("no luck"), "{error}");
        let error = stdout_of(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(error.contains("did not start"), "{error}");
    }
}
