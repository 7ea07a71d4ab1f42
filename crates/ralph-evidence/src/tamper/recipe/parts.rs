//! The recipes in a Makefile, a package.json, a job description, a tox.ini.

use super::Recipe;
use crate::tamper::lex::{Kind, Tokens};
use crate::tamper::path::Language;

fn recipe(owner: &str, line: usize, text: String) -> Recipe {
    Recipe { owner: owner.to_owned(), line, text, errexit: false, ignored: false, tests: false, pipes: false }
}

/// Each line of a target is a script of its own. `-` before it, or `.IGNORE`, makes its failure nothing.
pub(super) fn make(text: &str, tabs: bool) -> Vec<Recipe> {
    let ignored_targets: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix(".IGNORE:"))
        .flat_map(|rest| rest.split_whitespace().chain(rest.trim().is_empty().then_some("*")))
        .collect();
    let flags = text.lines().any(|line| {
        let line = line.trim();
        line.starts_with("MAKEFLAGS")
            && line.split(['=', ' ']).any(|word| ["-i", "i", "--ignore-errors"].contains(&word))
    });
    let mut found = Vec::new();
    let mut owner = String::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let indented = if tabs { line.starts_with('\t') } else { line.starts_with([' ', '\t']) };
        if !indented {
            let head = line.split('#').next().unwrap_or_default();
            if let Some((target, _)) = head.split_once(':').filter(|(target, rest)| {
                !target.is_empty() && !target.contains('=') && !rest.starts_with('=')
            }) {
                owner = target.trim().to_owned();
            }
            continue;
        }
        let mut command = line.trim().to_owned();
        while command.ends_with('\\') && lines.peek().is_some() {
            command.pop();
            command.push_str(lines.next().map_or("", |(_, next)| next.trim()));
        }
        let prefix: String = command.chars().take_while(|c| "@-+".contains(*c)).collect();
        let mut one = recipe(&owner, at + 1, command[prefix.len()..].trim().to_owned());
        one.ignored = prefix.contains('-')
            || flags
            || ignored_targets.iter().any(|target| *target == "*" || *target == owner);
        one.tests = owner.contains("test") || owner.contains("check");
        one.pipes = !text.contains("pipefail");
        found.push(one);
    }
    found
}

/// The `scripts` of a package.
pub(super) fn package(text: &str) -> Vec<Recipe> {
    let tokens = Tokens::read(text, Language::Script);
    let starts = |at: &usize| {
        tokens.list[*at].kind == Kind::Text
            && tokens.list[*at].text == "scripts"
            && tokens.is(at + 1, ":")
            && tokens.is(at + 2, "{")
    };
    let Some(at) = (0..tokens.list.len()).find(starts) else { return Vec::new() };
    let mut found = Vec::new();
    for place in at + 3..tokens.close(at + 2) {
        if tokens.is(place, ":")
            && let (Some(name), Some(value)) = (tokens.get(place - 1), tokens.get(place + 1))
            && value.kind == Kind::Text
        {
            let mut one = recipe(&name.text, value.line, value.text.replace("\\\"", "\""));
            one.pipes = true;
            found.push(one);
        }
    }
    found
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The commands of a job: `run: …`, `script:` and lists. All of one file together, for steps have no names to go by.
pub(super) fn pipeline(text: &str) -> Vec<Recipe> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let content = line.trim_start().trim_start_matches("- ").trim_start();
        let Some((key, value)) = content.split_once(':') else { continue };
        if !["run", "script", "before_script", "command", "bash"].contains(&key.trim()) {
            continue;
        }
        let value = value.trim();
        let mut one = recipe("", at + 1, value.to_owned());
        if value.is_empty() || value.starts_with(['|', '>']) {
            let depth = indent(line);
            let block = lines[at + 1..].iter().take_while(|line| {
                line.trim().is_empty()
                    || indent(line) > depth
                    || line.trim_start().starts_with("- ") && indent(line) >= depth && value.is_empty()
            });
            let block: Vec<&str> = block
                .map(|line| {
                    if value.is_empty() {
                        line.trim_start().trim_start_matches("- ")
                    } else {
                        line.trim_start()
                    }
                })
                .collect();
            one.text = block.join("\n");
            one.line = at + 2;
        }
        one.text = one.text.trim_matches('"').to_owned();
        one.errexit = true;
        one.ignored = is_ignored(&lines, at);
        found.push(one);
    }
    found
}

/// Whether the step around this line, or its job, may fail.
fn is_ignored(lines: &[&str], at: usize) -> bool {
    let says = |line: &str| {
        let line = line.trim_start().trim_start_matches("- ");
        ["continue-on-error:", "allow_failure:", "ignore_errors:"]
            .iter()
            .any(|key| line.strip_prefix(key).is_some_and(|value| value.trim() == "true"))
    };
    // The step: its lines are indented like the key, the first one may carry a dash.
    let column = |line: &str| indent(line) + if line.trim_start().starts_with("- ") { 2 } else { 0 };
    let mut depth = column(lines[at]);
    if around(lines, at, depth, column).any(|line| column(line) == depth && says(line)) {
        return true;
    }
    // What is further out: jobs.
    let mut place = at;
    while depth > 0 {
        let Some(outer) =
            (0..place).rev().find(|outer| !lines[*outer].trim().is_empty() && column(lines[*outer]) < depth)
        else {
            break;
        };
        (place, depth) = (outer, column(lines[outer]));
        if around(lines, outer, depth, column).any(|line| column(line) == depth && says(line)) {
            return true;
        }
    }
    false
}

/// The lines of the same block: up to the dash that begins it, and down to what is further out.
fn around<'a>(
    lines: &'a [&'a str],
    at: usize,
    depth: usize,
    column: impl Fn(&str) -> usize + Copy + 'a,
) -> impl Iterator<Item = &'a str> {
    let inside = move |line: &str| line.trim().is_empty() || column(line) >= depth;
    let dash = move |line: &str| line.trim_start().starts_with("- ") && column(line) == depth;
    let first = (0..at).rev().take_while(|place| inside(lines[*place])).find(|place| dash(lines[*place]));
    let start = if dash(lines[at]) {
        at
    } else {
        first.unwrap_or_else(|| (0..at).rev().take_while(|place| inside(lines[*place])).last().unwrap_or(at))
    };
    let end = (at + 1..lines.len())
        .find(|place| !inside(lines[*place]) || dash(lines[*place]))
        .unwrap_or(lines.len());
    lines[start..end].iter().copied()
}

/// `commands` of each environment; a line with a dash may fail.
pub(super) fn tox(text: &str) -> Vec<Recipe> {
    let mut found: Vec<Recipe> = Vec::new();
    let (mut owner, mut inside) = (String::new(), false);
    let everything = text.lines().any(|line| line.replace(' ', "") == "ignore_outcome=true");
    for (at, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            owner = line.trim().to_owned();
        }
        let value = match line.split_once('=') {
            Some((key, value)) if !line.starts_with([' ', '\t']) => {
                inside = key.trim() == "commands";
                value
            }
            _ => line,
        };
        if inside && !value.trim().is_empty() && !line.starts_with('[') {
            let command = value.trim();
            let mut one = recipe(&owner, at + 1, command.trim_start_matches("- ").to_owned());
            one.ignored = command.starts_with("- ") || everything;
            found.push(one);
        }
    }
    found
}
