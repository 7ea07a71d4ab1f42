//! `ralph logs`: what the agent said and did, its prompt, and what a gate printed.

mod follow;

use std::io::{self, IsTerminal, Write};

use ralph_config::nearest;
use ralph_core::event::{Event, IterationStarted};
use ralph_core::ids::{IterationNumber, Seq};
use ralph_core::plan::{AgentPlan, Plan};
use ralph_core::record::type_of;
use ralph_model::text::scrub;
use ralph_store::{AttemptFiles, GateFiles, RunDir, iteration_of, last_lines, output, plain};
use serde::Serialize;

use super::net::pager::Pager;
use super::pick;
use super::transcript::Transcript;
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
    let plan = plan_of(&run)?;
    if let Some(name) = &args.gate {
        return gate(&args, &run, &plan, name);
    }
    if args.follow {
        return follow::follow(&args, &run, &plan);
    }
    let wanted = wanted(&args, &run)?;
    if args.json {
        let attempts: Vec<_> =
            wanted.iter().map(|(iteration, files)| LoggedAttempt::of(*iteration, files)).collect();
        crate::io::print_json(&attempts)?;
        return Ok(0);
    }
    let titles = wanted.len() > 1 || io::stdout().is_terminal();
    // What is raw goes straight out, so what stands between does too.
    let mut printer = Printer::open(!args.no_pager && !args.raw);
    for (iteration, files) in wanted {
        if titles {
            seen(printer.line(&title(iteration, files.attempt)))?;
        }
        match args.prompt {
            true => prompt(&files, &mut printer)?,
            false => {
                let agent = agent_of(&run, &plan, iteration, files.attempt)?;
                attempt(&files, &agent, args.raw, &mut printer)?;
            }
        }
    }
    printer.close()?;
    Ok(0)
}

/// The attempts that are asked for; an error where there is none.
fn wanted(args: &LogsArgs, run: &RunDir) -> Result<Vec<(IterationNumber, AttemptFiles)>, CliError> {
    let wanted = match (args.all, args.iteration.map(IterationNumber), newest(run)?) {
        (_, _, None) => Vec::new(),
        (true, _, Some(newest)) => {
            let all = (1..=newest.0).map(|n| attempts(run, IterationNumber(n)));
            all.collect::<Result<Vec<_>, CliError>>()?.concat()
        }
        (false, wanted, Some(newest)) => attempts(run, wanted.unwrap_or(newest))?,
    };
    match wanted.is_empty() {
        false => Ok(wanted),
        true => Err(CliError::Usage(match args.iteration {
            Some(n) => format!("run {} has no iteration {n}", run.id),
            None => format!("run {} has not started an iteration yet", run.id),
        })),
    }
}

fn title(iteration: IterationNumber, attempt: u32) -> String {
    format!("--- iteration {iteration}, attempt {attempt} ---")
}

/// Where lines go. A reader that went away has seen enough.
struct Printer {
    pager: Pager,
    is_open: bool,
}

