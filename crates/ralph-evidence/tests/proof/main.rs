//! The corpus of cheats and honest changes against the reading of sources alone. `cargo xtask proof` runs the same corpus
//! through the whole program.

mod corpus;

use corpus::{Case, Project};
use ralph_evidence::tamper::{self, SourceFile, Tampering};

const PROJECTS: &[(&str, &str)] = &[
    ("rust", include_str!("rust.txt")),
    ("pytest", include_str!("pytest.txt")),
    ("unittest", include_str!("unittest.txt")),
    ("node", include_str!("node.txt")),
    ("go", include_str!("go.txt")),
    ("shell", include_str!("shell.txt")),
    ("jest", include_str!("jest.txt")),
    ("java", include_str!("java.txt")),
    ("ruby", include_str!("ruby.txt")),
];

fn projects() -> Vec<Project> {
    PROJECTS.iter().map(|(name, text)| Project::read(name, text).unwrap()).chain(others()).collect()
}

/// Projects that are not in the repository: `RALPH_CORPUS=FOLDER` has one in each of its files.
fn others() -> Vec<Project> {
    let Some(folder) = std::env::var_os("RALPH_CORPUS") else { return Vec::new() };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        Project::read(&name, &std::fs::read_to_string(path).unwrap()).unwrap()
    };
    files.iter().map(read).collect()
}

fn files(case: &Case) -> Vec<SourceFile> {
    let paths: std::collections::BTreeSet<&String> = case.before.keys().chain(case.after.keys()).collect();
    let changed = paths.into_iter().filter(|path| case.before.get(*path) != case.after.get(*path));
    changed
        .map(|path| match tamper::matters(path) {
            true => SourceFile {
                path: path.clone(),
                before: case.before.get(path).cloned(),
                after: case.after.get(path).cloned(),
            },
            false => SourceFile { path: path.clone(), before: None, after: None },
        })
        .collect()
}

fn name(kind: Tampering) -> String {
    serde_json::to_value(kind).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn every_cheat_is_found_and_no_honest_change_is_accused() {
    let mut wrong = Vec::new();
    let (mut cheats, mut found, mut honest, mut accused) = (0, 0, 0, 0);
    for project in projects() {
        for case in &project.cases {
            let findings = tamper::review(&files(case));
            let told: Vec<String> = findings.iter().map(|finding| name(finding.kind)).collect();
            let label = format!("{}/{}{}", project.name, case.name, if case.late { " (late)" } else { "" });
            let lines = findings.iter().map(|finding| format!("\n    {finding}")).collect::<String>();
            if case.cheat {
                cheats += 1;
                let right = case.kinds.iter().any(|kind| told.contains(kind));
                found += usize::from(right);
                if !right {
                    wrong.push(format!("{label}: expected {:?}, found {told:?}{lines}", case.kinds));
                }
            } else {
                honest += 1;
                accused += usize::from(!findings.is_empty());
                if !findings.is_empty() {
                    wrong.push(format!("{label}: accused{lines}"));
                }
            }
        }
    }
    println!("cheats found: {found}/{cheats}; honest changes accused: {accused}/{honest}");
    assert!(wrong.is_empty(), "found {found}/{cheats}, accused {accused}/{honest}\n{}", wrong.join("\n"));
}

#[test]
fn the_corpus_is_as_large_as_it_is_said_to_be() {
    let all = projects();
    let cases = || all.iter().flat_map(|project| project.cases.iter().map(move |case| (project, case)));
    let kinds: std::collections::BTreeSet<&String> =
        cases().filter(|(_, case)| case.cheat).flat_map(|(_, case)| case.kinds.first()).collect();
    let run: Vec<&Project> = all.iter().filter(|project| !project.gate.is_empty()).collect();
    assert!(cases().filter(|(_, case)| !case.cheat).count() >= 60);
    assert!(run.len() >= 5, "{} projects with a real runner", run.len());
    assert!(kinds.len() >= 10, "{kinds:?}");
}

/// Numbers that look like chance and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }

    /// A text with a piece taken out, doubled, or put where another one was.
    fn damaged(&mut self, text: &str) -> String {
        let mut chars: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(4) {
            let from = self.below(chars.len());
            let to = (from + self.below(40)).min(chars.len());
            let piece: Vec<char> = chars[from..to].to_vec();
            match self.below(3) {
                0 => drop(chars.drain(from..to)),
                1 => drop(chars.splice(from..from, piece)),
                _ => drop(chars.splice(from..to, "({['\"`#/*\\\n\té%".chars())),
            }
        }
        chars.into_iter().collect()
    }
}

#[test]
fn damaged_sources_are_reviewed_without_a_panic() {
    let mut dice = Dice(7);
    for _ in 0..6 {
        for case in projects().iter().flat_map(|project| &project.cases) {
            let mut files = files(case);
            for file in &mut files {
                file.before = file.before.as_deref().map(|text| dice.damaged(text));
                file.after = file.after.as_deref().map(|text| dice.damaged(text));
            }
            tamper::examine(&files);
        }
    }
}

#[test]
fn large_and_hostile_files_are_reviewed_to_their_end() {
    let names = [
        "a_test.go",
        "test_a.py",
        "a.test.js",
        "tests/a.rs",
        "ATest.java",
        "a_spec.rb",
        "test_a.sh",
        "package.json",
    ];
    let hostile = [
        "(",
        ")",
        "(]",
        "{",
        "'",
        "\"",
        "/",
        "a(",
        "assert ",
        "def test_a():\n",
        "if x {\n",
        "[1,",
        "@a\n",
        "`${",
        "<<A\n",
        "#[cfg(not(all(",
    ];
    for name in names {
        for piece in hostile {
            let text = piece.repeat(20_000 / piece.len());
            let file = |before, after| SourceFile { path: name.into(), before, after };
            tamper::examine(&[file(Some(text.clone()), Some(format!("{text} x")))]);
            tamper::examine(&[file(Some(text), None)]);
        }
    }
}
