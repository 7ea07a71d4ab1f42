//! The crates below the store and the runtime do no I/O: neither through a crate nor through std.

use super::arrows::line_of;
use super::source::{Role, Source};
use super::tokens;
use super::{Tree, Violation};
use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{ItemExternCrate, ItemUse, UseTree};

const PURE: &[&str] = &["ralph-core", "ralph-evidence", "ralph-agents", "ralph-model"];

/// Crates that touch the world. A name stands for its family too: `tokio` for `tokio-util`.
const IO_CRATES: &[&str] = &[
    // Systems and runtimes.
    "async-io",
    "async-process",
    "async-std",
    "crossbeam",
    "ctrlc",
    "libc",
    "memmap2",
    "mio",
    "nix",
    "polling",
    "rayon",
    "rustix",
    "signal-hook",
    "smol",
    "tokio",
    "windows",
    "windows-sys",
    // Files and folders.
    "camino-tempfile",
    "directories",
    "dirs",
    "fd-lock",
    "fs-err",
    "fs2",
    "fs4",
    "home",
    "ignore",
    "notify",
    "tempfile",
    "walkdir",
    "which",
    // Processes, machine, randomness.
    "duct",
    "fastrand",
    "getrandom",
    "hostname",
    "num_cpus",
    "portable-pty",
    "rand",
    "sysinfo",
    "whoami",
    "xshell",
    // Network and screens.
    "axum",
    "clap",
    "console",
    "crossterm",
    "curl",
    "env_logger",
    "hyper",
    "indicatif",
    "ratatui",
    "reqwest",
    "socket2",
    "termion",
    "tiny_http",
    "tracing-subscriber",
    "ureq",
];

/// Paths of std that touch the world, and what pure code does instead.
const STD: &[(&[&str], &str)] = &[
    (&["std", "fs"], "take the text as an argument"),
    (&["std", "net"], "return an effect"),
    (&["std", "process"], "return an effect"),
    (&["std", "thread"], "return an effect"),
    (&["std", "env"], "take the value as an argument"),
    (&["std", "os"], "leave it to ralph-runtime"),
    (&["std", "time", "Instant"], "take `now` as an argument"),
    (&["std", "time", "SystemTime"], "take `now` as an argument"),
    (&["std", "time", "UNIX_EPOCH"], "take `now` as an argument"),
    (&["std", "io", "stdin"], "take the text as an argument"),
    (&["std", "io", "stdout"], "return an event"),
    (&["std", "io", "stderr"], "return an event"),
];

const PRINTS: &[&str] = &["print", "println", "eprint", "eprintln"];

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for package in tree.metadata.packages.iter().filter(|it| PURE.contains(&it.name.as_str())) {
        let manifest = tree.text(&package.manifest_path);
        for dependency in package.dependencies.iter().filter(|it| !it.is_dev() && is_io_crate(&it.name)) {
            let what = format!(
                "`{}` is pure and must not use the I/O crate `{}`; do this work in ralph-runtime",
                package.name, dependency.name
            );
            found.push(Violation::new(&package.manifest_path, line_of(manifest, dependency), what));
        }
        let folder = package.manifest_path.trim_end_matches("Cargo.toml");
        let own = tree.sources.files.iter().filter(|(path, _)| path.starts_with(folder));
        for (path, source) in own.filter(|(_, source)| source.role == Some(Role::Code)) {
            found.extend(impure(source).into_iter().map(|(line, what)| Violation::new(path, line, what)));
        }
    }
    found
}

