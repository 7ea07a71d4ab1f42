//! `ralph status` and `ralph explain`: one run, from its records.

use super::{pick, snapshot};
use crate::args::ShowArgs;
use crate::error::CliError;

pub fn status(args: ShowArgs) -> Result<u8, CliError> {
    let (_, run) = pick(&args.pick)?;
    let now = ralph_runtime::clock::now();
    let run = snapshot(&run, now)?;
    match args.json {
        true => crate::io::print_json(&run)?,
        false => crate::io::show(&ralph_ui::status::render(&run, now, &crate::io::style()))?,
    }
    Ok(0)
}

pub fn explain(args: ShowArgs) -> Result<u8, CliError> {
    let (_, run) = pick(&args.pick)?;
    let run = snapshot(&run, ralph_runtime::clock::now())?;
    match args.json {
        true => crate::io::print_json(&run)?,
        false => crate::io::show(&ralph_ui::explain::render(&run, &crate::io::style()))?,
    }
    Ok(0)
}
