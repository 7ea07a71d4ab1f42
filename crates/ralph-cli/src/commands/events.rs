//! `ralph events`: filters on the stored lines, so that a long journal is not decoded for a few of its records.

use std::io::{self, BufWriter, Write};

use ralph_core::record::{json_of, type_of};
use ralph_runtime::journal::{self, Line, Lines};
use ralph_ui::Style;

use super::{decode, pick};
use crate::args::EventsArgs;
use crate::error::CliError;
use crate::io::style;

pub fn events(args: EventsArgs) -> Result<u8, CliError> {
    let (_, run) = pick(&args.pick)?;
    let filter = Filter::new(&args);
    let mut printer = Printer { out: BufWriter::new(io::stdout()), json: args.json, style: style() };
    let path = run.journal();
    let mut offset = 0;
    if let Some(last) = args.last {
        // The end as it is now: what is appended meanwhile is for the follower.
        offset = std::fs::metadata(&path)?.len();
        for line in journal::last_lines(&path, last, &|line| filter.keeps(line))? {
            printer.print(&line)?;
        }
    }
    if args.follow {
        // Printed as it comes. Reading ends when the run does, or when nobody looks any more.
        printer.flush()?;
        let mut visit = |line: &[u8]| Ok(!filter.keeps(line) || (printer.print(line)? && printer.flush()?));
        journal::follow(&path, offset, &mut visit, &mut || !run.is_live())?;
    } else if args.last.is_none() {
        let mut lines = Lines::open(&path)?;
        while let Some(Line::Whole(line)) = lines.read()? {
            if filter.keeps(line) && !printer.print(line)? {
                break;
            }
        }
    }
    printer.flush()?;
    Ok(0)
}

/// What a line has to be.
struct Filter {
    types: Vec<String>,
    iteration: Option<Vec<u8>>,
}

impl Filter {
    fn new(args: &EventsArgs) -> Self {
        let iteration = args.iteration.map(|n| format!("\"iteration\":{n}").into_bytes());
        Self { types: args.types.clone(), iteration }
    }

    fn keeps(&self, line: &[u8]) -> bool {
        self.keeps_type(line) && self.iteration.as_ref().is_none_or(|needle| has_number(line, needle))
    }

    fn keeps_type(&self, line: &[u8]) -> bool {
        let Some(kind) = type_of(line) else { return self.types.is_empty() };
        self.types.is_empty()
            || self.types.iter().any(|wanted| match wanted.strip_suffix('*') {
                Some(prefix) => kind.starts_with(prefix),
                None => kind == wanted,
            })
    }
}

/// The key comes right behind the type where an event has it; text that merely looks like it stands in quotes, where its
/// own quotes are escaped.
fn has_number(line: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find_iter(line, needle).any(|at| {
        let end = at + needle.len();
        let escaped = at > 0 && line[at - 1] == b'\\';
        !escaped && line.get(end).is_some_and(|byte| !byte.is_ascii_digit())
    })
}

struct Printer {
    out: BufWriter<io::Stdout>,
    json: bool,
    style: Style,
}

impl Printer {
    /// Tells whether anybody still reads.
    fn print(&mut self, line: &[u8]) -> io::Result<bool> {
        let text = match self.json {
            true => json_of(line).unwrap_or_else(|| String::from_utf8_lossy(line).into_owned()),
            false => match decode(line) {
                Ok(record) => ralph_ui::event_line::render(&record, &self.style),
                // A newer ralph may know more types of events: they are shown as they are.
                Err(_) => String::from_utf8_lossy(line).into_owned(),
            },
        };
        is_read(writeln!(self.out, "{text}"))
    }

    fn flush(&mut self) -> io::Result<bool> {
        is_read(self.out.flush())
    }
}

fn is_read(result: io::Result<()>) -> io::Result<bool> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true),
    }
}
