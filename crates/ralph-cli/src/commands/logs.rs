//! `ralph logs`: what the agent printed, as it printed it.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};

use ralph_core::event::Event;
use ralph_core::ids::IterationNumber;
use ralph_store::output;
use ralph_store::RunDir;
use serde::Serialize;

use super::{each_record, pick};
use crate::args::LogsArgs;
use crate::error::CliError;
use crate::io::quiet;

/// Attempts that were started, and how much each printed once that is known.
type Attempts = BTreeMap<(IterationNumber, u32), Option<u64>>;

/// An attempt and where what it printed is.
#[derive(Serialize)]
struct LoggedAttempt {
    iteration: IterationNumber,
    attempt: u32,
    /// Nothing until the attempt has ended.
    output_bytes: Option<u64>,
    /// Nothing where it printed nothing.
    file: Option<String>,
}

pub fn logs(args: LogsArgs) -> Result<u8, CliError> {
    let (_, run) = pick(&args.pick)?;
    let attempts = attempts(&run)?;
    let newest = attempts.keys().next_back().map(|(iteration, _)| *iteration);
    let wanted: Vec<_> = match (args.all, args.iteration.map(IterationNumber).or(newest)) {
        (true, _) => attempts.into_iter().collect(),
        (false, Some(n)) => attempts.into_iter().filter(|((iteration, _), _)| *iteration == n).collect(),
        (false, None) => Vec::new(),
    };
    if wanted.is_empty() {
        return Err(CliError::Usage(match args.iteration {
            Some(n) => format!("run {} has no iteration {n}", run.id),
            None => format!("run {} has not started an iteration yet", run.id),
        }));
    }
    if args.json {
        let attempts: Vec<_> = wanted
            .iter()
            .map(|((iteration, attempt), total)| {
                let file = run.log(*iteration, *attempt);
                let file = file.is_file().then(|| file.to_string_lossy().into_owned());
                LoggedAttempt { iteration: *iteration, attempt: *attempt, output_bytes: *total, file }
            })
            .collect();
        crate::io::print_json(&attempts)?;
        return Ok(0);
    }
    let titles = wanted.len() > 1 || io::stdout().is_terminal();
    let mut out = io::stdout().lock();
    for ((iteration, attempt), total) in wanted {
        if titles {
            quiet(writeln!(out, "--- iteration {iteration}, attempt {attempt} ---"))?;
        }
        match output::print(&run.log(iteration, attempt), total, &mut out) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => quiet(result)?,
        }
    }
    quiet(out.flush())?;
    Ok(0)
}

fn attempts(run: &RunDir) -> Result<Attempts, CliError> {
    let mut attempts = Attempts::new();
    each_record(run, &mut |record| {
        match record.event {
            Event::IterationStarted(e) => drop(attempts.insert((e.iteration, e.attempt), None)),
            Event::AgentExited(e) => drop(attempts.insert((e.iteration, e.attempt), Some(e.output_bytes))),
            _ => {}
        }
        Ok(())
    })?;
    Ok(attempts)
}
