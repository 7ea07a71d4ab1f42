//! Where a screen writes. A reader that went away, or a disk that is full, switches the screen off and never ends the run.

use std::io::{self, ErrorKind, Write};

pub(crate) struct Out(Option<Box<dyn Write + Send>>, Option<io::Error>);

impl Out {
    pub fn new(writer: Box<dyn Write + Send>) -> Out {
        Out(Some(writer), None)
    }

    /// Writes all of it at once and flushes: a reader never sees half a line for long.
    pub fn write(&mut self, text: &str) {
        let Some(writer) = &mut self.0 else { return };
        if let Err(error) = writer.write_all(text.as_bytes()).and_then(|()| writer.flush()) {
            self.fail(error);
        }
    }

    /// Nothing more is written.
    pub fn fail(&mut self, error: io::Error) {
        (self.0, self.1) = (None, Some(error));
    }

    /// Why not all could be written. A reader that went away has seen enough.
    pub fn failure(&self) -> Option<String> {
        let error = self.1.as_ref().filter(|error| error.kind() != ErrorKind::BrokenPipe)?;
        Some(error.to_string())
    }

    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }
}
