//! How many tests a runner says that it ran.

use ralph_core::tampering::{Finding, Tampering};
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// What the summaries in an output come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Passed or failed.
    pub ran: u64,
    pub passed: u64,
    pub failed: u64,
    /// Skipped, ignored, pending, deselected or still to do.
    pub skipped: u64,
}

impl Counted {
    fn add(&mut self, passed: u64, failed: u64, skipped: u64) {
        self.passed += passed;
        self.failed += failed;
        self.skipped += skipped;
        self.ran = self.passed + self.failed;
    }
}

/// Read at most; summaries stand at the ends of outputs.
const MOST_BYTES: usize = 4 << 20;

/// The counts of all summaries of known runners in an output. `None`: there is none.
pub fn tests_counted(output: &str) -> Option<Counted> {
    let mut start = output.len().saturating_sub(MOST_BYTES);
    while !output.is_char_boundary(start) {
        start += 1;
    }
    let text = COLOURS.replace_all(&output[start..], "");
    let mut sum = Counted::default();
    let mut known = false;
    let mut lines = Lines::default();
    for line in text.lines() {
        if let Some((passed, failed, skipped)) = summary(line.trim(), &mut lines) {
            sum.add(passed, failed, skipped);
            known = true;
        }
    }
    if let Some((passed, failed, skipped)) = lines.rest(&text) {
        sum.add(passed, failed, skipped);
        known = true;
    }
    known.then_some(sum)
}

/// Why a gate that passed proves nothing: the runner that it is says itself that no test ran. Of a gate that does more than
/// run tests nothing is said.
pub fn no_test_ran(counted: Counted, run: &[String]) -> Option<String> {
    if counted.ran > 0 || !runs_tests(run) {
        return None;
    }
    Some(match counted.skipped {
        0 => "no test ran, so it proves nothing".to_owned(),
        1 => "no test ran: the only one was skipped, so it proves nothing".to_owned(),
        skipped => format!("no test ran: all {skipped} were skipped, so it proves nothing"),
    })
}

/// Whether the command is a test runner, or hands over to one, and nothing else.
fn runs_tests(run: &[String]) -> bool {
    let text = run.join(" ");
    let simple = !text.contains(['|', ';', '\n']) && !text.contains("&&");
    simple && RUNS_TESTS.is_match(&text)
}

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("a pattern of this file"));
    };
}

