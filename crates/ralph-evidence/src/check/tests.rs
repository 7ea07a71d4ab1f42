use super::*;
use ralph_core::check::{Failing, Ledger, Settled};
use ralph_core::event::{ToolCall, ToolCalled, ToolFinished, ToolKind, ToolResult};
use ralph_core::ids::IterationNumber;

/// `test: npm test`, with `?` where the status is not the check's.
fn seen(command: &str) -> String {
    let found = recognise(command, &[]);
    let told = found.iter().map(|it| {
        let mark = if it.sure { "" } else { "?" };
        format!("{}{mark}: {}", it.kind.noun(), it.key())
    });
    told.collect::<Vec<_>>().join(", ")
}

/// Command lines, and what each is recognised as.
const SEEN: &[(&str, &str)] = &[
    // As the issue lists them.
    ("npm test", "test: npm test"),
    ("npm run test:unit", "test: npm run test:unit"),
    ("bun test", "test: bun test"),
    ("pnpm -r test", "test: pnpm test -r"),
    ("yarn test", "test: yarn test"),
    ("npx vitest run", "test: vitest"),
    ("jest", "test: jest"),
    ("pytest -q", "test: pytest"),
    ("python -m pytest", "test: pytest"),
    ("uv run pytest", "test: pytest"),
    ("cargo test", "test: cargo test"),
    ("cargo nextest run", "test: cargo nextest"),
    ("go test ./...", "test: go test ./..."),
    ("make test", "test: make test"),
    ("just test", "test: just test"),
    ("mvn test", "test: mvn test"),
    ("gradle test", "test: gradle test"),
    ("dotnet test", "test: dotnet test"),
    ("mix test", "test: mix test"),
    ("rspec", "test: rspec"),
    ("phpunit", "test: phpunit"),
    ("ctest", "test: ctest"),
    ("eslint .", "lint: eslint"),
    ("biome check src", "lint: biome check src"),
    ("ruff check .", "lint: ruff check"),
    ("cargo clippy -- -D warnings", "lint: cargo clippy -D warnings"),
    ("golangci-lint run", "lint: golangci-lint run"),
    ("npm run lint", "lint: npm run lint"),
    ("tsc", "typecheck: tsc"),
    ("npx tsc --noEmit", "typecheck: tsc"),
    ("mypy src", "typecheck: mypy src"),
    ("pyright", "typecheck: pyright"),
    ("cargo check", "typecheck: cargo check"),
    ("vue-tsc --noEmit", "typecheck: vue-tsc"),
    ("cd x && npm test", "test: npm test (in x)"),
    ("env A=1 npm test", "test: npm test"),
    ("time npm test", "test: npm test"),
    ("timeout 60 npm test", "test: npm test"),
    ("pytest | tail", "test?: pytest"),
    ("bash -lc 'npm test'", "test: npm test"),
    // Package managers.
    ("npm t", "test: npm test"),
    ("npm run test", "test: npm test"),
    ("npm run-script test:e2e -- --headed", "test: npm run test:e2e --headed"),
    ("npm test -- src/a.test.ts", "test: npm test src/a.test.ts"),
    ("npm --prefix web test", "test: npm test --prefix web"),
    ("npm test -w packages/a", "test: npm test -w packages/a"),
    ("npm run test --workspaces --if-present", "test?: npm test --workspaces --if-present"),
    ("npm run typecheck", "typecheck: npm run typecheck"),
    ("npm run type-check", "typecheck: npm run type-check"),
    ("npm run check-types", "typecheck: npm run check-types"),
    ("npm run check:ts", "typecheck: npm run check:ts"),
    ("npm run test:types", "typecheck: npm run test:types"),
    ("npm run lint:fix", "lint: npm run lint:fix"),
    ("npm run test:lint", "lint: npm run test:lint"),
    ("npm run unit-tests", "test: npm run unit-tests"),
    ("npm exec -- vitest run", "test: vitest"),
    ("pnpm --filter @acme/web test", "test: pnpm test --filter @acme/web"),
    ("pnpm -F web run lint", "lint: pnpm run lint -F web"),
    ("pnpm exec playwright test", "test: playwright test"),
    ("pnpm vitest run src", "test: vitest src"),
    ("pnpm tsc --noEmit", "typecheck: tsc"),
    ("pnpm turbo run test lint", "test: turbo test, lint: turbo lint"),
    ("yarn workspace web test", "test: yarn test workspace web"),
    ("yarn jest --ci", "test: jest"),
    ("yarn run lint", "lint: yarn run lint"),
    ("yarn test:integration", "test: yarn run test:integration"),
    ("bun run test", "test: bun run test"),
    ("bun run tsc --noEmit", "typecheck: tsc"),
    ("bunx eslint src", "lint: eslint src"),
    ("bunx --bun vitest", "test: vitest"),
    ("npx -y @biomejs/biome check .", "lint: biome check"),
    ("npx --no-install eslint_d .", "lint: eslint_d"),
    ("npx vitest@2 run", "test: vitest"),
    ("npx -p typescript tsc --noEmit", "typecheck: tsc"),
    ("./node_modules/.bin/jest", "test: jest"),
    ("node node_modules/.bin/mocha test", "test: mocha test"),
    ("node --test", "test: node --test"),
    ("node --import tsx --test src/a.test.ts", "test: node --test --import tsx src/a.test.ts"),
    ("deno test -A", "test: deno test -A"),
    ("deno task test", "test: deno test"),
    ("deno lint", "lint: deno lint"),
    ("deno check main.ts", "typecheck: deno check main.ts"),
    ("npx nx run-many -t lint test", "lint: nx lint -t lint test, test: nx test -t lint test"),
    ("npx nx test app", "test: nx test app"),
    ("nx affected --target=test", "test: nx test --target=test"),
    ("npx cypress run", "test: cypress run"),
    ("npx react-scripts test --watchAll=false", "test: react-scripts test --watchAll=false"),
    ("npx jest --watch=false", "test: jest --watch=false"),
    ("npx next lint", "lint: next lint"),
    ("npx svelte-check", "typecheck: svelte-check"),
    ("npx c8 mocha", "test: mocha"),
    // Python.
    ("python3 -m pytest tests/ -x -q", "test: pytest tests/"),
    ("python3.12 -m pytest", "test: pytest"),
    ("python -W error -m unittest discover", "test: unittest discover"),
    ("python manage.py test app", "test: manage.py test app"),
    ("poetry run pytest tests/test_a.py::test_b", "test: pytest tests/test_a.py::test_b"),
    ("uv run --frozen --extra dev python -m pytest", "test: pytest"),
    ("uv run -m pytest", "test: pytest"),
    ("uvx ruff check src", "lint: ruff check src"),
    ("uv run ruff check", "lint: ruff check"),
    ("pipenv run flake8", "lint: flake8"),
    ("hatch test", "test: hatch test"),
    ("tox -e py312", "test: tox -e py312"),
    ("coverage run -m pytest", "test: pytest"),
    ("coverage run --source=x -m pytest -q", "test: pytest"),
    (".venv/bin/pytest", "test: pytest"),
    ("source .venv/bin/activate && pytest", "test: pytest"),
    (". venv/bin/activate; pytest", "test: pytest"),
    ("conda run -n dev pytest", "test: pytest"),
    ("PYTHONPATH=src pytest", "test: pytest"),
    ("pylint --exit-zero src", "lint?: pylint --exit-zero src"),
    ("python -m mypy .", "typecheck: mypy"),
    ("uvx ty check", "typecheck: ty check"),
    // Rust, Go, C and others.
    ("cargo +nightly test", "test: cargo test"),
    ("cargo t", "test: cargo test"),
    ("cargo test -p core parse -- --nocapture", "test: cargo test -p core parse"),
    ("cargo --locked test --workspace", "test: cargo test --workspace"),
    ("cargo llvm-cov nextest", "test: cargo llvm-cov nextest"),
    ("cargo clippy --all-targets -- -D warnings", "lint: cargo clippy --all-targets -D warnings"),
    ("cargo c", "typecheck: cargo check"),
    ("cargo xtask test", "test: cargo xtask test"),
    ("rustup run nightly cargo test", "test: cargo test"),
    ("RUST_BACKTRACE=1 cargo test", "test: cargo test"),
    ("go test -race -count=1 ./...", "test: go test -race ./..."),
    ("go test ./pkg/x -run TestA", "test: go test ./pkg/x -run TestA"),
    ("go vet ./...", "lint: go vet ./..."),
    ("gotestsum ./...", "test: gotestsum ./..."),
    ("go run github.com/golangci/golangci-lint/cmd/golangci-lint@latest run", "lint: golangci-lint run"),
    ("make -C build test", "test: make test -C build"),
    ("make -j8 check", "test: make check"),
    ("make lint test", "lint: make lint, test: make test"),
    ("make -i test", "test?: make test"),
    ("cmake --build build && ctest --test-dir build", "test: ctest --test-dir build"),
    ("ninja -C build test", "test: ninja test -C build"),
    ("meson test -C build", "test: meson test -C build"),
    ("./gradlew test", "test: gradlew test"),
    ("./gradlew :app:testDebugUnitTest", "test: gradlew :app:testDebugUnitTest"),
    ("gradle check", "test: gradle check"),
    ("./mvnw -q verify", "test: mvnw verify"),
    ("mvn -fn test", "test?: mvn test -fn"),
    ("sbt test", "test: sbt test test"),
    ("bundle exec rspec spec/a_spec.rb", "test: rspec spec/a_spec.rb"),
    ("bin/rails test", "test: rails test"),
    ("rake test", "test: rake test"),
    ("bundle exec rubocop", "lint: rubocop"),
    ("php artisan test", "test: artisan test"),
    ("./vendor/bin/phpunit --filter A", "test: phpunit --filter A"),
    ("composer test", "test: composer test"),
    ("vendor/bin/phpstan analyse src", "typecheck: phpstan analyse src"),
    ("swift test", "test: swift test"),
    ("xcodebuild -scheme App test", "test: xcodebuild test -scheme App"),
    ("flutter test", "test: flutter test"),
    ("dart analyze", "lint: dart analyze"),
    ("zig build test", "test: zig build test"),
    ("bazel test //...", "test: bazel test //..."),
    ("stack test", "test: stack test"),
    ("dune runtest", "test: dune runtest"),
    ("MIX_ENV=test mix test", "test: mix test"),
    ("mix credo", "lint: mix credo"),
    ("prove -r t", "test: prove -r t"),
    ("bats test", "test: bats test"),
    ("shellcheck *.sh", "lint: shellcheck *.sh"),
    ("./run-tests.sh", "test: run-tests.sh"),
    ("bash scripts/test.sh fast", "test: scripts/test.sh fast"),
    ("scripts/lint", "lint: scripts/lint"),
    // Around it.
    ("sudo -u app npm test", "test: npm test"),
    ("nice -n 10 make test", "test: make test"),
    ("timeout -k 5 10m npm test", "test: npm test"),
    ("timeout --signal=KILL 60s npx jest", "test: jest"),
    ("/usr/bin/time -v cargo test", "test: cargo test"),
    ("env -u A B=2 pytest", "test: pytest"),
    ("CI=true FORCE_COLOR=0 npm test", "test: npm test"),
    ("cross-env NODE_ENV=test jest", "test: jest"),
    ("xvfb-run -a npm test", "test: npm test"),
    ("stdbuf -oL pytest", "test: pytest"),
    ("docker compose exec -T web pytest", "test: pytest"),
    ("docker compose run --rm web npm test", "test: npm test"),
    ("docker run --rm -v .:/w -w /w node:20 npm test", "test: npm test"),
    ("docker exec -it app php artisan test", "test: artisan test"),
    ("kubectl exec pod -- pytest", "test: pytest"),
    ("mise exec -- npm test", "test: npm test"),
    ("nix develop -c cargo test", "test: cargo test"),
    ("nix-shell --run 'make test'", "test: make test"),
    ("exec npm test", "test: npm test"),
    ("bash -c 'cd web && npm test'", "test: npm test (in web)"),
    ("/bin/bash -lc \"cargo test\"", "test: cargo test"),
    ("sh -c 'cargo test; echo done'", "test?: cargo test"),
    ("bash -e -c 'cargo test; echo done'", "test: cargo test"),
    ("bash -eo pipefail -c 'cargo test | tail'", "test: cargo test"),
    ("bash -c 'bash -c \"npm test\"'", "test: npm test"),
    ("eval 'npm test'", "test: npm test"),
    ("cmd /c npm test", "test: npm test"),
    ("(cd web && npm test)", "test: npm test (in web)"),
    ("(cd web && npm test) && npm run lint", "test: npm test (in web), lint: npm run lint"),
    ("{ npm test; }", "test: npm test"),
    ("cd a && cd ../b/./c && npm test", "test: npm test (in b/c)"),
    ("pushd web && npm test && popd", "test: npm test (in web)"),
    ("npm test > out.log 2>&1", "test: npm test"),
    ("npm test &> out.log", "test: npm test"),
    ("npm test 2>/dev/null </dev/null", "test: npm test"),
    ("npm ci && npm run lint && npm test", "lint: npm run lint, test: npm test"),
    ("npm test \\\n  -- src", "test: npm test src"),
    ("git diff --name-only | xargs eslint", "lint: eslint"),
    ("yes | npm test", "test: npm test"),
    ("cat <<'EOF' > notes\nnpm test\nEOF\npytest", "test: pytest"),
    ("# first\nnpm test", "test: npm test"),
    ("npm test # all of it", "test: npm test"),
    // Whose status is it?
    ("npm test || true", "test?: npm test"),
    ("npm test || exit 1", "test: npm test"),
    ("npm test || { echo failed; exit 1; }", "test: npm test"),
    ("npm test || (echo failed && exit 1)", "test?: npm test"),
    ("npm test && echo ok", "test: npm test"),
    ("npm test && echo ok || echo failed", "test?: npm test"),
    ("npm test; echo $?", "test?: npm test"),
    ("npm test; exit $?", "test: npm test"),
    ("npm test; code=$?; tail log; exit $code", "test: npm test"),
    ("npm test; code=$?; tail log; exit 0", "test?: npm test"),
    ("npm test\necho done", "test?: npm test"),
    ("set -e\nnpm test\necho done", "test: npm test"),
    ("set -e; npm test && echo ok; echo done", "test?: npm test"),
    ("set -e; set +e; npm test; echo done", "test?: npm test"),
    ("set -o pipefail; npm test | tail -5", "test: npm test"),
    ("set -o pipefail && npm test 2>&1 | tee log", "test: npm test"),
    ("set -euo pipefail\nnpm run lint\nnpm test | tail", "lint: npm run lint, test: npm test"),
    ("npm test 2>&1 | tail -20", "test?: npm test"),
    ("npm test |& tee log", "test?: npm test"),
    ("npm test &", "test?: npm test"),
    ("npm test & wait", "test?: npm test"),
    ("nohup npm test > log 2>&1 &", "test?: npm test"),
    ("! npm test", "test?: npm test"),
    ("if npm test; then echo ok; fi", "test?: npm test"),
    ("for d in a b; do (cd $d && npm test); done", "test?: npm test (in $d)"),
    ("while ! pytest; do sleep 1; done", "test?: pytest"),
    ("out=$(npm test 2>&1); echo \"$out\" | tail", "test?: npm test"),
    ("npm test; npm run lint", "test?: npm test, lint: npm run lint"),
    ("npm test; npm test", "test?: npm test"),
    ("which jest || npm i jest && jest", "test: jest"),
    ("npm run lint || npm test", "lint?: npm run lint, test?: npm test"),
    ("npm test \"", "test?: npm test"),
    ("(npm test", "test?: npm test"),
    ("npm test | (cat; cat)", "test?: npm test"),
];

