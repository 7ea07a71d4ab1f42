//! Which definition a TARGET means.

use std::fs;
use std::path::{Path, PathBuf};

use super::diagnostic::{ConfigError, Diagnostic, quote};
use super::nearest::nearest;

/// Where ralphs are installed, below the workspace and below the home folder.
pub const INSTALLED: &str = ".agents/ralphs";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Yaml,
    RalphMd,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Absolute.
    pub path: PathBuf,
    /// As it should be shown: the way the user wrote it.
    pub shown: String,
    pub kind: Kind,
    /// What the run is called.
    pub name: String,
}

/// In a folder that was named, a RALPH.md is what was meant.
const IN_FOLDER: [&str; 3] = ["RALPH.md", "ralph.yml", "ralph.yaml"];
/// The task of a definition that names none, in the workspace. ralph-orchestrator looks there, too.
pub const USUAL_PROMPT: &str = "PROMPT.md";
/// Without a TARGET.
const IN_WORKSPACE: [&str; 3] = ["ralph.yml", "ralph.yaml", "RALPH.md"];

/// Finds the definition. Without TARGET and with a prompt, only the settings of a `ralph.yml` are of use, and
/// there need not be any.
pub fn resolve(
    target: Option<&str>,
    has_prompt: bool,
    workspace: &Path,
    home: Option<&Path>,
) -> Result<Option<Target>, ConfigError> {
    match target {
        Some(target) => named(target, workspace, home).map(Some),
        None => {
            let names = if has_prompt { &IN_WORKSPACE[..2] } else { &IN_WORKSPACE[..] };
            match in_folder(workspace, names, "") {
                // The task alone is enough where the agent is named.
                None if !has_prompt && !workspace.join(USUAL_PROMPT).is_file() => {
                    Err(nothing_here(workspace))
                }
                found => Ok(found),
            }
        }
    }
}

fn named(target: &str, workspace: &Path, home: Option<&Path>) -> Result<Target, ConfigError> {
    let path = workspace.join(target);
    if path.is_file() {
        return file(&path, target);
    }
    if !target.is_empty()
        && let Some(found) = in_folder(&path, &IN_FOLDER, target)
    {
        return Ok(found);
    }
    let mut looked: Vec<String> = match path.is_dir() {
        true => IN_FOLDER.iter().map(|name| below(target, name)).collect(),
        false => vec![target.to_owned()],
    };
    let mut installed = Vec::new();
    for (root, shown) in roots(workspace, home) {
        installed.extend(folders(&root));
        if is_name(target) {
            let folder = below(&shown, target);
            if let Some(found) = in_folder(&root.join(target), &IN_FOLDER, &folder) {
                return Ok(found);
            }
            looked.push(below(&folder, IN_FOLDER[0]));
        }
    }
    Err(not_found(target, &looked, &installed))
}

fn file(path: &Path, shown: &str) -> Result<Target, ConfigError> {
    let extension = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
    let kind = match extension.as_deref() {
        Some("yml" | "yaml") => Kind::Yaml,
        Some("md") => Kind::RalphMd,
        _ => {
            let title = format!("{} is not a definition", quote(shown));
            let found = Diagnostic::new(title)
                .note("a definition is a RALPH.md, or a file that ends in .yml or .yaml");
            return Err(found.help(format!("use `-f {shown}` if it holds the prompt")).into());
        }
    };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = match (kind, stem) {
        (Kind::Yaml, Some(stem)) if stem != "ralph" => stem,
        _ => folder_name(path.parent().unwrap_or(Path::new("."))),
    };
    Ok(Target { path: absolute(path), shown: shown.to_owned(), kind, name })
}

fn in_folder(folder: &Path, names: &[&str], shown: &str) -> Option<Target> {
    let name = names.iter().find(|name| folder.join(name).is_file())?;
    file(&folder.join(name), &below(shown, name)).ok()
}

/// The name of a folder, also where it is written as `.` or `..`.
pub fn folder_name(folder: &Path) -> String {
    let real = fs::canonicalize(folder).unwrap_or_else(|_| absolute(folder));
    real.file_name().map_or_else(|| "ralph".to_owned(), |name| name.to_string_lossy().into_owned())
}

pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn roots(workspace: &Path, home: Option<&Path>) -> Vec<(PathBuf, String)> {
    let here = (workspace.join(INSTALLED), INSTALLED.to_owned());
    let home = home.map(|home| home.join(INSTALLED)).map(|root| (root.clone(), root.display().to_string()));
    std::iter::once(here).chain(home).collect()
}

/// Names only: a TARGET must not climb out of the folder of ralphs.
fn is_name(target: &str) -> bool {
    !target.is_empty() && !target.contains('/') && target != "." && target != ".."
}

fn folders(root: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| in_folder(&entry.path(), &IN_FOLDER, "").is_some())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn below(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        _ if folder.ends_with('/') => format!("{folder}{name}"),
        _ => format!("{folder}/{name}"),
    }
}

fn not_found(target: &str, looked: &[String], installed: &[String]) -> ConfigError {
    let mut found = Diagnostic::new(format!("there is no definition {}", quote(target)))
        .note(format!("looked for {}", looked.join(", ")));
    if let Some(name) = nearest(target, installed.iter().map(String::as_str)) {
        found = found.help(format!("did you mean `{name}`?"));
    } else if !installed.is_empty() {
        found = found.help(format!("installed: {}", installed.join(", ")));
    }
    found.into()
}

fn nothing_here(workspace: &Path) -> ConfigError {
    Diagnostic::new("there is nothing to run here")
        .note(format!("looked for {}, {USUAL_PROMPT} in {}", IN_WORKSPACE.join(", "), workspace.display()))
        .help("give a prompt and an agent: ralph run -p \"the task\" -a ./my-agent.sh")
        .into()
}
