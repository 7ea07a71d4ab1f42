//! Whether tests ran at all, by what their runner says.

use std::sync::LazyLock;

use regex::Regex;

use crate::tamper::tests_counted;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ran {
    /// None, or all of them were skipped.
    None,
    /// At least one, and no count of failures.
    Some,
    /// At least one, and some of them failed.
    Failed,
    /// Nothing is said about it.
    Unknown,
}

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("a pattern of this file"));
    };
}

// Counts that stand in the line of no runner that is compared from gate to gate.
pattern!(
    SOME,
    r"(?mx)
    ^OK\x20\([1-9]\d*\x20tests?, |
    \btests\x20passed,\x20\d+\x20tests\x20failed\x20out\x20of\x20[1-9] |
    ^Passed!\s+-\x20Failed:\s+\d+,\x20Passed:\s+[1-9] |
    ^\s*[1-9]\d*\x20pass$ |
    \|\x20[1-9]\d*\x20passed\x20\| |
    ^\s*Executed\x20[1-9]\d*\x20tests?, |
    ^All\x20[1-9]\d*\x20tests\x20passed\. |
    \+[1-9]\d*:\x20All\x20tests\x20passed! |
    ^\s*[1-9]\d*\x20passed\x20\([^)]*\)$ |
    ^Tests:\s+[1-9]\d*\x20passed |
    ^(?:Test\x20Suites|\s*Test\x20Files):?\s+[1-9]\d*\x20passed |
    ^\[info\]\x20Passed:\x20Total\x20[1-9]
"
);
pattern!(
    NONE,
    r"(?mix)
    no\x20tests?\x20(?:were\x20)?(?:found|ran|run|executed|to\x20run|collected|matched)\b |
    \bno\x20test\x20(?:files|cases|suites?|specs?)\b |
    \bno\x20(?:examples|specs|scenarios)\x20found |
    \b(?:collected|found|discovered|running)\x200\x20(?:items|tests) |
    ^\#\x20(?:tests|pass)\x200$ | ^ℹ\x20(?:tests|pass)\x200$ |
    ^\s*0\x20(?:passing|pass|tests?|examples|specs|scenarios|passed)\b |
    ^1\.\.0\b |
    ^Ran\x200\x20tests |
    ^>\x20Task\x20\S*test\S*\x20(?:NO-SOURCE|SKIPPED) |
    ^Tests\x20run:\x200, |
    ^No\x20tests\x20executed! |
    ^Executed\x200\x20tests |
    \bTotal\x20tests:\x200\b |
    \bTests\x20are\x20skipped\b
"
);
// `ok  example.com/a  0.1s`: tests of it ran.
pattern!(GO, r"(?m)^ok\s+\S+\s+(?:\(cached\)|[\d.]+s)(?P<rest>.*)$");

/// What an output says.
pub(super) fn tests_ran(output: &str) -> Ran {
    let text = ralph_core::marker::without_escapes(output);
    let go = GO.captures_iter(&text).any(|line| !line["rest"].contains("no tests"));
    match tests_counted(output) {
        Some(counted) if counted.failed > 0 => return Ran::Failed,
        Some(counted) if counted.ran > 0 => return Ran::Some,
        _ => {}
    }
    if go || SOME.is_match(&text) {
        return Ran::Some;
    }
    match tests_counted(output).is_some() || NONE.is_match(&text) {
        true => Ran::None,
        false => Ran::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_is_told_from_what_was_skipped_and_what_is_not_said() {
        for none in [
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 12 filtered out; finished in 0.00s",
            "ok  \tx\t0.002s [no tests to run]",
            "?   \tx\t[no test files]",
            "collected 0 items\n\nno tests ran in 0.01s",
            "5 deselected in 0.01s",
            "# tests 0\n# pass 0",
            "# tests 3\n# pass 0\n# fail 0\n# skipped 3",
            "3 skipped in 0.02s",
            "  0 passing (1ms)",
            "> Task :test NO-SOURCE\nBUILD SUCCESSFUL",
            "No tests found, exiting with code 0",
            "0 examples, 0 failures",
            "1..0",
            "No tests executed!",
            "[INFO] Tests are skipped.",
            "No tests were found!!!",
        ] {
            assert_eq!(tests_ran(none), Ran::None, "{none}");
        }
        for some in [
            "running 3 tests\ntest result: ok. 3 passed; 0 failed; 0 ignored;\n\nrunning 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored;",
            "ok  \tx\t0.002s\n?   \ty\t[no test files]",
            "ok  \tx\t(cached)",
            "OK (3 tests, 5 assertions)",
            "100% tests passed, 0 tests failed out of 3",
            "Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3",
            " 3 pass\n 0 fail",
            "ok | 3 passed | 0 failed (5ms)",
            "\x1b[32m3 passed\x1b[0m in 0.01s",
        ] {
            assert_eq!(tests_ran(some), Ran::Some, "{some}");
        }
        for silent in ["", "ok", "BUILD SUCCESSFUL in 2s"] {
            assert_eq!(tests_ran(silent), Ran::Unknown, "{silent}");
        }
        assert_eq!(tests_ran("2 failed, 3 passed in 0.1s"), Ran::Failed);
    }
}
