//! Cheats on what a gate itself runs inside the workspace: its script, the target of a make or just file, the script of a
//! package.json.

use super::language::Language;
use super::text::{at_top, each_line};
use super::{Cheat, Edit, GateLine, Project, protect};

impl GateLine {
    /// The files of the project that this gate runs: its program, scripts among its arguments, and those that the make, just
    /// or npm file behind it names.
    pub(super) fn files<'a>(&'a self, project: &'a Project) -> Vec<&'a str> {
        let mut found: Vec<&str> = Vec::new();
        let recipes = self.recipes(project);
        for word in self.words.iter().chain(&recipes).flat_map(|text| parts(text)) {
            let word = word.trim_start_matches("./");
            if let Some((path, _)) = project.files.get_key_value(word)
                && !found.contains(&path.as_str())
            {
                found.push(path);
            }
        }
        found
    }

    /// What the files of make, just and npm run, if this gate goes through one of them.
    fn recipes(&self, project: &Project) -> Vec<String> {
        let runs = |names: &[&str]| {
            let mut words = self.words.iter().flat_map(|text| parts(text));
            words.any(|word| names.contains(&word.rsplit('/').next().unwrap_or(word)))
        };
        let mut all = Vec::new();
        for (programs, files) in [(["make", "gmake"], MAKEFILES), (["just", "just"], JUSTFILES)] {
            let texts = files.iter().filter_map(|name| project.text(name)).filter(|_| runs(&programs));
            let lines = texts.flat_map(str::lines).filter(|line| line.starts_with(['\t', ' ']));
            all.extend(lines.map(|line| line.trim_start().trim_start_matches(['@', '-']).to_owned()));
        }
        if runs(&["npm", "pnpm", "yarn", "bun"]) {
            let manifest = project.text("package.json").unwrap_or_default();
            let scripts = manifest.find("\"scripts\"").map_or("", |at| &manifest[at..]);
            let scripts = scripts.split('}').next().unwrap_or_default();
            all.extend(scripts.split('"').skip(2).map(str::to_owned));
        }
        all
    }

    /// Everything that tells what this gate does: its words, and the text of the scripts that it names.
    pub(super) fn lines(&self, project: &Project) -> Vec<String> {
        let mut all = vec![self.words.join(" ")];
        all.extend(self.files(project).iter().filter_map(|path| project.text(path)).map(str::to_owned));
        all
    }

    /// The names of programs that it runs, as far as its words tell.
    pub(super) fn programs(&self, project: &Project) -> Vec<String> {
        let mut all = Vec::new();
        let lines = self.lines(project).into_iter().chain(self.recipes(project));
        for line in lines {
            // The words of a script: the first of each line is enough.
            let parts = line.split(['\n', ';', '&', '|']);
            let first = parts.filter_map(|part| part.split_whitespace().find(|word| !word.contains('=')));
            all.extend(first.map(str::to_owned).filter(|name| is_program(name)).take(MAX_PROGRAMS));
        }
        all.sort();
        all.dedup();
        all
    }
}

/// A command line, and the words inside of it: `sh -c 'a.sh && b.sh'` names files inside of a word.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let inside = text.split(|c: char| c.is_whitespace() || ";&|()<>\"'".contains(c));
    std::iter::once(text).chain(inside)
}

/// Of one script.
const MAX_PROGRAMS: usize = 16;

/// Words of a shell are not looked up.
fn is_program(name: &str) -> bool {
    const SHELL: [&str; 22] = [
        "set", "cd", "exit", "if", "then", "else", "fi", "for", "do", "done", "while", "case", "esac",
        "echo", "test", "true", "false", "export", "return", "local", "trap", "exec",
    ];
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    name.chars().all(plain) && name.starts_with(|c: char| c.is_ascii_alphabetic()) && !SHELL.contains(&name)
}

pub(super) fn cheats(project: &Project, gates: &[GateLine]) -> Vec<Cheat> {
    [
        gate_scripts(project, gates),
        make_targets(project, gates),
        gnu_makefile(project, gates),
        just_recipes(project, gates),
        npm_scripts(project, gates),
    ]
    .into_iter()
    .collect()
}

fn cheat(name: &str, what: &str, edits: Vec<Edit>) -> Cheat {
    let cure = protect(edits.iter().map(Edit::path));
    Cheat { name: name.to_owned(), what: what.to_owned(), edits, cure }
}

