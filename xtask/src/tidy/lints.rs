//! Every crate opts into the workspace lints; without the line they do not hold for it, and nobody is told.

use super::{Tree, Violation, line_where};

pub fn check(tree: &Tree) -> Vec<Violation> {
    let manifests = tree.metadata.packages.iter().map(|package| &package.manifest_path);
    manifests
        .filter(|path| !opts_in(tree.text(path)))
        .map(|path| {
            let line = line_where(tree.text(path), |line| line.trim() == "[lints]");
            Violation::new(
                path,
                line,
                "the crate does not use the workspace lints; add `[lints]` and `workspace = true`",
            )
        })
        .collect()
}

fn opts_in(manifest: &str) -> bool {
    let mut section = "";
    for line in manifest.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let compact: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        if line.starts_with('[') {
            section = line;
        }
        match section {
            "[lints]" if compact == "workspace=true" => return true,
            "" if compact == "lints.workspace=true" => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{places, tree};

    #[test]
    fn both_ways_to_opt_in_pass() {
        assert!(opts_in("[package]\n[lints]\nworkspace = true # all of them\n[dependencies]\n"));
        assert!(opts_in("lints.workspace=true\n[package]\n"));
    }

    #[test]
    fn a_missing_commented_or_misplaced_line_does_not() {
        for manifest in [
            "[package]\n",
            "[lints]\n# workspace = true\n",
            "[lints]\nworkspace = false\n",
            "[lints]\n[dependencies]\nworkspace = true\n",
            "[package]\nlints.workspace = true\n",
        ] {
            assert!(!opts_in(manifest), "{manifest}");
        }
    }

    #[test]
    fn the_violation_names_the_manifest() {
        let found = check(&tree(&[
            ("crates/a/Cargo.toml", "[package]\n[lints]\n"),
            ("crates/b/Cargo.toml", "[lints]\nworkspace = true\n"),
        ]));
        assert_eq!(places(&found), ["crates/a/Cargo.toml:2"]);
    }
}
