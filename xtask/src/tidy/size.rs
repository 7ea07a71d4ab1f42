//! Functions of at most 70 lines, files of at most 600, the driver under 150; tests do not count there. Of all Rust files,
//! tests included, half have at most 150 lines and nineteen of twenty at most 400.

use super::exceptions::{EXCEPTIONS, Exception, HERE};
use super::source::{Role, Source};
use super::{Tree, Violation, line_where};
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, ItemImpl, ItemTrait, Signature, TraitItemFn, Type};

const FUNCTION_LINES: usize = 70;
const FILE_LINES: usize = 600;
const MEDIAN_LINES: usize = 150;
const P95_LINES: usize = 400;
/// Fewer files than this have no telling spread.
const ENOUGH_FILES: usize = 40;
const DRIVER: &[&str] = &["crates/ralph-runtime/src/driver.rs", "crates/ralph-runtime/src/driver/mod.rs"];
const DRIVER_LINES: usize = 149;

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = check_with(tree, EXCEPTIONS);
    found.extend(spread(tree));
    found
}

/// A house of a few large rooms is as hard to find one's way in as one large room.
fn spread(tree: &Tree) -> Vec<Violation> {
    let mut files: Vec<(usize, &String)> =
        tree.sources.files.keys().map(|path| (tree.text(path).lines().count(), path)).collect();
    files.sort_unstable();
    if files.len() < ENOUGH_FILES {
        return Vec::new();
    }
    let places = [("median", files.len() / 2, MEDIAN_LINES), ("p95", files.len() * 95 / 100, P95_LINES)];
    let over = places.into_iter().filter_map(|(name, index, limit)| {
        let (lines, path) = *files.get(index)?;
        let what =
            format!("the {name} of all files is {lines} lines, {limit} are allowed; split the longest files");
        (lines > limit).then(|| Violation::new(path, 1, what))
    });
    over.collect()
}

/// A function or a whole file that is over its limit.
struct Long {
    file: String,
    line: usize,
    /// Empty for a file.
    function: String,
    lines: usize,
    limit: usize,
}

fn check_with(tree: &Tree, exceptions: &[Exception]) -> Vec<Violation> {
    let judged = tree.sources.files.iter().filter(|(_, source)| source.role > Some(Role::Test));
    let long: Vec<Long> =
        judged.flat_map(|(path, source)| long_parts(path, source, tree.text(path))).collect();
    let covers = |one: &Long, (file, function, lines, _): &Exception| {
        one.file == *file && one.function == *function && one.lines <= *lines
    };
    let mut found: Vec<Violation> = long
        .iter()
        .filter(|one| !exceptions.iter().any(|exception| covers(one, exception)))
        .map(|one| {
            let thing = if one.function.is_empty() { "file".into() } else { format!("function `{}`", one.function) };
            let what = format!(
                "{thing} has {} lines without tests, {} are allowed; split it, or add an exception with its reason to {HERE}",
                one.lines, one.limit
            );
            Violation::new(&one.file, one.line, what)
        })
        .collect();
    for (file, function, _, reason) in exceptions {
        let needed = long.iter().any(|one| one.file == *file && one.function == *function);
        let line = line_where(tree.text(HERE), |line| line.contains(&format!("\"{file}\"")));
        if !needed {
            let what = format!("the exception for {file} `{function}` is no longer needed; remove it");
            found.push(Violation::new(HERE, line, what));
        }
        if reason.trim().is_empty() {
            found.push(Violation::new(
                HERE,
                line,
                format!("the exception for {file} `{function}` gives no reason"),
            ));
        }
    }
    found
}

fn long_parts(path: &str, source: &Source, text: &str) -> Vec<Long> {
    let mut long = Vec::new();
    let limit = if DRIVER.contains(&path) { DRIVER_LINES } else { FILE_LINES };
    let lines = (1..=text.lines().count()).filter(|line| !source.is_test_line(*line)).count();
    if lines > limit {
        long.push(Long { file: path.into(), line: 1, function: String::new(), lines, limit });
    }
    if let Ok(ast) = &source.ast {
        let mut functions = Functions { source, owner: None, seen: Vec::new() };
        functions.visit_file(ast);
        for (line, function, lines) in
            functions.seen.into_iter().filter(|(_, _, lines)| *lines > FUNCTION_LINES)
        {
            long.push(Long { file: path.into(), line, function, lines, limit: FUNCTION_LINES });
        }
    }
    long
}

/// Line, name and length of each function, from its signature to its closing brace.
struct Functions<'a> {
    source: &'a Source,
    owner: Option<String>,
    seen: Vec<(usize, String, usize)>,
}

impl Functions<'_> {
    fn see(&mut self, signature: &Signature, body: &Block) {
        let first = signature.fn_token.span.start().line;
        let last = body.brace_token.span.close().end().line;
        if !self.source.is_test_line(first) {
            let name = match &self.owner {
                Some(owner) => format!("{owner}::{}", signature.ident),
                None => signature.ident.to_string(),
            };
            self.seen.push((first, name, last - first + 1));
        }
    }
}

