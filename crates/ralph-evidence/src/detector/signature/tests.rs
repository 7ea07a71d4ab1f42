use super::*;

fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<_> = cases
        .iter()
        .map(|(text, want)| (signature(text), *want, *text))
        .filter(|(got, want, _)| got != want)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn errors_are_told_by_kind_and_place() {
    check(&[
        (
            "Error: TypeError - Cannot read property 'id' of null at auth.ts:45",
            "error:TypeError-null-auth.ts",
        ),
        (
            "TypeError: x is undefined\n    at login (src/app/auth.ts:4:3)",
            "error:TypeError-undefined-auth.ts",
        ),
        (
            "Traceback (most recent call last):\n  File \"app/db.py\", line 3, in f\nKeyError: 'id'",
            "error:KeyError-db.py",
        ),
        ("error[E0308]: mismatched types\n --> src/main.rs:4:5", "error:E0308-main.rs"),
        ("src/a.ts(4,5): error TS2322: Type 'x' is not assignable", "error:TS2322-a.ts"),
        ("panic: runtime error: index out of range\n\tmain.go:12", "error:index-range-main.go"),
        (
            "Exception in thread \"main\" java.lang.NullPointerException\n\tat A.b(Login.java:3)",
            "error:NullPointerException-Login.java",
        ),
        ("main.c:4:2: error: unknown type name foo", "error:unknown-type-name-main.c"),
    ]);
}

#[test]
fn test_runs_are_told_by_how_many_fail_and_which() {
    check(&[
        ("3 tests failing - auth, login, logout", "test-fail:3-auth,login"),
        (
            "FAILED tests/test_a.py::test_login - assert 1 == 2\nFAILED tests/test_a.py::test_out\n2 failed, 5 passed in 0.1s",
            "test_a.py:test_login,test_out",
        ),
        (
            "test auth::login ... FAILED\ntest auth::out ... ok\ntest result: FAILED. 1 passed; 1 failed; 0 ignored",
            "test-fail:1-login",
        ),
        (
            "--- FAIL: TestLogin (0.00s)\n--- FAIL: TestOut (0.01s)\n--- PASS: TestIn\nFAIL",
            "test-fail:2-testlogin,testout",
        ),
        (
            "FAIL src/auth.test.ts\n  ● Auth › login\nTests: 2 failed, 5 passed, 7 total",
            "auth.test.ts:login+1",
        ),
        ("Tests run: 5, Failures: 2, Errors: 1, Skipped: 0", "test-fail:3"),
        ("FAILED (failures=2, errors=1)", "test-fail:3"),
        ("rspec ./spec/a_spec.rb:3 # Auth logs in\n5 examples, 1 failure", "a_spec.rb:auth-logs-in"),
        ("not ok 3 - rejects a bad token\n# tests 4\n# pass 3\n# fail 1", "test-fail:1-rejects-a-bad-token"),
        ("Failed!  - Failed:     2, Passed:     5, Skipped:     0, Total:     7", "test-fail:2"),
        ("14 of 83 tests still failing.", "test-fail:14"),
    ]);
}

#[test]
fn no_failures_are_no_failure() {
    check(&[
        ("Edited auth.ts\ntest result: ok. 5 passed; 0 failed; 0 ignored", "auth.ts:edited"),
        ("Tests run: 5, Failures: 0, Errors: 0", "tests-run-#-failures-#-errors-#"),
    ]);
}

#[test]
fn edits_searches_and_the_start() {
    check(&[
        ("Modified auth.ts line 45-52, added null check for user.profile", "auth.ts:null-check"),
        ("Fixed auth.ts - added null check", "auth.ts:null-check"),
        ("Fixed auth.ts - updated validation", "auth.ts:validation"),
        ("Fixed auth.ts - refactored handler", "auth.ts:handler"),
        ("Created src/lib/Parser.hs", "Parser.hs:created"),
        ("Searched GitHub for 'oauth2 refresh token', found 3 patterns", "search:oauth2-refresh-token"),
        ("Let me look at run 17 of the pipeline", "let-me-look-at-run-##-of-the-pipeline"),
        ("Hello\nThere is more to say, but the beginning counts", "hello"),
        ("", ""),
    ]);
}

