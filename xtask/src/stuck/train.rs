//! `cargo xtask stuck train [--sets FOLDER] [--write] [OPTIONS]`: trains the model of the detector that decides on the cases
//! in a folder (or in `RALPH_STUCK_SETS`), tells how right it is on repositories that it was not trained on, and with
//! `--write` puts it into the program. The sets are not in the repository: they are too large.

use super::cases;
use crate::{Result, repo};
use std::path::PathBuf;

/// Made-up cases that are trained on with little weight. Those that are scored have another seed.
const SEED: u64 = 7;
const EACH: usize = 16;
const MODEL: &str = "crates/ralph-evidence/src/detector/model/model.txt";

pub fn run(args: &[String]) -> Result<()> {
    let mut folder = std::env::var_os("RALPH_STUCK_SETS").map(PathBuf::from);
    let mut rest = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--sets" => folder = Some(args.next().ok_or("--sets needs a folder")?.into()),
            "--write" => rest.extend(["--write".to_owned(), repo::root().join(MODEL).display().to_string()]),
            other => rest.push(other.to_owned()),
        }
    }
    let folder = folder.ok_or("--sets FOLDER, or RALPH_STUCK_SETS, says where the labelled cases are")?;
    let mut sets: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with("_cases.jsonl"))
        .collect();
    sets.sort();
    if sets.is_empty() {
        return Err(format!("{}: there is no file whose name ends with _cases.jsonl", folder.display()));
    }
    let made = repo::root().join("target/made_cases.jsonl");
    std::fs::write(&made, cases::to_train_on(SEED, EACH))
        .map_err(|error| format!("{}: {error}", made.display()))?;
    sets.push(made);
    let mut cargo = repo::cargo(&repo::root());
    cargo.args(["run", "--quiet", "--profile", "mutants", "--package", "ralph-evidence", "--example"]);
    cargo.arg("train_stuck").arg("--").args(sets).args(rest);
    print!("{}", repo::stdout_of(&mut cargo)?);
    Ok(())
}