fn is_io_crate(name: &str) -> bool {
    IO_CRATES
        .iter()
        .any(|io| name.strip_prefix(io).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_'])))
}

fn forbidden(path: &[String]) -> Option<String> {
    let (rule, instead) = STD
        .iter()
        .find(|(rule, _)| path.len() >= rule.len() && rule.iter().zip(path).all(|(a, b)| a == b))?;
    Some(format!("pure code must not use {}; {instead}", rule.join("::")))
}

/// Is something forbidden below this path?
fn leads_to_forbidden(path: &[String]) -> bool {
    STD.iter().any(|(rule, _)| rule.len() > path.len() && rule.iter().zip(path).all(|(a, b)| a == b))
}

/// Line and text of each impure thing outside of tests.
fn impure(source: &Source) -> Vec<(usize, String)> {
    let Ok(ast) = &source.ast else { return Vec::new() };
    let mut imports = Imports { source, aliases: BTreeMap::new(), found: Vec::new() };
    imports.aliases.insert("std".into(), vec!["std".into()]);
    imports.visit_file(ast);
    let Imports { aliases, mut found, .. } = imports;
    for (at, token) in source.tokens.iter().enumerate().filter(|(_, token)| !source.is_test_line(token.line))
    {
        if let Some(name) = tokens::macro_call(&source.tokens, at).filter(|name| PRINTS.contains(name)) {
            found.push((token.line, format!("pure code must not print with {name}!; return an event")));
        }
        let Some(path) = tokens::path(&source.tokens, at) else { continue };
        let Some(start) = aliases.get(path[0]) else { continue };
        // `std::env!` is a macro of the compiler, not the module.
        let last = at + 3 * (path.len() - 1);
        let skip = usize::from(tokens::macro_call(&source.tokens, last).is_some());
        let rest = path[1..].iter().take((path.len() - 1).saturating_sub(skip)).map(|part| part.to_string());
        let whole: Vec<String> = start.iter().cloned().chain(rest).collect();
        if let Some(what) = forbidden(&whole) {
            found.push((token.line, what));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Looks through `use` trees, and remembers the names that lead to forbidden things.
struct Imports<'a> {
    source: &'a Source,
    aliases: BTreeMap<String, Vec<String>>,
    found: Vec<(usize, String)>,
}

impl Imports<'_> {
    fn tree(&mut self, tree: &UseTree, path: &mut Vec<String>) {
        match tree {
            UseTree::Path(it) => {
                path.push(it.ident.to_string());
                self.tree(&it.tree, path);
                path.pop();
            }
            UseTree::Group(it) => it.items.iter().for_each(|tree| self.tree(tree, path)),
            UseTree::Name(it) if it.ident == "self" => {
                let name = path.last().cloned().unwrap_or_default();
                self.leaf(path, &name, it.ident.span().start().line);
            }
            UseTree::Name(it) => {
                path.push(it.ident.to_string());
                self.leaf(path, &it.ident.to_string(), it.ident.span().start().line);
                path.pop();
            }
            UseTree::Rename(it) => {
                let own = it.ident != "self";
                if own {
                    path.push(it.ident.to_string());
                }
                self.leaf(path, &it.rename.to_string(), it.ident.span().start().line);
                if own {
                    path.pop();
                }
            }
            UseTree::Glob(it) => {
                let line = it.star_token.spans[0].start().line;
                if leads_to_forbidden(path) {
                    let what =
                        format!("pure code must not import {}::*; name what it needs", path.join("::"));
                    self.found.push((line, what));
                } else if let Some(what) = forbidden(path) {
                    self.found.push((line, what));
                }
            }
        }
    }

    fn leaf(&mut self, path: &[String], name: &str, line: usize) {
        if let Some(what) = forbidden(path) {
            self.found.push((line, what));
        } else if leads_to_forbidden(path) {
            self.aliases.insert(name.to_owned(), path.to_vec());
        }
    }
}

impl<'a> Visit<'a> for Imports<'_> {
    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if !self.source.is_test_line(item.use_token.span.start().line) {
            self.tree(&item.tree, &mut Vec::new());
        }
        visit::visit_item_use(self, item);
    }

    fn visit_item_extern_crate(&mut self, item: &'a ItemExternCrate) {
        if let Some((_, name)) = item.rename.as_ref().filter(|_| item.ident == "std") {
            self.aliases.insert(name.to_string(), vec!["std".into()]);
        }
    }
}

#[cfg(test)]
mod tests;
