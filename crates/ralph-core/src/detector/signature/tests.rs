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
        ("3 tests failing - auth, login, logout", "test-fail:3"),
        (
            "FAILED tests/test_a.py::test_login - assert 1 == 2\nFAILED tests/test_a.py::test_out\n2 failed, 5 passed in 0.1s",
            "test-fail:2-test_login,test_out",
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
            "test-fail:2-auth.test.ts,login",
        ),
        ("Tests run: 5, Failures: 2, Errors: 1, Skipped: 0", "test-fail:3"),
        ("FAILED (failures=2, errors=1)", "test-fail:3-failures-2-errors-1"),
        ("rspec ./spec/a_spec.rb:3 # Auth logs in\n5 examples, 1 failure", "test-fail:1-auth-logs-in"),
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
        ("", ""),
    ]);
}

#[test]
fn three_in_a_row_fire_and_a_falling_count_does_not() {
    let fires = |outputs: &[&str]| {
        let mut detector = SignatureDetector::default();
        outputs.iter().map(|output| detector.detect_loop(output)).collect::<Vec<_>>()
    };
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
