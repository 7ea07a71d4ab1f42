//! What stands around a command: a wrapper that may not wait, may run another program, or may run none.

use super::super::wrappers::base_name;
use super::{Vouched, assignments, places};

/// Options with which the command is not run, not waited for, or not what is run.
fn undoes(name: &str, word: &str) -> bool {
    let of: &[&str] = match name {
        "setsid" => &["-f", "--fork"],
        "sudo" | "doas" => &[
            "-l",
            "--list",
            "-v",
            "--validate",
            "-b",
            "--background",
            "-e",
            "--edit",
            "-k",
            "-K",
            "-L",
            "-V",
        ],
        "docker" | "podman" | "docker-compose" | "kubectl" => &["-d", "--detach", "--entrypoint"],
        "flock" => &["-E", "--conflict-exit-code"],
        "strace" => &["-D", "-p"],
        "timeout" | "gtimeout" => &["-v", "--help"],
        _ => &[],
    };
    let long = word.split_once('=').map_or(word, |(name, _)| name);
    of.contains(&long) || matches!(word, "--help" | "--version")
}

/// Of a wrapper with its own words, without those of what is run.
pub(in crate::check) fn wrapping(words: &[String], inner: &[String]) -> Vouched {
    let own = words.strip_suffix(inner).unwrap_or(words);
    let Some(first) = own.first() else { return Vouched::ByStatus };
    let name = base_name(first);
    let waits = name != "setsid" || own.iter().any(|word| word == "-w" || word == "--wait");
    if !waits || own.iter().any(|word| undoes(name, word)) {
        return Vouched::Never;
    }
    let by_name = match name {
        // Without words to run it with, nothing may be run; and elsewhere or at another time, something else.
        "xargs" | "faketime" => Vouched::ByCount,
        "env" if own.iter().any(|word| word == "-C" || word.starts_with("--chdir")) => Vouched::ByCount,
        "npx" | "npm" | "pnpm" | "yarn" if own.iter().any(|word| word.contains("shell")) => Vouched::Never,
        _ => Vouched::ByStatus,
    };
    by_name.max(assignments(own)).max(places::program(first))
}
