//! The checks that a recipe runs, and whether their failure is its failure.

use super::Recipe;
use crate::check::recognise;
use crate::tamper::lex::{self, Tokens};
use crate::tamper::path::Language;
use ralph_core::check::Kind;

/// A check in a recipe.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    /// What is run, without options.
    pub key: String,
    pub line: usize,
    pub text: String,
    pub heard: bool,
    /// An option by which it leaves tests out.
    pub narrowed: Option<String>,
}

/// A command: its words, and what stands before and behind it.
struct Heard {
    words: Vec<String>,
    line: usize,
    before: String,
    after: String,
    /// Inside an `if`, a `for`, a function.
    last_of_block: bool,
    /// The `if` that it stands in, its condition included: a number for each.
    inside: Option<usize>,
}

pub(super) fn runs(recipe: &Recipe) -> Vec<Run> {
    let commands = commands(&recipe.text);
    let mut errexit = recipe.errexit;
    let mut found = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        errexit = set(&command.words).unwrap_or(errexit);
        let text = command.words.join(" ");
        let plain = recipe.tests && is_assert(&command.words);
        if !plain && !is_check(&text) {
            continue;
        }
        let key = match recognise(&text, &[]).first() {
            Some(check) => check.program.clone(),
            None if plain => text.clone(),
            None => command.words[0].clone(),
        };
        let lost = recipe.ignored
            || recipe.pipes && is_piped_away(&commands[at..], &recipe.text)
            || replaced_before(&commands[..at]);
        let heard = !lost && is_heard(&commands, at, errexit);
        let line = recipe.line + command.line - 1;
        found.push(Run { key, line, heard, narrowed: narrowed(&command.words), text });
    }
    found
}

/// A test, linter or build; or a program that is called one.
fn is_check(text: &str) -> bool {
    let first = text.split_whitespace().find(|word| !word.contains('=')).unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or(first);
    let local = first.starts_with("./") || first.contains('/') || name.contains('_') || name.contains('-');
    let called = ["test", "check", "spec", "verify", "lint"].iter().any(|word| name.contains(word));
    !recognise(text, &[]).is_empty() || local && called && !first.starts_with('-')
}

/// A command of the shell that fails when something is not as expected.
fn is_assert(words: &[String]) -> bool {
    let first = words.first().map(String::as_str).unwrap_or_default();
    ["[", "[[", "test", "diff", "cmp", "grep"].contains(&first) || first.starts_with("assert")
}

fn set(words: &[String]) -> Option<bool> {
    match words {
        [set, rest @ ..] if set == "set" => {
            let is = |sign: char| {
                rest.iter().any(|word| {
                    word.starts_with(sign) && word[1..].contains('e') && !word[1..].contains("rr")
                }) || rest.windows(2).any(|pair| pair[0] == format!("{sign}o") && pair[1] == "errexit")
            };
            if is('-') { Some(true) } else { is('+').then_some(false) }
        }
        _ => None,
    }
}

/// The commands so far, and the one that is being read.
#[derive(Default)]
struct Reading {
    found: Vec<Heard>,
    words: Vec<String>,
    line: usize,
    before: String,
    /// The `if`s that are open, by number, and how many there were.
    open: Vec<usize>,
    count: usize,
}

impl Reading {
    fn word(&mut self, token: &lex::Token) {
        if self.words.is_empty() {
            self.line = token.line;
        }
        let spaced = token.kind == lex::Kind::Text && token.text.contains(' ');
        self.words.push(if spaced { format!("'{}'", token.text) } else { token.text.clone() });
    }

    fn end(&mut self, after: &str) {
        if !self.words.is_empty() {
            self.found.push(Heard {
                words: std::mem::take(&mut self.words),
                line: self.line,
                before: self.before.clone(),
                after: after.to_owned(),
                last_of_block: false,
                inside: self.open.last().copied(),
            });
        }
        match after {
            "if" => {
                self.count += 1;
                self.open.push(self.count);
            }
            "fi" => drop(self.open.pop()),
            _ => {}
        }
        self.before = after.to_owned();
    }

    fn finish(mut self) -> Vec<Heard> {
        self.end("");
        for at in 0..self.found.len() {
            let last = at + 1 == self.found.len();
            let after = self.found[at].after.as_str();
            self.found[at].last_of_block = last || ["}", "fi", "done", ")", "else"].contains(&after);
        }
        self.found
    }
}

/// What stands between two commands.
const ENDS: &[&str] = &[
    "&&", "||", ";", "|", "&", "{", "}", "(", ")", "then", "do", "else", "fi", "done", "!", "if", "elif",
    "while", "until",
];

