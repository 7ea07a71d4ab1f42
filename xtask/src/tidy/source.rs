//! The Rust files: parsed, and found by walking `mod` declarations from the root of each target.

use super::Violation;
use crate::metadata::Metadata;
use proc_macro2::Span;
use quote::ToTokens;
use std::collections::BTreeMap;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, ImplItem, Item, ItemMod, Lit, Meta, Token, punctuated::Punctuated};

use super::tokens::{self, Token};

/// What a file is part of. The strongest wins when it is part of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Test,
    /// Examples, benchmarks, build scripts: not in the product, but read like it.
    Example,
    Code,
}

pub struct Source {
    /// The message and line of the parser when the file is not Rust.
    pub ast: Result<syn::File, (usize, String)>,
    /// None when no module declares the file.
    pub role: Option<Role>,
    pub tokens: Vec<Token>,
    /// First and last lines of the test items in it.
    tests: Vec<(usize, usize)>,
}

impl Source {
    fn parse(text: &str) -> Source {
        let ast = syn::parse_file(text).map_err(|error| (error.span().start().line, error.to_string()));
        let tokens = ast.as_ref().map_or_else(|_| Vec::new(), |ast| tokens::flatten(ast.to_token_stream()));
        let mut finder = TestFinder { ranges: Vec::new() };
        if let Ok(ast) = &ast {
            finder.visit_file(ast);
        }
        Source { ast, role: None, tokens, tests: finder.ranges }
    }

    /// Is this line part of a `#[cfg(test)]` item or a test function?
    pub fn is_test_line(&self, line: usize) -> bool {
        self.tests.iter().any(|(first, last)| (*first..=*last).contains(&line))
    }
}

#[derive(Default)]
pub struct Sources {
    pub files: BTreeMap<String, Source>,
    /// Declarations that name no file.
    pub dangling: Vec<Violation>,
}

impl Sources {
    pub fn read(metadata: &Metadata, texts: &BTreeMap<String, String>) -> Sources {
        let rust = texts.iter().filter(|(path, _)| path.ends_with(".rs"));
        let files = rust.map(|(path, text)| (path.clone(), Source::parse(text))).collect();
        let mut sources = Sources { files, dangling: Vec::new() };
        for target in metadata.packages.iter().flat_map(|package| &package.targets) {
            sources.walk(&target.src_path, role_of_target(&target.kind));
        }
        sources.dangling.sort();
        sources.dangling.dedup();
        sources
    }

    fn walk(&mut self, root: &str, role: Role) {
        let mut next = vec![(root.to_owned(), role, true)];
        while let Some((path, role, owns_folder)) = next.pop() {
            let Some(source) = self.files.get_mut(&path) else { continue };
            let own = source.ast.as_ref().is_ok_and(|ast| is_test(&ast.attrs));
            let role = if own { Role::Test } else { role };
            if source.role >= Some(role) {
                continue;
            }
            source.role = Some(role);
            let Ok(ast) = &source.ast else { continue };
            for child in children(&path, owns_folder, &ast.items) {
                let role = if child.test { Role::Test } else { role };
                match child.candidates.iter().find(|candidate| self.files.contains_key(*candidate)) {
                    Some(file) => next.push((file.clone(), role, child.owns_folder)),
                    None => {
                        let what = format!(
                            "`mod {}` has no file; add {} or remove the line",
                            child.name, child.candidates[0]
                        );
                        self.dangling.push(Violation::new(&path, child.line, what));
                    }
                }
            }
        }
    }
}

fn role_of_target(kinds: &[String]) -> Role {
    let is = |names: &[&str]| kinds.iter().any(|kind| names.contains(&kind.as_str()));
    match () {
        () if is(&["test"]) => Role::Test,
        () if is(&["example", "bench", "custom-build"]) => Role::Example,
        () => Role::Code,
    }
}

