//! `cargo xtask undo [AGENTS | --seed N]`: random agents at work with checkpoints on; after an undo the files are byte for byte
//! those of the checkpoint. The agents are a test of ralph-runtime; this is its one command.

use crate::{Result, repo};

const AGENTS: &str = "300";

pub fn run(args: &[String]) -> Result<()> {
    let mut cargo = repo::cargo(&repo::root());
    cargo.args(["test", "--quiet", "--package", "ralph-runtime", "--test", "checkpoints"]);
    match args {
        [flag, seed] if flag == "--seed" => cargo.env("RALPH_UNDO_SEED", seed),
        [agents] => cargo.env("RALPH_UNDO_AGENTS", agents),
        [] => cargo.env("RALPH_UNDO_AGENTS", AGENTS),
        _ => return Err("usage: cargo xtask undo [AGENTS | --seed N]".to_owned()),
    };
    let status = cargo.status().map_err(|error| format!("cannot start cargo: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("an undo was not byte-equal ({status})")),
    }
}