fn commands(text: &str) -> Vec<Heard> {
    let tokens = Tokens::read(text, Language::Shell);
    let mut reading = Reading { line: 1, ..Reading::default() };
    for at in 0..tokens.list.len() {
        let token = &tokens.list[at];
        let continued = at > 0
            && (tokens.list[at - 1].is("\\") || ["&&", "||", "|"].iter().any(|sign| tokens.is(at - 1, sign)));
        if token.first && !continued {
            reading.end("\n");
        }
        if token.is("\\") || token.is("\\\n") {
            continue;
        }
        let redirect = token.is("&")
            && at > 0
            && (tokens.is(at - 1, ">") || tokens.is(at + 1, ">") || tokens.list[at - 1].text.ends_with('>'));
        if ENDS.iter().any(|sign| token.is(sign))
            && (token.kind == lex::Kind::Sign || reading.words.is_empty())
            && !redirect
        {
            // `if ! a` asks for the failure, as `if a` does.
            let asks =
                token.is("!") && reading.words.is_empty() && CONDITIONS.contains(&reading.before.as_str());
            if !asks {
                reading.end(&token.text);
            }
            continue;
        }
        reading.word(token);
    }
    reading.finish()
}

/// Whether a failure here fails the whole.
fn is_heard(commands: &[Heard], at: usize, errexit: bool) -> bool {
    let command = &commands[at];
    let rest = &commands[at + 1..];
    // A condition: what is done about it is not known, but something is.
    if CONDITIONS.contains(&command.before.as_str()) {
        return !(command.before == "if" && only_shows(rest, command.inside));
    }
    // `! a` passes where it fails.
    if command.before == "!" {
        return false;
    }
    if command.after == "||" {
        let fallback: Vec<&Heard> = rest
            .iter()
            .take_while(|next| next.line == command.line || next.before == "{" || next.before == ";")
            .collect();
        let passes = |next: &&Heard| {
            let words: Vec<&str> = next.words.iter().map(String::as_str).collect();
            matches!(
                words.as_slice(),
                ["true" | ":" | "/bin/true" | "echo" | "printf", ..] | ["exit" | "return", "0"]
            )
        };
        return fallback.is_empty() || !fallback.iter().all(passes);
    }
    if command.after == "&" {
        // Without an argument it waits, and passes.
        return rest.iter().any(|next| next.words[0] == "wait" && next.words.len() > 1);
    }
    if errexit || command.last_of_block {
        return true;
    }
    // Someone asks for the status, or every next command runs only after success.
    let asked = rest.iter().any(|next| {
        next.words
            .iter()
            .any(|word| word.contains("$?") || word.contains("PIPESTATUS") || word.contains("${?"))
    });
    let chained = rest
        .iter()
        .zip(std::iter::once(command).chain(rest))
        .all(|(_, before)| ["&&", "|"].contains(&before.after.as_str()));
    asked || chained
}

/// Words before a command whose failure is asked for.
const CONDITIONS: &[&str] = &["if", "elif", "while", "until"];

/// Words that succeed, and say something at most.
fn says_only(command: &Heard) -> bool {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    matches!(
        words.as_slice(),
        ["true" | ":" | "/bin/true" | "echo" | "printf", ..] | ["exit" | "return", "0"]
    )
}

/// `if a; then echo good; else echo bad; fi`: whatever comes of it, it passes.
fn only_shows(rest: &[Heard], block: Option<usize>) -> bool {
    let inside = || rest.iter().take_while(|next| next.inside >= block);
    inside().next().is_some() && inside().all(says_only)
}

/// `a | tail`: the status is that of what shows the output, unless the shell is told to look at all of them.
fn is_piped_away(commands: &[Heard], text: &str) -> bool {
    const SHOWS: &[&str] = &[
        "tee", "tail", "head", "cat", "less", "more", "ts", "sed", "awk", "sort", "tr", "cut", "nl", "wc",
        "column", "fmt", "uniq", "fold", "strings", "gzip", "logger", "xargs",
    ];
    if text.contains("pipefail") || text.contains("PIPESTATUS") || commands[0].after != "|" {
        return false;
    }
    let last = commands.iter().position(|command| command.after != "|").and_then(|at| commands.get(at));
    last.is_some_and(|last| last.before == "|" && SHOWS.contains(&last.words[0].as_str()))
}

/// `exec other`: the script is another program from here on.
fn replaced_before(before: &[Heard]) -> bool {
    before.iter().any(|command| {
        let plain = ["", "\n", ";"].contains(&command.before.as_str());
        let program = command
            .words
            .get(1)
            .is_some_and(|word| word.starts_with(|c: char| c.is_alphanumeric() || "./$".contains(c)));
        let redirects = command.words.get(1).is_some_and(|word| word.chars().all(|c| c.is_ascii_digit()));
        command.words[0] == "exec" && plain && program && !redirects
    })
}

/// Runners, and the words by which they run no test.
const NO_RUN: &[(&str, &[&str])] = &[
    ("go", &["vet", "build", "-c", "-list"]),
    ("cargo", &["check", "build", "--no-run"]),
    ("vitest", &["related", "list", "typecheck"]),
    ("jest", &["--listTests", "--findRelatedTests"]),
    ("pytest", &["--collect-only", "--co"]),
    ("node", &["--check", "-c"]),
    ("bats", &["--count"]),
    ("npm", &["ls", "install", "ci"]),
];