/// Command lines that check nothing.
const NOT_SEEN: &[&str] = &[
    "",
    "   ",
    "grep pytest",
    "grep -rn 'npm test' .",
    "cat test.log",
    "echo cargo test",
    "echo 'npm test && pytest'",
    "git commit -m \"npm test\"",
    "git commit -m 'fix: make tests pass; npm test'",
    "git commit -m \"$(cat <<'EOF'\nnpm test\nEOF\n)\"",
    "cargo test --no-run",
    "cargo test -- --list",
    "cargo build",
    "cargo fmt --check",
    "cargo run -- test",
    "cargo install cargo-nextest",
    "cargo nextest list",
    "cargo watch -x test",
    "tsc --version",
    "tsc -v",
    "tsc --init",
    "tsc --watch",
    "npx tsc --help",
    "npm run testimonials",
    "npm run latest",
    "npm run contest",
    "npm run build",
    "npm run dev",
    "npm run check",
    "npm run test:watch",
    "npm run test:setup",
    "npm run build:test",
    "npm install jest",
    "npm i -D eslint vitest",
    "npm ls vitest",
    "npm view jest",
    "pnpm add -D vitest",
    "yarn add jest",
    "yarn why eslint",
    "bun add vitest",
    "bun run src/test.ts",
    "npx jest --watch",
    "npx vitest --ui",
    "npx vitest watch",
    "npx jest --listTests",
    "npx create-next-app test",
    "npx playwright install",
    "npx cypress open",
    "pip install pytest",
    "uv add pytest",
    "uv pip install ruff",
    "poetry add --group dev mypy",
    "pytest --collect-only",
    "pytest --version",
    "python -c 'import pytest'",
    "python test.py",
    "python -m venv test",
    "ruff format .",
    "ruff format --check .",
    "black --check .",
    "prettier --check .",
    "go build ./...",
    "go test -c ./...",
    "go run ./cmd/test",
    "make",
    "make build",
    "make -n test",
    "make test-data",
    "make contest",
    "just --list",
    "just deploy test",
    "mvn package -DskipTests",
    "gradle build -x test",
    "gradle tasks",
    "dotnet build",
    "dotnet new xunit -n tests",
    "ctest -N",
    "mix test.watch",
    "mix deps.get",
    "docker build -t test .",
    "docker compose up test",
    "docker run --rm test",
    "ls tests",
    "cd test",
    "mkdir -p tests && touch tests/a.py",
    "test -f package.json",
    "[ -f test ] && echo yes",
    "rm -rf test",
    "cat package.json | grep test",
    "cat > run.sh <<EOF\nnpm test\nEOF",
    "cat > run.sh <<-'EOF'\n\tnpm test\n\tEOF",
    "printf 'npm test\\n' > x.sh",
    "sed -n 1,20p src/test.rs",
    "vim test.py",
    "watch npm test",
    "watchexec -- cargo test",
    "man pytest",
    "which pytest",
    "command -v eslint",
    "type tsc",
    "# npm test",
    "run_it() { npm test; }",
    "function check { npm test; }",
    "case $x in a) npm test;; esac",
    "alias t='npm test'",
    "export CMD='npm test'",
    "CMD='npm test'",
    "$RUN_TESTS",
    "gcc -o test test.c && ./test",
    "curl https://example.com/test",
    "gh workflow run test",
    "gh run view --log-failed",
    "git stash && git checkout test",
    "terraform validate",
    "kubectl get pods test",
    "node test.js",
    "ssh host true",
    "tail -f test.log",
    "eslint --print-config a.js",
    "npm pkg get scripts.test",
    "npm init -y",
    "jq .scripts.test package.json",
];

