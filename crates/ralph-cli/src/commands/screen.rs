//! Which screen a run is shown on.

use std::io::{self, IsTerminal};
use std::time::Duration;

use ralph_core::record::Record;
use ralph_core::view::View;
use ralph_ui::{
    JsonScreen, LiveScreen, PlainScreen, Screen, ScreenOptions, ScreenThread, Verbosity, terminal_width,
};

use crate::args::ScreenArgs;
use crate::io::style;

/// A reader that does not read may keep ralph from ending for this long.
const PATIENCE: Duration = Duration::from_secs(5);

fn options(args: &ScreenArgs, view: View) -> ScreenOptions {
    let verbosity = match (args.quiet, args.verbose) {
        (true, _) => Verbosity::Quiet,
        (_, true) => Verbosity::Verbose,
        _ => Verbosity::Normal,
    };
    ScreenOptions { verbosity, view, ..ScreenOptions::new(style()) }
}

/// The screen of a live run: JSON if asked for, a live line on a terminal, else plain lines.
pub fn open(args: &ScreenArgs, view: View) -> io::Result<RunScreen> {
    let out = Box::new(io::stdout());
    let screen: Box<dyn Screen> = if args.json {
        Box::new(JsonScreen::new(out))
    } else if io::stdout().is_terminal() {
        Box::new(LiveScreen::new(out, options(args, view), terminal_width))
    } else {
        Box::new(PlainScreen::new(out, options(args, view)))
    };
    Ok(RunScreen(ScreenThread::start(screen, ralph_runtime::clock::now)?))
}

/// The screen of a run that is over.
pub fn replay(args: &ScreenArgs) -> Box<dyn Screen> {
    let out = Box::new(io::BufWriter::new(io::stdout()));
    match args.json {
        true => Box::new(JsonScreen::new(out)),
        false => Box::new(PlainScreen::new(out, options(args, View::default()))),
    }
}

pub struct RunScreen(ScreenThread);

impl RunScreen {
    pub fn send(&self, record: &Record) {
        self.0.send(record.clone());
    }

    pub fn finish(self) {
        self.0.finish_within(PATIENCE);
    }
}
