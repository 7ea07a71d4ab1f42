//! The rule of a target in a Makefile, with all that decides what its recipe does.
//!
//! That is: its own rules, those of the phony targets that it stands on, the variables in these recipes, and what changes how
//! make runs recipes at all. The rules of files that are built are ordinary work.

use std::collections::BTreeSet;

/// What `make` was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub targets: Vec<String>,
    pub file: Option<String>,
    pub dirs: Vec<String>,
}

pub(super) fn asked(rest: &[String]) -> Asked {
    let mut asked = Asked::default();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-f" | "--file" | "--makefile" => asked.file = words.next().cloned(),
            "-C" | "--directory" => asked.dirs.extend(words.next().cloned()),
            "-j" | "-l" | "-o" | "-W" => {
                // `-j 4`, but also a bare `-j` in front of a target.
                let is_number = words.clone().next().is_some_and(|next| next.parse::<f64>().is_ok());
                let takes = is_number || matches!(word.as_str(), "-o" | "-W");
                takes.then(|| words.next());
            }
            word if word.starts_with('-') || word.contains('=') => {}
            word => asked.targets.push(word.to_owned()),
        }
    }
    asked
}

/// One piece of a Makefile: a rule with its recipe, an assignment, or any other line.
#[derive(Debug)]
enum Piece<'a> {
    Rule {
        targets: Vec<&'a str>,
        needs: Vec<&'a str>,
        text: String,
    },
    Variable {
        name: &'a str,
        text: String,
    },
    /// It changes how recipes are run, or what is read.
    Frame {
        text: String,
    },
}

/// The target that a bare `make` builds.
pub(super) fn first_target(text: &str) -> Vec<String> {
    let lines = logical_lines(text);
    let all = pieces(&lines);
    let first = all.iter().find_map(|piece| match piece {
        Piece::Rule { targets, .. } => {
            targets.iter().find(|target| !target.starts_with('.') && !target.contains('%'))
        }
        _ => None,
    });
    first.map(|target| (*target).to_owned()).into_iter().collect()
}

/// What defines the target; nothing if there is no rule for it.
pub(super) fn rule(text: &str, target: &str) -> Option<String> {
    let lines = logical_lines(text);
    let all = pieces(&lines);
    let phony: BTreeSet<&str> = all.iter().flat_map(|piece| piece.needs_of(".PHONY")).collect();
    let mut out = String::new();
    let (mut open, mut seen) = (vec![target], BTreeSet::new());
    while let Some(next) = open.pop() {
        if !seen.insert(next) {
            continue;
        }
        for piece in &all {
            if let Piece::Rule { targets, needs, text } = piece
                && targets.contains(&next)
            {
                out.push_str(text);
                let counts = |need: &&&str| phony.contains(**need) || is_never_made(&all, need);
                open.extend(needs.iter().rev().filter(counts));
            }
        }
    }
    if out.is_empty() {
        return None;
    }
    add_variables(&all, &mut out);
    let frames = all.iter().filter_map(|piece| match piece {
        Piece::Frame { text } => Some(text.as_str()),
        _ => None,
    });
    out.extend(frames);
    Some(out)
}

/// A target with a recipe that makes no file of its name: it runs each time.
fn is_never_made(all: &[Piece], target: &str) -> bool {
    let mut recipes = all.iter().filter_map(|piece| match piece {
        Piece::Rule { targets, text, .. } if targets.contains(&target) => Some(text.lines().skip(1)),
        _ => None,
    });
    let named = |line: &str| {
        line.contains("$@")
            || line.split(|c: char| c.is_whitespace() || "\"'/;".contains(c)).any(|word| word == target)
    };
    let plain = !target.contains(['.', '/', '%', '$']);
    let (mut some, mut makes) = (false, false);
    recipes.by_ref().flatten().for_each(|line| {
        some = true;
        makes |= named(line);
    });
    plain && some && !makes
}

/// Whether a file of the target's name would keep make from running its recipe.
pub(super) fn is_blocked_by_a_file(text: &str, target: &str) -> bool {
    let lines = logical_lines(text);
    let all = pieces(&lines);
    let phony = all.iter().any(|piece| piece.needs_of(".PHONY").contains(&target));
    // With a target below it that runs each time, it runs each time as well.
    let always = all.iter().any(|piece| {
        piece.needs_of(target).iter().any(|need| {
            all.iter().any(|piece| piece.needs_of(".PHONY").contains(need)) || is_never_made(&all, need)
        })
    });
    !phony && !always && is_never_made(&all, target)
}

