//! Where a screen writes. A reader that went away switches the screen off and never ends the run.

use std::io::Write;

pub(crate) struct Out(Option<Box<dyn Write + Send>>);

impl Out {
    pub fn new(writer: Box<dyn Write + Send>) -> Out {
        Out(Some(writer))
    }

    /// Writes all of it at once and flushes: a reader never sees half a line for long.
    pub fn write(&mut self, text: &str) {
        let Some(writer) = &mut self.0 else { return };
        if writer.write_all(text.as_bytes()).and_then(|()| writer.flush()).is_err() {
            self.0 = None;
        }
    }

    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }
}
