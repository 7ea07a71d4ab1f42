use super::*;

/// Paths and texts.
type Files<'a> = &'a [(&'a str, &'a str)];

/// The gates of a folder with these files, as `name: command (from)`.
fn gates(files: Files<'_>) -> Vec<String> {
    let mut folder = Folder::default();
    for (path, text) in files {
        folder.files.insert((*path).to_owned());
        folder.texts.insert((*path).to_owned(), (*text).to_owned());
    }
    let shown = |one: FoundGate| format!("{}: {} ({})", one.name, one.run.join(" "), one.from);
    find_gates(&folder).into_iter().map(shown).collect()
}

#[test]
fn each_ecosystem_has_its_own_runner() {
    let worlds: [(Files<'_>, &[&str]); 14] = [
        (&[("Cargo.toml", "[package]\n")], &["tests: cargo test (Cargo.toml)"]),
        (
            &[("Cargo.toml", "[workspace]\n"), ("clippy.toml", "")],
            &[
                "tests: cargo test --workspace (Cargo.toml)",
                "lint: cargo clippy --all-targets -- -D warnings (clippy.toml)",
            ],
        ),
        (&[("go.mod", "module x\n")], &["tests: go test ./... (go.mod)"]),
        (&[("pom.xml", ""), ("mvnw", "")], &["tests: ./mvnw -q -B test (pom.xml)"]),
        (&[("build.gradle.kts", ""), ("gradlew", "")], &["tests: ./gradlew test (build.gradle.kts)"]),
        (
            &[("Gemfile", "gem 'rspec'\n"), ("spec/a_spec.rb", "")],
            &["tests: bundle exec rspec (Gemfile: rspec)"],
        ),
        (&[("Rakefile", "Rake::TestTask.new\n")], &["tests: rake test (Rakefile)"]),
        (
            &[("pyproject.toml", "[tool.pytest.ini_options]\n[tool.mypy]\n[tool.ruff.lint]\n")],
            &[
                "tests: pytest (pyproject.toml: [tool.pytest…)",
                "lint: ruff check . (pyproject.toml: [tool.ruff…)",
                "types: mypy . (pyproject.toml: [tool.mypy…)",
            ],
        ),
        (
            &[("requirements.txt", "pytest>=7\n"), ("uv.lock", "")],
            &["tests: uv run pytest (requirements.txt: pytest)"],
        ),
        (
            &[("requirements.txt", "pytest-mock\n# pytest\n"), ("tests/test_a.py", "")],
            &["tests: python3 -m unittest discover -s tests (tests/test_a.py)"],
        ),
        (&[("tox.ini", "[testenv]\ncommands = nose2\n")], &["tests: tox (tox.ini)"]),
        (&[("test_a.py", "")], &["tests: python3 -m unittest discover (test_a.py)"]),
        (
            &[("Makefile", "CC := x: y\n.PHONY: test\nall:\n\ttrue\ntest lint: all\n\ttrue\n")],
            &["tests: make test (Makefile: test)", "lint: make lint (Makefile: lint)"],
        ),
        (
            &[("justfile", "x := \"test:\"\n\ncheck target=\"a\": build\n    cargo\n")],
            &["tests: just check (justfile: check)"],
        ),
    ];
    for (files, expected) in worlds {
        assert_eq!(gates(files), expected, "{files:?}");
    }
}

#[test]
fn a_script_of_package_json_counts_only_if_it_tests() {
    let manifest = |test: &str| format!("{{\"scripts\": {{\"test\": {test:?}}}}}");
    for test in ["echo \"Error: no test specified\" && exit 1", "", "true", "echo ok", "jest --watch"] {
        assert_eq!(gates(&[("package.json", &manifest(test))]), [] as [&str; 0], "{test}");
    }
    for (lock, run) in [
        ("package-lock.json", "npm test"),
        ("pnpm-lock.yaml", "pnpm test"),
        ("yarn.lock", "yarn test"),
        ("bun.lock", "bun run test"),
    ] {
        let expected = format!("tests: {run} (package.json: script `test`)");
        assert_eq!(gates(&[("package.json", &manifest("node --test")), (lock, "")]), [expected]);
    }
    assert_eq!(gates(&[("package.json", "{broken")]), [] as [&str; 0]);
}

#[test]
fn linters_and_types_need_a_configuration_and_the_tool() {
    let manifest = "{\"scripts\": {\"test\": \"vitest run\"}, \"devDependencies\": {\"typescript\": \"5\", \"eslint\": \"9\"}}";
    assert_eq!(gates(&[("package.json", manifest)]), ["tests: npm test (package.json: script `test`)"]);
    let all = gates(&[("package.json", manifest), ("tsconfig.json", "{}"), ("eslint.config.mjs", "")]);
    assert_eq!(
        all[1..],
        [
            "lint: npx --no-install eslint . (eslint.config.mjs)",
            "types: npx --no-install tsc --noEmit (tsconfig.json)"
        ]
    );
    assert_eq!(gates(&[("package.json", "{}"), ("tsconfig.json", "{}")]), [] as [&str; 0]);
}

#[test]
fn the_same_tests_are_not_run_twice_and_two_languages_have_two_gates() {
    let all = gates(&[("Cargo.toml", ""), ("Makefile", "test:\n\tcargo test\n"), ("pytest.ini", "")]);
    assert_eq!(all, ["tests: cargo test (Cargo.toml)", "tests-python: pytest (pytest.ini)"]);
    assert_eq!(gates(&[("README.md", "")]), [] as [&str; 0]);
}

#[test]
fn a_folder_is_looked_at_without_what_is_installed() {
    let dir = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
        std::fs::write(path, text).expect("write");
    };
    write("node_modules/x/test_a.py", "");
    write(".venv/bin/pytest", "");
    write("a/b/c/deep.py", "");
    write("setup.cfg", "[tool:pytest]\n");
    let folder = Folder::look(dir.path());
    assert_eq!(
        folder.files.iter().map(String::as_str).collect::<Vec<_>>(),
        [".venv/bin/pytest", "setup.cfg"]
    );
    assert_eq!(find_gates(&folder)[0].run, [".venv/bin/pytest"]);
    assert_eq!(Folder::look(std::path::Path::new("/nowhere/at/all")), Folder::default());
}