/// A `mod name;` in a file.
#[derive(Debug, PartialEq)]
struct Child {
    name: String,
    line: usize,
    /// Where the file may be, first choice first.
    candidates: Vec<String>,
    test: bool,
    /// Its own modules are beside it: a `mod.rs`, or named by `#[path]`.
    owns_folder: bool,
}

fn children(path: &str, owns_folder: bool, items: &[Item]) -> Vec<Child> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let below = if owns_folder || file == "mod.rs" {
        folder.to_owned()
    } else {
        join(folder, file.trim_end_matches(".rs"))
    };
    let mut found = Vec::new();
    collect(items, Place { beside: folder, below, test: false }, &mut found);
    found
}

struct Place<'a> {
    /// What a `#[path]` is relative to.
    beside: &'a str,
    /// Where plain declarations look.
    below: String,
    test: bool,
}

fn collect(items: &[Item], place: Place, found: &mut Vec<Child>) {
    for item in items {
        match item {
            Item::Mod(module) => collect_module(module, &place, found),
            // A list macro may declare the modules it lists.
            Item::Macro(call) => {
                let tokens = tokens::flatten(call.mac.tokens.clone());
                for window in tokens.windows(3) {
                    if let [keyword, name, end] = window
                        && keyword.ident() == Some("mod")
                        && let Some(name) = name.ident()
                        && end.is(';')
                    {
                        found.push(plain(name, keyword.line, &place, place.test));
                    }
                }
            }
            _ => {}
        }
    }
}

fn collect_module(module: &ItemMod, place: &Place, found: &mut Vec<Child>) {
    let name = module.ident.to_string();
    let test = place.test || is_test(&module.attrs);
    let named = module.attrs.iter().find_map(path_attribute);
    if let Some((_, items)) = &module.content {
        let below = match &named {
            Some(folder) => join(place.beside, folder),
            None => join(&place.below, name.trim_start_matches("r#")),
        };
        collect(items, Place { beside: &below.clone(), below, test }, found);
        return;
    }
    let line = module.mod_token.span.start().line;
    found.push(match named {
        Some(file) => {
            Child { name, line, candidates: vec![join(place.beside, &file)], test, owns_folder: true }
        }
        None => plain(&name, line, place, test),
    });
}

fn plain(name: &str, line: usize, place: &Place, test: bool) -> Child {
    let stem = join(&place.below, name.trim_start_matches("r#"));
    let candidates = vec![format!("{stem}.rs"), format!("{stem}/mod.rs")];
    Child { name: name.to_owned(), line, candidates, test, owns_folder: false }
}

fn path_attribute(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Joins and resolves `.` and `..`, by text alone.
fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Do these attributes keep the item out of every build but the tests?
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            list.parse_args::<Meta>().is_ok_and(|meta| implies_test(&meta))
        }
        // `#[test]`, and the `#[x::test]` of other harnesses.
        Meta::Path(path) => path.segments.last().is_some_and(|last| last.ident == "test"),
        _ => false,
    })
}

fn implies_test(meta: &Meta) -> bool {
    match meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => {
            let Ok(parts) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else {
                return false;
            };
            match () {
                () if list.path.is_ident("all") => parts.iter().any(implies_test),
                () if list.path.is_ident("any") => !parts.is_empty() && parts.iter().all(implies_test),
                () => false,
            }
        }
        Meta::NameValue(_) => false,
    }
}

struct TestFinder {
    ranges: Vec<(usize, usize)>,
}

impl TestFinder {
    fn is_new_range(&mut self, attributes: &[Attribute], span: Span) -> bool {
        let test = is_test(attributes);
        if test {
            self.ranges.push((span.start().line, span.end().line));
        }
        test
    }
}

