//! `ralph events`: filters on the stored lines, so that a long journal is not decoded for a few of its records.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use ralph_core::event::Event;
use ralph_core::hat::Pattern;
use ralph_core::ids::Seq;
use ralph_core::record::{json_of, type_of};
use ralph_store::{Line, Lines, RunDir, decode, follow, last_lines, seq_of};
use ralph_ui::Style;

use super::pick;
use crate::args::EventsArgs;
use crate::error::CliError;
use crate::io::style;
use ralph_config as config;

const PUBLISHED: &str = "topic.published";

pub fn events(args: EventsArgs) -> Result<u8, CliError> {
    let (_, run) = pick(&args.pick)?;
    super::held_out::refuse_inside(&run, "events")?;
    let filter = Filter::new(&args, has_hats(&run)?)?;
    let path = run.journal();
    refuse_unknown_types(&args.types, &path)?;
    if args.count {
        return count(&path, &filter, args.json);
    }
    let topics = filter.types == [PUBLISHED];
    let (out, columns) = (BufWriter::new(io::stdout()), ralph_ui::terminal_width());
    let mut printer = Printer { out, json: args.json, topics, columns, style: style() };
    let mut from = Seq(1);
    if let Some(last) = args.last {
        // The end as it is now: what is appended meanwhile is for the follower.
        from = next_seq(&path)?;
        for line in last_lines(&path, last, &|line| filter.keeps(line))? {
            printer.print(&line)?;
        }
    }
    if args.follow {
        // Printed as it comes. Reading ends when the run does, or when nobody looks any more.
        printer.flush()?;
        let mut visit = |line: &[u8]| Ok(!filter.keeps(line) || (printer.print(line)? && printer.flush()?));
        follow(&path, from, &mut visit, &mut || !run.is_live())?;
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

/// The number of the record that comes next.
fn next_seq(path: &Path) -> io::Result<Seq> {
    let last = last_lines(path, 1, &|line| seq_of(line).is_some())?;
    Ok(last.first().and_then(|line| seq_of(line)).unwrap_or_default().next())
}

/// A type that does not exist would never be seen. A newer ralph may have written one that this one does not know.
fn refuse_unknown_types(types: &[String], path: &Path) -> Result<(), CliError> {
    for wanted in types {
        let is_known = Event::NAMES.iter().any(|name| is_type(name, wanted));
        if is_known
            || !last_lines(path, 1, &|line| type_of(line).is_some_and(|kind| is_type(kind, wanted)))?
                .is_empty()
        {
            continue;
        }
        return Err(CliError::Usage(format!("there is no event `{wanted}`; {}", near_types(wanted))));
    }
    Ok(())
}

/// The types that may have been meant: those of the same kind, or one that is spelt alike, or all.
fn near_types(wanted: &str) -> String {
    let plain = wanted.trim_end_matches(['*', '.']);
    let kind = plain.split('.').next().unwrap_or_default();
    let family = |kind: &str| -> Vec<&str> {
        Event::NAMES.iter().copied().filter(|name| name.split('.').next() == Some(kind)).collect()
    };
    if let Some(name) = config::nearest(plain, Event::NAMES.iter().copied()) {
        return format!("did you mean `{name}`?");
    }
    let kinds: Vec<&str> = Event::NAMES.iter().filter_map(|name| name.split('.').next()).collect();
    match config::nearest(kind, kinds).map(family) {
        Some(names) => format!("did you mean one of {}?", names.join(", ")),
        None => format!("known are {}", Event::NAMES.join(", ")),
    }
}

fn is_type(kind: &str, wanted: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(prefix) => kind.starts_with(prefix),
        None => kind == wanted,
    }
}

/// Whether the run has hats, by its first record.
fn has_hats(run: &RunDir) -> Result<bool, CliError> {
    let mut lines = Lines::open(&run.journal())?;
    let Some(Line::Whole(line)) = lines.read()? else { return Ok(false) };
    Ok(matches!(decode(line)?.event, Event::RunStarted(started) if started.plan.hats.is_some()))
}

/// How often each topic went from one hat to another.
fn count(path: &Path, filter: &Filter, json: bool) -> Result<u8, CliError> {
    let mut counts = ralph_ui::topics::Counts::default();
    let mut lines = Lines::open(path)?;
    while let Some(Line::Whole(line)) = lines.read()? {
        if let (true, Event::TopicPublished(published)) = (filter.keeps(line), decode(line)?.event) {
            counts.add(&published);
        }
    }
    match json {
        true => crate::io::print_json(&counts.counted())?,
        false => crate::io::print(&counts.to_text())?,
    }
    Ok(0)
}

/// What a line has to be.
struct Filter {
    types: Vec<String>,
    topic: Option<Pattern>,
    iteration: Option<Vec<u8>>,
}

impl Filter {
    fn new(args: &EventsArgs, hats: bool) -> Result<Self, CliError> {
        let iteration = args.iteration.map(|n| format!("\"iteration\":{n}").into_bytes());
        let topic = args.topic.as_deref().map(str::parse::<Pattern>).transpose();
        let topic = topic.map_err(|error| CliError::Usage(format!("`--topic`: {error}")))?;
        // With hats, what they say to each other is what a person looks for. Programs get everything.
        let topics = topic.is_some() || args.count || (hats && !args.json && args.types.is_empty());
        let types = if topics { vec![PUBLISHED.to_owned()] } else { args.types.clone() };
        Ok(Self { types, topic, iteration })
    }

    fn keeps(&self, line: &[u8]) -> bool {
        self.keeps_type(line)
            && self.iteration.as_ref().is_none_or(|needle| has_number(line, needle))
            && self.topic.as_ref().is_none_or(|wanted| match decode(line).map(|record| record.event) {
                Ok(Event::TopicPublished(published)) => wanted.matches(&published.topic),
                _ => false,
            })
    }

    fn keeps_type(&self, line: &[u8]) -> bool {
        let Some(kind) = type_of(line) else { return self.types.is_empty() };
        self.types.is_empty() || self.types.iter().any(|wanted| is_type(kind, wanted))
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
    /// Only topics are shown, so their type need not be.
    topics: bool,
    /// Of the window, if there is one.
    columns: Option<usize>,
    style: Style,
}

impl Printer {
    /// Tells whether anybody still reads.
    fn print(&mut self, line: &[u8]) -> io::Result<bool> {
        let text = match self.json {
            true => json_of(line).unwrap_or_else(|| String::from_utf8_lossy(line).into_owned()),
            false => match decode(line) {
                Ok(record) => match (&record.event, self.topics) {
                    (Event::TopicPublished(published), true) => {
                        ralph_ui::topics::line(published, record.at, self.columns, &self.style)
                    }
                    _ => {
                        let line = ralph_ui::event_line::render(&record, &self.style);
                        self.columns.map_or(line.clone(), |columns| ralph_ui::fold(&line, columns))
                    }
                },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_does_not_exist_is_answered_with_what_may_be_meant() {
        for (wanted, answer) in [
            ("iteration.finsihed", "did you mean `iteration.finished`?"),
            ("gates.foo.*", "did you mean one of gates.finished, gates.started, gates.killed?"),
            ("loops.*", "did you mean one of loop.reviewed, loop.suspected, loop.detected?"),
        ] {
            assert_eq!(near_types(wanted), answer);
        }
        assert!(near_types("foo.bar").starts_with("known are run.started, run.resumed, "));
    }
}
