//! Command lines that look like checks and prove nothing, each with what its tool reports; and honest ones beside them.

use ralph_core::check::CheckResult;
use ralph_core::event::{ToolCall, ToolFinished, ToolKind, ToolResult};
use ralph_core::ids::IterationNumber;

use super::*;

/// What the tests of a call came to that ended well and printed this.
fn came_to(command: &str, output: &str) -> Vec<CheckResult> {
    let call = ToolCall {
        id: "c".to_owned(),
        kind: ToolKind::Shell,
        name: "Bash".to_owned(),
        command: Some(command.to_owned()),
        path: None,
    };
    let result =
        ToolResult { id: "c".to_owned(), ok: Some(true), exit_code: Some(0), output: output.to_owned() };
    let mut end = ToolFinished::new(IterationNumber(1), 1, result, Some(call));
    CheckReader::new("/srv/work", &[]).finished(&mut end);
    end.checks.iter().filter(|check| check.kind == Kind::Test).map(|check| check.result).collect()
}

fn passes(command: &str, output: &str) -> bool {
    let found = came_to(command, output);
    !found.is_empty() && found.iter().all(|result| *result == CheckResult::Passed)
}

#[test]
fn what_can_not_be_vouched_for_is_not_passed_whatever_it_prints() {
    for command in [
        "exit 0; pytest",
        "trap 'exit 0' EXIT; pytest",
        "alias pytest=true; pytest",
        "pytest() { :; }; pytest",
        "function pytest { true; }\npytest",
        "source fake; pytest",
        ". ./fake.sh && pytest",
        "kill $$; pytest",
        "return 0; pytest",
        "exec true; pytest",
        "PATH=/tmp/fake:$PATH pytest",
        "export PATH=.:$PATH; pytest",
        "env PATH=/tmp/x:/usr/bin pytest",
        "false && pytest",
        "! true && pytest; pytest | cat",
        "bash -c 'exit 0; pytest'",
        "bash -n -c pytest",
        "sh -n scripts/test.sh",
        "setsid -f pytest",
        "setsid pytest",
        "RUSTC_WRAPPER=/bin/true cargo test",
        "CARGO=/bin/true cargo test",
        "npm_config_script_shell=/bin/true npm test",
        "npm config set script-shell /bin/true; npm test",
        "BASH_ENV=/tmp/f bash -c pytest",
        "LD_PRELOAD=./x.so pytest",
        "make test SHELL=/bin/true",
        "make test -t",
        "gradle test -x test",
        "./gradlew check -xtest",
        "mvn test -DskipTests",
        "mvn test -Dmaven.test.skip=true",
        "cargo -x test",
        "/tmp/fake/pytest",
        "./pytest",
        "cd /tmp/other && cargo test",
        "cargo test --manifest-path /tmp/other/Cargo.toml",
        "pytest /tmp/other/tests",
        "git stash; cargo test",
        "set -n; pytest",
        "X=exit; $X 0; pytest",
        "eval 'exit 0'; pytest",
        "eval \"$CMD\"; pytest",
        "builtin exit 0; pytest",
        "command exit; pytest",
        "case x in x) exit 0;; esac; pytest",
        "if true; then exit 0; fi; pytest",
        "{ exit 0; }; pytest",
        "true || pytest",
        "pytest; code=$?; code=0; exit $code",
        "pytest; code=$?; trap 'exit 0' EXIT; exit $code",
        "set -e; false && pytest; echo done",
        "(set -e; pytest; echo ok) && echo done",
        "sudo -l pytest",
        "docker run --entrypoint true app pytest",
        "docker exec -d app pytest",
        "flock -n -E 0 lock pytest",
        "pytest -k zzz; echo '3 passed in 0.1s'",
        "pytest -k zzz && echo '3 passed in 0.1s'",
        "cargo test zzz && cargo test --lib",
        "shopt -s expand_aliases; pytest",
        "hash -p /bin/true pytest; pytest",
        "enable -f ./x.so pytest; pytest",
        "coproc pytest",
        "pytest & wait",
    ] {
        assert!(!passes(command, "===== 3 passed in 0.12s ====="), "{command}");
        assert!(!passes(command, ""), "{command}");
    }
}

#[test]
fn what_may_have_run_nothing_takes_a_count() {
    for command in [
        "pytest -k zzz",
        "pytest -m 'not everything'",
        "PYTEST_ADDOPTS='-k zzz' pytest",
        "PYTHONPATH=./fake pytest",
        "cargo test zzz",
        "go test -run XXX ./...",
        "GOFLAGS=-run=zzz go test ./...",
        "rspec -e zzz",
        "bats -f zzz tests",
        "ctest -R zzz",
        "mocha -g zzz",
        "jest --passWithNoTests",
        "npm test -- -t zzz",
        "node --test --test-name-pattern zzz",
        "mvn test -Dtest=Nothing -DfailIfNoTests=false",
        "xargs pytest </dev/null",
        "make test TESTS=",
        "phpunit --filter zzz",
        "bun test -t zzz",
        "cargo test --workspace --exclude all",
        "cargo test -- --skip ''",
        "pytest --deselect tests/a.py",
    ] {
        assert!(!passes(command, "ok"), "{command}");
        assert!(passes(command, "===== 3 passed in 0.12s ====="), "{command}");
        assert!(!passes(command, "===== 3 deselected in 0.12s ====="), "{command}");
    }
    for silent in ["collected 0 items\n\nno tests ran in 0.01s", "# tests 3\n# pass 0\n# fail 0\n# skipped 3"]
    {
        assert!(!passes("npm test", silent), "{silent}");
    }
    assert!(!passes("trap 'true' EXIT; cargo test", "test result: FAILED. 3 passed; 2 failed; 0 ignored"));
}

#[test]
fn what_is_honest_is_believed_by_its_status() {
    for command in [
        "cd app && npm test",
        "cargo test -q 2>&1",
        "FOO=1 pytest tests/test_a.py",
        "cd /srv/work/app && pytest -q",
        "export PATH=\"$HOME/.cargo/bin:$PATH\" && cargo test",
        "export PATH=$PATH:/usr/local/go/bin; go test ./...",
        "source .venv/bin/activate && pytest tests",
        ". ~/.nvm/nvm.sh && nvm use 20 && npm test",
        "cd app || exit 1; npm test",
        "set -euo pipefail; npm ci; npm test | tail -5",
        "trap 'kill $SERVER' EXIT; npm start & SERVER=$!; npm test",
        "npm run build && npm test && echo all good",
        "timeout 300 cargo test --release -p core -- --nocapture",
        "python -m pytest tests/test_a.py::test_b -x -q",
        "pytest -n 4 --cov=app --maxfail=1",
        "go test -race -count=1 -timeout 60s ./pkg/...",
        "npx jest src/a.test.ts --runInBand",
        "NODE_ENV=test CI=1 npm test --silent",
        "RUST_BACKTRACE=1 RUSTFLAGS='-D warnings' cargo test --all-features",
        "make -j8 -C app test",
        "./gradlew test --tests 'a.B' --no-daemon",
        "mvn -q -B -pl app -am test",
        "dotnet test tests/App.Tests.csproj -c Release --no-build",
        "git add -A && cargo test",
        "tox -e py312",
    ] {
        assert!(passes(command, ""), "{command}: {:?}", came_to(command, ""));
        assert!(passes(command, "3 passed in 0.12s"), "{command}");
    }
}
