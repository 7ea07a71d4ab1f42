//! `ralph gates audit` on small projects of several ecosystems: what it says is true, and the workspace is never touched.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::harness::*;

/// A small project, and the programs that it needs.
struct Example {
    needs: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
    /// Cheats that a gate without protection lets through.
    through: &'static [&'static str],
    caught: &'static [&'static str],
}

const RUST: Example = Example {
    needs: &["cargo"],
    files: &[
        ("Cargo.toml", "[package]\nname = \"ex\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        (
            "src/lib.rs",
            "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(super::add(2, 3), 5);\n    }\n}\n",
        ),
        ("tests/sum.rs", "#[test]\nfn sums() {\n    assert!(ex::add(1, 1) == 2, \"no {}\", 1);\n}\n"),
    ],
    through: &["tests-replaced", "asserts-constant", "runner-narrowed-cargo"],
    // Where the runner counts no test at all the gate has not passed.
    caught: &[
        "collection-error",
        "tests-deleted",
        "tests-skipped",
        "tests-exit-early",
        "runner-replaced-cargo",
        "runner-patched-build-rs",
    ],
};

const PYTHON: Example = Example {
    needs: &["python3"],
    files: &[
        ("calc.py", "def add(a, b):\n    return a + b\n"),
        (
            "test_calc.py",
            "import unittest\n\nfrom calc import add\n\n\nclass TestAdd(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(\n            add(2, 3),\n            5,\n        )\n",
        ),
    ],
    through: &["asserts-constant", "tests-exit-early", "runner-shadowed-module"],
    caught: &["collection-error", "tests-skipped"],
};

const NODE: Example = Example {
    needs: &["node", "npm"],
    files: &[
        (
            "package.json",
            "{\n  \"name\": \"ex\",\n  \"version\": \"1.0.0\",\n  \"scripts\": {\n    \"test\": \"node --test\"\n  }\n}\n",
        ),
        ("calc.js", "exports.add = (a, b) => {\n  return a + b;\n};\n"),
        (
            "calc.test.js",
            "const test = require('node:test');\nconst assert = require('node:assert');\nconst { add } = require('./calc.js');\n\ntest('adds', () => {\n  assert.strictEqual(add(2, 3), 5);\n});\n",
        ),
    ],
    through: &["asserts-constant", "npm-script-replaced", "runner-replaced-npmrc"],
    caught: &["collection-error", "tests-skipped"],
};

const GO: Example = Example {
    needs: &["go"],
    files: &[
        ("go.mod", "module ex\n\ngo 1.19\n"),
        ("calc.go", "package ex\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n"),
        (
            "calc_test.go",
            "package ex\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Errorf(\"no\")\n\t}\n}\n",
        ),
    ],
    through: &["tests-deleted", "tests-skipped", "asserts-constant", "runner-patched-testmain"],
    caught: &["collection-error"],
};

const SHELL: Example = Example {
    needs: &["make"],
    files: &[
        ("Makefile", "test:\n\t./check.sh\n"),
        ("check.sh", "#!/bin/sh\n[ \"$(./add.sh 2 3)\" = 5 ] || { echo wrong sum; exit 1; }\n"),
        ("add.sh", "#!/bin/sh\necho $(($1 + $2))\n"),
    ],
    through: &["gate-script-exits", "make-target-replaced", "makefile-shadowed"],
    caught: &[],
};

/// The PATH of whoever runs these tests: the programs of an ecosystem may be anywhere.
fn programs() -> String {
    std::env::var("PATH").unwrap_or_default()
}

fn is_installed(name: &str) -> bool {
    std::env::split_paths(&programs()).any(|folder| folder.join(name).is_file())
}

fn write_all(world: &World, files: &[(&str, &str)]) {
    for (path, text) in files {
        world.write(path, text);
        if text.starts_with("#!") {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(world.work(path), mode).expect("chmod");
        }
    }
}

/// Everything in a folder, with its contents.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                all.insert(path.clone(), std::fs::read(&path).expect("read"));
            }
        }
    }
    all
}

/// A program with what compilers need of the environment.
fn command(world: &World, program: &str) -> std::process::Command {
    let mut command = world.command(program);
    command.env("PATH", programs());
    for name in ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PYENV_ROOT", "GOROOT"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    // The compilers' own home is not the world's.
    if let Some(home) = std::env::var_os("HOME") {
        command.env("HOME", home);
    }
    command
}

fn audit(world: &World, args: &[&str], code: i32) -> Value {
    let before = contents(&world.path("work"));
    let mut ralph = command(world, RALPH);
    ralph.args(["gates", "audit", "--json"]).args(args);
    let done = world.spawn(ralph).wait().expect(code);
    assert_eq!(contents(&world.path("work")), before, "the workspace was touched");
    world.expect_no_survivors();
    serde_json::from_str(&done.stdout).expect("JSON")
}

fn cheat<'a>(report: &'a Value, name: &str) -> &'a Value {
    let all = report["cheats"].as_array().expect("a list");
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name} in {all:#?}"))
}

