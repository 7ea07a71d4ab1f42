//! Every Rust file parses, and some module of some target declares it: what is not compiled is not checked.

use super::{Tree, Violation};

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = tree.sources.dangling.clone();
    for (path, source) in &tree.sources.files {
        if let Err((line, message)) = &source.ast {
            found.push(Violation::new(path, *line, format!("is not Rust ({message}); repair it")));
        }
        if source.role.is_none() {
            found.push(Violation::new(
                path,
                1,
                "no module declares this file; declare it with `mod` or delete it",
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{places, tree};

    #[test]
    fn declared_files_pass() {
        let tree =
            tree(&[("a/src/lib.rs", "mod x;\n"), ("a/src/x/mod.rs", "mod y;\n"), ("a/src/x/y.rs", "")]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn undeclared_broken_and_missing_files_do_not() {
        let tree = tree(&[
            ("a/src/lib.rs", "mod x;\n\nmod gone;\n"),
            ("a/src/x.rs", "fn f() {}\nfn {\n"),
            ("a/src/lost.rs", ""),
            ("notes/old.rs", ""),
        ]);
        let mut found = check(&tree);
        found.sort();
        assert_eq!(places(&found), ["a/src/lib.rs:3", "a/src/lost.rs:1", "a/src/x.rs:2", "notes/old.rs:1"]);
    }
}