fn fires(outputs: &[&str]) -> Vec<bool> {
    let mut detector = SignatureDetector::default();
    outputs.iter().map(|output| detector.detect_loop(output)).collect()
}

#[test]
fn three_in_a_row_fire_and_a_falling_count_does_not() {
    let fix = "Fixed auth.ts - added null check";
    assert_eq!(fires(&[fix, fix, fix]), [false, false, true]);
    assert_eq!(fires(&[fix, "Fixed auth.ts - updated validation", fix, fix]), [false; 4]);
    assert_eq!(fires(&["3 tests failing", "2 tests failing", "1 test failing"]), [false; 3]);
    assert_eq!(fires(&["", "", "", ""]), [false; 4], "nothing is no signature");
    let mut detector = SignatureDetector::new(5, 4);
    assert_eq!([fix; 4].map(|output| detector.detect_loop(output)), [false, false, false, true]);
    detector.reset();
    assert!(!detector.detect_loop(fix));
}

#[test]
fn common_runners_formats() {
    check(&[
        // pytest
        (
            "FAILED tests/test_auth.py::test_login - AssertionError\nFAILED tests/test_auth.py::test_logout\nFAILED tests/test_db.py::test_x\n=== 3 failed, 40 passed, 1 warning in 2.31s ===",
            "test-fail:3-test_login,test_logout",
        ),
        // unittest
        (
            "FAIL: test_login (tests.AuthTest)\nERROR: test_db (tests.DbTest)\nRan 12 tests in 0.1s\n\nFAILED (failures=1, errors=1)",
            "test-fail:2-test_login,test_db",
        ),
        // jest
        (
            "FAIL src/auth.test.ts\n  ● Auth › login › rejects\n  ● Auth › logout\n\nTest Suites: 1 failed, 3 passed, 4 total\nTests:       2 failed, 17 passed, 19 total",
            "auth.test.ts:rejects,logout",
        ),
        // vitest
        (
            " FAIL  src/auth.test.ts > auth > login\nAssertionError: expected 1 to be 2\n Test Files  1 failed | 3 passed (4)\n      Tests  1 failed | 12 passed (13)",
            "auth.test.ts:login",
        ),
        // mocha
        (
            "  12 passing (34ms)\n  2 failing\n\n  1) Auth login:\n     Error: nope\n  2) Auth logout:\n",
            "test-fail:2-auth-login,auth-logout",
        ),
        // go
        (
            "--- FAIL: TestLogin (0.00s)\n    auth_test.go:12: got nil\nFAIL\nFAIL\texample.com/auth\t0.012s",
            "test-fail:1-testlogin",
        ),
        // cargo
        (
            "test auth::login ... FAILED\ntest auth::logout ... FAILED\n\nfailures:\n    auth::login\n    auth::logout\n\ntest result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured",
            "test-fail:2-login,logout",
        ),
        // nextest
        (
            "        FAIL [   0.012s] app auth::login\n     Summary [   0.2s] 12 tests run: 11 passed, 1 failed, 0 skipped",
            "test-fail:1-login",
        ),
        // maven surefire
        (
            "[ERROR] Tests run: 12, Failures: 2, Errors: 1, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! -- in com.x.AuthTest\n[ERROR] com.x.AuthTest.login -- Time elapsed: 0.01 s <<< FAILURE!",
            "test-fail:3-login",
        ),
        // gradle
        (
            "AuthTest > login FAILED\n    java.lang.AssertionError at AuthTest.java:12\nAuthTest > logout FAILED\n\n12 tests completed, 2 failed",
            "test-fail:2-login,logout",
        ),
        // rspec
        (
            "rspec ./spec/auth_spec.rb:3 # Auth logs in\nrspec ./spec/auth_spec.rb:9 # Auth logs out\n12 examples, 2 failures",
            "auth_spec.rb:auth-logs-in,auth-logs-out",
        ),
        // phpunit
        (
            "There was 1 failure:\n\n1) AuthTest::testLogin\nFailed asserting that false is true.\n\nFAILURES!\nTests: 12, Assertions: 30, Failures: 1.",
            "test-fail:1-testlogin",
        ),
        // dotnet
        (
            "  Failed AuthTests.Login [12 ms]\nFailed!  - Failed:     1, Passed:    11, Skipped:     0, Total:    12, Duration: 20 ms - App.Tests.dll (net8.0)",
            "test-fail:1-authtests.login",
        ),
        // ctest
        (
            "83% tests passed, 2 tests failed out of 12\n\nThe following tests FAILED:\n\t  3 - auth_login (Failed)\n\t  7 - auth_logout (Failed)\nErrors while running CTest",
            "test-fail:2-auth_login,auth_logout",
        ),
        // tap / node
        ("not ok 3 - login\n# tests 4\n# pass 3\n# fail 1", "test-fail:1-login"),
        // prose of the issue
        ("3 tests failing - auth, login, logout", "test-fail:3-auth,login"),
        ("Tests: 3 failing (auth, login, logout)", "test-fail:3-auth,login"),
    ]);
}

