//! Audits of small projects, with gates that are played.

use super::verdict::{Audit, Base, Fate, Findings, GateRan};
use super::*;

/// Paths and texts.
type Files<'a> = &'a [(&'a str, &'a str)];

fn project(files: Files<'_>) -> Project {
    let file = |text: &str| SourceFile { text: Some(text.to_owned()), executable: text.starts_with("#!") };
    Project {
        files: files.iter().map(|(path, text)| ((*path).to_owned(), file(text))).collect(),
        ..Project::default()
    }
}

fn gate(words: &[&str]) -> GateLine {
    GateLine { name: "tests".to_owned(), words: words.iter().map(|word| (*word).to_owned()).collect() }
}

/// Plays an audit: whether the gate passes is told by the files as they are then.
fn audit(files: &[(&str, &str)], gates: &[GateLine], passes: impl Fn(&Project) -> bool) -> Findings {
    let project = project(files);
    let mut audit = Audit::new(project.clone(), gates.to_vec(), Vec::new());
    let mut trials = 0;
    while let Some(trial) = audit.next() {
        trials += 1;
        assert!(trials < 100, "it never ends");
        let passed = passes(&project.edited(&trial.edits));
        let (why, tail) = ("exit code 1".to_owned(), "1 test failed".to_owned());
        audit.learn(vec![GateRan { name: "tests".to_owned(), passed, why, tail }]);
    }
    audit.findings()
}

fn names(findings: &Findings) -> Vec<&str> {
    findings.let_through().map(|one| one.cheat.name.as_str()).collect()
}

const LIB: &str = "def add(a, b):\n    return a + b\n";
const TEST: &str = "from lib import add\n\ndef test_add():\n    assert add(1, 2) == 3\n";

/// A runner that believes what the test file says, and fails where the code is broken.
fn naive(project: &Project) -> bool {
    let honest = project.text("lib.py").is_some_and(|text| text == LIB);
    honest || project.text("test_lib.py").is_none_or(|text| text != TEST)
}

#[test]
fn a_runner_that_believes_the_test_file_lets_everything_through_that_changes_it() {
    let findings = audit(&[("lib.py", LIB), ("test_lib.py", TEST)], &[gate(&["pytest"])], naive);
    assert!(matches!(&findings.base, Base::Broken { builds: true, .. }), "{:?}", findings.base);
    let expected = [
        "nothing-done",
        "tests-deleted",
        "tests-replaced",
        "tests-skipped",
        "asserts-constant",
        "collection-error",
        "tests-exit-early",
    ];
    assert_eq!(names(&findings), expected);
    let protected = findings.tried.iter().find(|one| one.cheat.name == "tests-skipped").expect("tried");
    assert_eq!(protected.cheat.cure, "protect: [test_lib.py]");
    assert!(!findings.is_clean() && !findings.unsteady);
}

#[test]
fn a_gate_that_fails_until_the_work_is_done_and_trusts_no_file_is_clean() {
    let findings = audit(&[("lib.py", LIB), ("test_lib.py", TEST)], &[gate(&["pytest"])], |_| false);
    assert_eq!(findings.base, Base::Untouched);
    assert!(findings.is_clean() && findings.tried.len() > 5, "{:?}", names(&findings));
    let caught = Fate::Caught { by: "tests".to_owned(), why: "exit code 1".to_owned() };
    assert!(findings.tried.iter().all(|one| one.fate == caught));
}

#[test]
fn gates_that_never_fail_are_said_not_to_notice_broken_code() {
    let findings = audit(&[("lib.py", LIB)], &[gate(&["true"])], |_| true);
    assert!(matches!(&findings.base, Base::Unnoticed { tried } if tried.len() >= 2), "{:?}", findings.base);
    assert_eq!(names(&findings), ["nothing-done"]);
    assert!(!findings.is_clean());
    let findings = audit(&[("notes.txt", "x")], &[gate(&["true"])], |_| true);
    assert_eq!(findings.base, Base::NothingToBreak);
}

#[test]
fn gates_that_pass_by_chance_are_called_unsteady() {
    let count = std::cell::Cell::new(0);
    let findings = audit(&[("lib.py", LIB), ("test_lib.py", TEST)], &[gate(&["pytest"])], |_| {
        count.set(count.get() + 1);
        count.get() > 1
    });
    assert!(findings.unsteady && !findings.is_clean());
}

#[test]
fn code_that_does_not_build_is_only_taken_where_nothing_else_is_noticed() {
    let project = project(&[("lib.py", LIB), ("test_lib.py", TEST)]);
    let mut audit = Audit::new(project, vec![gate(&["pytest"])], vec!["tests-deleted".to_owned()]);
    let mut first = true;
    let mut tried = Vec::new();
    while let Some(trial) = audit.next() {
        let tail = "E   SyntaxError: invalid syntax".to_owned();
        audit.learn(vec![GateRan { name: "t".into(), passed: first, why: "exit code 2".into(), tail }]);
        first = false;
        tried.push(trial.what);
    }
    let findings = audit.findings();
    assert!(matches!(findings.base, Base::Broken { builds: false, .. }), "{:?}", findings.base);
    assert_eq!(tried.last().map(String::as_str), Some("tests-deleted"));
    assert!(tried.len() > 3, "other breakages were tried first: {tried:?}");
}

