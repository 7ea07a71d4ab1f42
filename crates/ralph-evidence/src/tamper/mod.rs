//! What a change did to the tests: [`review`] reads all files of a change together, before and after, and tells what makes
//! checks pass without the work being done. [`tests_counted`] and [`fewer`] do the same from a runner's output.
//!
//! It must not accuse. The rules, where something can be read in two ways:
//!
//! - **Code is read by words**, not by lines: comments and strings are none. A test that is commented out is gone.
//! - **A test is the same one** by its file and name, else by its name, else by what it says (seven tenths of its words).
//! - **As many asserts or more** is a rewritten test, whatever they say. With fewer, each lost assert is looked for: word for
//!   word in another test; by its values in what was added to a test of the same subject, or to a table or data file beside
//!   it; in a helper that is called; in a test of properties. "There is something" follows from "it is this".
//! - **A test that is gone** is looked for in the same way, and is no finding if what it tested is gone from the program: a
//!   name that it uses was defined before and is not now. So is a test of which the very same body still stands elsewhere.
//! - **Switched off** is what nothing can switch on: a skip without a condition. One on a platform is none. A test that was
//!   new with the change, or was off before, is none.
//! - **Expected values** are spoken of only where the program did not change. An edit of the inputs is none.
//! - **Settings** are compared over all files: one that moved to another file is none. One that names folders which hold no
//!   tests, or files that are new or gone with this change, is none.
//! - **Exit codes**: a check that was heard before, in the same script, target or job, and is nowhere in it heard now.
//! - **Early exits** in tests count where no condition and no call of a helper leads to them.

mod asserts;
mod compare;
mod config;
mod counted;
mod dead;
mod disarmed;
mod exits;
mod expected;
mod forced;
mod lex;
mod marks;
mod markup;
mod path;
mod recipe;
mod shadow;
mod sheet;
#[cfg(test)]
mod tests;

pub use counted::{Counted, fewer, no_test_ran, tests_counted};
pub use path::{holds_tests, matters};
pub use ralph_core::tampering::{Finding, Tampering};

use compare::Side;
use path::Language;
use sheet::Sheet;

/// Larger files are not read: nobody writes tests of this size by hand.
const MOST_BYTES: usize = 256 << 10;

/// A file of the change. Both texts `None`: it changed, and its text was not kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceFile {
    /// Relative to the workspace, with `/`.
    pub path: String,
    /// `None`: it was not there.
    pub before: Option<String>,
    /// `None`: it is not there any more.
    pub after: Option<String>,
}

/// What was found in a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    pub findings: Vec<Finding>,
    /// Tests went for a reason that can be seen (merged, or gone with what they tested): a runner that counts fewer of them
    /// is to be expected.
    pub fewer_expected: bool,
}

/// What all changed files together did to the tests. Test files that did not change may be among
/// them: what still stands there is not gone.
pub fn review(files: &[SourceFile]) -> Vec<Finding> {
    examine(files).findings
}