#[test]
fn what_passes_is_no_failure_in_any_format() {
    let passing = [
        "=========== 40 passed in 2.31s ===========",
        " Test Files  4 passed (4)\n      Tests  13 passed (13)",
        "ok  \texample.com/auth\t0.012s",
        "[INFO] Tests run: 12, Failures: 0, Errors: 0, Skipped: 0",
        "12 examples, 0 failures",
        "OK (12 tests, 30 assertions)",
        "Passed!  - Failed:     0, Passed:    12, Skipped:     0, Total:    12",
        "100% tests passed, 0 tests failed out of 12",
    ];
    for text in passing {
        let signature = signature(text);
        assert!(!signature.is_empty() && !signature.contains(':'), "{signature} for {text}");
    }
}

#[test]
fn where_tools_are_named_what_is_said_about_them_does_not_count() {
    use ralph_core::event::ToolKind;

    use crate::detector::sketch::{Sketcher, ToolUse};
    let signature = |kind: ToolKind, command: &str, path: Option<&str>, exit_code: i64, output: &str| {
        let mut sketcher = Sketcher::new();
        sketcher
            .push(b"TypeError: x is null at auth.ts:45, and 3 tests failing. Searched for 'that thing'.\n");
        sketcher.tool(&ToolUse {
            kind,
            name: "Tool",
            command: Some(command),
            path,
            ok: None,
            exit_code: Some(exit_code),
            output,
        });
        sketcher.push(b"Fixed login.ts, added null check. 7 tests failing.\n");
        sketcher.finish().signature
    };
    assert_eq!(signature(ToolKind::Shell, "npm test", None, 1, "Tests: 2 failed, 5 passed"), "test-fail:2");
    assert_eq!(
        signature(ToolKind::Shell, "tsc", None, 2, "a.ts(1,2): error TS2322: no"),
        "error:TS2322-a.ts"
    );
    assert_eq!(signature(ToolKind::Shell, "make all", None, 2, ""), "fail:tool-make-all-exit2");
    assert_eq!(signature(ToolKind::Edit, "", Some("src/db.rs"), 0, ""), "db.rs:edit");
    assert_eq!(
        signature(ToolKind::Search, "oauth2 refresh token", None, 0, ""),
        "search:oauth2-refresh-token"
    );
}

