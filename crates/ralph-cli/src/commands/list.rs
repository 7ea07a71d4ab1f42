//! `ralph list`

use ralph_store::Store;
use ralph_ui::list;

use super::workspace;
use crate::args::ListArgs;
use crate::error::CliError;

pub fn list(args: ListArgs) -> Result<u8, CliError> {
    let store = Store::from_env()?;
    let here = workspace(&args.at.workspace)?;
    let runs = store.listings(Some(here.as_path()).filter(|_| !args.all));
    match args.json {
        true => crate::io::print_json(&runs)?,
        false => {
            let now = ralph_runtime::clock::now();
            crate::io::print(&list::render(&runs, now, args.all, &crate::io::style()))?;
        }
    }
    Ok(0)
}
