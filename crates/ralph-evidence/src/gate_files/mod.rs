//! The files of a workspace that decide what a gate does: its program, the scripts that it names, and the definition of the
//! target of `make`, `just` or a package manager. Whoever can change them can make the gate pass.
//!
//! Of a file that defines targets only the part counts that defines this one: another dependency in a package.json is
//! ordinary work, another `test` script is not.

mod just;
mod make;
mod npm;

use ralph_core::event::ProtectedFile;

use crate::check::commands::{self, Started, joined};

/// Scripts that start scripts.
const MAX_DEPTH: usize = 4;
/// Of one gate.
const MAX_FILES: usize = 64;

/// What of a file counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// All of it.
    Whole,
    /// The rule of a target in a Makefile, with those that it stands on.
    MakeTarget(String),
    /// A recipe of a justfile, with those that it stands on.
    JustRecipe(String),
    /// A script of a package.json, with those that run before and after it.
    NpmScript(String),
}

impl Part {
    /// `target test`; nothing for a whole file.
    pub fn name(&self) -> Option<String> {
        match self {
            Part::Whole => None,
            Part::MakeTarget(name) => Some(format!("target {name}")),
            Part::JustRecipe(name) => Some(format!("recipe {name}")),
            Part::NpmScript(name) => Some(format!("script {name}")),
        }
    }

    /// The part that has this name.
    pub fn named(name: Option<&str>) -> Part {
        let Some((kind, of)) = name.and_then(|name| name.split_once(' ')) else { return Part::Whole };
        match kind {
            "target" => Part::MakeTarget(of.to_owned()),
            "recipe" => Part::JustRecipe(of.to_owned()),
            "script" => Part::NpmScript(of.to_owned()),
            _ => Part::Whole,
        }
    }

    /// What counts of the file's text; nothing where this part is not in it.
    pub fn of(&self, text: &str) -> Option<String> {
        match self {
            Part::Whole => Some(text.to_owned()),
            Part::MakeTarget(target) => make::rule(text, target),
            Part::JustRecipe(recipe) => just::recipe(text, recipe),
            Part::NpmScript(script) => npm::script(text, script),
        }
    }
}

/// What counts of a protected file.
pub fn part_of(file: &ProtectedFile) -> Part {
    Part::named(file.part.as_deref())
}

/// A file that a gate stands on, relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GateFile {
    pub path: String,
    pub part: Part,
}

/// The files of one gate. `read` gives the text of a plain file of the workspace, by its relative path; nothing for any other.
pub fn gate_files(run: &[String], read: &dyn Fn(&str) -> Option<String>) -> Vec<GateFile> {
    let mut search = Search { read, found: Vec::new() };
    for started in commands::of_words(run) {
        search.started(&started, "", 0);
    }
    search.found
}

struct Search<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
    found: Vec<GateFile>,
}

