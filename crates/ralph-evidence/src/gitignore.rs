//! What a `.gitignore` says about a path, by git's rules (`gitignore(5)`), without a compiled program per pattern.
//!
//! Most patterns are a name, a path or an ending: those are looked up, however many there are. The others are tried one after the
//! other, and there may be so many of them and no more: an agent may write the file, and it must cost neither memory nor time.
//! A pattern that is left out ignores nothing, so what it meant shows up as a file; nothing is hidden by it.

mod glob;

use std::collections::HashMap;

use glob::{is_literal, matches_name, matches_path};

/// Patterns of one file that have to be tried one after the other.
const MAX_GLOBS: usize = 2_000;
/// A longer one is no pattern of a path.
const MAX_PATTERN: usize = 1_024;

/// What a file of patterns says about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Ignored,
    /// By a pattern with a `!`.
    Kept,
}

/// The patterns of one file. The last one that matches decides.
#[derive(Debug, Default)]
pub struct Rules {
    /// By the last part of the path.
    names: HashMap<Box<[u8]>, Last>,
    /// By the whole path.
    paths: HashMap<Box<[u8]>, Last>,
    /// By the end of the last part: `*.log`.
    endings: HashMap<Box<[u8]>, Last>,
    /// The lengths that endings have.
    lengths: Vec<usize>,
    /// All others, in order.
    globs: Vec<Glob>,
}

/// The last pattern for a thing, and the last one that is for folders alone.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    any: Option<Place>,
    folder: Option<Place>,
}

/// Where a pattern stands in the file, and whether it has a `!`.
type Place = (usize, bool);

#[derive(Debug)]
struct Glob {
    pattern: Box<[u8]>,
    is_path: bool,
    folders_only: bool,
    place: Place,
}

impl Rules {
    pub fn parse(text: &[u8]) -> Self {
        let mut rules = Self::default();
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            rules.add(number, line);
        }
        rules.lengths.sort_unstable();
        rules
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.paths.is_empty() && self.endings.is_empty() && self.globs.is_empty()
    }

    fn add(&mut self, number: usize, line: &[u8]) {
        let line = trimmed(line.strip_suffix(b"\r").unwrap_or(line));
        if line.starts_with(b"#") || line.len() > MAX_PATTERN {
            return;
        }
        let (pattern, negated) = match line.strip_prefix(b"!") {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        let (pattern, folders_only) = match pattern.strip_suffix(b"/") {
            Some(rest) => (rest, true),
            None => (pattern, false),
        };
        let is_path = pattern.contains(&b'/');
        let pattern = pattern.strip_prefix(b"/").unwrap_or(pattern);
        if pattern.is_empty() {
            return;
        }
        let place = (number, negated);
        if is_literal(pattern) {
            let map = if is_path { &mut self.paths } else { &mut self.names };
            map.entry(pattern.into()).or_default().set(place, folders_only);
            return;
        }
        if let Some(ending) =
            pattern.strip_prefix(b"*").filter(|rest| !is_path && is_literal(rest) && !rest.is_empty())
        {
            if !self.lengths.contains(&ending.len()) {
                self.lengths.push(ending.len());
            }
            self.endings.entry(ending.into()).or_default().set(place, folders_only);
        } else if self.globs.len() < MAX_GLOBS {
            self.globs.push(Glob { pattern: pattern.into(), is_path, folders_only, place });
        }
    }

    /// What the patterns say about a path below the folder of their file. Its folders are asked about before.
    pub fn verdict(&self, path: &[u8], is_folder: bool) -> Option<Verdict> {
        let start = memchr::memrchr(b'/', path).map_or(0, |at| at + 1);
        let name = &path[start..];
        let mut last: Option<Place> = None;
        let mut take = |found: Option<&Last>| last = last.max(found.and_then(|found| found.get(is_folder)));
        take(self.names.get(name));
        take(self.paths.get(path));
        for length in self.lengths.iter().take_while(|length| **length <= name.len()) {
            take(self.endings.get(&name[name.len() - length..]));
        }
        for glob in self.globs.iter().rev() {
            if last.is_some_and(|last| last > glob.place) {
                break;
            }
            if (is_folder || !glob.folders_only) && glob.matches(path, name) {
                last = Some(glob.place);
                break;
            }
        }
        last.map(|(_, negated)| if negated { Verdict::Kept } else { Verdict::Ignored })
    }
}

