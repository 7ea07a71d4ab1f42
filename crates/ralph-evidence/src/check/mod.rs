//! Tests, linters, type checkers and builds in what an agent's shell ran.
//!
//! [`recognise`] reads one command line; the [`CheckReader`] tells what each check in it came to. A status counts only where
//! it is the check's own: that of `pytest | tail` is `tail`'s, and says nothing. And a pass counts only where nothing else on
//! the line could have made it up ([`Vouched`]).

pub(crate) mod commands;
mod explore;
mod extra;
mod output;
mod ran;
mod reader;
mod script_names;
mod shell;
#[cfg(test)]
mod tests;
mod tools;
mod vouch;
mod wrappers;

use ralph_core::check::{ExtraPattern, Kind};

pub use reader::CheckReader;
pub use vouch::Vouched;

use shell::{List, Node, Then, Word};
use tools::Check;
use wrappers::Inner;

/// Wrappers around wrappers, and shells in shells.
const MAX_WRAPS: usize = 8;
/// Recognised in one command line; the rest of a longer one is passed over.
const MAX_FOUND: usize = 16;

/// A check that a command line runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    pub kind: Kind,
    /// Where, as far as the command line says: what `cd` went to.
    pub dir: String,
    /// What is run: `npm test`, `cargo nextest`. Without wrappers, redirections, and options that only change the output.
    pub program: String,
    /// What of it: the paths, names and options that choose. Empty: all of it.
    pub chosen: Vec<String>,
    /// The status of the whole command is this check's: it passed if the whole did.
    pub sure: bool,
    /// What it takes to believe a pass.
    pub vouched: Vouched,
    /// It compiles what other checks of the same tool only look at.
    pub compiles: bool,
}

impl Recognised {
    /// What tells this command from others.
    pub fn key(&self) -> String {
        let mut key = self.program.clone();
        for word in &self.chosen {
            key.push(' ');
            key.push_str(word);
        }
        if !self.dir.is_empty() {
            key = format!("{key} (in {})", self.dir);
        }
        key
    }
}

/// The checks that this command line runs, in order, each once.
pub fn recognise(command: &str, extra: &[ExtraPattern]) -> Vec<Recognised> {
    let mut walk = Walk { extra, ..Walk::default() };
    walk.script(command, true, 0);
    let tests = walk.found.iter().filter(|check| check.kind == Kind::Test).count();
    // Whose count it is that stands in the output is not known.
    let mixed = walk.prints || tests > 1;
    for check in walk.found.iter_mut().filter(|check| check.vouched == Vouched::ByCount && mixed) {
        check.vouched = Vouched::Never;
    }
    walk.found
}

/// Goes through a command line as a shell would.
#[derive(Default)]
struct Walk<'a> {
    extra: &'a [ExtraPattern],
    found: Vec<Recognised>,
    /// Something beside the checks may print what looks like a count.
    prints: bool,
    dir: String,
    errexit: bool,
    pipefail: bool,
    /// `set -e` means nothing in front of `&&` and `||`, and in what is grouped there.
    ignores_errors: bool,
    /// What the shell is by now leaves to be believed.
    vouched: Vouched,
}

/// What belongs to one shell.
struct Before(String, bool, bool, bool, Vouched);