#[test]
fn each_ecosystem_has_cheats_of_its_own_and_each_changes_something() {
    let rust_lib = "pub fn f() -> i32 {\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {\n        assert_eq!(super::f(), 1);\n    }\n}\n";
    let worlds: [(Files<'_>, GateLine, &[&str]); 7] = [
        (
            &[("Cargo.toml", "[package]\nname = \"a\"\n"), ("src/lib.rs", rust_lib)],
            gate(&["cargo", "test"]),
            &["runner-patched-build-rs", "runner-replaced-cargo", "runner-narrowed-cargo"],
        ),
        (
            &[("lib.py", LIB), ("test_lib.py", TEST)],
            gate(&["python3", "-m", "pytest"]),
            &["runner-patched-conftest", "runner-narrowed-pytest", "runner-shadowed-module"],
        ),
        (
            &[
                (
                    "package.json",
                    "{\"scripts\": {\"test\": \"jest\"}, \"devDependencies\": {\"jest\": \"1\"}}",
                ),
                ("a.test.js", "test('x', () => { expect(1).toBe(1) })\n"),
            ],
            gate(&["npm", "test"]),
            &[
                "runner-replaced-npmrc",
                "runner-patched-preload",
                "runner-patched-jest",
                "npm-script-replaced",
            ],
        ),
        (
            &[
                ("go.mod", "module a\n"),
                (
                    "a_test.go",
                    "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tt.Error(1)\n}\n",
                ),
            ],
            gate(&["go", "test", "./..."]),
            &["runner-patched-testmain"],
        ),
        (
            &[
                ("pom.xml", "<project/>"),
                (
                    "src/test/java/ATest.java",
                    "class ATest {\n  @Test\n  void a() {\n    assertEquals(1, 2);\n  }\n}\n",
                ),
            ],
            gate(&["mvn", "test"]),
            &["runner-narrowed-maven"],
        ),
        (
            &[("spec/a_spec.rb", "RSpec.describe do\n  it 'x' do\n    expect(1).to eq 1\n  end\nend\n")],
            gate(&["rspec"]),
            &["runner-narrowed-rspec"],
        ),
        (
            &[("check.sh", "#!/bin/sh\ngrep -q fine out.log\n"), ("Makefile", "check:\n\t./check.sh\n")],
            GateLine {
                name: "tests".into(),
                words: vec!["sh".into(), "-c".into(), "./check.sh && make check".into()],
            },
            &["gate-script-exits", "make-target-replaced", "makefile-shadowed", "old-log"],
        ),
    ];
    for (files, gate, expected) in worlds {
        let project = project(files);
        let all = corpus(&project, &[gate]);
        let names: Vec<&str> = all.iter().map(|cheat| cheat.name.as_str()).collect();
        for name in expected {
            assert!(names.contains(name), "no {name} in {names:?}");
        }
        for cheat in &all {
            assert_eq!(names.iter().filter(|name| **name == cheat.name).count(), 1, "{}", cheat.name);
            let after = project.edited(&cheat.edits);
            assert_eq!(after == project, cheat.name == NOTHING_DONE, "{}", cheat.name);
            assert!(!cheat.what.is_empty() && !cheat.cure.is_empty());
            let by_hand = by_hand(&Copy { workspace: "/w", project: &project }, &cheat.edits, &[]);
            assert!(cheat.edits.iter().all(|edit| by_hand.contains(edit.path())), "{by_hand}");
        }
    }
}

#[test]
fn a_program_is_shadowed_only_where_a_folder_of_the_workspace_is_on_the_path() {
    let mut project = project(&[("a.py", LIB)]);
    let gates = [gate(&["pytest", "-q"])];
    let has = |project: &Project| {
        corpus(project, &gates).into_iter().find(|cheat| cheat.name == "program-shadowed")
    };
    assert_eq!(has(&project), None);
    project.path_folders = vec!["bin".to_owned()];
    let cheat = has(&project).expect("a cheat");
    assert_eq!(cheat.edits, [Edit::program("bin/pytest", "#!/bin/sh\nexit 0\n")]);
}

#[test]
fn what_is_under_work_is_never_to_be_protected() {
    let app = "import sys\n\ndef add(a, b):\n    return a + b\n\nif '--selftest' in sys.argv:\n    assert add(1, 2) == 3\n";
    let package = "{\"scripts\": {\"test\": \"node --test\"}, \"dependencies\": {}}\n";
    type World<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str], &'a str, &'a str);
    let worlds: [World<'_>; 4] = [
        (
            &[("app.py", app)],
            &["python3", "app.py", "--selftest"],
            "gate-script-exits",
            "gates: {name: acceptance",
        ),
        (&[("check.sh", "./app\n")], &["sh", "check.sh"], "gate-script-exits", "protect: [check.sh]"),
        (
            &[("package.json", package), ("a.test.js", "test('a', () => assert.equal(1, 1));\n")],
            &["npm", "test"],
            "npm-script-replaced",
            "stop: {tampering: refuse}",
        ),
        (
            &[
                ("Cargo.toml", "[package]\nname = \"a\"\n"),
                ("tests/a.rs", "#[test]\nfn a() {\n    assert!(f());\n}\n"),
            ],
            &["cargo", "test"],
            "runner-narrowed-cargo",
            "stop: {tampering: refuse}",
        ),
    ];
    for (files, run, name, cure) in worlds {
        let all = corpus(&project(files), &[gate(run)]);
        let names: Vec<&str> = all.iter().map(|cheat| cheat.name.as_str()).collect();
        let cheat = all.iter().find(|cheat| cheat.name == name).unwrap_or_else(|| panic!("{names:?}"));
        assert!(cheat.cure.starts_with(cure), "{name}: {}", cheat.cure);
    }
}

#[test]
fn paths_in_advice_are_quoted_where_yaml_wants_it() {
    assert_eq!(protect(["b.py", "a/**", "b.py"]), "protect: ['a/**', b.py]");
    assert_eq!(protect(["it's"]), "protect: ['it''s']");
}
