//! `cargo xtask overnight`: what a recorded night of an idle agent costs, with and without idle settings. The night is an
//! example of ralph-core; this is its one command.

use crate::{Result, repo};

pub fn run(_args: &[String]) -> Result<()> {
    let mut cargo = repo::cargo(&repo::root());
    cargo.args(["run", "--quiet", "--package", "ralph-core", "--example", "overnight"]);
    let status = cargo.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("the night failed ({status})")),
    }
}