impl<'a> Visit<'a> for Functions<'_> {
    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        let name = match item.self_ty.as_ref() {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let outer = std::mem::replace(&mut self.owner, name);
        visit::visit_item_impl(self, item);
        self.owner = outer;
    }

    fn visit_item_trait(&mut self, item: &'a ItemTrait) {
        let outer = self.owner.replace(item.ident.to_string());
        visit::visit_item_trait(self, item);
        self.owner = outer;
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        let outer = self.owner.take();
        self.see(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
        self.owner = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        self.see(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'a TraitItemFn) {
        if let Some(body) = &item.default {
            self.see(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{places, tree};

    /// A function of this many lines.
    fn function(name: &str, lines: usize) -> String {
        format!("fn {name}() {{\n{}}}\n", "    ();\n".repeat(lines - 2))
    }

    fn check_file(text: &str) -> Vec<Violation> {
        check_with(&tree(&[("a/src/lib.rs", text)]), &[])
    }

    #[test]
    fn half_of_the_files_are_short_and_nearly_all_of_bearable_length() {
        let spread_of = |lengths: &[usize]| {
            let names: Vec<(String, String)> = lengths
                .iter()
                .enumerate()
                .map(|(nth, lines)| (format!("a/src/f{nth}.rs"), "//\n".repeat(*lines)))
                .collect();
            let modules: String = (0..lengths.len()).map(|nth| format!("mod f{nth};\n")).collect();
            let mut files: Vec<(&str, &str)> = names.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            files.push(("a/src/lib.rs", &modules));
            spread(&tree(&files)).len()
        };
        let with = |short: usize, long: usize| [vec![10; short], vec![long; 60 - short]].concat();
        assert_eq!(spread_of(&with(59, 500)), 0, "one long file may be");
        assert_eq!(spread_of(&with(50, 401)), 1, "the nineteenth of twenty is too long");
        assert_eq!(spread_of(&with(50, 400)), 0);
        assert_eq!(spread_of(&with(20, 151)), 1, "the median is too long");
        assert_eq!(spread_of(&with(20, 150)), 0);
    }

    #[test]
    fn a_function_of_seventy_lines_passes_and_one_more_does_not() {
        assert_eq!(check_file(&function("f", 70)), []);
        let found = check_file(&format!("/// Doc.\n#[inline]\n{}", function("f", 71)));
        assert_eq!(places(&found), ["a/src/lib.rs:3"]);
        assert!(found[0].what.contains("`f` has 71 lines"), "{found:?}");
    }

    #[test]
    fn methods_and_defaults_are_functions_too() {
        let text = format!("impl A<u8> {{\n{}}}\ntrait B {{\n{}}}\n", function("m", 71), function("d", 71));
        let found = check_file(&text);
        assert_eq!(places(&found), ["a/src/lib.rs:2", "a/src/lib.rs:75"]);
        assert!(found[0].what.contains("`A::m`") && found[1].what.contains("`B::d`"), "{found:?}");
    }

    #[test]
    fn a_file_of_six_hundred_lines_passes_and_one_more_does_not() {
        assert_eq!(check_file(&"//\n".repeat(600)), []);
        assert_eq!(places(&check_file(&"//\n".repeat(601))), ["a/src/lib.rs:1"]);
    }

    #[test]
    fn tests_do_not_count() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function("t", 300));
        assert_eq!(check_file(&format!("{}{tests}", "//\n".repeat(600))), []);
        assert_eq!(check_file(&format!("{}{tests}", "//\n".repeat(601))).len(), 1);
        let whole = function("t", 700);
        let files = [
            ("a/src/lib.rs", "#[cfg(test)]\nmod tests;\n"),
            ("a/src/tests.rs", &whole),
            ("a/tests/it.rs", &whole),
        ];
        assert_eq!(check_with(&tree(&files), &[]), []);
        let files = [("a/src/lib.rs", "mod tests;\n"), ("a/src/tests.rs", &whole)];
        assert_eq!(check_with(&tree(&files), &[]).len(), 2, "a tests.rs in the product counts");
    }

    #[test]
    fn the_driver_stays_under_a_hundred_and_fifty() {
        let with = |lines: usize| {
            let driver = "//\n".repeat(lines);
            let files = [("crates/ralph-runtime/src/lib.rs", "mod driver;\n"), (DRIVER[0], driver.as_str())];
            check_with(&tree(&files), &[]).len()
        };
        assert_eq!([with(149), with(150)], [0, 1]);
    }

    #[test]
    fn an_exception_covers_up_to_its_lines_and_only_while_needed() {
        let with = |lines: usize, exception: Exception| {
            check_with(&tree(&[("a/src/lib.rs", &function("f", lines))]), &[exception]).len()
        };
        assert_eq!(with(80, ("a/src/lib.rs", "f", 80, "one table")), 0);
        assert_eq!(with(81, ("a/src/lib.rs", "f", 80, "one table")), 1, "it may not grow");
        assert_eq!(with(70, ("a/src/lib.rs", "f", 80, "one table")), 1, "no longer needed");
        assert_eq!(with(80, ("a/src/lib.rs", "f", 80, " ")), 1, "no reason");
        assert_eq!(with(80, ("a/src/lib.rs", "g", 80, "one table")), 2, "another function");
    }

    #[test]
    fn an_exception_that_is_not_needed_is_shown_where_it_stands() {
        let list = "pub const EXCEPTIONS: &[Exception] = &[\n    (\"a/src/lib.rs\", \"f\", 80, \"x\"),\n];\n";
        let tree = tree(&[("a/src/lib.rs", ""), (HERE, list)]);
        assert_eq!(places(&check_with(&tree, &[("a/src/lib.rs", "f", 80, "x")])), [format!("{HERE}:2")]);
    }
}
