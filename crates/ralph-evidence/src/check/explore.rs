//! Looking around: a search that finds nothing and a file that is not there are answers, not errors.

use super::shell::{self, List, Node};
use super::wrappers;

const LOOKS: &[&str] = &[
    "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "find", "fd", "ls", "tree", "cat", "bat", "head",
    "tail", "less", "wc", "stat", "file", "which", "type", "whereis", "test", "[", "[[", "diff", "cmp",
    "comm", "readlink", "realpath", "pgrep", "lsof", "jq", "sed", "awk", "sort", "uniq", "cut", "cd", "pwd",
    "echo", "printf", "true", "du", "tr", "xargs",
];

/// Whether a command does nothing but look.
pub(super) fn is_exploration(command: &str) -> bool {
    let parsed = shell::parse(command);
    !parsed.list.is_empty() && all_look(&parsed.list)
}

fn all_look(list: &List) -> bool {
    list.iter().all(|(node, _)| looks(node))
}

fn looks(node: &Node) -> bool {
    match node {
        Node::Simple(words) => {
            let words: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
            let words = wrappers::without_assignments(&words);
            match words {
                [] => true,
                [git, sub, ..] if git == "git" => {
                    ["grep", "diff", "log", "show", "ls-files", "status"].contains(&sub.as_str())
                }
                [command, flag, ..] if command == "command" => flag == "-v" || flag == "-V",
                // An edit in place is work.
                [sed, rest @ ..] if sed == "sed" => !rest.iter().any(|word| word.starts_with("-i")),
                [xargs, rest @ ..] if xargs == "xargs" => rest
                    .iter()
                    .find(|word| !word.starts_with('-'))
                    .is_some_and(|word| LOOKS.contains(&&**word)),
                [program, ..] => LOOKS.contains(&wrappers::base_name(program)),
            }
        }
        Node::Pipe(parts, _) => parts.iter().all(looks),
        Node::Group { list, .. } | Node::Compound(list) => all_look(list),
        Node::Unread => true,
    }
}
