//! `cargo xtask tidy`: checks what a reviewer would. Each check is a pure function over the tree.

mod arrows;
mod behaviours;
mod exceptions;
mod generated;
mod lints;
mod modules;
mod private_state;
mod purity;
mod size;
mod source;
mod synchronous;
#[cfg(test)]
mod testing;
mod text;
mod tokens;

use crate::metadata::{self, Metadata};
use crate::{Result, repo};
use source::Sources;
use std::collections::BTreeMap;
use std::fmt;

/// One thing that is wrong, where it is, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    file: String,
    line: usize,
    what: String,
}

impl Violation {
    fn new(file: impl Into<String>, line: usize, what: impl Into<String>) -> Self {
        Violation { file: file.into(), line, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// Everything a check may look at.
pub struct Tree {
    metadata: Metadata,
    /// Text files by path.
    texts: BTreeMap<String, String>,
    sources: Sources,
    /// What each generated file should be.
    generated: Vec<generated::Expected>,
}

impl Tree {
    fn new(metadata: Metadata, texts: BTreeMap<String, String>, generated: Vec<generated::Expected>) -> Self {
        let sources = Sources::read(&metadata, &texts);
        Tree { metadata, texts, sources, generated }
    }

    fn text(&self, path: &str) -> &str {
        self.texts.get(path).map_or("", String::as_str)
    }
}

struct Check {
    name: &'static str,
    summary: &'static str,
    run: fn(&Tree) -> Vec<Violation>,
}

const CHECKS: &[Check] = &[
    Check { name: "arrows", summary: "Crates depend on each other only as drawn.", run: arrows::check },
    Check {
        name: "purity",
        summary: "ralph-core, ralph-evidence, ralph-agents and ralph-model do no I/O.",
        run: purity::check,
    },
    Check {
        name: "private_state",
        summary: "Nothing outside ralph-core sees the engine's state.",
        run: private_state::check,
    },
    Check {
        name: "synchronous",
        summary: "A run is one synchronous process; only the leaves ralph-web and ralph-fleet are async.",
        run: synchronous::check,
    },
    Check {
        name: "size",
        summary: "Functions of at most 70 lines, files of at most 600, the driver under 150; tests aside.",
        run: size::check,
    },
    Check {
        name: "modules",
        summary: "Every Rust file parses and some module declares it.",
        run: modules::check,
    },
    Check {
        name: "text",
        summary: "No machine paths or hosts, unfinished code, ignored tests, stray white space.",
        run: text::check,
    },
    Check { name: "lints", summary: "Every crate opts into the workspace lints.", run: lints::check },
    Check {
        name: "behaviours",
        summary: "Each behaviour in docs/ralph-md-behaviours.md has a test; tests are not named by numbers.",
        run: behaviours::check,
    },
    Check { name: "generated", summary: "Generated files are up to date.", run: generated::check },
];

pub fn run(args: &[String]) -> Result<()> {
    match args {
        [] => {}
        [flag] if flag == "--list" => {
            println!("| check | what it holds |\n|---|---|");
            CHECKS.iter().for_each(|check| println!("| {} | {} |", check.name, check.summary));
            return Ok(());
        }
        _ => return Err("tidy takes nothing but `--list`".into()),
    }
    let root = repo::root();
    let texts = repo::text_files(&root)?;
    let generated = generated::expected(&root, &texts);
    let tree = Tree::new(metadata::read(&root)?, texts, generated);
    let violations = violations(&tree);
    violations.iter().for_each(|violation| println!("{violation}"));
    match violations.len() {
        0 => {
            println!("tidy: {} checks over {} files, nothing to do", CHECKS.len(), tree.texts.len());
            Ok(())
        }
        1 => Err("tidy: 1 violation".into()),
        many => Err(format!("tidy: {many} violations")),
    }
}

fn violations(tree: &Tree) -> Vec<Violation> {
    let mut all: Vec<Violation> = CHECKS.iter().flat_map(|check| (check.run)(tree)).collect();
    all.sort();
    all.dedup();
    all
}

/// The line, from 1, of the first line that matches; 1 when none does.
fn line_where(text: &str, matches: impl Fn(&str) -> bool) -> usize {
    text.lines().position(matches).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_prints_as_an_editor_can_jump_to_it() {
        assert_eq!(
            Violation::new("a/b.rs", 7, "is long; split it").to_string(),
            "a/b.rs:7: is long; split it"
        );
    }

    #[test]
    fn every_check_has_its_own_name() {
        let mut names: Vec<_> = CHECKS.iter().map(|check| check.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
    }

    #[test]
    fn violations_of_all_checks_come_out_sorted_and_once() {
        let tree =
            testing::tree(&[("crates/ralph-core/src/lib.rs", "use std::fs; \nfn f() {\tdbg!(1); }\n")]);
        let found = violations(&tree);
        assert!(found.is_sorted());
        for part in ["std::fs", "white space", "tab", "dbg!", "lints"] {
            assert_eq!(found.iter().filter(|one| one.what.contains(part)).count(), 1, "{part}: {found:#?}");
        }
    }
}