pattern!(
    RUNS_TESTS,
    r"(?:^|[ /'])(?:pytest|py\.test|cargo(?: \+\S+)?(?: -\S+)* (?:test|t|nextest)|go test|gotestsum|(?:npm|pnpm|yarn|bun) (?:-\S+ )*(?:run )?(?:test|t)\b|node (?:-\S+ )*--test|npx (?:-\S+ )*(?:jest|vitest|mocha|ava|tap)|jest|vitest|mocha|rspec|bats|ctest|prove|unittest|mvnw?\b.* (?:test|verify)|gradlew?\b.* (?:test|check)|tox|nox|deno test|dotnet test|rake test|rails test|make (?:-\S+ )*(?:test|tests|unit)|just test|phpunit)(?:$|[ ':])"
);
pattern!(COLOURS, "\x1b\\[[0-9;]*m");
pattern!(CARGO, r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored");
pattern!(NEXTEST, r"^Summary \[[^\]]*\]\s+\d+(?:/\d+)? tests? run: (.*)");
pattern!(
    PYTEST,
    r"^=* ?((?:\d+ (?:passed|failed|skipped|deselected|xfailed|xpassed|errors?|warnings?|rerun|subtests passed)(?:, )?)+) in [\d.:]+ ?s.*$"
);
pattern!(PYTEST_NONE, r"^=* ?no tests ran(?: in [\d.]+s)?");
pattern!(UNITTEST, r"^Ran (\d+) tests? in [\d.]+s$");
pattern!(UNITTEST_END, r"^(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$");
pattern!(NODE, r"^(?:ℹ|#) (tests|pass|fail|skipped|todo|cancelled) (\d+)$");
pattern!(JEST, r"^Tests:\s+(.*\d+ total)$");
pattern!(VITEST, r"^Tests\s+(.*) \((\d+)\)$");
pattern!(MOCHA, r"^(\d+) (passing|failing|pending)(?: \([^)]*\))?$");
pattern!(GO, r"^\s*--- (PASS|FAIL|SKIP): \S+");
pattern!(SUREFIRE, r"^(?:\[\w+\]\s+)*Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$");
pattern!(GRADLE, r"^(\d+) tests completed(?:, (\d+) failed)?(?:, (\d+) skipped)?");
pattern!(RSPEC, r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?");
pattern!(MINITEST, r"^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors(?:, (\d+) skips)?");
pattern!(TAP, r"^(ok|not ok)\b(?: \d+)?(.*)$");
pattern!(TAP_PLAN, r"^1\.\.(\d+)");
pattern!(PROVE, r"^Files=\d+, Tests=(\d+),");
pattern!(BATS, r"^(\d+) tests?, (\d+) failures?(?:, (\d+) skipped)?");
pattern!(WORD, r"(\d+) ([a-z]+)");

/// What takes more than one line.
#[derive(Default)]
struct Lines {
    unittest: Option<u64>,
    node: [Option<u64>; 4],
    mocha: [u64; 3],
    go: [u64; 3],
    tap: [u64; 3],
    plan: bool,
    counted_otherwise: bool,
}

fn number(text: Option<regex::Match>) -> u64 {
    text.and_then(|text| text.as_str().parse().ok()).unwrap_or(0)
}

/// `3 passed, 1 failed, 2 skipped` in any order.
fn words(text: &str) -> (u64, u64, u64) {
    let mut sum = (0, 0, 0);
    for found in WORD.captures_iter(text) {
        let count = number(found.get(1));
        match &found[2] {
            "passed" | "xpassed" => sum.0 += count,
            "failed" | "error" | "errors" | "failures" | "timed" => sum.1 += count,
            "skipped" | "deselected" | "xfailed" | "todo" | "ignored" => sum.2 += count,
            _ => {}
        }
    }
    sum
}

fn summary(line: &str, lines: &mut Lines) -> Option<(u64, u64, u64)> {
    let found = one_line(line).or_else(|| unittest(line, lines));
    if found.is_some() {
        lines.counted_otherwise = true;
        return found;
    }
    if let Some(found) = NODE.captures(line) {
        let count = number(found.get(2));
        match &found[1] {
            "pass" => lines.node[0] = Some(lines.node[0].unwrap_or(0) + count),
            "fail" | "cancelled" => lines.node[1] = Some(lines.node[1].unwrap_or(0) + count),
            "skipped" | "todo" => lines.node[2] = Some(lines.node[2].unwrap_or(0) + count),
            _ => lines.node[3] = Some(lines.node[3].unwrap_or(0) + count),
        }
    } else if let Some(found) = MOCHA.captures(line) {
        let place = match &found[2] {
            "passing" => 0,
            "failing" => 1,
            _ => 2,
        };
        lines.mocha[place] += number(found.get(1));
    } else if let Some(found) = GO.captures(line) {
        let place = match &found[1] {
            "PASS" => 0,
            "FAIL" => 1,
            _ => 2,
        };
        lines.go[place] += 1;
    } else if TAP_PLAN.is_match(line) {
        lines.plan = true;
    } else if let Some(found) = TAP.captures(line) {
        let directive = found[2].to_ascii_lowercase();
        let place = if directive.contains("# skip") || directive.contains("# todo") {
            2
        } else {
            usize::from(&found[1] != "ok")
        };
        lines.tap[place] += 1;
    }
    None
}

fn one_line(line: &str) -> Option<(u64, u64, u64)> {
    if let Some(found) = CARGO.captures(line) {
        return Some((number(found.get(1)), number(found.get(2)), number(found.get(3))));
    }
    for pattern in [&NEXTEST, &PYTEST, &JEST, &VITEST] {
        if let Some(found) = pattern.captures(line) {
            return Some(words(
                &found[1].replace("xfailed", "ignored").replace("xpassed", "passed").replace('|', ","),
            ));
        }
    }
    if PYTEST_NONE.is_match(line) {
        return Some((0, 0, 0));
    }
    if let Some(found) = SUREFIRE.captures(line) {
        let (ran, skipped) = (number(found.get(1)), number(found.get(4)));
        let failed = number(found.get(2)) + number(found.get(3));
        return Some((ran.saturating_sub(failed + skipped), failed, skipped));
    }
    for pattern in [&GRADLE, &RSPEC, &BATS] {
        if let Some(found) = pattern.captures(line) {
            let (all, failed, skipped) = (number(found.get(1)), number(found.get(2)), number(found.get(3)));
            return Some((all.saturating_sub(failed + skipped), failed, skipped));
        }
    }
    if let Some(found) = MINITEST.captures(line) {
        let (all, failed, skipped) =
            (number(found.get(1)), number(found.get(2)) + number(found.get(3)), number(found.get(4)));
        return Some((all.saturating_sub(failed + skipped), failed, skipped));
    }
    PROVE.captures(line).map(|found| (number(found.get(1)), 0, 0))
}

/// `Ran 3 tests` and the verdict two lines below it.
fn unittest(line: &str, lines: &mut Lines) -> Option<(u64, u64, u64)> {
    if let Some(found) = UNITTEST.captures(line) {
        // A verdict that never comes does not lose the count before it.
        return lines.unittest.replace(number(found.get(1))).map(|ran| (ran, 0, 0));
    }
    let found = UNITTEST_END.captures(line)?;
    let ran = lines.unittest.take()?;
    let of = |name: &str| {
        let text = found.get(2).map_or("", |part| part.as_str());
        let parts = text.split(", ").filter_map(|part| part.split_once('='));
        parts.filter(|(key, _)| *key == name).filter_map(|(_, count)| count.parse::<u64>().ok()).sum::<u64>()
    };
    let (failed, skipped) = (of("failures") + of("errors"), of("skipped") + of("expected failures"));
    Some((ran.saturating_sub(failed + skipped), failed, skipped))
}

impl Lines {
    fn rest(&self, text: &str) -> Option<(u64, u64, u64)> {
        let sums = [self.mocha, self.go];
        let mut found =
            sums.iter().find(|sum| sum.iter().any(|count| *count > 0)).map(|sum| (sum[0], sum[1], sum[2]));
        if let [Some(passed), Some(failed), ..] = self.node {
            found = Some((passed, failed, self.node[2].unwrap_or(0)));
        }
        let tap = self.plan || self.tap.iter().any(|count| *count > 0) && text.contains("TAP version");
        if found.is_none() && tap && !self.counted_otherwise {
            found = Some((self.tap[0], self.tap[1], self.tap[2]));
        }
        if found.is_none() && !self.counted_otherwise {
            found = self.unittest.map(|ran| (ran, 0, 0)).or_else(|| go_without_names(text));
        }
        found
    }
}

/// `ok  example.com/a  0.1s`: packages, not tests; known to be none only where all say so.
fn go_without_names(text: &str) -> Option<(u64, u64, u64)> {
    let packages: Vec<bool> = text
        .lines()
        .filter(|line| line.starts_with("ok  \t"))
        .map(|line| line.contains("[no tests to run]"))
        .collect();
    (!packages.is_empty() && packages.iter().all(|none| *none)).then_some((0, 0, 0))
}

/// What a runner counted before against what it counts now, of the same command, both times to its end. `expected`: tests
/// went for a reason that can be seen ([`super::Review::fewer_expected`]).
pub fn fewer(before: Counted, now: Counted, expected: bool) -> Option<Finding> {
    if before.ran == 0 {
        return None;
    }
    let tell = |kind, detail: String| Some(Finding { kind, file: String::new(), line: None, detail });
    match now {
        Counted { ran: 0, skipped: 0, .. } => tell(Tampering::NoTests, format!("{} ran before", before.ran)),
        Counted { ran: 0, skipped, .. } => {
            tell(Tampering::AllSkipped, format!("{skipped} skipped; {} ran before", before.ran))
        }
        _ if now.ran < before.ran && !expected => {
            let skipped = if now.skipped > before.skipped {
                format!(", {} skipped", now.skipped)
            } else {
                String::new()
            };
            tell(Tampering::FewerTests, format!("{} ran{skipped}; {} ran before", now.ran, before.ran))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(output: &str) -> Option<(u64, u64, u64)> {
        tests_counted(output).map(|sum| (sum.passed, sum.failed, sum.skipped))
    }

    #[test]
    fn summaries_of_known_runners_are_read() {
        let cases: &[(&str, (u64, u64, u64))] = &[
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured\n\ntest result: ok. 2 passed; 0 failed; 0 ignored;",
                (5, 0, 1),
            ),
            ("     Summary [   0.012s] 5 tests run: 4 passed, 1 failed, 2 skipped", (4, 1, 2)),
            ("==== 1 failed, 3 passed, 2 skipped, 1 xfailed, 4 deselected in 0.12s ====", (3, 1, 7)),
            ("3 passed in 0.01s", (3, 0, 0)),
            ("=== no tests ran in 0.01s ===", (0, 0, 0)),
            ("Ran 4 tests in 0.001s\n\nFAILED (failures=1, skipped=2)", (1, 1, 2)),
            ("Ran 4 tests in 0.001s\n\nOK", (4, 0, 0)),
            ("ℹ tests 4\nℹ suites 0\nℹ pass 3\nℹ fail 0\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0", (3, 0, 1)),
            ("# tests 2\n# pass 1\n# fail 1\n# skipped 0", (1, 1, 0)),
            ("Tests:       1 failed, 2 skipped, 4 passed, 7 total", (4, 1, 2)),
            (" Test Files  1 passed (1)\n      Tests  3 passed | 1 skipped (4)", (3, 0, 1)),
            ("  4 passing (12ms)\n  1 pending\n  2 failing", (4, 2, 1)),
            (
                "=== RUN TestA\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/x (0.00s)\n--- SKIP: TestB (0.00s)\nok  \ta\t0.1s",
                (2, 0, 1),
            ),
            ("ok  \texample.com/a\t0.002s [no tests to run]", (0, 0, 0)),
            (
                "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.1 s - in ATest\n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1",
                (1, 0, 1),
            ),
            ("5 tests completed, 1 failed, 1 skipped", (3, 1, 1)),
            ("7 examples, 1 failure, 2 pending", (4, 1, 2)),
            ("6 runs, 9 assertions, 1 failures, 0 errors, 2 skips", (3, 1, 2)),
            ("1..3\nok 1 a\nok 2 b # skip why\nnot ok 3 c", (1, 1, 1)),
            ("Files=2, Tests=9,  1 wallclock secs", (9, 0, 0)),
            ("\x1b[32mtest result: ok. 1 passed; 0 failed; 0 ignored\x1b[0m", (1, 0, 0)),
        ];
        for (output, expected) in cases {
            assert_eq!(counted(output), Some(*expected), "{output}");
        }
        for output in ["", "all good", "3 passed the exam", "ok", "Tests: none"] {
            assert_eq!(counted(output), None, "{output}");
        }
    }

    #[test]
    fn fewer_tests_are_told_unless_they_went_for_a_reason() {
        let count = |passed, skipped| Counted { ran: passed, passed, failed: 0, skipped };
        let kind = |before, now, expected| fewer(before, now, expected).map(|finding| finding.kind);
        assert_eq!(kind(count(5, 0), count(4, 0), false), Some(Tampering::FewerTests));
        assert_eq!(kind(count(5, 0), count(4, 0), true), None);
        assert_eq!(kind(count(5, 0), count(0, 5), true), Some(Tampering::AllSkipped));
        assert_eq!(kind(count(5, 0), count(0, 0), true), Some(Tampering::NoTests));
        assert_eq!(kind(count(0, 0), count(0, 0), false), None, "there was none to lose");
        assert_eq!(kind(count(5, 0), count(6, 0), false), None);
    }
}
