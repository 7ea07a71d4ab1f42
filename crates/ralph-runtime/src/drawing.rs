//! Draws the sketch of an attempt while its output goes by: all that the detectors of stuck runs will ever see of it.

use ralph_core::event::{ToolCall, ToolResult};
use ralph_evidence::detector::{Ignore, Sketch, Sketcher, ToolUse};

use crate::both_ends::BothEnds;
use crate::process::Stream;

pub(crate) struct Drawing {
    sketcher: Sketcher,
    /// What a plain agent prints beside its words. It comes behind them: in what order two streams arrive is chance.
    beside: BothEnds,
}

impl Drawing {
    pub(crate) fn new(ignore: &[String]) -> Self {
        let sketcher = Sketcher::ignoring(Ignore::new(ignore));
        Self { sketcher, beside: BothEnds::default() }
    }

    /// The same for an agent whose stream names its tools.
    pub(crate) fn naming_tools(mut self) -> Self {
        self.sketcher.names_tools();
        self
    }

    /// What a plain agent prints, on both streams: an error is often told on the other one.
    pub(crate) fn text(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => self.sketcher.push(bytes),
            Stream::Stderr => self.beside.push(bytes),
        }
    }

    /// What an agent says, as a whole message.
    pub(crate) fn message(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.sketcher.push(text.as_bytes());
        self.sketcher.break_line();
    }

    /// A call of a tool that is over. Without a result nobody knows how it ended.
    pub(crate) fn tool(&mut self, call: &ToolCall, result: Option<&ToolResult>) {
        let ToolCall { kind, name, command, path, .. } = call;
        let (command, path) = (command.as_deref(), path.as_deref());
        let (ok, exit_code) = (result.and_then(|end| end.ok), result.and_then(|end| end.exit_code));
        let output = result.map_or("", |end| &end.output);
        self.sketcher.tool(&ToolUse { kind: *kind, name, command, path, ok, exit_code, output });
    }

    pub(crate) fn finish(mut self) -> Box<Sketch> {
        if self.beside.total > 0 {
            self.sketcher.break_line();
            self.sketcher.push(self.beside.text().as_bytes());
        }
        Box::new(self.sketcher.finish())
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::event::ToolKind;

    use super::*;

    fn call(kind: ToolKind, command: &str) -> ToolCall {
        let (id, name) = ("1".to_owned(), "Tool".to_owned());
        ToolCall { id, kind, name, command: Some(command.to_owned()), path: None }
    }

    #[test]
    fn tools_are_part_of_the_picture_and_one_without_an_end_too() {
        let mut drawing = Drawing::new(&[]).naming_tools();
        drawing.message("Running the tests.");
        let (id, output) = ("1".to_owned(), "error: no rule for check".to_owned());
        let failed = ToolResult { id, ok: Some(false), exit_code: None, output };
        drawing.tool(&call(ToolKind::Shell, "make check"), Some(&failed));
        drawing.tool(&call(ToolKind::Edit, "Makefile"), None);
        let sketch = drawing.finish();
        let calls = &sketch.calls;
        assert_eq!((calls.known, calls.count, calls.failed, calls.changing), (true, 2, 1, 1));
        assert_eq!(sketch.shown[0], "Running the tests.");
        assert_eq!(sketch.error.as_deref(), Some("error: no rule for check"));
    }

    #[test]
    fn the_picture_does_not_depend_on_how_two_streams_arrive() {
        let (out, err) = ((Stream::Stdout, "first words\n"), (Stream::Stderr, "an error\n"));
        let (more, end) = ((Stream::Stdout, "noise and more\nthen half"), (Stream::Stderr, "and another"));
        let draw = |pieces: [(Stream, &str); 4]| {
            let mut drawing = Drawing::new(&["noise".to_owned()]);
            pieces.iter().for_each(|(stream, text)| drawing.text(*stream, text.as_bytes()));
            drawing.finish()
        };
        let sketch = draw([out, err, more, end]);
        assert_eq!(sketch, draw([err, out, end, more]));
        assert_eq!(sketch.shown, ["first words", "and more", "then half"]);
        assert_eq!(sketch.error.as_deref(), Some("an error"));
    }
}
