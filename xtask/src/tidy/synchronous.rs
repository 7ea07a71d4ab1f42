//! One run is one synchronous process: an async runtime may be linked only by the leaf crates that watch and steer runs,
//! and async code stands only there.

use super::arrows::line_of;
use super::source::Role;
use super::{Tree, Violation};
use syn::visit::{self, Visit};
use syn::{ExprAsync, ExprAwait, Signature};

/// Crates that watch and steer runs from outside. Nothing but the binary may depend on them.
const LEAVES: &[&str] = &["ralph-web", "ralph-fleet"];
const BINARY: &str = "ralph-cli";

/// Async runtimes, and crates that need one. A name stands for its family too.
const ASYNC_CRATES: &[&str] = &[
    "async-executor",
    "async-global-executor",
    "async-io",
    "async-nats",
    "async-std",
    "axum",
    "embassy",
    "futures-executor",
    "glommio",
    "hyper",
    "monoio",
    "reqwest",
    "smol",
    "sqlx",
    "tokio",
    "tonic",
    "tower",
    "warp",
];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for package in tree.metadata.packages.iter().filter(|package| !LEAVES.contains(&package.name.as_str())) {
        let manifest = tree.text(&package.manifest_path);
        for dependency in package.dependencies.iter().filter(|it| !it.is_dev()) {
            let is_leaf = LEAVES.contains(&dependency.name.as_str());
            let what = match (is_async(&dependency.name), is_leaf && package.name != BINARY) {
                (true, _) => "a run is synchronous; only ralph-web and ralph-fleet may link an async crate",
                (_, true) => "ralph-web and ralph-fleet are leaves; only the binary may use them",
                (false, false) => continue,
            };
            let what = format!("`{}` must not use `{}`: {what}", package.name, dependency.name);
            found.push(Violation::new(&package.manifest_path, line_of(manifest, dependency), what));
        }
        let folder = package.manifest_path.trim_end_matches("Cargo.toml");
        let own = tree.sources.files.iter().filter(|(path, _)| path.starts_with(folder));
        for (path, source) in own.filter(|(_, source)| source.role == Some(Role::Code)) {
            let Ok(ast) = &source.ast else { continue };
            let mut finder = AsyncCode { lines: Vec::new() };
            finder.visit_file(ast);
            found.extend(finder.lines.into_iter().map(|line| {
                Violation::new(
                    path,
                    line,
                    "async code stands only in ralph-web and ralph-fleet; use a thread",
                )
            }));
        }
    }
    found
}

fn is_async(name: &str) -> bool {
    let is_of = |family: &&str| {
        name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
    };
    ASYNC_CRATES.iter().any(is_of)
}

struct AsyncCode {
    lines: Vec<usize>,
}

impl<'a> Visit<'a> for AsyncCode {
    fn visit_signature(&mut self, signature: &'a Signature) {
        self.lines.extend(signature.asyncness.as_ref().map(|token| token.span.start().line));
        visit::visit_signature(self, signature);
    }

    fn visit_expr_async(&mut self, block: &'a ExprAsync) {
        self.lines.push(block.async_token.span.start().line);
        visit::visit_expr_async(self, block);
    }

    fn visit_expr_await(&mut self, expression: &'a ExprAwait) {
        self.lines.push(expression.await_token.span.start().line);
        visit::visit_expr_await(self, expression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{places, tree};

    #[test]
    fn an_async_runtime_is_for_leaves_alone() {
        let with = |name: &str, dependency: &str| {
            let path = format!("crates/{name}/Cargo.toml");
            let manifest = format!("[dependencies]\n{dependency} = normal\n");
            places(&check(&tree(&[(&path, &manifest)])))
        };
        assert_eq!(with("ralph-runtime", "tokio"), ["crates/ralph-runtime/Cargo.toml:2"]);
        assert_eq!(with("ralph-cli", "tokio-util"), ["crates/ralph-cli/Cargo.toml:2"]);
        assert!(with("ralph-web", "tokio").is_empty() && with("ralph-fleet", "async-nats").is_empty());
        assert!(with("ralph-runtime", "tokenizers").is_empty());
    }

    #[test]
    fn only_the_binary_uses_a_leaf() {
        let leaf = ("crates/ralph-web/Cargo.toml", "[package]\n");
        let with = |name: &str| {
            let path = format!("crates/{name}/Cargo.toml");
            check(&tree(&[leaf, (&path, "[dependencies]\nralph-web = normal\n")])).len()
        };
        assert_eq!([with("ralph-cli"), with("ralph-ui"), with("ralph-runtime")], [0, 1, 1]);
    }

    #[test]
    fn async_code_is_found_where_it_stands() {
        let text = "async fn f() {}\nfn g() {\n    let _ = async { f().await };\n}\n";
        let found = check(&tree(&[
            ("crates/ralph-runtime/Cargo.toml", ""),
            ("crates/ralph-runtime/src/lib.rs", text),
        ]));
        let found = places(&found);
        assert!(found.contains(&"crates/ralph-runtime/src/lib.rs:1".to_owned()), "{found:?}");
        assert!(found.contains(&"crates/ralph-runtime/src/lib.rs:3".to_owned()), "{found:?}");
        let leaf =
            check(&tree(&[("crates/ralph-web/Cargo.toml", ""), ("crates/ralph-web/src/lib.rs", text)]));
        assert_eq!(leaf, []);
    }
}
