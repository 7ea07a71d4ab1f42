//! What the results of checks add up to in the ledger, from the calls of a shell to what is left failing.

use super::*;
use ralph_core::check::{Failing, Ledger, Settled};
use ralph_core::event::{ToolCall, ToolCalled, ToolFinished, ToolKind, ToolResult};
use ralph_core::ids::IterationNumber;

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
fn a_check_is_settled_by_what_compiles_the_same() {
    let mut shell = Shell::new();
    shell.ran("cargo check", 101).ran("cargo build", 0);
    assert_eq!(shell.left(), [""; 0]);
    shell.ran("cargo build", 101).ran("cargo test", 0);
    assert_eq!(shell.left(), [""; 0]);
    shell.ran("npm run build", 1).ran("cargo test", 0);
    assert_eq!(shell.left(), ["npm run build"], "another tool");
    shell.ran("yarn build", 0);
    assert_eq!(shell.left(), [""; 0]);
    shell.ran("cargo build", 101).ran("cd sub && cargo test", 0);
    assert_eq!(shell.left(), ["cargo build"], "another folder");
    shell.ran("cargo build", 0).ran("cargo test", 101).ran("cargo build", 0);
    assert_eq!(shell.left(), ["cargo test"], "tests are more than what compiles");
}

#[test]
fn a_target_that_is_not_there_is_no_failure() {
    let mut shell = Shell::new();
    shell.printed("make", 2, "make: *** No targets specified and no makefile found.  Stop.");
    shell.printed("npm run lint", 1, "npm ERR! Missing script: \"lint\"");
    assert_eq!(shell.left(), [""; 0]);
    shell.printed("make", 2, "make: *** No rule to make target 'a.c', needed by 'a.o'.  Stop.");
    assert_eq!(shell.left(), ["make"]);
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
