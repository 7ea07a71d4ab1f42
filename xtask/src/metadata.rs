//! What we need of `cargo metadata`: packages, their targets and their declared dependencies.

use crate::{Result, repo};
use serde::Deserialize;
use std::path::Path;

#[derive(Debug, Default, Deserialize)]
pub struct Metadata {
    pub packages: Vec<Package>,
    workspace_root: String,
}

#[derive(Debug, Deserialize)]
pub struct Package {
    pub name: String,
    /// Relative to the workspace root, like every path here.
    pub manifest_path: String,
    pub dependencies: Vec<Dependency>,
    pub targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
pub struct Dependency {
    pub name: String,
    /// None for a normal dependency, else `dev` or `build`.
    pub kind: Option<String>,
    pub rename: Option<String>,
    #[serde(default)]
    pub features: Vec<String>,
}

impl Dependency {
    /// Normal and build dependencies shape the product; dev-dependencies only its tests.
    pub fn is_dev(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

#[derive(Debug, Deserialize)]
pub struct Target {
    pub kind: Vec<String>,
    pub src_path: String,
}

/// Parses `cargo metadata --no-deps` and makes its paths relative to the workspace root.
pub fn parse(json: &str) -> Result<Metadata> {
    let mut metadata: Metadata =
        serde_json::from_str(json).map_err(|error| format!("cargo metadata is not as expected: {error}"))?;
    let root = format!("{}/", metadata.workspace_root);
    let relative = |path: &str| path.strip_prefix(&root).unwrap_or(path).to_owned();
    for package in &mut metadata.packages {
        package.manifest_path = relative(&package.manifest_path);
        for target in &mut package.targets {
            target.src_path = relative(&target.src_path);
        }
    }
    Ok(metadata)
}

pub fn read(root: &Path) -> Result<Metadata> {
    parse(&repo::stdout_of(repo::cargo(root).args(["metadata", "--format-version", "1", "--no-deps"]))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_relative_and_kinds_are_told_apart() {
        let json = r#"{"workspace_root": "/r", "version": 1, "packages": [{
            "name": "a", "manifest_path": "/r/crates/a/Cargo.toml",
            "dependencies": [{"name": "b", "kind": null, "rename": null}, {"name": "c", "kind": "dev", "rename": null}],
            "targets": [{"kind": ["lib"], "src_path": "/r/crates/a/src/lib.rs"}]}]}"#;
        let metadata = parse(json).unwrap();
        let package = &metadata.packages[0];
        assert_eq!(package.manifest_path, "crates/a/Cargo.toml");
        assert_eq!(package.targets[0].src_path, "crates/a/src/lib.rs");
        assert_eq!(package.dependencies.iter().map(Dependency::is_dev).collect::<Vec<_>>(), [false, true]);
        assert!(parse("{}").unwrap_err().contains("not as expected"));
    }
}
