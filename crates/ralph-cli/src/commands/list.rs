//! `ralph list`

use ralph_store::Store;
use ralph_ui::list;

use super::workspace;
use crate::args::ListArgs;
use crate::error::CliError;

pub fn list(args: ListArgs) -> Result<u8, CliError> {
    let store = Store::from_env()?;
    let here = workspace(&args.at.workspace)?;
    let now = ralph_runtime::clock::now();
    let listings = store.listings(Some(here.as_path()).filter(|_| !args.all), now);
    match args.json {
        true => crate::io::print_json(&listings.runs)?,
        false => {
            let elsewhere = Some(listings.elsewhere).filter(|_| !args.all);
            crate::io::print(&list::render(&listings.runs, elsewhere, now, &crate::io::style()))?;
        }
    }
    Ok(0)
}