/// As [`review`], with what a comparison of counts needs to know.
pub fn examine(files: &[SourceFile]) -> Review {
    let small = |text: &Option<String>| text.as_ref().is_none_or(|text| text.len() <= MOST_BYTES);
    let changed: Vec<SourceFile> = files
        .iter()
        .filter(|file| file.before != file.after || file.before.is_none())
        .filter(|file| small(&file.before) && small(&file.after))
        .cloned()
        .collect();
    let side = |text: fn(&SourceFile) -> &Option<String>| -> Side {
        let there = changed.iter().filter_map(|file| Some((file, text(file).as_deref()?)));
        there
            .filter(|(file, _)| Language::of(&file.path).is_some())
            .map(|(file, text)| (file.path.clone(), Sheet::read(&file.path, text)))
            .collect()
    };
    let (before, after) = (side(|file| &file.before), side(|file| &file.after));
    let still = files.iter().filter(|file| file.before.is_some() && file.before == file.after);
    let standing: Side = still
        .filter(|file| small(&file.after) && path::is_test(&file.path))
        .filter_map(|file| Some((file.path.clone(), Sheet::read(&file.path, file.after.as_deref()?))))
        .collect();
    let compared = compare::compare(&before, &after, &data(&changed), &standing);
    let mut findings = compared.findings.clone();
    if !program_changed(&changed, &before, &after) {
        if !beside_changed(&changed, &before, &after) {
            findings.extend(expected::in_tests(&compared));
        }
        if before.iter().all(|(path, old)| after.get(path).is_some_and(|new| same_tokens(old, new))) {
            findings.extend(expected::in_files(&changed));
        }
    }
    findings.extend(marks::new_marks(&changed, |path, text| {
        let mut all = config::marks(path, text);
        all.extend(forced::marks(path, text));
        all.extend(disarmed::marks(path, text));
        all
    }));
    findings.extend(disarmed::loaded(&changed));
    findings.extend(config::shrunk(&changed));
    findings.extend(recipe::review(&changed));
    findings.extend(exits::review(&before, &after));
    findings.extend(shadow::review(&changed));
    findings.sort();
    findings.dedup();
    Review { findings, fewer_expected: compared.fewer_expected }
}

fn same_tokens(old: &Sheet, new: &Sheet) -> bool {
    old.tokens.list.iter().map(lex::Token::key).eq(new.tokens.list.iter().map(lex::Token::key))
}

/// Read of each of them, and so many at most.
const MOST_DATA: (usize, usize) = (64 << 10, 32);

/// Texts of the tests' other files that are new or changed: values may have gone there.
fn data(files: &[SourceFile]) -> Vec<String> {
    let beside = files.iter().filter(|file| {
        Language::of(&file.path).is_none() && (path::is_test(&file.path) || path::is_golden(&file.path))
    });
    let texts = beside.filter_map(|file| file.after.as_ref());
    texts.take(MOST_DATA.1).map(|text| text.chars().take(MOST_DATA.0).collect()).collect()
}

const PROSE: &[&str] = &["md", "rst", "adoc", "markdown", "org"];

/// Whether anything changed that may change what the program does.
fn program_changed(files: &[SourceFile], before: &Side, after: &Side) -> bool {
    files.iter().any(|file| {
        let ext = file.path.rsplit_once('.').map_or("", |(_, ext)| ext);
        let recipe = path::is_pipeline(&file.path)
            || ["Makefile", "justfile", "GNUmakefile"].contains(&path::name(&file.path));
        if PROSE.contains(&ext) || recipe || path::is_golden(&file.path) {
            return false;
        }
        match (before.get(&file.path), after.get(&file.path)) {
            (Some(old), Some(new)) => old.program() != new.program(),
            (Some(old), None) => !old.program().is_empty(),
            // A new source does nothing by itself: what was there has to use it.
            (None, Some(_)) => false,
            (None, None) => true,
        }
    })
}

/// Whether what stands beside the tests changed: fixtures, tables, helpers.
fn beside_changed(files: &[SourceFile], before: &Side, after: &Side) -> bool {
    let helpers = |side: &Side| -> Vec<String> {
        let all = side.values().flat_map(|sheet| {
            let ranges = sheet.helpers.iter().flat_map(|(_, range)| range.clone());
            ranges.map(|at| sheet.tokens.list[at].key()).collect::<Vec<_>>()
        });
        all.collect()
    };
    let data = files.iter().any(|file| {
        Language::of(&file.path).is_none() && path::is_test(&file.path) && !path::is_golden(&file.path)
    });
    data || helpers(before) != helpers(after)
}

/// A script of the shell, by its name or its first line.
fn shell_like(path: &str, text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let shebang = first.starts_with("#!")
        && ["/sh", "/bash", " sh", " bash", "/dash", "/zsh", " zsh"]
            .iter()
            .any(|shell| first.contains(shell));
    Language::of(path) == Some(Language::Shell) && !path.ends_with(".bats") || shebang
}