#[test]
fn what_people_type_is_recognised_and_whose_status_it_is() {
    let wrong: Vec<String> = SEEN
        .iter()
        .filter_map(|(command, expected)| {
            let got = seen(command);
            (got != *expected).then(|| format!("{command:?}\n  expected {expected:?}\n  got      {got:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_checks_nothing_is_not_recognised() {
    let wrong: Vec<String> = NOT_SEEN
        .iter()
        .filter_map(|command| {
            let got = seen(command);
            (!got.is_empty()).then(|| format!("{command:?} as {got:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn patterns_of_the_project_are_recognised_behind_wrappers_too() {
    let extra = [
        ExtraPattern { kind: Kind::Test, command: "./ci *".to_owned() },
        ExtraPattern { kind: Kind::Lint, command: "tools/check-*".to_owned() },
    ];
    let seen = |command: &str| recognise(command, &extra).first().map(|it| (it.kind, it.sure));
    assert_eq!(seen("timeout 5 ./ci fast"), Some((Kind::Test, true)));
    assert_eq!(seen("./ci fast | tail"), Some((Kind::Test, false)));
    assert_eq!(seen("./ci"), None);
    assert_eq!(seen("echo ./ci fast"), None);
    assert_eq!(seen("cd a && tools/check-docs --all"), Some((Kind::Lint, true)));
    assert_eq!(seen("tools/other"), None);
}

#[test]
fn no_text_panics_or_recurses_without_end() {
    let pieces = [
        "npm test", "(", ")", "{", "}", "|", "||", "&&", "&", ";", "\n", "'", "\"", "`", "$(", "${", "<<EOF",
        ">", "2>&1", "if", "then", "fi", "for", "do", "done", "case", "esac", "!", "bash -c", "eval", "\\",
        "é", " ", "=", "xargs", "f()", "-o", "set", "exit $?", "A=$(",
    ];
    let mut seed = 1_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[usize::try_from(seed >> 33).unwrap_or(0) % pieces.len()]);
            text.push(' ');
        }
        recognise(&text, &[]);
        explore::is_exploration(&text);
    }
    recognise(&"(".repeat(100_000), &[]);
    recognise(&"eval ".repeat(10_000), &[]);
    recognise(&"bash -c 'x' && ".repeat(5_000), &[]);
    assert_eq!(recognise(&"npm run test:a; ".repeat(1000), &[]).len(), 1);
}

/// What is read of a shell's calls, and the ledger that folds it.
struct Shell {
    reader: CheckReader,
    ledger: Ledger,
    /// The calls so far, as the listener to an agent knows them.
    open: Vec<ToolCall>,
    calls: u32,
}

impl Shell {
    fn new() -> Self {
        Self {
            reader: CheckReader::new("/srv/work", &[]),
            ledger: Ledger::default(),
            open: Vec::new(),
            calls: 0,
        }
    }

    fn call(&mut self, kind: ToolKind, command: Option<&str>) -> String {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let (name, command) = ("tool".to_owned(), command.map(str::to_owned));
        let call = ToolCall { id: id.clone(), kind, name, command, path: None };
        self.open.push(call.clone());
        let mut called = ToolCalled::new(IterationNumber(1), 1, call);
        self.reader.called(&mut called);
        self.ledger.called(&called);
        id
    }

    fn end(&mut self, id: &str, ok: Option<bool>, exit_code: Option<i64>, output: &str) {
        let call = self.open.iter().find(|call| call.id == id).cloned();
        let mut end = finished(id, ok, exit_code, output, call);
        self.reader.finished(&mut end);
        self.ledger.finished(&end);
    }

    fn ran(&mut self, command: &str, code: i64) -> &mut Self {
        self.printed(command, code, "")
    }

    fn printed(&mut self, command: &str, code: i64, output: &str) -> &mut Self {
        let id = self.call(ToolKind::Shell, Some(command));
        self.end(&id, Some(code == 0), Some(code), output);
        self
    }

    fn left(&self) -> Vec<String> {
        self.ledger.left_failing().into_iter().map(|failing| failing.command).collect()
    }
}

fn finished(
    id: &str,
    ok: Option<bool>,
    exit_code: Option<i64>,
    output: &str,
    call: Option<ToolCall>,
) -> ToolFinished {
    let result = ToolResult { id: id.to_owned(), ok, exit_code, output: output.to_owned() };
    ToolFinished::new(IterationNumber(1), 1, result, call)
}

#[test]
fn the_last_result_of_each_command_settles_a_kind() {
    let mut shell = Shell::new();
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::None);
    shell.ran("ls", 0);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::None);
    shell.ran("npm test", 1);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Failed);
    shell.ran("npm test", 0);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Passed);
    assert_eq!(shell.ledger.passing(Kind::Lint), Settled::None);
    shell.ran("pytest", 1);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Failed, "another command, and it fails");
    shell.ran("npm test", 0);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Failed, "each of them has to pass");
    shell.ran("timeout 60 pytest -v", 0);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Passed);
}

