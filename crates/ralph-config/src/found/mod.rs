//! Gates that a project has already, found from its files: what `gates: auto` means.
//!
//! The rules are a pure function of what is in the folder ([`Folder`]); each gate says which file it was found from. Of the
//! ways to run one and the same tests only the project's own runner is taken; make and just count where there is none.

mod folder;
mod javascript;
mod make;
mod others;
mod python;

#[cfg(test)]
mod tests;

pub use folder::Folder;

use ralph_core::check::Kind;

/// A gate, and the reason that there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundGate {
    pub name: String,
    /// The program and its arguments.
    pub run: Vec<String>,
    pub kind: Kind,
    /// The file or the setting that tells so.
    pub from: String,
}

/// What a rule found; the name comes later.
pub(crate) struct Found {
    kind: Kind,
    run: Vec<String>,
    from: String,
    /// Tells gates of one kind apart.
    tool: &'static str,
}

impl Found {
    fn new(tool: &'static str, kind: Kind, run: &str, from: impl Into<String>) -> Self {
        Self { kind, run: run.split(' ').map(str::to_owned).collect(), from: from.into(), tool }
    }
}

/// The gates of a project.
pub fn find_gates(folder: &Folder) -> Vec<FoundGate> {
    let mut found = Vec::new();
    found.extend(others::rust(folder));
    found.extend(javascript::gates(folder));
    found.extend(python::gates(folder));
    found.extend(others::go(folder));
    found.extend(others::java(folder));
    found.extend(others::ruby(folder));
    found.extend(others::elixir(folder));
    let has = |found: &[Found], kind| found.iter().any(|one| one.kind == kind);
    for one in make::gates(folder) {
        if !has(&found, one.kind) {
            found.push(one);
        }
    }
    found.sort_by_key(|one| order(one.kind));
    named(found)
}

fn order(kind: Kind) -> u8 {
    match kind {
        Kind::Test => 0,
        Kind::Lint => 1,
        Kind::Typecheck => 2,
        Kind::Build => 3,
    }
}

/// `tests`, and `tests-go` where there are two of them.
fn named(found: Vec<Found>) -> Vec<FoundGate> {
    let mut all: Vec<FoundGate> = Vec::new();
    for Found { kind, run, from, tool } in found {
        let name = match kind {
            Kind::Test => "tests",
            Kind::Lint => "lint",
            Kind::Typecheck => "types",
            Kind::Build => "build",
        };
        let is_taken = all.iter().any(|one| one.kind == kind);
        let name = if is_taken { format!("{name}-{tool}") } else { name.to_owned() };
        all.push(FoundGate { name, run, kind, from });
    }
    all
}
