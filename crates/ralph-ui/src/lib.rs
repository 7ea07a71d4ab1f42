//! Screens of ralph: plain lines, a live line on a terminal, JSON; and the texts of the commands that explain a run.
//!
//! A screen is a projection of events. It touches no files and no processes; what it shows follows from the records it
//! was given, so a live run and a replayed one look the same.

mod closing;
pub mod cost;
pub mod detect;
pub mod event_line;
pub mod explain;
mod forecast;
pub mod format;
pub mod graph;
mod json;
pub mod list;
mod live;
mod out;
mod paint;
mod plain;
pub mod status;
mod story;
mod text;
mod thread;
pub mod topics;
pub mod transcript;
mod waits;
mod words;

use jiff::tz::TimeZone;
use ralph_model::Fold;
use ralph_model::record::Record;
use ralph_model::time::Timestamp;

pub use json::JsonScreen;
pub use live::{LiveScreen, stderr_width, terminal_width};
pub use paint::{color_wanted, terminal_can_redraw};
pub use plain::PlainScreen;
pub use text::{fold, wrap};
pub use thread::ScreenThread;

#[cfg(test)]
mod tests;

pub trait Screen: Send {
    fn event(&mut self, record: &Record);

    /// Time has passed. Only called while the screen [moves](Screen::moves).
    fn tick(&mut self, _now: Timestamp) {}

    /// The person at the keyboard wants something of the screen itself.
    fn order(&mut self, _order: Order) {}

    /// Whether something on the screen changes by itself.
    fn moves(&self) -> bool {
        false
    }

    /// No more records will come.
    fn finish(&mut self);

    /// Why not everything could be shown, where somebody counts on it.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// What a person at the keyboard asks of a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Show more of what the agent does, or less.
    Detail,
    /// Print a line.
    Note(String),
    /// Print what the run is, under this title.
    Header(String),
    /// Nobody looks any more: end without a word on how the run stands.
    Leave,
    /// Show this in the place of the live line; nothing: the live line again.
    Prompt(Option<String>),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Only the closing block.
    Quiet,
    #[default]
    Normal,
    /// Also what the agent says.
    Verbose,
}

/// How text is shown: by screens and by the texts of commands alike.
#[derive(Debug, Clone)]
pub struct Style {
    pub color: bool,
    zone: Zone,
}

/// The zone of the times of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zone {
    System,
    Utc,
}

impl Style {
    /// The zone of this system.
    pub fn system(color: bool) -> Style {
        Style { color, zone: Zone::System }
    }

    /// No colour, UTC: for tests and for machines.
    pub fn plain() -> Style {
        Style { color: false, zone: Zone::Utc }
    }

    /// The zone of the times of day. Asked for where a time is shown and not before: the first look at the zone of the
    /// system reads the whole folder of zones, which is most of what a start would cost.
    pub fn zone(&self) -> TimeZone {
        match self.zone {
            Zone::System => TimeZone::system(),
            Zone::Utc => TimeZone::UTC,
        }
    }
}

/// What a screen is opened with.
#[derive(Debug, Clone)]
pub struct ScreenOptions {
    pub verbosity: Verbosity,
    pub style: Style,
    /// What is known already: of a resumed run, what its journal tells.
    pub fold: Fold,
    /// Whether a person at the terminal can cut a wait short by a key.
    pub keys: bool,
    /// Whether the last line of the terminal is this program's to draw.
    pub in_front: fn() -> bool,
    /// How wide the terminal is, if it is one. A live screen asks for itself.
    pub columns: Option<usize>,
}

impl ScreenOptions {
    pub fn new(style: Style) -> ScreenOptions {
        let (verbosity, fold) = (Verbosity::Normal, Fold::default());
        ScreenOptions { verbosity, style, fold, keys: false, in_front: || true, columns: None }
    }
}

/// The time by the system's clock.
pub fn now() -> Timestamp {
    Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
}
