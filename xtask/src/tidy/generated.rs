//! Generated files are what `cargo xtask gen` would write now.

use super::{Tree, Violation};
use crate::Result;
use crate::generate::{self, Entry, GENERATED};
use std::collections::BTreeMap;
use std::path::Path;

/// What a generated file should be.
pub struct Expected {
    path: &'static str,
    region: Option<&'static str>,
    made: Result<String>,
}

/// Runs the programs of all entries. A failure is kept, to be shown with the other violations.
pub fn expected(root: &Path, texts: &BTreeMap<String, String>) -> Vec<Expected> {
    GENERATED.iter().map(|entry| expect(entry, texts, generate::print(root, entry))).collect()
}

fn expect(entry: &Entry, texts: &BTreeMap<String, String>, printed: Result<String>) -> Expected {
    let old = texts.get(entry.path).map(String::as_str);
    Expected { path: entry.path, region: entry.region, made: generate::made(entry, old, printed) }
}

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found: Vec<Violation> = tree.generated.iter().filter_map(|one| differs(one, tree)).collect();
    for (path, text) in tree.texts.iter().filter(|(path, _)| path.ends_with(".md")) {
        match generate::regions(text) {
            Err(error) => found.push(Violation::new(path, 1, format!("{error}; repair the markers"))),
            Ok(regions) => {
                let unknown = regions.into_iter().filter(|region| {
                    !tree
                        .generated
                        .iter()
                        .any(|it| it.path == path && it.region == Some(region.name.as_str()))
                });
                found.extend(unknown.map(|region| {
                    let what = format!(
                        "nothing generates the region `{}`; add it to GENERATED or remove its markers",
                        region.name
                    );
                    Violation::new(path, region.first, what)
                }));
            }
        }
    }
    found
}

fn differs(expected: &Expected, tree: &Tree) -> Option<Violation> {
    let now = tree.text(expected.path);
    match &expected.made {
        Err(error) => Some(Violation::new(expected.path, 1, format!("cannot be generated: {error}"))),
        Ok(made) if made == now => None,
        Ok(made) => {
            let same = made.lines().zip(now.lines()).take_while(|(a, b)| a == b).count();
            Some(Violation::new(expected.path, same + 1, "is out of date; run `cargo xtask gen`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{places, tree};

    const ENTRY: Entry = Entry { path: "G.md", region: Some("guards"), bin: "ralph", args: &["guards"] };

    fn with(page: &str, printed: Result<String>) -> Vec<Violation> {
        let mut tree = tree(&[("G.md", page)]);
        tree.generated = vec![expect(&ENTRY, &tree.texts, printed)];
        check(&tree)
    }

    const PAGE: &str = "# G\n<!-- generated: guards -->\na\nb\n<!-- end -->\n";

    #[test]
    fn what_is_up_to_date_passes() {
        assert_eq!(with(PAGE, Ok("a\nb\n".into())), []);
    }

    #[test]
    fn what_is_not_is_shown_at_the_first_line_that_differs() {
        let found = with(PAGE, Ok("a\nc\n".into()));
        assert_eq!(places(&found), ["G.md:4"]);
        assert!(found[0].what.contains("cargo xtask gen"), "{found:?}");
    }

    #[test]
    fn what_cannot_be_generated_is_a_violation() {
        assert!(with(PAGE, Err("exit 2".into()))[0].what.contains("exit 2"));
    }

    #[test]
    fn regions_that_nothing_generates_or_nothing_ends_are_violations() {
        let stray = format!("{PAGE}<!-- generated: guard -->\nx\n<!-- end -->\n");
        let found = with(&stray, Ok("a\nb\n".into()));
        assert_eq!(places(&found), ["G.md:6"]);
        assert!(!with("<!-- generated: guards -->\n", Ok("a".into())).is_empty());
    }

    #[test]
    fn a_whole_file_that_is_missing_is_out_of_date() {
        const FILE: Entry = Entry { path: "schema.json", region: None, bin: "ralph", args: &["schema"] };
        let mut tree = tree(&[("a/src/lib.rs", "")]);
        tree.generated = vec![expect(&FILE, &tree.texts, Ok("{}\n".into()))];
        assert_eq!(places(&check(&tree)), ["schema.json:1"]);
    }
}
