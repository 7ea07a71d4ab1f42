//! What the output of `cargo test` says about a mutant.

use super::work::Run;
use std::fmt;

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Caught {
        by: Vec<String>,
        line: String,
    },
    Survived,
    DoesNotApply(String),
    DoesNotCompile(String),
    /// It failed, but no test said so, or it never ended.
    Unclear(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Caught { by, line } => write!(f, "{} | {}", by.join(", "), short(line)),
            Verdict::Survived => write!(f, "SURVIVED | every test passes with it"),
            Verdict::DoesNotApply(reason) => write!(f, "DOES NOT APPLY | {reason}"),
            Verdict::DoesNotCompile(reason) => write!(f, "DOES NOT COMPILE | {}", short(reason)),
            Verdict::Unclear(reason) => write!(f, "UNCLEAR | {}", short(reason)),
        }
    }
}

fn short(line: &str) -> String {
    const MOST: usize = 120;
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

pub fn judge(run: &Run) -> Verdict {
    if run.timed_out {
        return Verdict::Unclear(
            "the tests did not end; the simulation must notice a run that never ends".into(),
        );
    }
    let by = failed(&run.output);
    match (run.succeeded, by.is_empty()) {
        (true, _) => Verdict::Survived,
        (false, false) => Verdict::Caught { line: first_failing_line(&run.output), by },
        (false, true) => {
            let last = run.output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no output");
            Verdict::Unclear(format!("no test failed, yet cargo did: {}", last.trim()))
        }
    }
}

/// How many tests passed, over all test binaries.
pub fn passed(output: &str) -> usize {
    let counts = output.lines().filter_map(|line| {
        let (_, rest) = line.strip_prefix("test result: ")?.split_once(". ")?;
        rest.split_once(" passed")?.0.parse::<usize>().ok()
    });
    counts.sum()
}

/// The names of the failed tests.
fn failed(output: &str) -> Vec<String> {
    let lines = output.lines();
    lines
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
        .map(str::to_owned)
        .collect()
}

/// What the first failure says: the message of the first panic, or the error a test returned.
fn first_failing_line(output: &str) -> String {
    let mut lines = output.lines();
    let mut error = None;
    while let Some(line) = lines.next() {
        if line.starts_with("thread '") && line.contains(" panicked at ") {
            let place = line.split_once(" panicked at ").map_or("", |(_, place)| place).trim_end_matches(':');
            let message = lines.find(|line| !line.trim().is_empty()).unwrap_or(place);
            return message.trim().to_owned();
        }
        if error.is_none() && line.starts_with("Error: ") {
            error = Some(line.to_owned());
        }
    }
    error.unwrap_or_else(|| "(no message)".into())
}

/// The first error of a build.
pub fn compile_error(output: &str) -> String {
    output.lines().find(|line| line.starts_with("error")).unwrap_or("(no message)").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: &str = "
running 3 tests
test sim::guards ... ok
test sim::crashes ... FAILED
test sim::ends ... FAILED

failures:

---- sim::crashes stdout ----

thread 'sim::crashes' (123) panicked at crates/ralph-core/src/sim.rs:10:5:
seed 7: iteration 3 finished twice
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

---- sim::ends stdout ----

thread 'sim::ends' (124) panicked at crates/ralph-core/src/sim.rs:20:5:
other

failures:
    sim::crashes
    sim::ends

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
error: test failed, to rerun pass `-p ralph-core --lib`
";

    fn run(succeeded: bool, output: &str) -> Run {
        Run { succeeded, timed_out: false, output: output.into() }
    }

    #[test]
    fn a_failed_test_catches_the_mutant() {
        let verdict = judge(&run(false, FAILED));
        let by = vec!["sim::crashes".to_owned(), "sim::ends".to_owned()];
        assert_eq!(verdict, Verdict::Caught { by, line: "seed 7: iteration 3 finished twice".into() });
        assert_eq!(verdict.to_string(), "sim::crashes, sim::ends | seed 7: iteration 3 finished twice");
    }

    #[test]
    fn a_returned_error_is_a_line_too() {
        let output = "test sim::x ... FAILED\n---- sim::x stdout ----\nError: \"bad\"\n";
        let Verdict::Caught { line, .. } = judge(&run(false, output)) else { panic!("not caught") };
        assert_eq!(line, "Error: \"bad\"");
    }

    #[test]
    fn passing_tests_a_crash_and_a_hang_catch_nothing() {
        assert_eq!(judge(&run(true, "test sim::x ... ok\n")), Verdict::Survived);
        let crash = judge(&run(false, "running 1 test\nerror: test failed (signal: 6, SIGABRT)\n\n"));
        assert!(matches!(&crash, Verdict::Unclear(why) if why.contains("SIGABRT")), "{crash:?}");
        let hang = Run { timed_out: true, ..run(false, FAILED) };
        assert!(matches!(judge(&hang), Verdict::Unclear(_)));
    }

    #[test]
    fn passed_tests_are_summed_over_binaries() {
        let output =
            "test result: ok. 12 passed; 0 failed; 0 ignored\nx\ntest result: ok. 3 passed; 0 failed\n";
        assert_eq!(passed(output), 15);
        assert_eq!(passed(FAILED), 1);
        assert_eq!(passed("test result: ok. many passed\n"), 0);
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        assert_eq!(short(&"é".repeat(120)), "é".repeat(120));
        assert_eq!(short(&"é".repeat(121)), format!("{}…", "é".repeat(120)));
    }

    #[test]
    fn the_first_compile_error_is_shown() {
        assert_eq!(
            compile_error("warning: x\nerror[E0308]: mismatched types\nerror: y\n"),
            "error[E0308]: mismatched types"
        );
        assert_eq!(compile_error(""), "(no message)");
    }
}
