//! `cargo xtask fuzz [TARGET] [--executions N] [--seed S]`: damaged bytes for everything that reads what others wrote, in release.
//! The targets are a test of ralph-cli, of which every `cargo test` runs a short version; this is the long one.

use crate::{Result, repo};

pub fn run(args: &[String]) -> Result<()> {
    let mut cargo = repo::cargo(&repo::root());
    cargo.args(["test", "--quiet", "--release", "--package", "ralph-cli", "--test", "fuzz", "--"]);
    cargo.args(["--nocapture", "no_reader_breaks_in_a_long_run"]).env("RALPH_FUZZ", "1");
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let variable = match arg.as_str() {
            "--executions" => "RALPH_FUZZ_EXECUTIONS",
            "--seed" => "RALPH_FUZZ_SEED",
            name if !name.starts_with('-') => {
                cargo.env("RALPH_FUZZ_TARGET", name);
                continue;
            }
            other => return Err(format!("unknown option `{other}`; there are --executions N and --seed S")),
        };
        cargo.env(variable, rest.next().ok_or_else(|| format!("`{arg}` needs a number"))?);
    }
    let status = cargo.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("a reader broke ({status})")),
    }
}
