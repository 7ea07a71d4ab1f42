//! Crates depend on each other only as drawn in the design.

use super::{Tree, Violation, line_where};
use crate::metadata::{Dependency, Package};
use std::collections::{BTreeMap, BTreeSet};

/// Each crate of the workspace and the crates of it that its product code may use. `xtask` uses none, so that it
/// runs while they do not compile.
const ARROWS: &[(&str, &[&str])] = &[
    ("ralph-core", &[]),
    ("ralph-agents", &["ralph-core"]),
    ("ralph-evidence", &["ralph-core"]),
    ("ralph-model", &["ralph-core"]),
    ("ralph-config", &["ralph-agents", "ralph-core"]),
    ("ralph-store", &["ralph-core", "ralph-model"]),
    ("ralph-runtime", &["ralph-agents", "ralph-core", "ralph-evidence", "ralph-model", "ralph-store"]),
    // Screens see the public model alone.
    ("ralph-ui", &["ralph-model"]),
    (
        "ralph-cli",
        &[
            "ralph-agents",
            "ralph-config",
            "ralph-core",
            "ralph-evidence",
            "ralph-model",
            "ralph-runtime",
            "ralph-store",
            "ralph-ui",
        ],
    ),
    ("xtask", &[]),
];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let members: BTreeSet<&str> =
        tree.metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let mut found = Vec::new();
    for package in &tree.metadata.packages {
        let manifest = tree.text(&package.manifest_path);
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == package.name) else {
            let what = format!(
                "crate `{}` is not on the map; add it to ARROWS in xtask/src/tidy/arrows.rs and say what it may use",
                package.name
            );
            found.push(Violation::new(&package.manifest_path, 1, what));
            continue;
        };
        let inside = |dependency: &&Dependency| members.contains(dependency.name.as_str());
        for dependency in package.dependencies.iter().filter(inside).filter(|it| !it.is_dev()) {
            if !allowed.contains(&dependency.name.as_str()) {
                let what = format!(
                    "`{}` must not depend on `{}`; it may use {}",
                    package.name,
                    dependency.name,
                    if allowed.is_empty() { "no crate of the workspace".into() } else { allowed.join(", ") }
                );
                found.push(Violation::new(&package.manifest_path, line_of(manifest, dependency), what));
            }
        }
    }
    found.extend(cycles(tree, &members));
    found
}

/// The line of a manifest that declares a dependency.
pub fn line_of(manifest: &str, dependency: &Dependency) -> usize {
    let name = dependency.rename.as_deref().unwrap_or(&dependency.name);
    let mut section = String::new();
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = header.to_owned();
            if section.ends_with(&format!("dependencies.{name}")) {
                return index + 1;
            }
        } else if section.ends_with("dependencies")
            && line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        {
            let dev = section.ends_with("dev-dependencies");
            if dev == dependency.is_dev() {
                return index + 1;
            }
        }
    }
    line_where(manifest, |line| line.contains(name))
}

/// Dev-dependencies may be looser than the arrows, but with them the graph still has no circle.
fn cycles(tree: &Tree, members: &BTreeSet<&str>) -> Vec<Violation> {
    let uses: BTreeMap<&str, Vec<&str>> = tree
        .metadata
        .packages
        .iter()
        .map(|package| {
            let names = package.dependencies.iter().map(|it| it.name.as_str());
            // A package may use itself in its tests, to switch on one of its features.
            let names = names.filter(|name| *name != package.name);
            (package.name.as_str(), names.filter(|name| members.contains(name)).collect())
        })
        .collect();
    let circular = |package: &&Package| reaches(&uses, &package.name, &package.name);
    let packages = tree.metadata.packages.iter().filter(circular);
    packages
        .flat_map(|package| {
            let closing = package.dependencies.iter().filter(|it| {
                it.name != package.name && members.contains(it.name.as_str()) && reaches(&uses, &it.name, &package.name)
            });
            closing.map(|it| {
                let what = format!(
                    "`{}` and `{}` depend on each other, dev-dependencies included; move the test to the upper crate",
                    package.name, it.name
                );
                Violation::new(&package.manifest_path, line_of(tree.text(&package.manifest_path), it), what)
            })
        })
        .collect()
}

