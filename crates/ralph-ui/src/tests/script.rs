//! Screens for the tests, and what they write.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use ralph_model::Fold;
use ralph_model::record::Record;
pub use ralph_model::script::*;

use crate::{Screen, ScreenOptions, Style, Verbosity};

/// What is known of a resumed run: its numbers, not its rows.
pub fn counted(records: &[Record]) -> Fold {
    let mut folder = ralph_core::observe::Folder::default();
    records.iter().for_each(|record| folder.push(record));
    Fold::from_folder(folder)
}

pub fn options(color: bool, verbosity: Verbosity) -> ScreenOptions {
    ScreenOptions { verbosity, ..ScreenOptions::new(Style { color, ..Style::plain() }) }
}

/// An output that the test can read.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// What a screen writes about a run.
pub fn show<S: Screen>(records: &[Record], open: impl FnOnce(Box<dyn Write + Send>) -> S) -> String {
    let shared = Shared::default();
    let mut screen = open(Box::new(shared.clone()));
    for record in records {
        screen.event(record);
        if screen.moves() {
            screen.tick(record.at);
        }
    }
    screen.finish();
    shared.text()
}

pub fn plain(records: &[Record], verbosity: Verbosity) -> String {
    show(records, |out| crate::PlainScreen::new(out, options(false, verbosity)))
}

/// Escapes as they can be read in a snapshot.
pub fn visible(text: &str) -> String {
    text.replace('\u{1b}', "␛").replace('\r', "␍")
}

/// What a person sees on a terminal of this size. It takes a line feed as a terminal does behind its line discipline.
pub fn terminal(rows: u16, columns: u16, bytes: &str) -> vt100::Parser {
    let size = |n| std::num::NonZero::new(n).unwrap();
    let mut terminal = vt100::Parser::new(size(rows), size(columns), 0);
    terminal.process(bytes.replace('\n', "\r\n").as_bytes());
    terminal
}
