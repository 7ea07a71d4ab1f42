//! What must not be in the text of any file: paths and names of someone's machine, unfinished code, stray white space.

use super::source::Source;
use super::tokens::{self, Kind, Token};
use super::{Tree, Violation};

/// Starts of absolute paths that exist on one machine only. Some need a letter after them to be a path of a person.
const MACHINE_PATHS: &[(&str, bool)] = &[
    (concat!("/ro", "ot/"), false),
    (concat!("/wo", "rk/"), false),
    (concat!("/ho", "me/"), true),
    (concat!("/Us", "ers/"), true),
    (concat!("/tmp/", "wt/"), false),
];

/// Ends of host names that mean something inside one network only.
const HOSTS: &[&str] =
    &[concat!(".local", "domain"), concat!(".ec2.", "internal"), concat!(".compute.", "internal")];

/// Folders of recorded or expected bytes: their white space is theirs.
const VERBATIM: &[&str] = &["fixtures", "transcripts", "snapshots"];

const UNFINISHED: &[&str] = &["todo", "unimplemented", "dbg"];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (path, text) in &tree.texts {
        let mut say = |(line, what): (usize, String)| found.push(Violation::new(path, line, what));
        machine(text).into_iter().for_each(&mut say);
        let verbatim = path.split('/').any(|part| VERBATIM.contains(&part));
        if !verbatim {
            white_space(text, path.ends_with(".rs")).into_iter().for_each(&mut say);
        }
        if let Some(source) = tree.sources.files.get(path) {
            unfinished(source).into_iter().for_each(&mut say);
        }
    }
    found
}

fn machine(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (start, needs_letter) in MACHINE_PATHS {
            let is_path = |(at, _): (usize, &str)| {
                let inside = line[..at]
                    .chars()
                    .next_back()
                    .is_some_and(|c| c.is_alphanumeric() || "._-/}~".contains(c));
                let letter = line[at + start.len()..].starts_with(|c: char| c.is_ascii_lowercase());
                !inside && (letter || !needs_letter)
            };
            if line.match_indices(start).any(is_path) {
                found.push((
                    index + 1,
                    format!("has a path of one machine ({start}…); use a relative or made-up one"),
                ));
            }
        }
        for end in HOSTS.iter().filter(|end| line.contains(**end)) {
            found.push((index + 1, format!("has the name of a host (…{end}); use `example.com`")));
        }
    }
    found
}

fn white_space(text: &str, rust: bool) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        if line.ends_with(char::is_whitespace) {
            found.push((index + 1, "has white space at the end of the line; remove it".to_owned()));
        }
        if rust && line.contains('\t') {
            found.push((index + 1, "has a tab; indent with spaces and write \\t in strings".to_owned()));
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        found.push((text.lines().count(), "does not end with a newline; add one".to_owned()));
    }
    found
}

fn unfinished(source: &Source) -> Vec<(usize, String)> {
    let tokens = &source.tokens;
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if let Some(name) = tokens::macro_call(tokens, at).filter(|name| UNFINISHED.contains(name)) {
            found.push((token.line, format!("has {name}!; finish it or take it out")));
        }
        if is_ignore(tokens, at) {
            found.push((token.line, "ignores a test; repair it or delete it".to_owned()));
        }
    }
    found
}

/// Does `#[ignore…]` start here, plain or by way of `cfg_attr`?
fn is_ignore(tokens: &[Token], at: usize) -> bool {
    if !tokens[at].is('#') || !tokens.get(at + 1).is_some_and(|token| matches!(token.kind, Kind::Open(_))) {
        return false;
    }
    match tokens.get(at + 2).and_then(Token::ident) {
        Some("ignore") => true,
        Some("cfg_attr") => {
            let mut depth = 1;
            let inside = tokens[at + 2..].iter().take_while(|token| {
                depth +=
                    i32::from(matches!(token.kind, Kind::Open(_))) - i32::from(token.kind == Kind::Close);
                depth > 0
            });
            inside
                .collect::<Vec<_>>()
                .windows(2)
                .any(|pair| pair[0].is(',') && pair[1].ident() == Some("ignore"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::tree;

    const NONE: [usize; 0] = [];

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&tree(&[("a/src/lib.rs", ""), (path, text)])).iter().map(|one| one.line).collect()
    }

    #[test]
    fn plain_text_passes() {
        assert_eq!(
            lines("README.md", "# Title\n\nText in /tmp/x, target/work/y, ~/home/a and $HOME.\n"),
            NONE
        );
        assert_eq!(lines("a/src/lib.rs", "fn f() {\n    // todo!() and dbg!() are for drafts\n}\n"), NONE);
        assert_eq!(lines("empty.txt", ""), NONE);
    }

    #[test]
    fn paths_and_hosts_of_a_machine_are_found() {
        for (start, _) in MACHINE_PATHS {
            for text in
                [format!("a\nsee {start}abc\n"), format!("a\n{start}x\n"), format!("a\n(\"{start}x\")\n")]
            {
                assert_eq!(lines("notes.md", &text), [2], "{text}");
            }
            assert_eq!(lines("notes.md", &format!("a\nbuild{start}x\n")), NONE, "a relative path");
        }
        assert_eq!(lines("notes.md", &format!("a\n{}USER\n", MACHINE_PATHS[2].0)), NONE, "a placeholder");
        assert_eq!(lines("notes.md", &format!("db1{} down\n", HOSTS[0])), [1]);
    }

    #[test]
    fn a_path_in_a_recording_is_found_though_its_white_space_is_not() {
        assert_eq!(lines("a/fixtures/x.txt", "text \nno newline"), NONE);
        assert_eq!(lines("a/fixtures/x.txt", &format!("in {}x \n", MACHINE_PATHS[0].0)), [1]);
    }

    #[test]
    fn white_space_is_found() {
        assert_eq!(lines("a.md", "a \nb\n"), [1]);
        assert_eq!(lines("a.md", "a\r\nb\n"), [1]);
        assert_eq!(lines("a.md", "a\n   \n"), [2]);
        assert_eq!(lines("a.md", "a\nb"), [2]);
        assert_eq!(lines("Makefile", "a:\n\tb\n"), NONE, "tabs are for Rust to avoid");
        assert_eq!(lines("a/src/lib.rs", "mod a {\n\tfn f() {}\n}\n"), [2]);
    }

    #[test]
    fn unfinished_code_is_found_in_tests_and_macros_too() {
        for text in [
            "fn f() {\ntodo!() }\n",
            "#[cfg(test)]\nfn f() { vec![dbg!(1)]; }\n",
            "\nfn f() { unimplemented![\"x\"] }\n",
        ] {
            assert_eq!(lines("a/src/lib.rs", text), [2], "{text}");
        }
    }

    #[test]
    fn ignored_tests_are_found() {
        for attribute in [
            "#[ignore]",
            "#[ignore = \"slow\"]",
            "#[cfg_attr(unix, ignore)]",
            "#[cfg_attr(unix, ignore = \"x\")]",
        ] {
            assert_eq!(lines("a/src/lib.rs", &format!("\n{attribute}\nfn f() {{}}\n")), [2], "{attribute}");
        }
        for attribute in ["#[serde(ignore)]", "#[cfg_attr(unix, doc(ignore))]", "#[cfg_attr(ignore, inline)]"]
        {
            assert_eq!(
                lines("a/src/lib.rs", &format!("{attribute}\nfn ignore() {{}}\n")),
                NONE,
                "{attribute}"
            );
        }
    }
}
