//! `cargo xtask sim [--crashes N | --seed S]`: the engine against crashes, in release. The simulation itself is an
//! example of ralph-core; this is its one command.

use crate::{Result, repo};

const CRASHES: &str = "1000000";

pub fn run(args: &[String]) -> Result<()> {
    let mut cargo = repo::cargo(&repo::root());
    cargo.args(["run", "--quiet", "--release", "--package", "ralph-core", "--example", "sim", "--"]);
    match args {
        [] => cargo.args(["--crashes", CRASHES]),
        _ => cargo.args(args),
    };
    let status = cargo.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("the simulation failed ({status})")),
    }
}