/// The example of the document, and what the runners print in full.
#[test]
fn failing_tests_are_told_by_name_and_by_their_file() {
    check(&[
        (
            "Running tests... 2 failed: auth.test.ts - login test timeout, logout test assertion",
            "auth.test.ts:login-timeout,logout-assertion",
        ),
        ("2 failed: auth.test.ts - login, logout, and refresh", "auth.test.ts:login,logout"),
        ("4 tests failing (tests/test_auth.py: login, logout)", "test_auth.py:login,logout+2"),
        // mocha: suites around the test
        (
            "  5 passing (12ms)\n  2 failing\n\n  1) Auth\n       login\n         rejects an old token:\n     AssertionError: no\n\n  2) Auth\n       logs out:\n     Error: timeout",
            "test-fail:2-rejects-an-old-token,logs-out",
        ),
        // node --test, as it prints for people: what fails is listed once more at the end
        (
            "✖ logs in (1.234ms)\n✔ logs out (0.1ms)\nℹ tests 2\nℹ pass 1\nℹ fail 1\n\n✖ failing tests:\n\ntest at auth.test.js:4:1\n✖ logs in (1.234ms)",
            "test-fail:1-logs-in",
        ),
        // vitest: the test, its file, the summary
        (
            " ❯ src/auth.test.ts (3 tests | 1 failed) 12ms\n   × auth > login 5ms\n     → expected 1 to be 2\n FAIL  src/auth.test.ts > auth > login\n Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)",
            "auth.test.ts:login",
        ),
        // bats, for people and as TAP
        (
            " ✗ logs in\n   (in test file auth.bats, line 3)\n ✓ logs out\n\n2 tests, 1 failure",
            "test-fail:1-logs-in",
        ),
        ("1..2\nnot ok 1 logs in\n# (in test file auth.bats, line 3)\nok 2 logs out", "test-fail:1-logs-in"),
        // go: a test within a test
        (
            "--- FAIL: TestLogin (0.00s)\n    --- FAIL: TestLogin/old_token (0.00s)\nFAIL",
            "test-fail:2-testlogin,old_token",
        ),
        // phpunit, one case of a data set
        (
            "There was 1 failure:\n\n1) AuthTest::testLogin with data set #0 ('x')\nFailed asserting that false is true.\n\nFAILURES!\nTests: 12, Assertions: 30, Failures: 1.",
            "test-fail:1-testlogin-with-data-set-#0",
        ),
    ]);
}

/// What a runner prints when tests of these names fail.
type Runner<'a> = &'a dyn Fn(&[&str]) -> String;

#[test]
fn other_failing_tests_of_one_file_are_no_loop_and_the_same_ones_are() {
    let pytest = |names: &[&str]| {
        let lines: String =
            names.iter().map(|name| format!("FAILED tests/test_a.py::{name} - assert\n")).collect();
        format!("{lines}{} failed, 9 passed in 0.{}s", names.len(), names.len())
    };
    let jest = |names: &[&str]| {
        let lines: String = names.iter().map(|name| format!("  ● Auth › {name}\n")).collect();
        format!("FAIL src/auth.test.ts\n{lines}\nTests: {} failed, 9 passed, 12 total", names.len())
    };
    let told = |names: &[&str]| format!("{} failed: auth.test.ts - {}", names.len(), names.join(", "));
    let runners: [Runner; 3] = [&pytest, &jest, &told];
    for runner in runners {
        // The third differs, which the signature itself does not name.
        for rounds in [
            [&["login", "logout"][..], &["login", "refresh"], &["refresh", "expire"]],
            [&["login", "logout", "expire"], &["login", "logout", "refresh"], &["login", "logout", "renew"]],
            [&["login", "logout", "expire"], &["login", "logout"], &["login"]],
        ] {
            assert_eq!(fires(&rounds.map(runner).each_ref().map(String::as_str)), [false; 3]);
        }
        let same = runner(&["login", "logout", "expire"]);
        assert_eq!(fires(&[&same, &same, &same]), [false, false, true], "{same}");
        // In another order they are the same.
        let other = runner(&["login", "logout", "renew", "expire"]);
        let order = runner(&["login", "logout", "expire", "renew"]);
        assert_eq!(fires(&[&other, &order, &other]), [false, false, true]);
    }
}

#[test]
fn what_is_said_counts_beyond_the_window_and_beyond_an_alarm() {
    let now = Sketch { signature: "error:E0308-main.rs".to_owned(), ..Sketch::default() };
    let mut detector = SignatureDetector::default();
    for n in 1..=12 {
        let found = detector.look(&now);
        if n > 1 {
            let said = format!("the same signature {n} times in a row: error:E0308-main.rs");
            assert_eq!((found.pattern, found.alarm), (said, n >= 3));
        }
        detector.learn(&now);
    }
    Detector::start_over(&mut detector);
    let alarms: Vec<bool> = (0..3)
        .map(|_| {
            let found = detector.look(&now);
            detector.learn(&now);
            found.alarm
        })
        .collect();
    assert_eq!(alarms, [false, false, true], "counting begins anew for what is decided");
    assert!(detector.look(&now).pattern.contains("16 times in a row"));
}
