//! How test runners tell what fails: pytest, unittest, jest, vitest, mocha, go test, cargo test and nextest, Maven, Gradle, RSpec,
//! PHPUnit, dotnet test, CTest, TAP, and people.

use super::parts::{base, file_in, words};

const FAIL: &[&str] = &["failed", "failing", "failures", "failure", "fail", "fails", "broken"];

/// `3 failed`, `failures: 2`, `2 of 9 tests failing`. Several counts on a line (failures and errors) add up.
pub(super) fn failing_count(lower: &str) -> Option<u64> {
    if !lower.contains("fail") && !lower.contains("broken") {
        return None;
    }
    // Node: `# fail 2`, `ℹ fail 2`.
    if let Some(count) = lower.strip_prefix("# fail ").or_else(|| lower.strip_prefix("ℹ fail ")) {
        return count.trim().parse().ok();
    }
    let words: Vec<&str> = words(lower).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let mut found = None;
    for (at, word) in words.iter().enumerate() {
        // Maven, unittest and others count errors apart from failures.
        let counts = FAIL.contains(word) || (*word == "errors" && found.is_some());
        if !counts {
            continue;
        }
        let labels = [":", "="].iter().any(|sign| lower.contains(&format!("{word}{sign}")));
        let behind = if labels { number(at + 1) } else { None };
        if let Some(count) = behind.or_else(|| count_before(&words, at)) {
            found = Some(found.unwrap_or(0u64).saturating_add(count));
        }
    }
    found
}

/// The number in `3 failed`, `3 tests failed`, `3 of 9 tests still failing`.
fn count_before(words: &[&str], at: usize) -> Option<u64> {
    const BETWEEN: &[&str] = &[
        "test",
        "tests",
        "spec",
        "specs",
        "case",
        "cases",
        "still",
        "are",
        "were",
        "now",
        "example",
        "examples",
        "scenario",
        "scenarios",
        "unit",
    ];
    let mut at = at;
    while let Some(before) = at.checked_sub(1) {
        let word = words[before];
        if let Ok(count) = word.parse::<u64>() {
            let of = before.checked_sub(2).filter(|_| words[before - 1] == "of");
            return Some(of.and_then(|at| words[at].parse().ok()).unwrap_or(count));
        }
        if !BETWEEN.contains(&word) {
            return None;
        }
        at = before;
    }
    None
}

/// `3 tests failing - auth, login, logout`: the names that a person lists; `2 failed: auth.test.ts - login, logout` has their file, too.
pub(super) fn listed_names(line: &str) -> (Option<&str>, Vec<&str>) {
    let end = words(line).filter(|word| FAIL.iter().any(|fail| word.eq_ignore_ascii_case(fail))).last();
    // A word is a part of the line, so its place is known.
    let Some(end) = end.map(|word| word.as_ptr() as usize - line.as_ptr() as usize + word.len()) else {
        return (None, Vec::new());
    };
    let rest = line[end..].trim_start();
    let Some(list) = rest.strip_prefix(['-', '–', '—', ':', '(']) else { return (None, Vec::new()) };
    let list = list.trim_start();
    let file = file_in(list).filter(|file| list.starts_with(*file));
    let list =
        file.map_or(list, |file| list[file.len()..].trim_start_matches([' ', '-', '–', '—', ':', '(']));
    let list = list.split(['.', ')', ';']).next().unwrap_or(list);
    let names = list.split(',').flat_map(|part| part.split(" and ")).map(str::trim);
    let most = if file.is_some() { 6 } else { 3 };
    let is_name = |name: &&str| {
        name.starts_with(|c: char| c.is_alphabetic() || c == '_') && words(name).count() <= most
    };
    (file, names.take_while(is_name).collect())
}

/// A test that is named as failing.
pub(super) struct Named<'a> {
    /// What may hold the file.
    pub place: &'a str,
    /// The name with the suites around it.
    pub whole: &'a str,
    pub name: &'a str,
}