/// The gate's own script ends before it begins.
fn gate_scripts(project: &Project, gates: &[GateLine]) -> Cheat {
    let mut edits: Vec<Edit> = Vec::new();
    for gate in gates {
        let program = gate.words.first().map(|word| word.trim_start_matches("./"));
        for path in gate.files(project) {
            let file = &project.files[path];
            let is_program = program == Some(path) || file.executable;
            let text = file.text.as_deref();
            let language = text.and_then(|text| Language::of(path, text));
            let new = match (text, language) {
                (Some(text), Some(Language::Shell)) => at_top(text, "exit 0"),
                (Some(text), Some(Language::Python)) => at_top(text, "raise SystemExit(0)"),
                (Some(text), Some(Language::JavaScript)) => at_top(text, "process.exit(0);"),
                (Some(text), Some(Language::Ruby)) => at_top(text, "exit 0"),
                _ if is_program => "#!/bin/sh\nexit 0\n".to_owned(),
                _ => continue,
            };
            if !edits.iter().any(|edit| edit.path() == path) {
                edits.push(Edit::Write { path: path.to_owned(), text: new, executable: file.executable });
            }
        }
    }
    cheat("gate-script-exits", "what the gate runs ends with `exit 0` before it checks anything", edits)
}

/// The targets that `make a b` names in these gates; without any, the first one of the file.
fn targets(gates: &[GateLine], project: &Project, program: &str, default: Option<&str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in gates.iter().flat_map(|gate| gate.lines(project)) {
        for part in line.split(['\n', ';', '&', '|', '"', '\'']) {
            let mut words =
                part.split_whitespace().skip_while(|word| word.rsplit('/').next() != Some(program));
            if words.next().is_none() {
                continue;
            }
            let named: Vec<String> = words
                .filter(|word| !word.starts_with('-') && !word.contains('='))
                .map(str::to_owned)
                .collect();
            match named.is_empty() {
                true => all.extend(default.map(str::to_owned)),
                false => all.extend(named),
            }
        }
    }
    all.sort();
    all.dedup();
    all
}

const JUSTFILES: [&str; 3] = ["justfile", "Justfile", ".justfile"];
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

fn makefile(project: &Project) -> Option<(&'static str, &str)> {
    MAKEFILES.iter().find_map(|name| Some((*name, project.text(name)?)))
}

fn make_wanted(project: &Project, gates: &[GateLine]) -> Vec<String> {
    let text = makefile(project).map(|(_, text)| text).unwrap_or_default();
    let first = text.lines().filter_map(target_of).find(|name| !name.starts_with('.'));
    targets(gates, project, "make", first)
}

/// The target that this line begins, if it does.
fn target_of(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(':')?;
    let plain = |c: char| c.is_alphanumeric() || "-_./%".contains(c);
    (!name.is_empty() && name.chars().all(plain) && !rest.starts_with('=')).then_some(name)
}

fn make_targets(project: &Project, gates: &[GateLine]) -> Cheat {
    let wanted = make_wanted(project, gates);
    let edits = makefile(project).and_then(|(path, text)| {
        let new = hollow(
            text,
            |line| target_of(line).is_some_and(|name| wanted.iter().any(|one| one == name)),
            "\t@true",
        );
        (new != text).then(|| Edit::write(path, new))
    });
    cheat("make-target-replaced", "the make target of the gate does nothing", edits.into_iter().collect())
}

/// make reads a GNUmakefile before a Makefile.
fn gnu_makefile(project: &Project, gates: &[GateLine]) -> Cheat {
    let wanted = make_wanted(project, gates);
    let edits = match (makefile(project), wanted.is_empty()) {
        (Some((path, _)), false) if path != MAKEFILES[0] => {
            let rules: String =
                wanted.iter().map(|name| format!(".PHONY: {name}\n{name}:\n\t@true\n")).collect();
            vec![Edit::write(MAKEFILES[0], rules)]
        }
        _ => Vec::new(),
    };
    cheat("makefile-shadowed", "a `GNUmakefile`, which make reads first, has the target of the gate", edits)
}