#[test]
fn a_status_that_is_not_the_checks_is_unknown_and_never_a_pass() {
    for command in ["npm test | tail", "npm test || true", "npm test; echo done", "npm test &"] {
        let mut shell = Shell::new();
        shell.ran(command, 0);
        assert_eq!(shell.ledger.passing(Kind::Test), Settled::Unknown, "{command}");
        assert_eq!(shell.left(), [""; 0], "{command}");
        shell.ran("npm test", 0);
        assert_eq!(shell.ledger.passing(Kind::Test), Settled::Passed, "{command}");
        shell.ran(command, 0);
        assert_eq!(shell.ledger.passing(Kind::Test), Settled::Unknown, "{command}");
    }
}

#[test]
fn a_summary_that_tells_of_failures_is_believed_where_the_status_is_lost() {
    let failing = [
        "running 3 tests\ntest result: FAILED. 2 passed; 1 failed; 0 ignored",
        "=========== 1 failed, 3 passed in 0.12s ===========",
        "Tests:       1 failed, 4 passed, 5 total",
        "--- FAIL: TestA (0.00s)\nFAIL\nexit status 1",
        "FAIL\tgithub.com/x/y\t0.01s",
        "  3 passing (4ms)\n  1 failing",
        "Ran 3 tests in 0.001s\n\nFAILED (failures=1)",
        "12 examples, 3 failures",
        "src/a.ts(3,4): error TS2322: Type 'x'",
        "✖ 3 problems (2 errors, 1 warning)",
        "Found 3 errors in 1 file (checked 4 source files)",
        "FAILURES!\nTests: 3, Assertions: 3, Failures: 1.",
        "# tests 3\n# pass 1\n# fail 2",
        "67% tests passed, 1 tests failed out of 3",
    ];
    for output in failing {
        let mut shell = Shell::new();
        shell.printed("npm test 2>&1 | tail -20", 0, output);
        assert_eq!(shell.left(), ["npm test"], "{output}");
        assert_eq!(shell.ledger.passing(Kind::Test), Settled::Failed, "{output}");
    }
    let fine = [
        "test result: ok. 3 passed; 0 failed; 0 ignored",
        "=========== 3 passed in 0.12s ===========",
        "Tests:       4 passed, 4 total",
        "ok  \tgithub.com/x/y\t0.01s",
        "12 examples, 0 failures",
        "✖ 3 problems (0 errors, 3 warnings)",
        "Found 0 errors.",
        "# fail 0",
        "100% tests passed, 0 tests failed out of 3",
        "test parses_1_failed_line ... ok",
        "",
    ];
    for output in fine {
        let mut shell = Shell::new();
        shell.printed("npm test 2>&1 | tail -20", 0, output);
        assert_eq!(shell.left(), [""; 0], "{output}");
        assert_eq!(shell.ledger.passing(Kind::Test), Settled::Unknown, "a pass is never believed: {output}");
    }
}