impl Printer {
    fn open(paged: bool) -> Self {
        Self { pager: Pager::open(paged), is_open: true }
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        if self.is_open {
            self.is_open = self.pager.line(text)?;
        }
        match self.is_open {
            true => Ok(()),
            false => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn close(self) -> io::Result<()> {
        self.pager.close()
    }
}

/// What one attempt printed: as it printed it, or as a person reads it.
fn attempt(
    files: &AttemptFiles,
    agent: &AgentPlan,
    raw: bool,
    printer: &mut Printer,
) -> Result<(), CliError> {
    let Some(path) = &files.output else { return Ok(()) };
    let printed = match raw {
        true => output::print(path, files.output_bytes, &mut io::stdout().lock()),
        false => {
            let style = crate::io::style();
            let mut transcript = Transcript::of(agent, |entry| {
                ralph_ui::transcript::lines(&entry, &style).iter().try_for_each(|line| printer.line(line))
            });
            let printed = output::print(path, files.output_bytes, &mut transcript);
            printed.and_then(|()| transcript.finish())
        }
    };
    seen(printed)
}

/// A file that is gone has nothing to show, and a reader that is gone wants nothing more.
fn seen(printed: io::Result<()>) -> Result<(), CliError> {
    match printed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => Ok(quiet(other)?),
    }
}

/// As it was sent.
fn prompt(files: &AttemptFiles, printer: &mut Printer) -> Result<(), CliError> {
    let Some(path) = &files.prompt else {
        return Err(CliError::Failed(format!("the prompt of attempt {} was not kept", files.attempt)));
    };
    let text = plain::read(path, plain::Links::Refuse, plain::TEXT)
        .map_err(|error| CliError::Failed(format!("cannot read {}: {error}", path.display())))?;
    let text = String::from_utf8_lossy(&text);
    seen(text.lines().try_for_each(|line| printer.line(&scrub(line))))
}

/// What a gate printed, in the last round after an iteration; without one, the last time that it ran.
fn gate(args: &LogsArgs, run: &RunDir, plan: &Plan, name: &str) -> Result<u8, CliError> {
    let known: Vec<&str> = plan.gates.iter().map(|gate| gate.name.as_str()).collect();
    if !known.contains(&name) {
        let help = match (nearest(name, known.iter().copied()), known.is_empty()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, true) => "it has no gates".to_owned(),
            (None, false) => format!("its gates are {}", known.join(", ")),
        };
        return Err(CliError::Usage(format!("run {} has no gate `{name}`; {help}", run.id)));
    }
    let newest = newest(run)?.unwrap_or(IterationNumber(0));
    let range = args.iteration.map_or(1..=newest.0, |n| n..=n);
    for n in range.rev() {
        let found = run.artefacts(IterationNumber(n))?;
        let ran = found.and_then(|found| found.gates.into_iter().rfind(|gate| gate.name == name));
        if let Some(files) = ran {
            gate_output(IterationNumber(n), &files, args)?;
            return Ok(0);
        }
    }
    Err(CliError::Failed(match args.iteration {
        Some(n) => format!("gate `{name}` did not run after iteration {n} of run {}", run.id),
        None => format!("gate `{name}` has not run yet in run {}", run.id),
    }))
}

fn gate_output(iteration: IterationNumber, files: &GateFiles, args: &LogsArgs) -> Result<(), CliError> {
    if args.raw {
        let print = |path| output::print(path, None, &mut io::stdout().lock());
        return seen(files.output.as_deref().map_or(Ok(()), print));
    }
    let mut printer = Printer::open(!args.no_pager);
    let how = match files.passed {
        Some(true) => "passed",
        Some(false) => "failed",
        None => "has not ended",
    };
    let mut lines = Transcript::of(&AgentPlan::command("gate"), |entry| {
        ralph_ui::transcript::lines(&entry, &crate::io::style())
            .iter()
            .try_for_each(|line| printer.line(line))
    });
    let head = format!("--- gate {} after iteration {iteration}: {how} ---\n", files.name);
    let printed = lines.write_all(head.as_bytes()).and_then(|()| match &files.output {
        Some(path) => output::print(path, None, &mut lines),
        None => Ok(()),
    });
    let printed = printed.and_then(|()| lines.finish());
    drop(lines);
    seen(printed)?;
    printer.close()?;
    Ok(())
}

impl LoggedAttempt {
    fn of(iteration: IterationNumber, files: &AttemptFiles) -> Self {
        let file = files.output.as_ref().map(|path| path.to_string_lossy().into_owned());
        Self { iteration, attempt: files.attempt, output_bytes: files.output_bytes, file }
    }
}

/// The plan that the run began with.
fn plan_of(run: &RunDir) -> Result<Plan, CliError> {
    let mut plan = None;
    run.each_record::<CliError>(Seq(0)..Seq(2), &mut |record| {
        if let Event::RunStarted(started) = record.event {
            plan = Some(started.plan);
        }
        Ok(())
    })?;
    plan.ok_or_else(|| CliError::Failed(format!("nothing is recorded of run {}", run.id)))
}

/// The agent of an attempt.
fn agent_of(
    run: &RunDir,
    plan: &Plan,
    iteration: IterationNumber,
    attempt: u32,
) -> Result<AgentPlan, CliError> {
    let mut found: Option<IterationStarted> = None;
    run.each_record::<CliError>(run.iteration_range(iteration)?, &mut |record| {
        if let Event::IterationStarted(started) = record.event
            && (started.iteration, started.attempt) == (iteration, attempt)
        {
            found = Some(started);
        }
        Ok(())
    })?;
    Ok(found.map_or(&plan.agent, |started| started.agent_of(plan)).clone())
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
