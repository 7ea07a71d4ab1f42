use super::*;
use crate::tidy::testing::{places, tree};

const NONE: [usize; 0] = [];

/// The lines of a ralph-core file that are impure.
fn lines(text: &str) -> Vec<usize> {
    check(&tree(&[("crates/ralph-core/src/lib.rs", text)])).iter().map(|one| one.line).collect()
}

#[test]
fn pure_code_passes() {
    let text = "
        use std::{collections::BTreeMap, fmt, time::Duration};
        use std::io::{self, Write};
        const V: &str = std::env!(\"CARGO_PKG_VERSION\");
        fn f(out: &mut impl Write) -> io::Result<()> { writeln!(out, \"std::fs println!\") } // std::fs::read
        struct process; fn g() { let fs = 1; fs != 2; process; my::fs::read(); my::std::fs::read() }
    ";
    assert_eq!(lines(text), NONE);
}

#[test]
fn every_way_to_name_a_forbidden_path_is_found() {
    for text in [
        "use std::fs;",
        "use std::fs::File;",
        "use std::{fmt, process::Command};",
        "use std::{fmt, net::{self as n}};",
        "use std::thread as t;",
        "use std::env::*;",
        "use std::*;",
        "use std::time::*;",
        "use std::time::{Duration, Instant};",
        "fn f() { let _ = ::std::fs::read(\"x\"); }",
        "fn f() -> std::time::SystemTime { now }",
        "fn f() { assert!(std::env::var(\"X\").is_ok()); }",
        "fn f() { std::io::stdout(); }",
    ] {
        assert_eq!(lines(text), [1], "{text}");
    }
}

#[test]
fn a_module_imported_under_any_name_does_not_hide_what_is_in_it() {
    for imports in ["use std::time;", "use std::time as time;", "use std::{time::{self, Duration}};"] {
        assert_eq!(lines(&format!("{imports}\nfn f() {{ time::Instant::now(); }}")), [2], "{imports}");
        assert_eq!(lines(&format!("{imports}\nfn f() {{ time::Duration::ZERO; }}")), NONE, "{imports}");
    }
    assert_eq!(lines("use std as s;\nfn f() { s::fs::read(\"x\"); }"), [2]);
    assert_eq!(lines("extern crate std as s;\nfn f() { s::fs::read(\"x\"); }"), [2]);
    assert_eq!(lines("use std::io;\nfn f() { io::stderr(); }"), [2]);
}

#[test]
fn prints_are_found_in_macros_too() {
    assert_eq!(lines("fn f() {\nprintln!(\"x\");\nmatches!(eprint!(\"y\"), ());\n}"), [2, 3]);
}

#[test]
fn tests_and_examples_may_do_as_they_like() {
    let found = check(&tree(&[
        (
            "crates/ralph-core/src/lib.rs",
            "#[cfg(test)] mod tests;\n#[cfg(test)]\nmod more {\nuse std::fs;\n}\n",
        ),
        ("crates/ralph-core/src/tests.rs", "use std::fs;"),
        ("crates/ralph-core/tests/it.rs", "use std::fs;"),
        ("crates/ralph-core/examples/e.rs", "use std::fs;"),
    ]));
    assert_eq!(found, []);
    assert_eq!(lines("#[cfg(any(test, feature = \"sim\"))]\nmod more {\nuse std::fs;\n}\n"), [3]);
}

#[test]
fn only_the_pure_crates_are_held_to_it() {
    let file = |name: &str| check(&tree(&[(&format!("crates/{name}/src/lib.rs"), "use std::fs;")])).len();
    assert_eq!(["ralph-core", "ralph-agents", "ralph-runtime", "ralph-cli"].map(file), [1, 1, 0, 0]);
}

#[test]
fn io_crates_and_their_families_are_found_as_normal_and_build_dependencies() {
    let manifest = "[dependencies]\nserde = normal\ntokio-util = normal\nlibc = build\ntempfile = dev\nrandom = normal\n";
    let found = check(&tree(&[("crates/ralph-agents/Cargo.toml", manifest)]));
    assert_eq!(places(&found), ["crates/ralph-agents/Cargo.toml:3", "crates/ralph-agents/Cargo.toml:4"]);
    assert_eq!(check(&tree(&[("crates/ralph-runtime/Cargo.toml", manifest)])), []);
}
