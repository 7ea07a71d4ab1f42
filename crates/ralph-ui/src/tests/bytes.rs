//! Readers that go away.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::script::*;
use crate::{JsonScreen, LiveScreen, PlainScreen, Screen, Verbosity};

/// Takes a number of writes, then is closed.
struct Pipe {
    left: usize,
    tried: Arc<AtomicUsize>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tried.fetch_add(1, Ordering::Relaxed);
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                Ok(bytes.len())
            }
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_switches_the_screen_off_for_good() {
    type Open = fn(Box<dyn Write + Send>) -> Box<dyn Screen>;
    let screens: [Open; 3] = [
        |out| Box::new(PlainScreen::new(out, options(false, Verbosity::Normal))),
        |out| Box::new(LiveScreen::new(out, options(true, Verbosity::Normal), || Some(80))),
        |out| Box::new(JsonScreen::new(out)),
    ];
    let script = eventful();
    for open in screens {
        for left in 0..3 {
            let tried = Arc::new(AtomicUsize::new(0));
            let mut screen = open(Box::new(Pipe { left, tried: Arc::clone(&tried) }));
            for record in &script.records {
                screen.event(record);
            }
            assert!(!screen.moves());
            screen.tick(script.now);
            screen.finish();
            assert_eq!(tried.load(Ordering::Relaxed), left + 1, "written to again after the error");
        }
    }
}