/// Audits an example with the gates that are found in it, and does each cheat that was let through again, by hand.
fn holds(example: &Example) {
    if let Some(missing) = example.needs.iter().find(|name| !is_installed(name)) {
        eprintln!("skipped: {missing} is not installed");
        return;
    }
    let world = World::new();
    write_all(&world, example.files);
    let report = audit(&world, &[], 1);
    assert_eq!(report["gates"][0]["passes_already"], true);
    assert_eq!(report["tree"]["kind"], "broken", "{report:#}");
    for name in example.through {
        assert_eq!(cheat(&report, name)["let_through"], true, "{name}: {report:#}");
    }
    for name in example.caught {
        assert_eq!(cheat(&report, name)["let_through"], false, "{name}: {report:#}");
    }
    for one in report["cheats"].as_array().expect("a list").iter().filter(|one| one["let_through"] == true) {
        let script = one["by_hand"].as_str().expect("commands");
        let mut shell = command(&world, "sh");
        shell.env("TMPDIR", world.path("files")).args(["-c", script]);
        let done = world.spawn(shell).wait().expect(0);
        assert!(
            done.stdout.contains("gate tests: exit code 0"),
            "{}: {script}\n{}{}",
            one["name"],
            done.stdout,
            done.stderr
        );
        assert!(one["close"].as_str().is_some_and(|line| !line.is_empty() && !line.contains('\n')));
    }
}

#[test]
fn rust() {
    holds(&RUST);
}

#[test]
fn python() {
    holds(&PYTHON);
}

#[test]
fn node() {
    holds(&NODE);
}

#[test]
fn go() {
    holds(&GO);
}

#[test]
fn shell() {
    holds(&SHELL);
}

#[test]
fn a_gate_outside_of_the_agents_reach_catches_everything() {
    let world = World::new();
    write_all(&world, &SHELL.files[2..]);
    // Beside the workspace: as a held-out check would be.
    let check = world.path("files/check.sh");
    std::fs::write(&check, "[ \"$(./add.sh 2 3)\" = 5 ]\n").expect("write");
    world.write("test.sh", "#!/bin/sh\nexit 0\n");
    let gate = format!("gates=[{{name: tests, run: /bin/sh {}}}]", check.display());
    let report = audit(&world, &["--set", &gate], 1);
    let through: Vec<&Value> = report["cheats"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|one| one["let_through"] == true)
        .collect();
    assert_eq!(through.len(), 1, "{report:#}");
    assert_eq!(through[0]["name"], "nothing-done");
    // And where the work is still to be done, nothing is left to say.
    world.write("add.sh", "#!/bin/sh\necho later\n");
    let report = audit(&world, &["--set", &gate], 0);
    assert_eq!((&report["clean"], &report["tree"]["kind"]), (&json!(true), &json!("untouched")));
}

#[test]
fn gates_that_notice_nothing_are_told_so() {
    let world = World::new();
    write_all(&world, SHELL.files);
    let report = audit(&world, &["--set", "gates=[{name: tests, run: 'true'}]"], 1);
    assert_eq!(report["tree"]["kind"], "unnoticed");
    let mut ralph = command(&world, RALPH);
    ralph.args(["gates", "audit", "--set", "gates=[{name: tests, run: 'true'}]"]);
    let text = world.spawn(ralph).wait().expect(1).stdout;
    assert!(text.contains("the gates do not notice broken code"), "{text}");
}

#[test]
fn a_gate_that_reads_a_log_believes_an_old_one() {
    let world = World::new();
    write_all(&world, &SHELL.files[2..]);
    let report = audit(&world, &["--set", "gates=[{name: tests, run: grep -q '3 passed' test.log}]"], 1);
    let old = cheat(&report, "old-log");
    assert_eq!((&old["let_through"], &report["tree"]["kind"]), (&json!(true), &json!("untouched")));
    assert!(old["close"].as_str().is_some_and(|line| line.contains("test.log")));
    let mut ralph = command(&world, RALPH);
    ralph.args(["gates", "audit", "--cheat", "nonsense", "--set", "gates=[{name: t, run: 'false'}]"]);
    let wrong = world.spawn(ralph).wait().expect(2);
    assert!(wrong.stderr.contains("begins with `nonsense`"), "{}", wrong.stderr);
}

#[test]
fn a_folder_of_the_workspace_on_the_path_is_used_against_the_gates() {
    let world = World::new();
    write_all(&world, SHELL.files);
    if !is_installed("make") {
        eprintln!("skipped: make is not installed");
        return;
    }
    world.write("Makefile", "test:\n\tchecker\n");
    world.write("tools/.keep", "");
    std::fs::write(world.path("files/checker"), "#!/bin/sh\n./check.sh\n").expect("write");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.path("files/checker"), mode).expect("chmod");
    let path = format!("{}:{}:{}", world.work("tools").display(), world.path("files").display(), programs());
    let mut ralph = command(&world, RALPH);
    ralph.env("PATH", &path).args(["gates", "audit", "--json", "--cheat", "program"]);
    let done = world.spawn(ralph).wait().expect(1);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(cheat(&report, "program-shadowed")["let_through"], true, "{report:#}");
    let mut shell = command(&world, "sh");
    let script = cheat(&report, "program-shadowed")["by_hand"].as_str().expect("commands");
    shell.env("TMPDIR", world.path("files")).env("PATH", path).args(["-c", script]);
    let done = world.spawn(shell).wait().expect(0);
    assert!(done.stdout.contains("gate tests: exit code 0"), "{script}\n{}", done.stdout);
}