impl<'a> Visit<'a> for TestFinder {
    fn visit_item(&mut self, item: &'a Item) {
        if !self.is_new_range(attributes(item), item.span()) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'a ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Const(it) => &it.attrs,
            ImplItem::Fn(it) => &it.attrs,
            ImplItem::Type(it) => &it.attrs,
            ImplItem::Macro(it) => &it.attrs,
            _ => &[],
        };
        if !self.is_new_range(attributes, item.span()) {
            visit::visit_impl_item(self, item);
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::ExternCrate(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{role, tree};

    fn candidates(path: &str, text: &str) -> Vec<String> {
        let ast = syn::parse_file(text).unwrap();
        children(path, path.ends_with("lib.rs"), &ast.items)
            .into_iter()
            .map(|it| it.candidates[0].clone())
            .collect()
    }

    #[test]
    fn modules_are_looked_for_where_rustc_looks() {
        assert_eq!(candidates("a/src/lib.rs", "mod x;"), ["a/src/x.rs"]);
        assert_eq!(candidates("a/src/x.rs", "mod y;"), ["a/src/x/y.rs"]);
        assert_eq!(candidates("a/src/x/mod.rs", "mod y;"), ["a/src/x/y.rs"]);
        assert_eq!(candidates("a/src/lib.rs", "mod x { mod y { mod r#type; } }"), ["a/src/x/y/type.rs"]);
        assert_eq!(candidates("a/src/x.rs", "#[path = \"../z.rs\"] mod y;"), ["a/z.rs"]);
        assert_eq!(
            candidates("a/src/lib.rs", "list! { mod x; struct Y; mod z; }"),
            ["a/src/x.rs", "a/src/z.rs"]
        );
    }

    #[test]
    fn roles_follow_the_declarations_and_the_strongest_wins() {
        let tree = tree(&[
            ("a/src/lib.rs", "mod x; #[cfg(test)] mod tests; #[cfg(test)] mod both; mod y { mod z; }"),
            ("a/src/x.rs", ""),
            ("a/src/tests.rs", "mod deep;"),
            ("a/src/tests/deep.rs", ""),
            ("a/src/both.rs", ""),
            ("a/src/y/z.rs", "#[path = \"../both.rs\"] mod again;"),
            ("a/src/lost.rs", ""),
            ("a/tests/it.rs", "mod common;"),
            ("a/tests/common/mod.rs", ""),
            ("a/examples/e.rs", ""),
        ]);
        let role = |path| role(&tree, path);
        assert_eq!(role("a/src/x.rs"), Some(Role::Code));
        assert_eq!(role("a/src/tests/deep.rs"), Some(Role::Test));
        assert_eq!(role("a/src/both.rs"), Some(Role::Code));
        assert_eq!(role("a/src/lost.rs"), None);
        assert_eq!(role("a/tests/common/mod.rs"), Some(Role::Test));
        assert_eq!(role("a/examples/e.rs"), Some(Role::Example));
        assert_eq!(tree.sources.dangling, []);
    }

    #[test]
    fn only_what_implies_test_is_a_test() {
        let is = |text: &str| {
            let source = Source::parse(&format!("#[{text}]\nfn f() {{\n}}\n"));
            (1..=3).map(|line| source.is_test_line(line)).collect::<Vec<_>>()
        };
        for yes in
            ["cfg(test)", "cfg(all(unix, test))", "cfg(any(test, all(test, unix)))", "test", "tokio::test"]
        {
            assert_eq!(is(yes), [true; 3], "{yes}");
        }
        for no in ["cfg(not(test))", "cfg(any(test, feature = \"sim\"))", "cfg(unix)", "cfg(any())", "inline"]
        {
            assert_eq!(is(no), [false; 3], "{no}");
        }
    }

    #[test]
    fn test_lines_end_with_the_item() {
        let source = Source::parse(
            "struct A;\nimpl A {\n#[cfg(test)]\nfn t() {}\nfn u() {}\n}\n#[cfg(test)]\nmod t {\n}\nfn v() {}\n",
        );
        let lines: Vec<_> = (1..=10).filter(|line| source.is_test_line(*line)).collect();
        assert_eq!(lines, [3, 4, 7, 8, 9]);
    }
}
