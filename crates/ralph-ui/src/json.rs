//! The records as they are, one JSON object a line.

use std::io::Write;

use ralph_model::record::Record;

use crate::Screen;
use crate::out::Out;

pub struct JsonScreen {
    out: Out,
}

impl JsonScreen {
    pub fn new(out: Box<dyn Write + Send>) -> JsonScreen {
        JsonScreen { out: Out::new(out) }
    }
}

impl Screen for JsonScreen {
    fn event(&mut self, record: &Record) {
        if self.out.is_open() {
            let mut line = record.to_json();
            line.push('\n');
            self.out.write(&line);
        }
    }

    fn finish(&mut self) {}
}
