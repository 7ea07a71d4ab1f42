//! Lines for a pipe, a file, or a terminal that can not redraw: no escapes but the colours one asks for.

use std::io::Write;

use ralph_core::record::Record;

use crate::out::Out;
use crate::story::Story;
use crate::{Screen, ScreenOptions};

pub struct PlainScreen {
    out: Out,
    story: Story,
}

impl PlainScreen {
    pub fn new(out: Box<dyn Write + Send>, options: ScreenOptions) -> PlainScreen {
        PlainScreen { out: Out::new(out), story: Story::new(options) }
    }

    fn print(&mut self, lines: Vec<String>) {
        if !lines.is_empty() {
            self.out.write(&(lines.join("\n") + "\n"));
        }
    }
}

impl Screen for PlainScreen {
    fn event(&mut self, record: &Record) {
        let lines = self.story.tell(record);
        self.print(lines);
    }

    fn finish(&mut self) {
        let lines = self.story.end();
        self.print(lines);
    }
}
