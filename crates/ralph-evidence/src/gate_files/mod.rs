//! The files of a workspace that decide what a gate does: its program, the scripts that it names, and the definition of the
//! target of `make`, `just` or a package manager. Whoever can change them can make the gate pass.
//!
//! Of a file that defines targets only the part counts that defines this one: another dependency in a package.json is
//! ordinary work, another `test` script is not.

mod expand;
mod just;
mod make;
mod npm;
mod plausible;
mod settings;

pub use plausible::is_check;
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
    /// The settings of npm that decide how a script is run.
    NpmSettings,
    /// An alias of git.
    GitAlias(String),
}

impl Part {
    /// `target test`; nothing for a whole file.
    pub fn name(&self) -> Option<String> {
        match self {
            Part::Whole => None,
            Part::MakeTarget(name) => Some(format!("target {name}")),
            Part::JustRecipe(name) => Some(format!("recipe {name}")),
            Part::NpmScript(name) => Some(format!("script {name}")),
            Part::NpmSettings => Some("settings of scripts".to_owned()),
            Part::GitAlias(name) => Some(format!("alias {name}")),
        }
    }

    /// The part that has this name.
    pub fn named(name: Option<&str>) -> Part {
        let Some((kind, of)) = name.and_then(|name| name.split_once(' ')) else { return Part::Whole };
        match kind {
            "target" => Part::MakeTarget(of.to_owned()),
            "recipe" => Part::JustRecipe(of.to_owned()),
            "script" => Part::NpmScript(of.to_owned()),
            "settings" => Part::NpmSettings,
            "alias" => Part::GitAlias(of.to_owned()),
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
            Part::NpmSettings => settings::of_npm(text),
            Part::GitAlias(alias) => settings::alias(text, alias),
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

/// What one gate stands on.
#[derive(Debug, Default)]
pub struct Stands {
    pub files: Vec<GateFile>,
    /// Of the files that it runs one after the other, as many as there are.
    pub globs: Vec<String>,
}

/// The files of one gate. `read` gives the text of a plain file of the workspace, by its relative path; nothing for any other.
pub fn gate_files(run: &[String], read: &dyn Fn(&str) -> Option<String>) -> Vec<GateFile> {
    stands_on(run, read).files
}

/// As [`gate_files`], with the globs of loops.
pub fn stands_on(run: &[String], read: &dyn Fn(&str) -> Option<String>) -> Stands {
    let mut search = Search { read, found: Stands::default() };
    if expand::without_syntax_checks(&run.join(" ")) == "true" {
        return search.found;
    }
    // In the text of `sh -c` a shell may be told to read only, too.
    let words: Vec<String> = run.iter().map(|word| expand::expanded(word, "")).collect();
    words.iter().filter(|word| word.contains(' ')).for_each(|text| search.loops(text, ""));
    for started in commands::of_words(&words) {
        search.started(&started, "", 0);
    }
    search.found
}

struct Search<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
    found: Stands,
}

impl Search<'_> {
    fn started(&mut self, started: &Started, base: &str, depth: usize) {
        let Some((program, rest)) = started.words.split_first() else { return };
        let dir = joined(base, &started.dir);
        if program.contains('/') || started.by_shell {
            return self.script(&joined(&dir, program), (&dir, rest), depth);
        }
        let name = program.rsplit('/').next().unwrap_or(program);
        match name {
            "make" | "gmake" => self.make(rest, &dir, depth),
            "just" => self.just(rest, &dir, depth),
            "npm" | "pnpm" | "yarn" | "bun" => self.npm(name, rest, &dir, depth),
            "git" => self.alias(rest, &dir),
            "." | "source" => {
                rest.first().into_iter().for_each(|file| self.sourced(&joined(&dir, file), &dir, depth));
            }
            _ if is_interpreter(name) => self.interpreted(name, rest, &dir, depth),
            _ => {}
        }
    }

    /// A file that an interpreter is given.
    fn interpreted(&mut self, name: &str, rest: &[String], dir: &str, depth: usize) {
        let (file, behind) = match rest.iter().position(|word| word == "-m") {
            Some(at) if name.starts_with("python") => {
                let Some(module) = rest.get(at + 1) else { return };
                let plain = joined(dir, &module.replace('.', "/"));
                let forms = [format!("{plain}.py"), format!("{plain}/__main__.py")];
                (forms.into_iter().find(|path| self.is_there(path)), at + 2)
            }
            _ => {
                // `node --check`, `ruby -c`, `php -l`: the file is read, not run.
                let reads = rest
                    .iter()
                    .take_while(|word| word.starts_with('-'))
                    .any(|word| matches!(word.as_str(), "--check" | "-l") || word == "-c" && name != "node");
                let Some(file) = script_argument(name, rest).filter(|_| !reads) else { return };
                let behind = rest.iter().position(|word| word == file).map_or(rest.len(), |at| at + 1);
                let forms = ["", ".js", ".mjs", ".cjs", ".ts", "/index.js"];
                let paths = forms.iter().map(|end| joined(dir, &format!("{file}{end}")));
                (paths.into_iter().find(|path| self.is_there(path)), behind)
            }
        };
        if let Some(file) = file {
            self.script(&file, (dir, rest.get(behind..).unwrap_or_default()), depth);
        }
    }

    fn is_there(&self, path: &str) -> bool {
        plain_path(path).is_some_and(|path| (self.read)(&path).is_some())
    }

    /// A file that is run. What a script of a shell starts in turn counts, too; the work that a gate tries out does not.
    fn script(&mut self, path: &str, (dir, arguments): (&str, &[String]), depth: usize) {
        let text = plain_path(path).and_then(|path| (self.read)(&path));
        let checks = plain_path(path).is_some_and(|path| is_check(&path, text.as_deref(), arguments));
        if !checks {
            return;
        }
        self.sourced(path, dir, depth);
    }

    fn sourced(&mut self, path: &str, dir: &str, depth: usize) {
        let Some(text) = self.add(path, Part::Whole) else { return };
        if depth >= MAX_DEPTH {
            return;
        }
        if is_shell_script(path, &text) {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let below = match dir.is_empty() {
                true => folder,
                false => folder.strip_prefix(dir).unwrap_or(folder).trim_start_matches('/'),
            };
            let text = expand::expanded(&text, below);
            self.loops(&text, dir);
            for started in commands::of_script(&text) {
                self.started(&started, dir, depth + 1);
            }
        } else {
            for loaded in settings::loaded(path, &text) {
                let there = plain_path(&loaded).and_then(|path| Some(((self.read)(&path)?, path)));
                if let Some((text, path)) = there
                    && plausible::helps(&path, &text)
                {
                    self.sourced(&path, dir, depth + 1);
                }
            }
        }
    }

    fn loops(&mut self, text: &str, dir: &str) {
        for glob in expand::loops(text) {
            if let Some(glob) = plain_path(&joined(dir, &glob)).filter(|_| self.found.globs.len() < MAX_FILES)
            {
                self.found.globs.push(glob);
            }
        }
    }

    /// A word of git that is none of its own.
    fn alias(&mut self, rest: &[String], dir: &str) {
        let word = rest.iter().find(|word| !word.starts_with('-'));
        if let Some(word) = word.filter(|word| dir.is_empty() && !settings::is_of_git(word)) {
            self.watch(".git/config", Part::GitAlias(word.clone()));
        }
    }

    fn make(&mut self, rest: &[String], dir: &str, depth: usize) {
        let asked = make::asked(rest);
        let dir = asked.dirs.iter().fold(dir.to_owned(), |dir, next| joined(&dir, next));
        let names: Vec<&str> = match &asked.file {
            Some(file) => vec![file],
            None => vec!["GNUmakefile", "makefile", "Makefile"],
        };
        let paths: Vec<String> = names.into_iter().map(|name| joined(&dir, name)).collect();
        let Some(at) = paths.iter().position(|path| self.is_there(path)) else { return };
        // One that make would find first must not appear.
        paths[..at].iter().for_each(|path| self.watch(path, Part::Whole));
        let path = &paths[at];
        let text = (self.read)(path).unwrap_or_default();
        let targets = if asked.targets.is_empty() { make::first_target(&text) } else { asked.targets };
        for target in targets {
            if make::is_blocked_by_a_file(&text, &target) {
                self.watch(&joined(&dir, &target), Part::Whole);
            }
            let part = Part::MakeTarget(target.clone());
            let recipe = part.of(&text).map(|rule| make::recipe_lines(&rule)).unwrap_or_default();
            self.part(path, part, &recipe, &dir, depth);
            for included in make::included(&text) {
                self.included(&joined(&dir, &included), &target, &dir, depth);
            }
        }
    }

    /// A file that a Makefile reads: its rule for the target, or all of it; or that there is none.
    fn included(&mut self, path: &str, target: &str, dir: &str, depth: usize) {
        let Some(text) = plain_path(path).and_then(|path| (self.read)(&path)) else {
            return self.watch(path, Part::Whole);
        };
        let part = Part::MakeTarget(target.to_owned());
        match part.of(&text) {
            Some(rule) => self.part(path, part, &make::recipe_lines(&rule), dir, depth),
            None => drop(self.add(path, Part::Whole)),
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
            self.watch(&joined(&dir, ".npmrc"), Part::NpmSettings);
            self.part(&path, Part::NpmScript(name), &command, &dir, depth);
        }
    }

    /// A part of a file, and what its commands start.
    fn part(&mut self, path: &str, part: Part, commands: &str, dir: &str, depth: usize) {
        let is_new = !self.found.files.iter().any(|file| file.path == path && file.part == part);
        self.add(path, part);
        if is_new && depth < MAX_DEPTH {
            self.loops(commands, dir);
            for started in commands::of_script(&expand::expanded(commands, "")) {
                self.started(&started, dir, depth + 1);
            }
        }
    }

    /// The text of the file, if it is one of the workspace and was not found before.
    fn add(&mut self, path: &str, part: Part) -> Option<String> {
        let path = plain_path(path)?;
        let file = GateFile { path, part };
        if self.found.files.len() >= MAX_FILES || self.found.files.contains(&file) {
            return None;
        }
        let text = (self.read)(&file.path)?;
        self.found.files.push(file);
        Some(text)
    }

    /// A file that counts whether it is there or not.
    fn watch(&mut self, path: &str, part: Part) {
        let Some(path) = plain_path(path) else { return };
        let file = GateFile { path, part };
        if self.found.files.len() < MAX_FILES && !self.found.files.contains(&file) {
            self.found.files.push(file);
        }
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
    const CODE: &[&str] = &["-c", "-e", "--eval", "-p", "--print", "--test", "-r"];
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
