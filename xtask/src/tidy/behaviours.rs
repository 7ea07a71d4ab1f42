//! The list of RALPH.md behaviours names the tests that check each one; a list that no test stands behind would rot.

use super::{Tree, Violation};
use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{Attribute, ItemFn, Meta};

const LIST: &str = "docs/ralph-md-behaviours.md";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let tests = tests(tree);
    let mut found: Vec<Violation> = tests
        .iter()
        .filter(|(name, _)| is_numbered(name))
        .flat_map(|(name, places)| places.iter().map(move |place| (name, place)))
        .map(|(name, (file, line))| {
            Violation::new(
                *file,
                *line,
                format!("test `{name}` has a number; let the name say what it checks"),
            )
        })
        .collect();
    let Some(list) = tree.texts.get(LIST) else {
        found.push(Violation::new(LIST, 1, "the list of behaviours is gone; bring it back"));
        return found;
    };
    let rows = rows(list);
    if rows.is_empty() {
        found.push(Violation::new(LIST, 1, "lists no behaviour; write rows `| behaviour | tests |`"));
    }
    for (line, names) in rows {
        if names.is_empty() {
            found.push(Violation::new(LIST, line, "this behaviour names no test; write one and name it"));
        }
        for name in names {
            let what = match tests.get(name).map_or(0, Vec::len) {
                0 => format!("there is no test `{name}`; name the one that checks this"),
                1 => continue,
                many => format!("{many} tests are called `{name}`; give each its own name"),
            };
            found.push(Violation::new(LIST, line, what));
        }
    }
    found
}

/// The line of each row of the tables, and the names in its last cell. Heads of tables and the lines below them are no rows.
fn rows(list: &str) -> Vec<(usize, Vec<&str>)> {
    let lines: Vec<&str> = list.lines().map(str::trim).collect();
    let is_rule = |line: &str| line.starts_with("|-");
    let is_row = |at: usize| {
        let head = lines.get(at + 1).is_some_and(|next| is_rule(next));
        lines[at].starts_with('|') && !is_rule(lines[at]) && !head
    };
    (0..lines.len()).filter(|at| is_row(*at)).map(|at| (at + 1, names(lines[at]))).collect()
}

/// What stands in backticks in the last cell of a row.
fn names(row: &str) -> Vec<&str> {
    let row = row.strip_suffix('|').unwrap_or(row);
    let cell = row.rsplit('|').next().unwrap_or_default();
    cell.split('`').skip(1).step_by(2).collect()
}

/// `case_07_of_some_list`: nobody knows the list by heart.
fn is_numbered(name: &str) -> bool {
    name.strip_prefix("case_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// File and line of every test, by name.
fn tests(tree: &Tree) -> BTreeMap<String, Vec<(&str, usize)>> {
    let mut tests: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for (path, source) in tree.sources.files.iter().filter(|(_, source)| source.role.is_some()) {
        let Ok(ast) = &source.ast else { continue };
        let mut functions = TestFunctions(Vec::new());
        functions.visit_file(ast);
        for (name, line) in functions.0 {
            tests.entry(name).or_default().push((path, line));
        }
    }
    tests
}

struct TestFunctions(Vec<(String, usize)>);

impl<'a> Visit<'a> for TestFunctions {
    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        if function.attrs.iter().any(is_test) {
            let name = &function.sig.ident;
            self.0.push((name.to_string(), name.span().start().line));
        }
        visit::visit_item_fn(self, function);
    }
}

fn is_test(attribute: &Attribute) -> bool {
    matches!(&attribute.meta, Meta::Path(path) if path.is_ident("test"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{places, tree};

    const TESTS: (&str, &str) = (
        "a/src/lib.rs",
        "fn plain() {}\n#[cfg(test)]\nmod tests {\n#[test]\nfn one() {}\n#[test]\nfn two() {}\n}\n#[test]\nfn two() {}\n",
    );

    fn listed(rows: &str) -> Vec<Violation> {
        let list = format!("# List\n\n| behaviour | tests |\n|---|---|\n{rows}");
        check(&tree(&[TESTS, (LIST, &list)]))
    }

    #[test]
    fn a_behaviour_with_a_test_passes() {
        assert_eq!(
            listed("| a `|` b | `one` |\n\nText.\n\n| behaviour | tests |\n|---|---|\n| c | `one` |\n"),
            []
        );
    }

    #[test]
    fn a_behaviour_without_a_test_or_with_one_that_is_gone_is_named_with_its_line() {
        let found = listed("| a | `one`, `gone` |\n| `one` | |\n| b | `plain` |\n| c | `two` |\n");
        let list = |line: usize| format!("{LIST}:{line}");
        assert_eq!(places(&found), [list(5), list(6), list(7), list(8)]);
        for (violation, part) in found.iter().zip(["`gone`", "names no test", "`plain`", "2 tests"]) {
            assert!(violation.what.contains(part), "{violation}");
        }
    }

    #[test]
    fn a_list_that_is_gone_or_empty_is_a_violation() {
        assert_eq!(places(&check(&tree(&[TESTS]))), [format!("{LIST}:1")]);
        assert_eq!(places(&listed("")), [format!("{LIST}:1")]);
    }

    #[test]
    fn a_test_that_is_named_by_a_number_is_a_violation() {
        let numbered =
            ("a/src/lib.rs", "#[test]\nfn case_07_x() {}\n#[test]\nfn case_of_doubt() {}\nfn case_1() {}\n");
        let list = (LIST, "| behaviour | tests |\n|---|---|\n| a | `case_of_doubt` |\n");
        assert_eq!(places(&check(&tree(&[numbered, list]))), ["a/src/lib.rs:2"]);
    }
}
