//! What a check's own summary says, where its status is lost. Only failure is believed: nobody hides a pass.

/// Lines from the end that may be a summary.
const LAST_LINES: usize = 80;

/// Whether the output ends in the words of a check that failed.
pub(super) fn says_failed(output: &str) -> bool {
    output.lines().rev().take(LAST_LINES).any(|line| is_failure(line.trim()))
}

/// Whether the tool only started the command: it goes on in the background, and nothing is known yet.
pub(super) fn says_background(output: &str) -> bool {
    const SIGNS: &[&str] = &[
        "running in background",
        "running in the background",
        "moved to background",
        "moved to the background",
        "started in background",
        "started in the background",
        "process running with session id",
    ];
    let head: String = output.chars().take(300).collect::<String>().to_ascii_lowercase();
    SIGNS.iter().any(|sign| head.contains(sign))
}

/// Whether nothing was checked because what should be is not there: no such script, target or project.
pub(super) fn says_absent(output: &str) -> bool {
    const SIGNS: &[&str] = &[
        "no makefile found",
        "Missing script:",
        "could not find `Cargo.toml`",
        "go.mod file not found",
        "Could not read package.json",
        "command not found",
        "Cannot connect to the Docker daemon",
        "there is no POM in this directory",
        "does not contain a Gradle build",
        "no justfile found",
        "No justfile found",
    ];
    let no_rule = |line: &str| line.contains("No rule to make target") && !line.contains("needed by");
    let head: Vec<&str> = output.lines().take(20).collect();
    head.iter().any(|line| no_rule(line) || SIGNS.iter().any(|sign| line.contains(sign)))
}

fn is_failure(line: &str) -> bool {
    const STARTS: &[&str] = &[
        "test result: FAILED",
        "error: test failed",
        "error: could not compile",
        "--- FAIL:",
        "FAIL\t",
        "FAILED (failures=",
        "FAILED (errors=",
        "FAILURES!",
        "ERRORS!",
        "BUILD FAILURE",
        "BUILD FAILED",
        "[INFO] BUILD FAILURE",
        "npm ERR! Test failed",
        "Failed!  - Failed:",
        "mypy: error",
    ];
    if line == "FAIL" || STARTS.iter().any(|start| line.starts_with(start)) || line.contains(": error TS") {
        return true;
    }
    // `# fail 2` of node's runner.
    let node = line.strip_prefix("# fail ").or_else(|| line.strip_prefix("ℹ fail "));
    if node.and_then(|count| count.trim().parse::<u32>().ok()).is_some_and(|count| count > 0) {
        return true;
    }
    const CONTEXT: &[&str] =
        &["passed", "test", "tests", "examples", "failing", "found", "problems", "problem", "assertions"];
    let lower = line.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let is_summary = line.starts_with("==") || words.iter().any(|word| CONTEXT.contains(word));
    is_summary && words.len() <= 24 && words.windows(2).any(|pair| counts_failures(pair[0], pair[1]))
        || is_summary && words.windows(3).any(|w| w[1] == "tests" && counts_failures(w[0], w[2]))
}

fn counts_failures(count: &str, what: &str) -> bool {
    const FAILURES: &[&str] = &["failed", "failing", "failures", "failure", "errors", "error"];
    FAILURES.contains(&what) && count.parse::<u32>().is_ok_and(|count| count > 0)
}
