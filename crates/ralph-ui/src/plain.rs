//! Lines for a pipe, a file, or a terminal that cannot redraw: no escapes but the colours one asks for.

use std::io::Write;

use ralph_model::record::Record;
use ralph_model::text::clean;
use ralph_model::time::Timestamp;

use crate::out::Out;
use crate::story::Story;
use crate::text::fold;
use crate::{Order, Screen, ScreenOptions};

pub struct PlainScreen {
    out: Out,
    story: Story,
    /// Of a terminal; on a pipe an event stays on its line.
    columns: Option<usize>,
}

impl PlainScreen {
    pub fn new(out: Box<dyn Write + Send>, options: ScreenOptions) -> PlainScreen {
        let columns = options.columns.filter(|columns| *columns > 0);
        PlainScreen { out: Out::new(out), story: Story::new(options), columns }
    }

    fn print(&mut self, lines: Vec<String>) {
        if lines.is_empty() {
            return;
        }
        let text = lines.join("\n") + "\n";
        self.out.write(&match self.columns {
            Some(columns) => fold(&text, columns),
            None => text,
        });
    }
}

impl Screen for PlainScreen {
    fn event(&mut self, record: &Record) {
        let lines = self.story.tell(record);
        self.print(lines);
    }

    fn order(&mut self, order: Order) {
        let lines = match order {
            Order::Header(title) => self.story.header(&title, Timestamp::default()),
            Order::Note(text) => vec![clean(&text)],
            Order::Leave => {
                self.story.leave();
                Vec::new()
            }
            Order::Detail | Order::Prompt(_) => Vec::new(),
        };
        self.print(lines);
    }

    fn finish(&mut self) {
        let lines = self.story.end();
        self.print(lines);
    }
}