/// The files that a Makefile reads, where they are named plainly. Lists of what was built are none.
pub(super) fn included(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| {
        let line = line.split('#').next().unwrap_or(line);
        let (word, rest) = line.split_once([' ', '\t'])?;
        ["include", "-include", "sinclude"].contains(&word).then_some(rest)
    });
    let names = lines.flat_map(str::split_whitespace).filter(|name| !name.contains(['$', '*', '%']));
    names
        .filter(|name| !name.ends_with(".d") && !name.ends_with(".env") && !name.contains("depend"))
        .map(str::to_owned)
        .collect()
}

/// The commands in the recipes of a rule, without what make itself takes away.
pub(super) fn recipe_lines(rule: &str) -> String {
    let lines = rule.lines().filter_map(|line| line.strip_prefix('\t'));
    let plain = |line: &str| {
        line.trim_start_matches(['@', '-', '+', ' '])
            .replace("$(MAKE)", "make")
            .replace("${MAKE}", "make")
            .replace("$$", "$")
    };
    lines.map(|line| format!("{}\n", plain(line))).collect()
}

impl<'a> Piece<'a> {
    fn needs_of(&self, target: &str) -> Vec<&'a str> {
        match self {
            Piece::Rule { targets, needs, .. } if targets.contains(&target) => needs.clone(),
            _ => Vec::new(),
        }
    }
}

/// Variables that the text uses, and those that these use.
fn add_variables(all: &[Piece], out: &mut String) {
    let mut used = BTreeSet::new();
    loop {
        let names: Vec<&str> = all
            .iter()
            .filter_map(|piece| match piece {
                Piece::Variable { name, .. } => Some(*name),
                _ => None,
            })
            .filter(|name| !used.contains(name) && uses(out, name))
            .collect();
        if names.is_empty() {
            return;
        }
        for piece in all {
            if let Piece::Variable { name, text } = piece
                && names.contains(name)
            {
                out.push_str(text);
            }
        }
        used.extend(names);
    }
}

fn uses(text: &str, name: &str) -> bool {
    let forms = [format!("$({name})"), format!("${{{name}}}"), format!("$({name}:")];
    let single = name.len() == 1 && text.contains(&format!("${name}"));
    single || forms.iter().any(|form| text.contains(form.as_str()))
}

/// Lines with those that a backslash continues.
fn logical_lines(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match out.last_mut().filter(|_| open) {
            Some(last) => {
                last.push('\n');
                last.push_str(line);
            }
            None => out.push(line.to_owned()),
        }
        open = line.ends_with('\\');
    }
    out
}

fn pieces(lines: &[String]) -> Vec<Piece<'_>> {
    let mut out: Vec<Piece> = Vec::new();
    let mut in_define: Option<(&str, String)> = None;
    for line in lines {
        if let Some((name, mut text)) = in_define.take() {
            text.push_str(&format!("{line}\n"));
            match line.trim() == "endef" {
                true => out.push(Piece::Variable { name, text }),
                false => in_define = Some((name, text)),
            }
            continue;
        }
        let whole = format!("{line}\n");
        if line.starts_with('\t') {
            if let Some(Piece::Rule { text, .. }) = out.last_mut() {
                text.push_str(&whole);
            }
            continue;
        }
        let plain = line.split(" #").next().unwrap_or(line).trim();
        if plain.is_empty() || plain.starts_with('#') {
            continue;
        }
        if let Some(name) = plain.strip_prefix("define ") {
            in_define = Some((name.split([' ', '=']).next().unwrap_or(name), whole));
        } else {
            out.push(piece(plain, whole));
        }
    }
    out
}

fn piece(line: &str, text: String) -> Piece<'_> {
    let line = ["export ", "override ", "private "]
        .iter()
        .fold(line, |line, word| line.strip_prefix(word).unwrap_or(line));
    if let Some(name) = assigned(line) {
        return match matches!(name, "SHELL" | ".SHELLFLAGS" | "MAKEFLAGS" | "VPATH") {
            true => Piece::Frame { text },
            false => Piece::Variable { name, text },
        };
    }
    let Some((targets, rest)) = line.split_once(':') else { return Piece::Frame { text } };
    let rest = rest.trim_start_matches(':');
    let needs = rest.split(';').next().unwrap_or_default();
    let targets: Vec<&str> = targets.split_whitespace().collect();
    if targets.iter().any(|target| matches!(*target, ".IGNORE" | ".ONESHELL" | ".DEFAULT" | ".POSIX")) {
        return Piece::Frame { text };
    }
    Piece::Rule { targets, needs: needs.split_whitespace().filter(|word| *word != "|").collect(), text }
}

/// The name of the variable that a line sets.
fn assigned(line: &str) -> Option<&str> {
    let at = line.find('=')?;
    let before = line[..at].trim_end_matches([':', '+', '?', '!']).trim_end();
    let is_name = !before.is_empty() && !before.contains([' ', '\t', ':', '$', '(']);
    is_name.then_some(before)
}