impl Search<'_> {
    fn started(&mut self, started: &Started, base: &str, depth: usize) {
        let Some((program, rest)) = started.words.split_first() else { return };
        let dir = joined(base, &started.dir);
        if program.contains('/') || started.by_shell {
            return self.script(&joined(&dir, program), &dir, depth);
        }
        let name = program.rsplit('/').next().unwrap_or(program);
        match name {
            "make" | "gmake" => self.make(rest, &dir, depth),
            "just" => self.just(rest, &dir, depth),
            "npm" | "pnpm" | "yarn" | "bun" => self.npm(name, rest, &dir, depth),
            "." | "source" => {
                rest.first().into_iter().for_each(|file| self.script(&joined(&dir, file), &dir, depth));
            }
            _ if is_interpreter(name) => {
                if let Some(file) = script_argument(name, rest) {
                    self.script(&joined(&dir, file), &dir, depth);
                }
            }
            _ => {}
        }
    }

    /// A file that is run. What a script of a shell starts in turn counts, too.
    fn script(&mut self, path: &str, dir: &str, depth: usize) {
        let Some(text) = self.add(path, Part::Whole) else { return };
        if depth < MAX_DEPTH && is_shell_script(path, &text) {
            for started in commands::of_script(&text) {
                self.started(&started, dir, depth + 1);
            }
        }
    }

    fn make(&mut self, rest: &[String], dir: &str, depth: usize) {
        let asked = make::asked(rest);
        let dir = asked.dirs.iter().fold(dir.to_owned(), |dir, next| joined(&dir, next));
        let names: Vec<&str> = match &asked.file {
            Some(file) => vec![file],
            None => vec!["GNUmakefile", "makefile", "Makefile"],
        };
        let there = names.into_iter().map(|name| joined(&dir, name)).find(|path| (self.read)(path).is_some());
        let Some(path) = there else { return };
        let text = (self.read)(&path).unwrap_or_default();
        let targets = if asked.targets.is_empty() { make::first_target(&text) } else { asked.targets };
        for target in targets {
            let part = Part::MakeTarget(target);
            let recipe = part.of(&text).map(|rule| make::recipe_lines(&rule)).unwrap_or_default();
            self.part(&path, part, &recipe, &dir, depth);
        }
    }

    fn just(&mut self, rest: &[String], dir: &str, depth: usize) {
        let names = ["justfile", ".justfile", "Justfile"];
        let there = names.into_iter().map(|name| joined(dir, name)).find(|path| (self.read)(path).is_some());
        let Some(path) = there else { return };
        let text = (self.read)(&path).unwrap_or_default();
        let asked = rest.iter().find(|word| !word.starts_with('-') && !word.contains('=')).cloned();
        if let Some(recipe) = asked.or_else(|| just::first_recipe(&text)) {
            let part = Part::JustRecipe(recipe);
            let lines = part.of(&text).map(|text| just::body_lines(&text)).unwrap_or_default();
            self.part(&path, part, &lines, dir, depth);
        }
    }

    fn npm(&mut self, manager: &str, rest: &[String], dir: &str, depth: usize) {
        let Some((name, dirs)) = npm::asked(manager, rest) else { return };
        let dir = dirs.iter().fold(dir.to_owned(), |dir, next| joined(&dir, next));
        let path = joined(&dir, "package.json");
        let Some(text) = (self.read)(&path) else { return };
        if let Some(command) = npm::command(&text, &name) {
            self.part(&path, Part::NpmScript(name), &command, &dir, depth);
        }
    }

    /// A part of a file, and what its commands start.
    fn part(&mut self, path: &str, part: Part, commands: &str, dir: &str, depth: usize) {
        let is_new = !self.found.iter().any(|file| file.path == path && file.part == part);
        self.add(path, part);
        if is_new && depth < MAX_DEPTH {
            for started in commands::of_script(commands) {
                self.started(&started, dir, depth + 1);
            }
        }
    }

    /// The text of the file, if it is one of the workspace and was not found before.
    fn add(&mut self, path: &str, part: Part) -> Option<String> {
        let path = plain_path(path)?;
        let file = GateFile { path, part };
        if self.found.len() >= MAX_FILES || self.found.contains(&file) {
            return None;
        }
        let text = (self.read)(&file.path)?;
        self.found.push(file);
        Some(text)
    }
}

/// The first lines by which two texts differ: `-exit 1`, `+exit 0`. Long lines are cut.
pub fn first_difference(before: &str, after: &str, lines: usize) -> Vec<String> {
    const MAX_LINE: usize = 120;
    /// Longer texts are compared by their beginning.
    const MAX_TEXT: usize = 64 << 10;
    let cut = |text: &str| text.chars().take(MAX_TEXT).collect::<String>();
    let (before, after) = (cut(before), cut(after));
    let diff = similar::TextDiff::from_lines(&before, &after);
    let changes = diff.iter_all_changes().filter(|change| change.tag() != similar::ChangeTag::Equal);
    let line = |change: similar::Change<&str>| {
        let sign = if change.tag() == similar::ChangeTag::Delete { '-' } else { '+' };
        let text: String = change.value().trim_end().chars().take(MAX_LINE).collect();
        format!("{sign}{text}")
    };
    changes.map(line).take(lines).collect()
}

/// Without `.` and `..`; nothing for a path that leaves the workspace.
fn plain_path(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" if parts.is_empty() && path.starts_with('/') => return None,
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

fn is_interpreter(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "python", "node", "ruby", "perl", "php", "deno", "tsx", "ts-node", "Rscript", "lua", "tclsh", "awk",
    ];
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    NAMES.contains(&plain)
}

/// The file that an interpreter is given to run. Code in an argument, a module and a test runner's folder are none.
fn script_argument<'a>(name: &str, rest: &'a [String]) -> Option<&'a str> {
    const CODE: &[&str] = &["-c", "-e", "-m", "--eval", "-p", "--print", "--test", "-r"];
    let rest = match rest.first().map(String::as_str) {
        Some("run") if name == "deno" => rest.get(1..)?,
        Some(_) if name == "deno" => return None,
        _ => rest,
    };
    let file = rest.iter().position(|word| !word.starts_with('-'))?;
    let is_code = rest[..file].iter().any(|word| CODE.contains(&word.as_str()));
    // `-W error script.py`: an option that takes a word is rare, and its word is no file.
    (!is_code).then(|| rest[file].as_str())
}

fn is_shell_script(path: &str, text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let by_name = [".sh", ".bash", ".zsh"].iter().any(|end| path.ends_with(end));
    match first.strip_prefix("#!") {
        Some(line) => {
            line.split(['/', ' ']).any(|word| matches!(word, "sh" | "bash" | "zsh" | "dash" | "ksh"))
        }
        None => by_name,
    }
}

#[cfg(test)]
mod tests;