#[test]
fn a_check_that_has_not_ended_is_unknown() {
    let mut shell = Shell::new();
    shell.ran("npm test", 0);
    let id = shell.call(ToolKind::Shell, Some("npm test"));
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Unknown);
    shell.end(&id, Some(true), None, "Command running in background with ID: bash_1");
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Unknown);
    shell.ran("npm test", 0);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Passed);
    let id = shell.call(ToolKind::Shell, Some("npm test"));
    shell.end(&id, None, None, "");
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Unknown, "the agent does not say");
    shell.ran("npm test", 127);
    assert_eq!((shell.ledger.passing(Kind::Test), shell.left().len()), (Settled::Unknown, 0), "nothing ran");
}

#[test]
fn what_is_left_failing_is_cleared_by_a_pass_of_its_kind_only() {
    let mut shell = Shell::new();
    shell.ran("npm test", 1);
    assert_eq!(shell.left(), ["npm test"]);
    shell.ran("npm run lint", 0);
    assert_eq!(shell.left(), ["npm test"]);
    shell.ran("npx vitest run src/a.test.ts", 0);
    assert_eq!(shell.left(), [""; 0]);
    shell.ran("npm test", 1);
    assert_eq!(shell.left(), ["npm test"], "a pass before it clears nothing");
    let told: Vec<_> = shell.ledger.results().collect();
    let word = |command: &str| told.iter().find(|(it, _)| it == command).map(|(_, word)| *word);
    assert_eq!((word("npm test"), word("npm run lint")), (Some("failed"), Some("passed")));
    let failing = shell.ledger.left_failing();
    assert_eq!(failing, [Failing { kind: Kind::Test, command: "npm test".to_owned() }]);
}

