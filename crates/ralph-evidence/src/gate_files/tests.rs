use super::*;

/// A workspace as texts by path.
fn files(run: &str, workspace: &[(&str, &str)]) -> Vec<(String, Option<String>)> {
    let words: Vec<String> = run.split('|').map(str::to_owned).collect();
    let read =
        |path: &str| workspace.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
    let all = gate_files(&words, &read).into_iter();
    // What is watched although it is not there has a test of its own.
    all.filter(|file| read(&file.path).is_some()).map(|file| (file.path, file.part.name())).collect()
}

fn watched(run: &str, workspace: &[(&str, &str)]) -> Vec<String> {
    let words: Vec<String> = run.split('|').map(str::to_owned).collect();
    let read =
        |path: &str| workspace.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
    let all = gate_files(&words, &read).into_iter().filter(|file| read(&file.path).is_none());
    all.map(|file| file.path).collect()
}

#[test]
fn what_would_be_found_first_is_watched_before_it_is_there() {
    let makefile = ("Makefile", "-include local.mk\ntest:\n\t./check.sh\n");
    let all = ["GNUmakefile", "makefile", "test", "local.mk"];
    assert_eq!(watched("make|test", &[makefile]), all);
    assert_eq!(watched("make|test", &[("Makefile", ".PHONY: test\ntest:\n\t./check.sh\n")]), all[..2]);
    assert_eq!(watched("make|app", &[("GNUmakefile", "app: a.c\n\tcc -o app a.c\n")]), Vec::<String>::new());
    assert_eq!(watched("npm|test", &[("package.json", r#"{"scripts": {"test": "jest"}}"#)]), [".npmrc"]);
    assert_eq!(watched("./check.sh", &[("check.sh", "git check && git diff --quiet\n")]), [".git/config"]);
}

#[test]
fn what_a_check_stands_on_is_followed_and_the_work_that_it_tries_is_not() {
    let workspace = [
        (
            "check.sh",
            "D=$(dirname \"$0\")\n. \"$D/common.sh\"\nnode --check lib/calc.js\nsh build.sh\npython3 -m tools.check\n",
        ),
        ("common.sh", "all() { ./deep/x.sh; }\n"),
        ("deep/x.sh", "exit 1\n"),
        ("lib/calc.js", "module.exports = 1"),
        ("build.sh", "cc a.c\n"),
        ("tools/check.py", "import rules\n"),
        ("tools/rules.py", "assert 1\n"),
        ("c/check.js", "require('../lib/calc'); require('./expect')\n"),
        ("c/expect.js", "process.exit(1)\n"),
    ];
    let all = ["check.sh", "common.sh", "deep/x.sh", "tools/check.py", "tools/rules.py"].map(whole);
    assert_eq!(files("./check.sh", &workspace), all);
    assert_eq!(files("node|c/check", &workspace), ["c/check.js", "c/expect.js"].map(whole));
    for run in [
        "bash|-n|deploy.sh",
        "sh|build.sh",
        "node|lib/calc.js",
        "node|--check|c/check.js",
        "sh|-c|bash -n check.sh",
    ] {
        assert_eq!(files(run, &workspace), [], "{run}");
    }
}

fn whole(path: &str) -> (String, Option<String>) {
    (path.to_owned(), None)
}

fn part(path: &str, name: &str) -> (String, Option<String>) {
    (path.to_owned(), Some(name.to_owned()))
}

#[test]
fn a_gate_stands_on_its_program_and_on_the_script_that_it_names() {
    let workspace = [
        ("check.sh", "#!/bin/sh\n./scripts/unit.sh && python3 tools/lint.py\n"),
        ("scripts/unit.sh", "exec pytest -q\n"),
        ("tools/lint.py", "print(1)"),
        ("tests/test_a.py", "def test_a(): pass"),
    ];
    let all = vec![whole("check.sh"), whole("scripts/unit.sh"), whole("tools/lint.py")];
    for run in [
        "./check.sh",
        "bash|check.sh",
        "sh|-e|./check.sh",
        "env|A=1|bash|-x|check.sh",
        "timeout|9|./check.sh",
    ] {
        assert_eq!(files(run, &workspace), all, "{run}");
    }
    assert_eq!(files("sh|-c|cd scripts && ./unit.sh", &workspace), [whole("scripts/unit.sh")]);
    assert_eq!(files("python3|tools/lint.py|--all", &workspace), [whole("tools/lint.py")]);
    // Tests are what a runner is told to look at, not what runs.
    for run in [
        "pytest|tests/test_a.py",
        "python3|-m|pytest|tests/test_a.py",
        "cargo|test",
        "sh|-c|true",
        "/bin/true",
    ] {
        assert_eq!(files(run, &workspace), [], "{run}");
    }
}

#[test]
fn a_path_that_leaves_the_workspace_is_none_of_its_files() {
    assert_eq!(files("../check.sh", &[("check.sh", "x")]), []);
    assert_eq!(files("./a/../check.sh", &[("check.sh", "x")]), [whole("check.sh")]);
}

#[test]
fn scripts_that_start_each_other_are_found_once() {
    let workspace = [("a.sh", "./b.sh\n"), ("b.sh", "./a.sh\n./b.sh\n")];
    assert_eq!(files("./a.sh", &workspace), [whole("a.sh"), whole("b.sh")]);
}

const MAKEFILE: &str = "\
CC = gcc
PYTEST ?= pytest
ARGS := -q \\
  --strict
.PHONY: test unit build
all: app
app: main.c
\t$(CC) -o app main.c
test: unit app  # all of them
\t@./scripts/after.sh
unit:
\t$(PYTEST) $(ARGS)
docs:
\tmkdocs
";

#[test]
fn a_target_is_defined_by_its_rule_the_phony_ones_below_it_and_their_variables() {
    let same = |change: &dyn Fn(&str) -> String| {
        let target = Part::MakeTarget("test".to_owned());
        target.of(&change(MAKEFILE)) == target.of(MAKEFILE)
    };
    let replaced = |from: &'static str, to: &'static str| move |text: &str| text.replacen(from, to, 1);
    for (from, to) in [
        ("\t@./scripts/after.sh", "\t@true"),
        ("\t$(PYTEST) $(ARGS)", "\ttrue"),
        ("?= pytest", "= true"),
        ("--strict", "-k nothing"),
        ("test: unit app", "test: app"),
        ("CC = gcc", "CC = gcc\nSHELL = /bin/true"),
        ("CC = gcc", "CC = gcc\n.IGNORE:"),
        ("CC = gcc", "CC = gcc\ninclude more.mk"),
    ] {
        assert!(!same(&replaced(from, to)), "{from} -> {to}");
    }
    for (from, to) in [
        ("\tmkdocs", "\tmkdocs build"),
        ("CC = gcc", "CC = clang"),
        ("\t$(CC) -o app main.c", "\t$(CC) -O2 -o app main.c"),
        ("all: app", "all: app docs"),
        ("docs:\n\tmkdocs\n", ""),
        ("CC = gcc", "# the compiler\nCC = gcc\n\nOTHER = 1"),
    ] {
        assert!(same(&replaced(from, to)), "{from} -> {to}");
    }
    assert_eq!(Part::MakeTarget("nope".to_owned()).of(MAKEFILE), None);
}

#[test]
fn make_is_followed_to_its_file_target_and_scripts() {
    let workspace = [
        ("Makefile", MAKEFILE),
        ("scripts/after.sh", "true\n"),
        ("sub/Makefile", "check:\n\t./x.sh\n"),
        ("sub/x.sh", ""),
    ];
    let test = vec![part("Makefile", "target test"), whole("scripts/after.sh")];
    assert_eq!(files("make|test", &workspace), test);
    assert_eq!(files("make|-j|4|-s|V=1|test", &workspace), test);
    assert_eq!(files("sh|-c|make test", &workspace), test);
    assert_eq!(files("make", &workspace), [part("Makefile", "target all")]);
    let below = vec![part("sub/Makefile", "target check"), whole("sub/x.sh")];
    assert_eq!(files("make|-C|sub|check", &workspace), below);
    assert_eq!(files("make|-f|nope.mk|check", &workspace), []);
}

#[test]
fn a_script_of_a_package_is_followed_and_other_keys_of_the_file_do_not_count() {
    let package = |test: &str, more: &str| {
        format!(r#"{{"scripts": {{"pretest": "npm run build", "test": "{test}", "build": "tsc"}}{more}}}"#)
    };
    let text = package("node scripts/run.js", "");
    let workspace = [("package.json", text.as_str()), ("scripts/run.js", "")];
    let all = vec![
        part("package.json", "script test"),
        part("package.json", "script build"),
        whole("scripts/run.js"),
    ];
    for run in ["npm|test", "npm|run|test|--|--watch=false", "yarn|test", "pnpm|run|test", "bun|run|test"] {
        assert_eq!(files(run, &workspace), all, "{run}");
    }
    assert_eq!(files("npm|install", &workspace), []);
    let script = Part::NpmScript("test".to_owned());
    let same = |other: &str| script.of(other) == script.of(&text);
    assert!(same(&package("node scripts/run.js", r#", "dependencies": {"a": "2"}"#)));
    assert!(!same(&package("true", "")));
    assert!(!same(&text.replace("npm run build", "exit 0")));
    assert!(!same("{"), "a file that cannot be read has no script");
}

#[test]
fn a_recipe_of_a_justfile_counts_with_those_below_it() {
    let text = "set shell := [\"bash\", \"-c\"]\nrunner := \"pytest\"\n\ntest: unit\n  ./after.sh\n\nunit:\n  {{runner}} -q\n\ndocs:\n  mkdocs\n";
    let workspace = [("justfile", text), ("after.sh", "")];
    assert_eq!(files("just|test", &workspace), [part("justfile", "recipe test"), whole("after.sh")]);
    let recipe = Part::JustRecipe("test".to_owned());
    let same = |from: &str, to: &str| recipe.of(&text.replacen(from, to, 1)) == recipe.of(text);
    assert!(!same("{{runner}} -q", "true") && !same("\"pytest\"", "\"true\"") && !same("\"-c\"", "\"-n\""));
    assert!(same("  mkdocs", "  mkdocs build"));
}

#[test]
fn the_name_of_a_part_leads_back_to_it() {
    let parts = [
        Part::Whole,
        Part::MakeTarget("a b".to_owned()),
        Part::JustRecipe("x".to_owned()),
        Part::NpmScript("test:unit".to_owned()),
    ];
    for part in parts {
        assert_eq!(Part::named(part.name().as_deref()), part);
    }
}