fn reaches<'a>(uses: &BTreeMap<&'a str, Vec<&'a str>>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&str> = uses.get(from).cloned().unwrap_or_default();
    while let Some(name) = next.pop() {
        if name == to {
            return true;
        }
        if seen.insert(name) {
            next.extend(uses.get(name).into_iter().flatten());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{places, tree};

    const CORE: (&str, &str) = ("crates/ralph-core/Cargo.toml", "[package]\n");
    const MODEL: (&str, &str) = ("crates/ralph-model/Cargo.toml", "[dependencies]\nralph-core = normal\n");
    const UI: (&str, &str) = ("crates/ralph-ui/Cargo.toml", "[dependencies]\nralph-model = normal\n");

    #[test]
    fn drawn_arrows_and_outside_crates_pass() {
        let cli = "[dependencies]\nralph-ui = normal\nralph-core = normal\nclap = normal\n";
        assert_eq!(check(&tree(&[CORE, MODEL, UI, ("crates/ralph-cli/Cargo.toml", cli)])), []);
    }

    #[test]
    fn an_arrow_that_is_not_drawn_is_named_with_its_line() {
        let runtime = "[package]\nname = \"x\"\n[dependencies]\nserde = normal\nralph-ui = normal\n";
        let found = check(&tree(&[CORE, MODEL, UI, ("crates/ralph-runtime/Cargo.toml", runtime)]));
        assert_eq!(places(&found), ["crates/ralph-runtime/Cargo.toml:5"]);
        assert!(found[0].what.contains("must not depend on `ralph-ui`"), "{found:?}");
        assert!(found[0].what.contains("ralph-agents, ralph-core"), "{found:?}");
    }

    #[test]
    fn a_screen_that_looks_past_the_public_model_is_named() {
        let ui = ("crates/ralph-ui/Cargo.toml", "[dependencies]\nralph-core = normal\n");
        let found = check(&tree(&[CORE, ui]));
        assert_eq!(places(&found), ["crates/ralph-ui/Cargo.toml:2"]);
        assert!(found[0].what.contains("it may use ralph-model"), "{found:?}");
    }

    #[test]
    fn a_build_dependency_counts_and_a_dev_dependency_may_be_looser() {
        let with = |kind: &str| {
            let agents = format!("[dev-dependencies]\nralph-ui = {kind}\n");
            check(&tree(&[CORE, MODEL, UI, ("crates/ralph-agents/Cargo.toml", &agents)])).len()
        };
        assert_eq!([with("normal"), with("build"), with("dev")], [1, 1, 0]);
    }

    #[test]
    fn a_circle_through_a_dev_dependency_is_found() {
        let core = ("crates/ralph-core/Cargo.toml", "[dev-dependencies]\nralph-model = dev\n");
        let found = check(&tree(&[core, MODEL]));
        assert_eq!(places(&found), ["crates/ralph-core/Cargo.toml:2", "crates/ralph-model/Cargo.toml:2"]);
        let own = ("crates/ralph-core/Cargo.toml", "[dev-dependencies]\nralph-core = dev\n");
        assert_eq!(check(&tree(&[own])), [], "its own tests may switch on its features");
    }

    #[test]
    fn a_crate_that_is_not_on_the_map_is_named() {
        let found = check(&tree(&[("crates/ralph-extra/Cargo.toml", "[package]\n")]));
        assert!(found[0].what.contains("`ralph-extra` is not on the map"), "{found:?}");
    }

    #[test]
    fn the_line_of_a_dependency_is_found_in_each_way_to_write_it() {
        let dependency = |rename: Option<&str>, kind: Option<&str>| Dependency {
            name: "tokio".into(),
            kind: kind.map(str::to_owned),
            rename: rename.map(str::to_owned),
            features: Vec::new(),
        };
        let text = "[package]\ndescription = \"tokio\"\n[dependencies]\ntokio-util = \"1\"\ntokio.workspace = true\n";
        assert_eq!(line_of(text, &dependency(None, None)), 5);
        assert_eq!(
            line_of("[target.'cfg(unix)'.dependencies.tokio]\nversion = \"1\"\n", &dependency(None, None)),
            1
        );
        assert_eq!(line_of("[dependencies]\nt = { package = \"tokio\" }\n", &dependency(Some("t"), None)), 2);
        let both = "[dependencies]\ntokio = \"1\"\n[dev-dependencies]\ntokio = \"1\"\n";
        assert_eq!(line_of(both, &dependency(None, Some("dev"))), 4);
        assert_eq!(line_of("", &dependency(None, None)), 1);
    }
}