impl Last {
    fn set(&mut self, place: Place, folders_only: bool) {
        *(if folders_only { &mut self.folder } else { &mut self.any }) = Some(place);
    }

    fn get(&self, is_folder: bool) -> Option<Place> {
        self.any.max(self.folder.filter(|_| is_folder))
    }
}

impl Glob {
    fn matches(&self, path: &[u8], name: &[u8]) -> bool {
        match self.is_path {
            true => matches_path(&self.pattern, path),
            false => matches_name(&self.pattern, name),
        }
    }
}

/// Without the blanks at its end, unless there is a backslash before one.
fn trimmed(line: &[u8]) -> &[u8] {
    let mut end = line.len();
    while end > 0 && line[end - 1] == b' ' {
        let slashes = line[..end - 1].iter().rev().take_while(|byte| **byte == b'\\').count();
        if slashes % 2 == 1 {
            break;
        }
        end -= 1;
    }
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignored(rules: &str, path: &str, is_folder: bool) -> bool {
        Rules::parse(rules.as_bytes()).verdict(path.as_bytes(), is_folder) == Some(Verdict::Ignored)
    }

    #[test]
    fn patterns_read_as_those_of_git() {
        for (rules, path, is_folder, want) in [
            ("*.log", "a/b.log", false, true),
            ("*.log\n!b.log", "a/b.log", false, false),
            ("!b.log\n*.log", "a/b.log", false, true),
            ("build/", "build", false, false),
            ("build/", "x/build", true, true),
            ("/build", "x/build", true, false),
            ("a/b", "a/b", false, true),
            ("a/b", "x/a/b", false, false),
            ("**/b", "x/y/b", false, true),
            ("**/b", "b", false, true),
            ("a/**/b", "a/b", false, true),
            ("a/**/b", "a/x/y/b", false, true),
            ("a/**", "a", true, false),
            ("a/**", "a/x", false, true),
            ("a/*", "a/x/y", false, false),
            ("fo?", "foo", false, true),
            ("[!a-c]x", "dx", false, true),
            ("[!a-c]x", "bx", false, false),
            ("[[:digit:]]x", "7x", false, true),
            ("[]-]x", "]x", false, true),
            ("\\#x", "#x", false, true),
            ("#x", "#x", false, false),
            ("\\!x", "!x", false, true),
            ("x ", "x", false, true),
            ("x\\ ", "x ", false, true),
            ("x\r", "x", false, true),
            ("\u{feff}x", "x", false, true),
            ("a*b*c", "aXbYc", false, true),
            ("a*b*c", "aXbY", false, false),
            ("[a", "[a", false, false),
            ("/", "x", true, false),
            ("a**z", "abcz", false, true),
        ] {
            assert_eq!(ignored(rules, path, is_folder), want, "{rules:?} {path:?}");
        }
    }

    #[test]
    fn many_patterns_of_names_all_count_and_of_the_others_a_bounded_number() {
        let text: String = (0..60_000).map(|n| format!("some/long/path/{n:06}/file\n")).collect();
        let rules = Rules::parse(text.as_bytes());
        assert!(rules.verdict(b"some/long/path/059999/file", false) == Some(Verdict::Ignored));
        assert_eq!(rules.globs.len(), 0);
        let text: String = (0..60_000).map(|n| format!("a*{n}*b\n")).collect();
        assert_eq!(Rules::parse(text.as_bytes()).globs.len(), MAX_GLOBS);
    }

    #[test]
    fn no_pattern_takes_more_steps_than_its_length_times_that_of_the_name() {
        let pattern = format!("{}b", "a*".repeat(500));
        let name = "a".repeat(4_000);
        assert!(!ignored(&pattern, &name, false));
        let pattern = format!("{}c", "**/a*/".repeat(150));
        let path = "aa/".repeat(1_300) + "b";
        assert!(!ignored(&pattern, &path, false));
    }
}
