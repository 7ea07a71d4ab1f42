//! `ralph logs`: what the agent printed, as it printed it.

use std::io::{self, IsTerminal, Write};

use ralph_core::ids::IterationNumber;
use ralph_core::record::type_of;
use ralph_store::{AttemptFiles, RunDir, iteration_of, last_lines, output};
use serde::Serialize;

use super::pick;
use crate::args::LogsArgs;
use crate::error::CliError;
use crate::io::quiet;

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
    super::held_out::refuse_inside(&run, "logs")?;
    let wanted = match (args.all, args.iteration.map(IterationNumber), newest(&run)?) {
        (_, _, None) => Vec::new(),
        (true, _, Some(newest)) => {
            let all = (1..=newest.0).map(|n| attempts(&run, IterationNumber(n)));
            all.collect::<Result<Vec<_>, CliError>>()?.concat()
        }
        (false, wanted, Some(newest)) => attempts(&run, wanted.unwrap_or(newest))?,
    };
    if wanted.is_empty() {
        return Err(CliError::Usage(match args.iteration {
            Some(n) => format!("run {} has no iteration {n}", run.id),
            None => format!("run {} has not started an iteration yet", run.id),
        }));
    }
    if args.json {
        let attempts: Vec<_> =
            wanted.iter().map(|(iteration, files)| LoggedAttempt::of(*iteration, files)).collect();
        crate::io::print_json(&attempts)?;
        return Ok(0);
    }
    let titles = wanted.len() > 1 || io::stdout().is_terminal();
    let mut out = io::stdout().lock();
    for (iteration, files) in wanted {
        if titles {
            quiet(writeln!(out, "--- iteration {iteration}, attempt {} ---", files.attempt))?;
        }
        match files.output.map(|path| output::print(&path, files.output_bytes, &mut out)) {
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => quiet(Err(error))?,
            _ => {}
        }
    }
    quiet(out.flush())?;
    Ok(0)
}

impl LoggedAttempt {
    fn of(iteration: IterationNumber, files: &AttemptFiles) -> Self {
        let file = files.output.as_ref().map(|path| path.to_string_lossy().into_owned());
        Self { iteration, attempt: files.attempt, output_bytes: files.output_bytes, file }
    }
}

/// The newest iteration that was started.
fn newest(run: &RunDir) -> Result<Option<IterationNumber>, CliError> {
    let lines = last_lines(&run.journal(), 1, &|line| type_of(line) == Some("iteration.started"))?;
    Ok(lines.first().and_then(|line| iteration_of(line)))
}

fn attempts(
    run: &RunDir,
    iteration: IterationNumber,
) -> Result<Vec<(IterationNumber, AttemptFiles)>, CliError> {
    let found = run.artefacts(iteration)?;
    Ok(found.into_iter().flat_map(|found| found.attempts).map(|attempt| (iteration, attempt)).collect())
}
