//! Builds small trees for the tests of the checks.

use super::{Tree, Violation, source};
use crate::metadata::{self, Metadata};
use std::collections::BTreeMap;

/// A tree with these files. A `Cargo.toml` is made up for each crate that has sources and no manifest.
pub fn tree(files: &[(&str, &str)]) -> Tree {
    let mut texts: BTreeMap<String, String> =
        files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
    let crates: Vec<String> =
        texts.keys().filter_map(|path| path.split_once("/src/")).map(|it| it.0.to_owned()).collect();
    for folder in crates {
        texts.entry(format!("{folder}/Cargo.toml")).or_insert_with(|| "[package]\n".into());
    }
    let metadata = metadata(&texts);
    Tree::new(metadata, texts, Vec::new())
}

/// Packages as cargo would find them; a dependency is a line `name = KIND` with KIND normal, dev or build, or
/// `name = KIND+FEATURE`.
fn metadata(texts: &BTreeMap<String, String>) -> Metadata {
    let packages: Vec<_> = texts
        .iter()
        .filter_map(|(path, text)| Some((path.strip_suffix("/Cargo.toml")?, text)))
        .map(|(folder, manifest)| {
            let dependencies: Vec<_> = manifest
                .lines()
                .filter_map(|line| line.split_once(" = "))
                .map(|(name, kind)| {
                    (name, kind.split_once('+').map_or((kind, None), |it| (it.0, Some(it.1))))
                })
                .filter(|(_, (kind, _))| ["normal", "dev", "build"].contains(kind))
                .map(|(name, (kind, feature))| {
                    let kind = (kind != "normal").then_some(kind);
                    let features: Vec<_> = feature.into_iter().collect();
                    serde_json::json!({"name": name, "kind": kind, "rename": null, "features": features})
                })
                .collect();
            serde_json::json!({
                "name": folder.rsplit('/').next(),
                "manifest_path": format!("{folder}/Cargo.toml"),
                "dependencies": dependencies,
                "targets": targets(folder, texts),
            })
        })
        .collect();
    let json = serde_json::json!({"workspace_root": "/nowhere", "packages": packages});
    metadata::parse(&json.to_string()).unwrap()
}

fn targets(folder: &str, texts: &BTreeMap<String, String>) -> Vec<serde_json::Value> {
    let kind_of = |path: &str| match path.split('/').collect::<Vec<_>>()[..] {
        ["src", "lib.rs"] => Some("lib"),
        ["src", "main.rs"] => Some("bin"),
        ["tests", _] => Some("test"),
        ["examples", _] => Some("example"),
        _ => None,
    };
    texts
        .keys()
        .filter(|path| path.ends_with(".rs"))
        .filter_map(|path| Some((path, kind_of(path.strip_prefix(folder)?.strip_prefix('/')?)?)))
        .map(|(path, kind)| serde_json::json!({"kind": [kind], "src_path": path}))
        .collect()
}

/// `file:line` of each violation, in order.
pub fn places(violations: &[Violation]) -> Vec<String> {
    violations.iter().map(|one| format!("{}:{}", one.file, one.line)).collect()
}

pub fn role(tree: &Tree, path: &str) -> Option<source::Role> {
    tree.sources.files.get(path).and_then(|source| source.role)
}
