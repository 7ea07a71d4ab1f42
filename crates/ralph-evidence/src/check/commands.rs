//! The programs that a command line starts, each with its words, as far as they can be told without running anything.

use super::shell::{self, List, Node};
use super::wrappers::{self, Inner};

/// Wrappers around wrappers, and shells in shells.
const MAX_WRAPS: usize = 8;
/// Commands of one text; the rest of a longer one is passed over.
const MAX_COMMANDS: usize = 500;

/// One program that is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Started {
    /// Where, as far as `cd` says: relative to where the whole is run, or empty.
    pub dir: String,
    pub words: Vec<String>,
    /// A shell was given this file to run: its name is a path without a slash, too.
    pub by_shell: bool,
}

/// Those of a command that is given as words.
pub(crate) fn of_words(words: &[String]) -> Vec<Started> {
    let mut walk = Walk::default();
    walk.run(wrappers::without_assignments(words), false, 0);
    walk.found
}

/// Those of a text that a shell runs.
pub(crate) fn of_script(text: &str) -> Vec<Started> {
    let mut walk = Walk::default();
    walk.list(&shell::parse(text).list, 0);
    walk.found
}

#[derive(Default)]
struct Walk {
    found: Vec<Started>,
    dir: String,
}

impl Walk {
    fn list(&mut self, list: &List, wraps: usize) {
        list.iter().for_each(|(node, _)| self.node(node, wraps));
    }

    fn node(&mut self, node: &Node, wraps: usize) {
        match node {
            Node::Simple(words) => {
                let words: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
                let words = wrappers::without_assignments(&words);
                match words {
                    [first, dir] if first == "cd" || first == "pushd" => self.dir = joined(&self.dir, dir),
                    _ => self.run(words, false, wraps),
                }
            }
            Node::Pipe(parts, _) => parts.iter().for_each(|part| self.node(part, wraps)),
            Node::Group { list, .. } | Node::Compound(list) => self.list(list, wraps),
            Node::Unread => {}
        }
    }

    fn run(&mut self, words: &[String], by_shell: bool, wraps: usize) {
        let Some(first) = words.first() else { return };
        if self.found.len() >= MAX_COMMANDS {
            return;
        }
        let is_shell = wrappers::is_shell(wrappers::base_name(first));
        match wrappers::unwrap(words).filter(|_| wraps < MAX_WRAPS && !by_shell) {
            Some(Inner::Words(inner)) => self.run(wrappers::without_assignments(&inner), is_shell, wraps + 1),
            Some(Inner::Script { text, .. }) => self.list(&shell::parse(&text).list, wraps + 1),
            Some(Inner::Nothing) => {}
            None => {
                let (dir, words) = (self.dir.clone(), words.to_vec());
                self.found.push(Started { dir, words, by_shell });
            }
        }
    }
}

/// A path from a folder that is itself relative. An absolute one stays as it is.
pub(crate) fn joined(dir: &str, path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    match dir.is_empty() || path.starts_with('/') {
        true => path.to_owned(),
        false => format!("{}/{path}", dir.trim_end_matches('/')),
    }
}
