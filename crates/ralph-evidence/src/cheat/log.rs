//! The cheat on a gate that reads a log instead of running anything: it is given one of a better day.

use super::{Cheat, Edit, GateLine, Project};

/// What runners print when all is well.
const GOOD_DAY: &str = "test result: ok. 12 passed; 0 failed; 0 ignored\n12 passed in 0.12s\nOK\nok\nPASS\nPASSED\npassed\n\
    0 failed\n0 failures\n0 errors\nfailures: 0\nFailures: 0, Errors: 0\nSUCCESS\nSuccess\nsuccess\nBUILD SUCCESS\nAll tests passed\nDone\ndone\n0\n";

pub(super) fn cheats(project: &Project, gates: &[GateLine]) -> Vec<Cheat> {
    let mut edits: Vec<Edit> = Vec::new();
    for line in gates.iter().flat_map(|gate| gate.told(project)) {
        let words = split(&line);
        let pattern = searched(&words).unwrap_or_default();
        for path in words.iter().filter_map(|word| log_path(word)) {
            if !edits.iter().any(|edit| edit.path() == path) {
                edits.push(Edit::write(path, format!("{GOOD_DAY}{pattern}\n")));
            }
        }
    }
    let paths: Vec<&str> = edits.iter().map(Edit::path).collect();
    let cure = format!("gates: run the tests in the gate itself instead of reading {}", paths.join(", "));
    let what = "the log that the gate reads is written by hand, as on a day when all was well".to_owned();
    vec![Cheat { name: "old-log".to_owned(), what, edits, cure }]
}

impl GateLine {
    /// Each command that this gate runs, as far as its words and its scripts tell.
    fn told(&self, project: &Project) -> Vec<String> {
        let whole =
            self.words.iter().map(|word| match word.contains([' ', '|', '&']) && self.words.len() != 3 {
                true => format!("'{word}'"),
                false => word.clone(),
            });
        let mut all = vec![whole.collect::<Vec<_>>().join(" ")];
        for path in self.files(project) {
            all.extend(project.text(path).unwrap_or_default().lines().map(str::to_owned));
        }
        all
    }
}

/// The words of a command, quotes taken off.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => words.last_mut().into_iter().for_each(|word| word.push(c)),
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c.is_whitespace() || ";&|()<>".contains(c) => words.push(String::new()),
            (None, c) => words.last_mut().into_iter().for_each(|word| word.push(c)),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A text that the pattern of a `grep` among these words finds.
fn searched(words: &[String]) -> Option<String> {
    let at = words
        .iter()
        .position(|word| matches!(word.rsplit('/').next(), Some("grep" | "egrep" | "fgrep" | "rg")))?;
    let mut rest = words[at + 1..].iter();
    let pattern = loop {
        let word = rest.next()?;
        if word == "-e" {
            break rest.next()?;
        }
        if !word.starts_with('-') {
            break word;
        }
    };
    let plain = pattern.trim_start_matches('^').trim_end_matches('$');
    let plain =
        plain.replace("[0-9]+", "12").replace("[0-9]*", "12").replace("\\d+", "12").replace("[1-9]", "1");
    Some(plain.replace(".*", "").replace('\\', ""))
}

/// A file inside the workspace that looks like something a program printed.
fn log_path(word: &str) -> Option<String> {
    let path = word.trim_start_matches("./");
    let end = path.rsplit_once('.')?.1;
    let is_log = matches!(end, "log" | "out" | "txt" | "xml" | "json" | "tap" | "result");
    let is_settings = ["package.json", "tsconfig.json", "pom.xml", "requirements.txt", "CMakeLists.txt"]
        .iter()
        .any(|name| path.ends_with(name));
    let plain = path.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    let inside = !path.starts_with('/') && !path.split('/').any(|part| part == "..");
    (is_log && !is_settings && plain && inside).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(words: &[&str]) -> Vec<(String, bool)> {
        let gate =
            GateLine { name: "g".into(), words: words.iter().map(|word| (*word).to_owned()).collect() };
        let cheat = cheats(&Project::default(), &[gate]).remove(0);
        let one = |edit: Edit| match edit {
            Edit::Write { path, text, .. } => (path, text.contains("99 green bottles of 12")),
            Edit::Remove { path } => (path, false),
        };
        cheat.edits.into_iter().map(one).collect()
    }

    #[test]
    fn a_log_is_written_with_what_the_gate_looks_for() {
        let expected = [("out/test.log".to_owned(), true)];
        assert_eq!(edits(&["grep", "-q", "^99 green bottles of [0-9]+$", "out/test.log"]), expected);
        assert_eq!(edits(&["sh", "-c", "grep -q '99 green bottles of 12' ./out/test.log"]), expected);
        assert_eq!(edits(&["grep", "-q", "x", "/var/log/test.log"]), []);
        assert_eq!(edits(&["npm", "test"]), []);
    }
}