impl Walk<'_> {
    fn script(&mut self, text: &str, sure: bool, wraps: usize) {
        let parsed = shell::parse(text);
        if vouch::twists(&parsed.list) {
            self.vouched = Vouched::Never;
        }
        self.list(&parsed.list, sure && !parsed.broken, wraps);
    }

    fn before(&self) -> Before {
        Before(self.dir.clone(), self.errexit, self.pipefail, self.ignores_errors, self.vouched)
    }

    fn back(&mut self, before: Before) {
        Before(self.dir, self.errexit, self.pipefail, self.ignores_errors, self.vouched) = before;
    }

    fn list(&mut self, list: &List, sure: bool, wraps: usize) {
        let told = told_by_exit(list);
        let mut from = 0;
        while from < list.len() {
            let length = list[from..]
                .iter()
                .position(|(_, then)| matches!(then, Then::Next | Then::Background))
                .map_or(list.len() - from, |at| at + 1);
            let to = from + length;
            let background = list[to - 1].1 == Then::Background;
            let decides = match &told {
                Some(told) => *told == (from..to),
                None => to == list.len(),
            };
            self.and_or(&list[from..to], sure && !background && decides, sure && !background, wraps);
            from = to;
        }
    }

    /// `a && b || c`. `decides`: its status is the status of the whole.
    fn and_or(&mut self, chain: &[(Node, Then)], decides: bool, sure: bool, wraps: usize) {
        for (at, (node, _)) in chain.iter().enumerate() {
            let behind_or = at > 0 && chain[at - 1].1 == Then::Or;
            // What follows an `||` hides a failure before it, unless it fails itself.
            let hidden = chain[at..]
                .iter()
                .enumerate()
                .any(|(next, (_, then))| *then == Then::Or && !always_fails(&chain[at + next + 1..]));
            // Under `set -e` a failure ends the shell, but not one in front of `&&`; and then what is behind never ran.
            let ends_all = self.errexit && !self.ignores_errors && chain.len() == 1;
            let before = (self.ignores_errors, self.vouched);
            self.ignores_errors |= at + 1 < chain.len();
            if at > 0 && chain[at - 1].1 == Then::And && always_fails(&chain[at - 1..]) {
                self.vouched = Vouched::Never;
            }
            self.node(node, (decides || sure && ends_all) && !hidden && !behind_or, wraps);
            // `cd x || exit 1` leaves only where it fails.
            let failing = behind_or && always_fails(&chain[at..]);
            (self.ignores_errors, self.vouched) = (before.0, if failing { before.1 } else { self.vouched });
        }
    }

    fn node(&mut self, node: &Node, sure: bool, wraps: usize) {
        match node {
            Node::Simple(words) => self.simple(words, sure, wraps),
            Node::Pipe(parts, negated) => {
                let negated = *negated;
                for (at, part) in parts.iter().enumerate() {
                    let own = self.pipefail || at + 1 == parts.len();
                    // Each part of a pipe is a shell of its own.
                    let before = self.before();
                    self.ignores_errors |= negated;
                    self.node(part, sure && own && !negated, wraps);
                    if parts.len() > 1 {
                        self.back(before);
                    } else {
                        self.ignores_errors = before.3;
                    }
                }
            }
            Node::Group { list, subshell } => {
                let before = self.before();
                self.list(list, sure, wraps);
                if *subshell {
                    self.back(before);
                }
            }
            Node::Unread => {}
            Node::Compound(list) => {
                for (node, _) in list {
                    self.node(node, false, wraps);
                }
            }
        }
    }

    fn simple(&mut self, words: &[Word], sure: bool, wraps: usize) {
        if let [word] = words
            && let Some((_, value)) =
                word.text.split_once('=').filter(|_| wrappers::is_assignment(&word.text))
            && let Some(inner) = value.strip_prefix("$(").and_then(|value| value.strip_suffix(')'))
        {
            return self.nested(inner, false, false, false, wraps);
        }
        let all: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
        let words = wrappers::without_assignments(&all);
        let set = vouch::assignments(&all[..all.len() - words.len()]);
        let left = vouch::leaves(words);
        match words.first().map(String::as_str) {
            Some("cd" | "pushd") => self.change_dir(&words[1..]),
            Some("set") => self.set_options(&words[1..]),
            Some("export" | "declare" | "typeset" | "readonly" | "local") => {
                self.vouched = self.vouched.max(vouch::assignments(&words[1..]));
            }
            Some(_) => {
                let before = self.vouched;
                self.vouched = before.max(set);
                self.run(words, sure, wraps);
                // `eval` may have left it worse.
                self.vouched = if words[0] == "eval" { self.vouched } else { before };
            }
            // It stays set.
            None => self.vouched = self.vouched.max(set),
        }
        if left {
            self.vouched = Vouched::Never;
        }
    }

    fn run(&mut self, words: &[String], sure: bool, wraps: usize) {
        if self.found.len() >= MAX_FOUND {
            return;
        }
        let program = words.first().map(|word| wrappers::base_name(word)).unwrap_or_default();
        if let Some(pattern) = self.extra.iter().find(|pattern| extra::matches(pattern, words)) {
            let check = Check { kind: pattern.kind, program: words.join(" "), rest: Vec::new() };
            return self.add(check, sure, Vouched::ByStatus);
        }
        if wraps < MAX_WRAPS
            && let Some(inner) = wrappers::unwrap(words)
        {
            let before = self.vouched;
            match inner {
                Inner::Words(inner) => {
                    self.vouched = before.max(vouch::wrapping(words, &inner));
                    self.run(wrappers::without_assignments(&inner), sure, wraps + 1);
                }
                Inner::Script { text, .. } if program == "eval" => {
                    return self.script(&text, sure, wraps + 1);
                }
                Inner::Script { text, errexit, pipefail } => {
                    self.vouched = before.max(vouch::wrapping(words, &[]));
                    self.nested(&text, errexit, pipefail, sure, wraps + 1);
                }
                Inner::Nothing => {}
            }
            self.vouched = before;
            return;
        }
        let weak = is_weak(program, words);
        let checks = tools::checks(words);
        self.prints |= checks.is_empty() && vouch::may_print_counts(words);
        for check in checks {
            let told = match check.kind {
                Kind::Test => vouch::options(&check.program, &check.rest),
                _ => Vouched::ByStatus,
            };
            // A script of the project is what it says, wherever it is.
            let is_script = check.program.contains('/') || check.program.ends_with("sh");
            let placed = if is_script { Vouched::ByStatus } else { vouch::program(&words[0]) };
            self.add(check, sure && !weak, told.max(placed));
        }
    }

    /// A shell in this one: what it sets is its own.
    fn nested(&mut self, text: &str, errexit: bool, pipefail: bool, sure: bool, wraps: usize) {
        if wraps >= MAX_WRAPS {
            return;
        }
        let before = self.before();
        (self.errexit, self.pipefail, self.ignores_errors) = (errexit, pipefail, false);
        self.script(text, sure, wraps + 1);
        self.back(before);
    }

    fn add(&mut self, check: Check, sure: bool, vouched: Vouched) {
        let (kind, chosen, dir) = (check.kind, chosen(&check.rest), self.dir.clone());
        let compiles = tools::compiles(&check);
        // Only tests are counted.
        let vouched = match vouched.max(self.vouched) {
            Vouched::ByCount if kind != Kind::Test => Vouched::ByStatus,
            vouched => vouched,
        };
        let new = Recognised { kind, dir, program: check.program, chosen, sure, vouched, compiles };
        let same = |it: &&mut Recognised| it.kind == kind && it.key() == new.key();
        if let Some(known) = self.found.iter_mut().find(same) {
            known.sure &= sure;
            known.vouched = known.vouched.max(new.vouched);
        } else if self.found.len() < MAX_FOUND {
            self.found.push(new);
        }
    }

    fn change_dir(&mut self, args: &[String]) {
        let target = args.iter().find(|arg| !arg.starts_with('-') || *arg == "-").map_or("~", String::as_str);
        self.dir = joined(&self.dir, target);
    }

    /// `set -euo pipefail`
    fn set_options(&mut self, args: &[String]) {
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (on, letters) = match (arg.strip_prefix('-'), arg.strip_prefix('+')) {
                (Some(letters), _) => (true, letters),
                (_, Some(letters)) => (false, letters),
                _ => return,
            };
            if letters.contains('e') {
                self.errexit = on;
            }
            if letters.contains('o') {
                match args.next().map(String::as_str) {
                    Some("pipefail") => self.pipefail = on,
                    Some("errexit") => self.errexit = on,
                    _ => {}
                }
            }
        }
    }
}

