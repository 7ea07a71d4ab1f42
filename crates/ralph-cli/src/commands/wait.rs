//! `ralph wait`: returns when runs have ended.

use std::io;

use ralph_core::ids::Seq;
use ralph_store::{RunDir, Store, follow};

use super::{attach, workspace};
use crate::args::WaitArgs;
use crate::error::CliError;

pub fn wait(args: WaitArgs) -> Result<u8, CliError> {
    let store = Store::from_env()?;
    let here = workspace(&args.at.workspace)?;
    // All are looked up before the first is waited for: a misspelt name is told at once.
    let runs: Vec<RunDir> = match args.runs.as_slice() {
        [] => vec![store.find(None, &here)?],
        names => names.iter().map(|name| store.find(Some(name), &here)).collect::<Result<_, _>>()?,
    };
    let mut code = 0;
    for run in &runs {
        until_over(run)?;
        let its_code = attach::ended(run)?;
        if let Some(stopped) = run.summary().and_then(|summary| summary.stopped) {
            crate::io::print(&format!("run {} ended: {}", run.id, stopped.message))?;
        }
        if code == 0 {
            code = its_code;
        }
    }
    Ok(code)
}

fn until_over(run: &RunDir) -> io::Result<()> {
    if !run.is_live() {
        return Ok(());
    }
    let end = run.newest_range(1, 1).map_or(Seq(1), |range| range.start);
    follow(&run.journal(), end, &mut |_| Ok(true), &mut || !run.is_live())
}
