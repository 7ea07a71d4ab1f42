//! `ralph status` and `ralph explain`: one run, from its records.

use super::{pick, view};
use crate::args::ShowArgs;
use crate::error::CliError;

pub fn status(args: ShowArgs) -> Result<u8, CliError> {
    let (_, run) = pick(&args.pick)?;
    let (view, now, alive) = (view(&run)?, ralph_runtime::clock::now(), run.is_live());
    match args.json {
        true => crate::io::print_json(&ralph_ui::status::to_json(&view, now, alive))?,
        false => crate::io::show(&ralph_ui::status::render(&view, now, alive, &crate::io::style()))?,
    }
    Ok(0)
}

pub fn explain(args: ShowArgs) -> Result<u8, CliError> {
    let (_, run) = pick(&args.pick)?;
    let (view, now, alive) = (view(&run)?, ralph_runtime::clock::now(), run.is_live());
    match args.json {
        true => crate::io::print_json(&ralph_ui::explain::to_json(&view, now, alive))?,
        false => crate::io::show(&ralph_ui::explain::render(&view, now, alive, &crate::io::style()))?,
    }
    Ok(0)
}
