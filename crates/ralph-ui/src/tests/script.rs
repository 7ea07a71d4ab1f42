//! Screens for the tests, and what they write.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use ralph_model::Fold;
use ralph_model::record::Record;
pub use ralph_model::script::*;

use crate::{Screen, ScreenOptions, Style, Verbosity};

/// What the screen of a resumed run knows of it.
pub fn resumed(records: &[Record]) -> Fold {
    let mut fold = Fold::from_folder(records.iter().collect());
    records.iter().for_each(|record| fold.recall(record));
    fold
}

pub fn options(color: bool, verbosity: Verbosity) -> ScreenOptions {
    ScreenOptions { verbosity, ..ScreenOptions::new(Style { color, ..Style::plain() }) }
}

/// An output that the test can read.
#[derive(Clone, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Captured {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// What a screen writes about a run.
pub fn show<S: Screen>(records: &[Record], open: impl FnOnce(Box<dyn Write + Send>) -> S) -> String {
    let captured = Captured::default();
    let mut screen = open(Box::new(captured.clone()));
    for record in records {
        screen.event(record);
        if screen.moves() {
            screen.tick(record.at);
        }
    }
    screen.finish();
    captured.text()
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