#[test]
fn of_checks_that_failed_together_one_is_to_blame() {
    let mut shell = Shell::new();
    shell.ran("npm run lint && npm test", 1);
    assert_eq!(shell.left().len(), 2);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Unknown);
    shell.ran("npm run lint", 0);
    assert_eq!(shell.left(), [""; 0]);
    assert_eq!(shell.ledger.passing(Kind::Lint), Settled::Passed);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Unknown, "nobody has seen it pass");
    shell.ran("npm run lint && npm test", 0);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Passed);
}

#[test]
fn all_of_it_passing_covers_the_parts_that_failed() {
    let mut shell = Shell::new();
    shell.ran("pytest tests/test_a.py -k one", 1).ran("cd /srv/work && pytest -q", 0);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Passed);
    shell.ran("pytest tests/test_a.py", 1).ran("pytest tests/test_b.py", 0);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Failed, "another part does not");
    shell.ran("cd sub && pytest", 0);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Failed, "nor does another folder");
    shell.ran("cd /srv/work/sub && pytest", 1).ran("pytest", 0);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Failed);
    shell.ran("(cd sub; pytest)", 0);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Passed);
    shell.ran("go test ./a -run X", 1).ran("go test ./...", 0);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Passed);
    shell.ran("cargo clippy -- -D warnings", 1).ran("cargo clippy", 0);
    assert_eq!(shell.ledger.passing(Kind::Lint), Settled::Failed, "less of it does not");
}