fn just_recipes(project: &Project, gates: &[GateLine]) -> Cheat {
    let edits = JUSTFILES.iter().find_map(|path| {
        let text = project.text(path)?;
        let recipe = |line: &str| {
            let head = line.trim_start_matches('@').split([':', ' ']).next().unwrap_or_default().to_owned();
            let is_head = !line.starts_with([' ', '\t', '#']) && line.contains(':') && !line.contains(":=");
            is_head.then_some(head)
        };
        let first = text.lines().find_map(recipe);
        let wanted = targets(gates, project, "just", first.as_deref());
        let new = hollow(text, |line| recipe(line).is_some_and(|name| wanted.contains(&name)), "    @true");
        (new != text).then(|| Edit::write(*path, new))
    });
    cheat("just-recipe-replaced", "the just recipe of the gate does nothing", edits.into_iter().collect())
}

/// The recipes below the lines that are meant, replaced by one line. What stands before them is not needed either.
fn hollow(text: &str, is_meant: impl Fn(&str) -> bool, new: &str) -> String {
    let mut inside = false;
    each_line(text, |line, out| {
        let deep = line.starts_with(['\t', ' ']) || line.trim().is_empty();
        if deep {
            if !inside {
                out.push_str(line);
            }
            return;
        }
        inside = is_meant(line.trim_end());
        match (inside, line.split_once(':')) {
            (true, Some((name, _))) => out.push_str(&format!("{name}:\n{new}\n")),
            _ => out.push_str(line),
        }
    })
}

/// The scripts of package.json that these gates run.
fn npm_scripts(project: &Project, gates: &[GateLine]) -> Cheat {
    let mut wanted = vec![];
    for line in gates.iter().flat_map(|gate| gate.lines(project)) {
        for part in line.split(['\n', ';', '&', '|', '"', '\'']) {
            let words: Vec<&str> = part.split_whitespace().filter(|word| !word.starts_with('-')).collect();
            let at = words
                .iter()
                .position(|word| matches!(word.rsplit('/').next(), Some("npm" | "pnpm" | "yarn" | "bun")));
            let behind = at.map(|at| &words[at + 1..]).unwrap_or_default();
            match behind {
                ["run" | "run-script", name, ..] => wanted.push((*name).to_owned()),
                ["t" | "tst", ..] => wanted.push("test".to_owned()),
                [name, ..] => wanted.push((*name).to_owned()),
                [] => {}
            }
        }
    }
    let edits = project.text("package.json").and_then(|text| {
        let new = wanted.iter().fold(text.to_owned(), |text, name| with_script(&text, name, "exit 0"));
        (new != text).then(|| Edit::write("package.json", new))
    });
    cheat(
        "npm-script-replaced",
        "the script of package.json that the gate runs does nothing",
        edits.into_iter().collect(),
    )
}

/// A package.json in which this script runs something else. Its text stays otherwise as it is.
fn with_script(text: &str, name: &str, command: &str) -> String {
    let found = || {
        let scripts = text.find("\"scripts\"")?;
        let open = scripts + text[scripts..].find('{')?;
        let end = super::text::closing(text, open, "\"")?;
        let key = open + text[open..end].find(&format!("\"{name}\""))?;
        let colon = key + name.len() + 2 + text[key + name.len() + 2..end].find(':')?;
        let start = colon + text[colon..end].find('"')?;
        let mut at = start + 1;
        while !text[at..].starts_with('"') {
            at += if text[at..].starts_with('\\') { 2 } else { text[at..].chars().next()?.len_utf8() };
        }
        Some(start + 1..at)
    };
    let mut new = text.to_owned();
    if let Some(range) = found() {
        new.replace_range(range, command);
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_script_of_that_name_is_replaced() {
        let text = "{\"name\": \"test\", \"scripts\": {\"lint\": \"x\", \"test\": \"a \\\"b\\\" c\"}}";
        let expected = "{\"name\": \"test\", \"scripts\": {\"lint\": \"x\", \"test\": \"exit 0\"}}";
        assert_eq!(with_script(text, "test", "exit 0"), expected);
        assert_eq!(with_script(text, "none", "exit 0"), text);
        assert_eq!(
            with_script("{\"scripts\": {\"test\": \"open", "test", "exit 0"),
            "{\"scripts\": {\"test\": \"open"
        );
    }

    #[test]
    fn a_target_loses_its_recipe_and_others_keep_theirs() {
        let text = "all: test\n\ntest: build\n\tpytest\n\n\truff check\nbuild:\n\tcc x.c\nX := test:\n";
        let new = hollow(text, |line| target_of(line) == Some("test"), "\t@true");
        assert_eq!(new, "all: test\n\ntest:\n\t@true\nbuild:\n\tcc x.c\nX := test:\n");
    }
}