/// Whether a command fails whatever it does: `exit 1`, `false`, `{ echo no; exit 1; }`.
fn always_fails(rest: &[(Node, Then)]) -> bool {
    match rest.first() {
        Some((Node::Simple(words), _)) => {
            let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            match words.as_slice() {
                ["false"] => true,
                ["exit" | "return", code] => *code != "0" && code.chars().all(|c| c.is_ascii_digit()),
                _ => false,
            }
        }
        Some((Node::Group { list, .. }, _)) => list.last().is_some_and(|last| {
            last.1 != Then::Background
                && always_fails(std::slice::from_ref(last))
                && list.iter().rev().nth(1).is_none_or(|(_, then)| *then == Then::Next)
        }),
        _ => false,
    }
}

/// `pytest; code=$?; tail log; exit $code`: which part of the list the last `exit` tells of. `None`: there is no such end.
fn told_by_exit(list: &List) -> Option<std::ops::Range<usize>> {
    let (Node::Simple(last), _) = list.last()? else { return None };
    let [word, code] = last.as_slice() else { return None };
    if !matches!(word.text.as_str(), "exit" | "return") {
        return None;
    }
    let end = list.len() - 1;
    if end > 0 && list[end - 1].1 != Then::Next {
        return None;
    }
    let before = |end: usize| {
        // The and-or list that ends there. In a pipe only its last command has the status.
        let from = list[..end.checked_sub(1)?]
            .iter()
            .rposition(|(_, then)| matches!(then, Then::Next | Then::Background))
            .map_or(0, |at| at + 1);
        Some(from..end)
    };
    let found = match code.text.as_str() {
        "$?" => before(end),
        text => {
            let name = text.strip_prefix('$').unwrap_or_default().trim_matches(['{', '}']);
            let set = format!("{name}=$?");
            let is_set = |(node, _): &(Node, Then)| matches!(node, Node::Simple(words) if words.len() == 1 && words[0].text == set);
            let at = list.iter().position(is_set);
            let again = at.is_some_and(|at| list[at + 1..end].iter().any(|(node, _)| sets(node, name)));
            (!name.is_empty() && !again).then(|| at.and_then(before)).flatten()
        }
    };
    // A literal status, or one that cannot be followed, tells of nothing.
    Some(found.unwrap_or(end..end))
}

