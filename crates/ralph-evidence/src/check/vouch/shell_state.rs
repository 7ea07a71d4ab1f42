//! Commands that change the shell they run in, so that what follows, or the status at the end, is no longer what it seems.

use super::super::shell::{self, List, Node};
use super::super::wrappers;

/// `eval` in `eval`.
const MAX_DEPTH: usize = 4;
/// They redefine words, or what a shell does in passing.
#[rustfmt::skip]
const TWISTING: &[&str] = &[
    "alias", "enable", "shopt", "coproc", "bind", "complete", "compopt", "emulate", "zmodload", "autoload", "functions",
    "hash", "fc", "mapfile", "readarray", "setopt", "unsetopt", "disable", "rehash",
];
/// Files that set up an environment, by their ends.
const ENVIRONMENTS: &[&str] = &[
    "bin/activate",
    "nvm.sh",
    ".cargo/env",
    "/etc/profile",
    ".bashrc",
    ".profile",
    ".zshrc",
    "conda.sh",
    "sdkman-init.sh",
    "asdf.sh",
    "export-esp.sh",
    "setup.bash",
    "emsdk_env.sh",
];
/// What a trap may do: none of it changes a status.
const TIDIES_UP: &[&str] = &["kill", "rm", "docker", "pkill", "wait", "true", ":", "cd", "rmdir", "popd"];

/// Whether anything in a list changes the shell, wherever it stands.
pub(in crate::check) fn twists(list: &List) -> bool {
    any(list, 0)
}

fn any(list: &List, depth: usize) -> bool {
    list.iter().any(|(node, _)| match node {
        Node::Simple(words) => {
            let words: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
            twists_by(bare(&words), depth)
        }
        Node::Pipe(parts, _) => parts.iter().any(|part| any(&vec![(part.clone(), shell::Then::Next)], depth)),
        Node::Group { list, .. } | Node::Compound(list) => any(list, depth),
        Node::Unread => true,
    })
}

/// Without what is set, and without the words that only say how a name is looked up.
fn bare(words: &[String]) -> &[String] {
    let mut words = wrappers::without_assignments(words);
    while let Some(("command" | "builtin" | "time" | "noglob", rest)) =
        words.split_first().map(|(first, rest)| (first.as_str(), rest))
        && rest.first().is_some_and(|word| !word.starts_with('-'))
    {
        words = wrappers::without_assignments(rest);
    }
    words
}

fn twists_by(words: &[String], depth: usize) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    match first.as_str() {
        "eval" => {
            let text = rest.join(" ");
            depth >= MAX_DEPTH || text.contains(['$', '`']) || any(&shell::parse(&text).list, depth + 1)
        }
        "trap" => rest.first().is_some_and(|text| text != "-" && !tidies_up(text)),
        "source" | "." => rest.first().is_none_or(|file| !ENVIRONMENTS.iter().any(|end| file.ends_with(end))),
        "set" => !sets_known(rest),
        "declare" | "typeset" | "local" | "export" | "readonly" | "unset" => {
            rest.iter().any(|word| word.starts_with('-') && word.contains('f'))
        }
        "git" => swaps_tree(rest),
        "npm" | "pnpm" | "yarn" | "go" | "git-config" => {
            let words: Vec<&str> = rest.iter().map(String::as_str).collect();
            matches!(words.as_slice(), ["config", "set", ..] | ["env", "-w", ..] | ["set", ..])
        }
        // Which command that is cannot be read.
        first if first.contains(['$', '`']) && !first.contains('/') => true,
        first => TWISTING.contains(&first),
    }
}

fn tidies_up(text: &str) -> bool {
    let parsed = shell::parse(text);
    let tidies = |node: &Node| match node {
        Node::Simple(words) => {
            let first = words.first().map_or("", |word| word.text.as_str());
            let rest = words.iter().skip(1).any(|word| is_this_shell(&word.text));
            (first.is_empty() || TIDIES_UP.contains(&first)) && !rest
        }
        _ => false,
    };
    !parsed.broken && parsed.list.iter().all(|(node, _)| tidies(node))
}

fn sets_known(words: &[String]) -> bool {
    const LONG: &[&str] =
        &["pipefail", "errexit", "nounset", "xtrace", "verbose", "allexport", "noclobber", "errtrace"];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix(['-', '+']) else { return true };
        if !letters.chars().all(|c| "euxvoEahmCfbB-".contains(c)) {
            return false;
        }
        if letters.contains('o') && words.next().is_some_and(|name| !LONG.contains(&name.as_str())) {
            return false;
        }
    }
    true
}

/// What is tested then is not what the iteration leaves.
fn swaps_tree(rest: &[String]) -> bool {
    let words: Vec<&str> = rest.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["stash", sub, ..] => !["pop", "apply", "list", "show", "drop"].contains(sub),
        ["stash"] | ["reset" | "bisect" | "config", ..] => true,
        ["checkout" | "switch", first, ..] => !["-b", "-c", "-B", "-C"].contains(first),
        _ => false,
    }
}

/// Whether the shell may end here, with a status that says that all is well: what follows is not run.
pub(in crate::check) fn leaves(words: &[String]) -> bool {
    let words = bare(words);
    let Some((first, rest)) = words.split_first() else { return false };
    match first.as_str() {
        "exit" | "return" | "logout" => {
            let code = rest.first().and_then(|code| code.parse::<u64>().ok());
            code.is_none_or(|code| code % 256 == 0)
        }
        // Without a program it only redirects.
        "exec" => rest.iter().any(|word| !word.starts_with('-')),
        "suspend" => true,
        _ => rest.iter().any(|word| is_this_shell(word)) && first.contains("kill"),
    }
}

fn is_this_shell(word: &str) -> bool {
    ["$$", "${$}", "$PPID", "$BASHPID", "${BASHPID}", "${PPID}"].iter().any(|shell| word.contains(shell))
        || word == "0"
        || word == "-1"
}

/// Whether a command beside a check may print what looks like a count of tests.
pub(in crate::check) fn may_print_counts(words: &[String]) -> bool {
    #[rustfmt::skip]
    const SILENT: &[&str] = &[
        "cd", "pushd", "popd", "export", "set", "unset", "true", ":", "test", "[", "[[", "mkdir", "rm", "cp", "mv",
        "touch", "sleep", "source", ".", "umask", "ulimit", "chmod", "tail", "head", "grep", "tee", "wait", "exit", "ln",
        "return", "npm", "pnpm", "yarn", "cargo", "pip", "pip3", "uv", "poetry", "go", "make", "cmake", "pwd", "which",
        "kill", "false", "date", "command", "type", "mvn", "bundle", "docker", "ls", "timeout", "time",
    ];
    let words = bare(words);
    let Some((first, rest)) = words.split_first() else { return false };
    match first.as_str() {
        "echo" | "printf" => {
            rest.iter().any(|word| word.contains(|c: char| c.is_ascii_digit() || "$`\\".contains(c)))
        }
        "git" => {
            !matches!(rest.first().map(String::as_str), Some("add" | "commit" | "diff" | "status" | "stash"))
        }
        first => !SILENT.contains(&wrappers::base_name(first)),
    }
}
