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
            match record.to_json() {
                Ok(line) => self.out.write(&(line + "\n")),
                Err(error) => self.out.fail(error.into()),
            }
        }
    }

    fn finish(&mut self) {}

    fn failure(&self) -> Option<String> {
        self.out.failure()
    }
}