/// Whether a command gives a variable another value.
fn sets(node: &Node, name: &str) -> bool {
    let set = |text: &str| {
        let rest = text.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || rest.starts_with("+="))
    };
    match node {
        Node::Simple(words) => words.iter().any(|word| set(&word.text) || word.text.contains("((")),
        Node::Pipe(parts, _) => parts.iter().any(|part| sets(part, name)),
        Node::Group { list, .. } | Node::Compound(list) => list.iter().any(|(node, _)| sets(node, name)),
        Node::Unread => true,
    }
}

/// Options with which a check passes whatever it finds.
fn is_weak(program: &str, words: &[String]) -> bool {
    const WEAK: &[&str] = &[
        "--exit-zero",
        "--if-present",
        "--issues-exit-code=0",
        "--fail-never",
        "-fn",
        "-Dmaven.test.failure.ignore",
        "-Dmaven.test.failure.ignore=true",
        "--ignore-errors",
        "--suppress-tests",
    ];
    words.iter().any(|word| WEAK.contains(&word.as_str()))
        || (program == "make" && words.iter().any(|word| word == "-i"))
        || words.windows(2).any(|pair| pair[0] == "--issues-exit-code" && pair[1] == "0")
}

/// Options that only change what is printed, or how fast it goes.
#[rustfmt::skip]
const QUIET: &[&str] = &[
    "-q", "-qq", "-v", "-vv", "-vvv", "-x", "-s", "-ra", "-rA", "--verbose", "--quiet", "--silent",
    "--color", "--no-color", "--colors", "--bail", "--ci", "--run", "run", "--no-coverage",
    "--coverage", "--cov", "--nocapture", "--no-capture", "--show-output", "--no-fail-fast",
    "--locked", "--offline", "--frozen", "--noEmit", "--pretty", "--", "-count=1", "--exitfirst",
    "--maxfail=1", "--failfast", "--runInBand", "-i", "--no-header", "--no-summary", "-B",
    "--batch-mode", "--no-daemon", "--continue", "--stacktrace", "--info", ".",
];
const QUIET_PREFIXES: &[&str] =
    &["--color=", "--tb=", "--reporter=", "--format=", "-j", "--jobs=", "--test-threads"];
/// Words that take in more, or look harder.
#[rustfmt::skip]
const BROAD: &[&str] = &[
    "--workspace", "--workspaces", "--all", "--all-targets", "--all-features", "-r", "--recursive", "./...", "-race",
    "-D", "warnings", "-Dwarnings", "--max-warnings=0", "--strict",
];

/// Without the options that only change what is printed or how fast it goes. What is left chooses.
fn chosen(rest: &[String]) -> Vec<String> {
    let kept = rest.iter().filter(|word| {
        let cosmetic =
            QUIET.contains(&word.as_str()) || QUIET_PREFIXES.iter().any(|prefix| word.starts_with(prefix));
        !cosmetic
    });
    let mut words: Vec<String> = kept.cloned().collect();
    // A number that one of those took.
    if words.iter().all(|word| word.chars().all(|c| c.is_ascii_digit())) {
        words.clear();
    }
    words
}

/// A path after `cd`, with `.` and `..` taken out.
fn joined(dir: &str, target: &str) -> String {
    if target == "-" {
        return String::new();
    }
    let base = if target.starts_with(['/', '~', '$']) { "" } else { dir };
    let rooted = if base.is_empty() { target.starts_with('/') } else { base.starts_with('/') };
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("{}{}", if rooted { "/" } else { "" }, parts.join("/"))
}
