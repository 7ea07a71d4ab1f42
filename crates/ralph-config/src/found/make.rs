//! make and just: where a project has no runner that is known better.

use ralph_core::check::Kind;

use super::{Folder, Found};

pub(super) fn gates(folder: &Folder) -> Vec<Found> {
    let files = [
        ("make", &["GNUmakefile", "makefile", "Makefile"][..]),
        ("just", &["justfile", "Justfile", ".justfile"][..]),
    ];
    let mut found: Vec<Found> = Vec::new();
    for (program, names) in files {
        let Some(file) = names.iter().find(|name| folder.has(name)) else { continue };
        let targets = targets(program, folder.text(file));
        let kinds: [(Kind, &[&str]); 3] = [
            (Kind::Test, &["test", "tests", "check"]),
            (Kind::Lint, &["lint"]),
            (Kind::Typecheck, &["typecheck", "types"]),
        ];
        for (kind, wanted) in kinds {
            let is_new = !found.iter().any(|one| one.kind == kind);
            if let Some(target) = wanted.iter().find(|name| targets.contains(name)).filter(|_| is_new) {
                let from = format!("{file}: {target}");
                found.push(Found::new(program, kind, &format!("{program} {target}"), from));
            }
        }
    }
    found
}

/// The targets of a make file, or the recipes of a just file.
fn targets<'a>(program: &str, text: &'a str) -> Vec<&'a str> {
    let heads = text.lines().filter(|line| !line.starts_with([' ', '\t', '#', '.']));
    let names = heads.filter_map(|line| {
        let (names, rest) = line.split_once(':')?;
        // A variable, not a target.
        let is_variable = rest.starts_with('=') || program == "make" && names.contains('=');
        (!is_variable).then_some(names.trim_start_matches('@'))
    });
    // Behind the name of a recipe stand its parameters; a rule of make may have several targets.
    let count = if program == "make" { usize::MAX } else { 1 };
    names.flat_map(|names| names.split_whitespace().take(count)).collect()
}
