//! `ralph logs --follow`: what the agent says and does, while it does.

use std::io::{self, Write};
use std::time::Duration;

use ralph_core::event::{Event, IterationStarted};
use ralph_core::ids::Seq;
use ralph_core::plan::Plan;
use ralph_core::record::type_of;
use ralph_store::{Follower, RunDir, decode, last_lines, output, seq_of};

use super::super::transcript::Transcript;
use super::title;
use crate::args::LogsArgs;
use crate::error::CliError;
use crate::io::quiet;

/// An agent prints without a word in the journal, so its log is looked at so often.
const OFTEN: Duration = Duration::from_millis(250);

/// From the newest attempt on, until the run has ended or nobody reads any more.
pub fn follow(args: &LogsArgs, run: &RunDir, plan: &Plan) -> Result<u8, CliError> {
    let lines = last_lines(&run.journal(), 1, &|line| type_of(line) == Some("iteration.started"))?;
    let from = lines.first().and_then(|line| seq_of(line)).unwrap_or(Seq(0));
    let mut journal = Follower::new(&run.journal(), from)?;
    let mut shown: Option<Attempt> = None;
    loop {
        // Asked before the journal is read: what a run writes before its end is then read below.
        let live = run.is_live();
        while let Some(started) = next_start(&mut journal)? {
            if let Some(mut over) = shown.take() {
                ended(over.copy(run).and_then(|()| over.sink.finish()))?;
            }
            let name = title(started.iteration, started.attempt);
            ended(writeln!(io::stdout(), "{name}"))?;
            shown = Some(Attempt::new(started, plan, args.raw));
        }
        let printed = shown.as_mut().map_or(Ok(()), |attempt| attempt.copy(run));
        match printed.and_then(|()| io::stdout().flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(0),
            other => other?,
        }
        if !live {
            break;
        }
        journal.wait(OFTEN, None)?;
    }
    if let Some(mut over) = shown {
        ended(over.sink.finish())?;
    }
    Ok(0)
}

fn ended(printed: io::Result<()>) -> io::Result<()> {
    quiet(printed)
}

/// The next start of an attempt that stands in the journal by now.
fn next_start(journal: &mut Follower) -> Result<Option<IterationStarted>, CliError> {
    while let Some(line) = journal.read()? {
        if type_of(line) == Some("iteration.started")
            && let Event::IterationStarted(started) = decode(line)?.event
        {
            return Ok(Some(started));
        }
    }
    Ok(None)
}

/// The log of one attempt, as far as it was shown.
struct Attempt {
    started: IterationStarted,
    log: output::Follower,
    sink: Sink,
}

impl Attempt {
    fn new(started: IterationStarted, plan: &Plan, raw: bool) -> Self {
        let sink = match raw {
            true => Sink::Raw(io::stdout()),
            false => {
                let style = crate::io::style();
                let print = move |entry: ralph_model::TranscriptEntry| {
                    let mut out = io::stdout().lock();
                    ralph_ui::transcript::lines(&entry, &style)
                        .iter()
                        .try_for_each(|line| writeln!(out, "{line}"))
                };
                Sink::Read(Box::new(Transcript::of(started.agent_of(plan), Box::new(print))))
            }
        };
        Self { started, log: output::Follower::default(), sink }
    }

    fn copy(&mut self, run: &RunDir) -> io::Result<()> {
        let path = run.log(self.started.iteration, self.started.attempt);
        self.log.copy(&path, &mut self.sink)
    }
}

type Print = Box<dyn FnMut(ralph_model::TranscriptEntry) -> io::Result<()>>;

/// Where the bytes of a log go.
enum Sink {
    Raw(io::Stdout),
    Read(Box<Transcript<Print>>),
}

impl Sink {
    fn finish(&mut self) -> io::Result<()> {
        match self {
            Sink::Raw(out) => out.flush(),
            Sink::Read(transcript) => transcript.finish(),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Raw(out) => out.write(bytes),
            Sink::Read(transcript) => transcript.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Raw(out) => out.flush(),
            Sink::Read(transcript) => transcript.flush(),
        }
    }
}
