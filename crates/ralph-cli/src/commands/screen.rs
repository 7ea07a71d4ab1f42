//! Which screen a run is shown on.

use std::io::{self, IsTerminal};
use std::time::Duration;

use ralph_core::event::{Event, LoopAnswer};
use ralph_core::record::Record;
use ralph_model::Fold;
use ralph_runtime::session::Session;
use ralph_ui::{
    JsonScreen, LiveScreen, PlainScreen, Screen, ScreenOptions, ScreenThread, Verbosity, terminal_can_redraw,
    terminal_width,
};

use super::keys::Keys;
use crate::args::ScreenArgs;
use crate::error::CliError;
use crate::io::style;

/// A reader that does not read may keep ralph from ending for this long.
const PATIENCE: Duration = Duration::from_secs(5);

fn options(args: &ScreenArgs, fold: Fold, keys: bool) -> ScreenOptions {
    let verbosity = match (args.quiet, args.verbose) {
        (true, _) => Verbosity::Quiet,
        (_, true) => Verbosity::Verbose,
        _ => Verbosity::Normal,
    };
    ScreenOptions { verbosity, fold, keys, columns: terminal_width(), ..ScreenOptions::new(style()) }
}

/// The screen of a live run: JSON if asked for, a live line on a terminal that can redraw it, else plain lines. At a
/// terminal a person can also press keys.
pub fn open(args: &ScreenArgs, fold: Fold, session: &Session) -> io::Result<RunScreen> {
    let lives = !args.json && terminal_can_redraw(io::stdout().is_terminal(), |name| std::env::var_os(name));
    let waiting = fold.is_waiting();
    let keys = lives.then(|| Keys::start(waiting, session.commander())).flatten();
    let can_press = keys.is_some();
    let out = Box::new(io::stdout());
    let screen: Box<dyn Screen> = if args.json {
        Box::new(JsonScreen::new(out))
    } else if lives {
        Box::new(LiveScreen::new(out, options(args, fold, can_press), terminal_width))
    } else {
        Box::new(PlainScreen::new(out, options(args, fold, false)))
    };
    let thread = ScreenThread::start(screen, ralph_runtime::clock::now)?;
    Ok(RunScreen { thread, keys, is_json: args.json })
}

/// The screen of a run that is over.
pub fn replay(args: &ScreenArgs) -> Box<dyn Screen> {
    let out = Box::new(io::BufWriter::new(io::stdout()));
    match args.json {
        true => Box::new(JsonScreen::new(out)),
        false => Box::new(PlainScreen::new(out, options(args, Fold::default(), false))),
    }
}

pub struct RunScreen {
    thread: ScreenThread,
    keys: Option<Keys>,
    is_json: bool,
}

impl RunScreen {
    pub fn send(&self, record: &Record) {
        self.thread.send(record.clone());
        if let (Event::LoopDetected(detected), None) = (&record.event, &self.keys)
            && detected.action == LoopAnswer::Ask
        {
            // Where nobody looks at the screen: what is written here is what gets mailed or logged.
            eprintln!("note: the run goes in circles and waits for you; see `ralph status`");
        }
        if let Some(keys) = &self.keys {
            keys.record(record);
        }
    }

    /// An error where a program reads what is shown, and did not get all of it.
    pub fn finish(self) -> Result<(), CliError> {
        drop(self.keys);
        match self.thread.finish_within(PATIENCE) {
            Err(why) if self.is_json => {
                Err(CliError::Failed(format!("cannot write the events to standard output: {why}")))
            }
            _ => Ok(()),
        }
    }
}