/// The test that a line names as failing. `counted`: a count of failures has come before.
pub(super) fn failing_name(line: &str, counted: bool) -> Option<Named<'_>> {
    let line = line.strip_prefix("[ERROR]").map_or(line, str::trim_start);
    let place = by_end(line).or_else(|| by_beginning(line)).or_else(|| numbered(line).filter(|_| counted))?;
    // Behind the name: a duration, a reason.
    let cuts = [" - ", " -- ", " (", " [", "  "];
    let place = cuts.iter().fold(place, |named, cut| named.split(cut).next().unwrap_or(named));
    let whole = place.split_once(" # ").map_or(place, |(_, words)| words).trim().trim_end_matches(':');
    let whole = without_duration(whole);
    // Node ends with a list of what was told before.
    let is_name = whole.chars().any(char::is_alphabetic) && whole != "failing tests";
    is_name.then(|| Named { place, whole, name: last_part(whole) })
}

/// `login 12ms` is `login`.
fn without_duration(name: &str) -> &str {
    let Some((before, last)) = name.rsplit_once(' ') else { return name };
    let number = last.strip_suffix("ms").or_else(|| last.strip_suffix('s')).unwrap_or_default();
    let is_duration = number.starts_with(|c: char| c.is_ascii_digit()) && number.parse::<f64>().is_ok();
    if is_duration { before.trim_end() } else { name }
}

/// `1) Auth`, where the test itself stands on the lines behind it.
pub(super) fn heading(line: &str) -> Option<&str> {
    numbered(line).filter(|name| !name.ends_with(':') && !name.contains("::"))
}

/// `test auth::login ... FAILED`, `AuthTest > login FAILED`, `3 - login (Failed)`, `a.B.login -- 0.1 s <<< FAILURE!`.
fn by_end(line: &str) -> Option<&str> {
    if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix("... FAILED")) {
        return Some(name.trim());
    }
    if let Some(name) = line.strip_suffix(" FAILED").filter(|name| name.contains(" > ")) {
        return Some(name);
    }
    if let Some(name) = line.strip_suffix("(Failed)").or_else(|| line.strip_suffix("(Timeout)")) {
        return name.split_once(" - ").map(|(_, name)| name.trim());
    }
    let name = line.strip_suffix("<<< FAILURE!").or_else(|| line.strip_suffix("<<< ERROR!"))?;
    let name = name.split([' ', '(']).next().filter(|_| !line.starts_with("Tests run"))?;
    name.rsplit('.').next()
}

fn by_beginning(line: &str) -> Option<&str> {
    const BEGINNINGS: &[&str] = &[
        "--- FAIL:",
        "FAILED ",
        "FAIL:",
        "FAIL ",
        "ERROR: test",
        "not ok ",
        "✗ ",
        "✘ ",
        "✖ ",
        "❌ ",
        "× ",
        "● ",
        "rspec ",
        "Failed ",
    ];
    let beginning = BEGINNINGS.iter().find(|beginning| line.starts_with(**beginning))?;
    let rest = if *beginning == "ERROR: test" { line.get(7..)? } else { &line[beginning.len()..] };
    let rest = rest.trim_start();
    // `Failed to start` and `FAILED (failures=2)` name no test.
    if rest.starts_with('(') || (*beginning == "Failed " && !rest.starts_with(char::is_uppercase)) {
        return None;
    }
    // nextest: how long it took.
    let rest = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(rest, |(_, rest)| rest);
    Some(rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ' ' | '-' | '.' | ')')))
}

/// `2) Auth login:`
fn numbered(line: &str) -> Option<&str> {
    let (number, name) = line.split_once(") ")?;
    number.parse::<u32>().ok().map(|_| name)
}

/// `tests/test_auth.py::test_login` is `test_login`, `src/auth.test.ts` is `auth.test.ts`, `Auth › login` is `login`.
fn last_part(name: &str) -> &str {
    let name =
        ["::", " › ", " > ", " ❯ "].iter().fold(name, |name, sign| name.rsplit(sign).next().unwrap_or(name));
    if name.contains(' ') { name } else { base(name) }
}