#[test]
fn a_new_iteration_has_to_show_its_own_passes_and_inherits_what_fails() {
    let mut shell = Shell::new();
    shell.ran("npm test", 0).ran("npm run lint", 1);
    shell.ledger.next_iteration();
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::None);
    assert_eq!(shell.ledger.passing(Kind::Lint), Settled::None);
    assert_eq!(shell.left(), ["npm run lint"]);
    shell.ran("npm run lint:all", 0);
    assert_eq!(shell.left(), [""; 0]);
    assert_eq!(shell.ledger.passing(Kind::Lint), Settled::Passed);
}

#[test]
fn looking_around_is_no_failed_call() {
    let mut shell = Shell::new();
    for look in [
        "grep -r x .",
        "rg x | head",
        "cat missing",
        "ls nowhere && cat nowhere/x",
        "git diff --exit-code",
        "test -f x",
        "command -v jq",
        "cd src && find . -name x | xargs grep y",
    ] {
        shell.ran(look, 1);
        assert_eq!(shell.ledger.any_failed_call(), None, "{look}");
    }
    let id = shell.call(ToolKind::Read, None);
    shell.end(&id, Some(false), None, "no such file");
    assert_eq!(shell.ledger.any_failed_call(), None);
    for work in ["make", "sed -i s/a/b/ missing", "npm ci && grep x y", "git push", "./deploy.sh"] {
        let mut shell = Shell::new();
        shell.ran(work, 0);
        assert_eq!(shell.ledger.any_failed_call(), None, "{work}");
        shell.ran(work, 1);
        assert_eq!(shell.ledger.any_failed_call(), Some(work));
        shell.ledger.next_iteration();
        assert_eq!(shell.ledger.any_failed_call(), None, "{work}");
    }
    let id = shell.call(ToolKind::Edit, None);
    shell.end(&id, Some(false), None, "");
    assert_eq!(shell.ledger.any_failed_call(), Some("edit"));
}

#[test]
fn the_ledger_stays_small_and_keeps_what_failed() {
    let mut shell = Shell::new();
    shell.ran("npm test -- broken", 1);
    for n in 0..1000 {
        shell.ran(&format!("npm run lint -- file{n}"), 0);
        shell.call(ToolKind::Shell, Some(&format!("pytest tests/{n}")));
    }
    assert_eq!(shell.ledger.results().count(), 64);
    assert_eq!(shell.left(), ["npm test broken"]);
}

#[test]
fn a_result_without_its_call_is_told_by_its_own_command() {
    let mut shell = Shell::new();
    let mut end =
        ToolFinished { command: Some("cargo test".to_owned()), ..finished("x", Some(true), None, "", None) };
    shell.reader.finished(&mut end);
    shell.ledger.finished(&end);
    assert_eq!(shell.ledger.passing(Kind::Test), Settled::Passed);
}