/// Whether nothing here runs a test, as far as everybody knows: linters, type checkers, builds, and runners that only look.
pub(super) fn runs_no_test(recipe: &Recipe) -> bool {
    commands(&recipe.text).iter().all(|command| {
        let text = command.words.join(" ");
        let kinds = recognise(&text, &[]);
        let other = !kinds.is_empty() && kinds.iter().all(|check| check.kind != Kind::Test);
        let looks = NO_RUN.iter().any(|(program, words)| {
            command.words.iter().any(|word| word.rsplit('/').next() == Some(program))
                && command.words.iter().any(|word| words.contains(&word.as_str()))
        });
        other || looks || says_only(command)
    })
}

/// Programs that the recipe defines as functions of the shell which do not hand on to them.
pub(super) fn shadowed<'a>(recipe: &Recipe, programs: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lines: Vec<&str> = recipe.text.lines().map(str::trim_start).collect();
    let mut programs = programs;
    programs.find(|program| {
        lines.iter().enumerate().any(|(at, line)| {
            let line = line.strip_prefix("function ").unwrap_or(line);
            let Some(rest) = line.strip_prefix(*program) else { return false };
            let rest = rest.trim_start();
            let head = rest.strip_prefix("()").or_else(|| rest.strip_prefix("( )"));
            let body = head.map(|head| {
                let more = lines[at + 1..]
                    .iter()
                    .take_while(|_| !head.contains('}'))
                    .take_while(|line| **line != "}");
                std::iter::once(head).chain(more.copied()).collect::<Vec<_>>().join(" ")
            });
            body.is_some_and(|body| {
                !body.contains(*program) && !body.contains("command") && !body.contains("$@")
            })
        })
    })
}

/// All commands, as texts.
pub(super) fn texts(recipe: &Recipe) -> Vec<String> {
    commands(&recipe.text).iter().map(|command| command.words.join(" ")).collect()
}

/// A test, by what is known of it or by its name.
pub(super) fn is_test(run: &Run) -> bool {
    recognise(&run.text, &[]).iter().any(|check| check.kind == Kind::Test)
        || run.text.contains("test")
        || run.text.contains("spec")
}

/// A test for certain.
pub(super) fn tests(run: &Run) -> bool {
    recognise(&run.text, &[]).iter().any(|check| check.kind == Kind::Test)
}

/// Nothing but words that succeed.
pub(super) fn does_nothing(recipe: &Recipe) -> bool {
    commands(&recipe.text).iter().all(|command| {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        matches!(
            words.as_slice(),
            ["echo" | "printf" | "true" | ":" | "/bin/true" | "set" | "cd" | "export" | "sleep" | "cat", ..]
                | ["exit" | "return"]
                | ["exit" | "return", "0"]
        )
    })
}

const NARROWING: &[(&str, &[&str])] = &[
    ("pytest", &["-k", "--deselect", "--ignore", "--ignore-glob", "--collect-only", "--co"]),
    ("cargo", &["--skip", "--ignored", "--no-run", "--exclude", "--list"]),
    ("go", &["-run", "-skip", "-list", "--run"]),
    (
        "jest",
        &[
            "-t",
            "--testNamePattern",
            "--testPathIgnorePatterns",
            "--testPathPattern",
            "--passWithNoTests",
            "--listTests",
            "--onlyChanged",
        ],
    ),
    ("vitest", &["-t", "--testNamePattern", "--exclude", "--passWithNoTests"]),
    ("mocha", &["-g", "--grep", "-f", "--fgrep", "-i", "--invert", "--ignore", "--exclude", "--dry-run"]),
    ("node", &["--test-name-pattern", "--test-skip-pattern", "--test-only"]),
    ("mvn", &["-DskipTests", "-DskipITs", "-Dmaven.test.skip", "-Dmaven.test.failure.ignore", "-Dtest"]),
    ("mvnw", &["-DskipTests", "-Dmaven.test.skip", "-Dmaven.test.failure.ignore", "-Dtest"]),
    ("gradle", &["-x", "--dry-run", "-m", "--exclude-task"]),
    ("gradlew", &["-x", "--dry-run", "-m", "--exclude-task"]),
    ("rspec", &["-e", "--example", "--dry-run", "--exclude-pattern"]),
    ("make", &["-n", "-i", "--ignore-errors", "--dry-run", "-t"]),
    ("bats", &["-f", "--filter"]),
    ("unittest", &["-k"]),
];

fn narrowed(words: &[String]) -> Option<String> {
    let programs: Vec<&str> = words.iter().map(|word| word.rsplit('/').next().unwrap_or(word)).collect();
    let (at, options) = programs.iter().enumerate().find_map(|(at, program)| {
        NARROWING.iter().find(|(name, _)| name == program).map(|(_, options)| (at, *options))
    })?;
    let found = words[at + 1..].iter().find(|word| {
        let name = word.split('=').next().unwrap_or(word);
        options.contains(&name) && !(word.ends_with("=false"))
    });
    found.cloned()
}
