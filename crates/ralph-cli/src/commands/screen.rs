//! Which screen a run is shown on.

use std::io::{self, IsTerminal};
use std::time::Duration;

use ralph_core::event::{Event, LoopAnswer};
use ralph_core::input::Command;
use ralph_core::record::Record;
use ralph_model::Fold;
use ralph_ui::{
    JsonScreen, LiveScreen, Order, PlainScreen, Screen, ScreenOptions, ScreenThread, Verbosity,
    terminal_can_redraw, terminal_width,
};

use super::keyboard::{self, Desk, Keyboard, Reach, Seat};
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
    let in_front = if keys { keyboard::may_draw } else { || true };
    ScreenOptions {
        verbosity,
        fold,
        keys,
        in_front,
        columns: terminal_width(),
        ..ScreenOptions::new(style())
    }
}

/// What a person at the terminal can do beside looking.
pub struct Person {
    pub ask: Box<dyn Fn(Command) -> Result<(), String> + Send>,
    pub seat: Seat,
    /// How the screen is left, where that is possible.
    pub leave: Option<Box<dyn Fn() + Send>>,
}

/// Whether keys are read at this screen: it is redrawn, and somebody sits before it.
pub fn has_keys(args: &ScreenArgs) -> bool {
    is_live(args) && Keyboard::is_there()
}

fn is_live(args: &ScreenArgs) -> bool {
    !args.json && terminal_can_redraw(io::stdout().is_terminal(), |name| std::env::var_os(name))
}

/// The screen of a live run: JSON if asked for, a live line on a terminal that can redraw it, else plain lines. At a
/// terminal a person can also press keys.
pub fn open(args: &ScreenArgs, fold: Fold, person: Person) -> io::Result<RunScreen> {
    let (lives, can_press) = (is_live(args), has_keys(args));
    let mut desk = Desk::new(person.seat);
    if let Some(reason) = fold.waits_for() {
        desk.waits(reason);
    }
    let out = Box::new(ralph_runtime::Noted(io::stdout()));
    let screen: Box<dyn Screen> = if args.json {
        Box::new(JsonScreen::new(out))
    } else if lives {
        Box::new(LiveScreen::new(out, options(args, fold, can_press), terminal_width))
    } else {
        Box::new(PlainScreen::new(out, options(args, fold, false)))
    };
    let thread = ScreenThread::start(screen, ralph_runtime::clock::now)?;
    let keyboard = can_press.then(|| {
        let Person { ask, seat, leave } = person;
        let reach = Reach { ask, screen: Box::new(thread.orders()), all: seat == Seat::Watches, leave };
        Keyboard::start(desk, reach)
    });
    Ok(RunScreen { keyboard: keyboard.transpose()?, thread, is_json: args.json })
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
    // Dropped first: the thread of the screen ends only when the keyboard has.
    keyboard: Option<Keyboard>,
    thread: ScreenThread,
    is_json: bool,
}

impl RunScreen {
    pub fn send(&self, record: &Record) {
        if let Some(keyboard) = &self.keyboard {
            keyboard.see(&record.event);
        } else if let Event::LoopDetected(detected) = &record.event
            && detected.action == LoopAnswer::Ask
        {
            // Where nobody looks at the screen: what is written here is what gets mailed or logged.
            crate::io::complain("note: the run goes in circles and waits for you; see `ralph status`");
        }
        self.thread.send(record.clone());
    }

    /// What the run is, for a screen that did not see it begin.
    pub fn header(&self, title: String) {
        self.thread.orders()(Order::Header(title));
    }

    /// Somebody left: nothing is said of how the run stands.
    pub fn drop_quietly(self) {
        drop(self.keyboard);
        self.thread.orders()(Order::Leave);
        let _ = self.thread.finish_within(PATIENCE);
    }

    /// An error where a program reads what is shown, and did not get all of it.
    pub fn finish(self) -> Result<(), CliError> {
        drop(self.keyboard);
        match self.thread.finish_within(PATIENCE) {
            Err(why) if self.is_json => {
                Err(CliError::Failed(format!("cannot write the events to standard output: {why}")))
            }
            _ => Ok(()),
        }
    }
}
