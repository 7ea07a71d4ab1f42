//! Draws the sketch of an attempt while its output goes by: all that the detectors of stuck runs will ever see of it.

use std::collections::VecDeque;

use ralph_agents::signal::{AgentSignal, ToolKind, ToolStatus};
use ralph_evidence::detector::{Ignore, Sketch, Sketcher, ToolUse};

use crate::both_ends::BothEnds;
use crate::process::Stream;

/// Calls that are remembered until they end.
const MAX_OPEN: usize = 64;
/// Of what a tool was told.
const MAX_TOLD: usize = 4000;

pub(crate) struct Drawing {
    sketcher: Sketcher,
    /// What a plain agent prints beside its words. It comes behind them: in what order two streams arrive is chance.
    beside: BothEnds,
    /// Calls whose end has not come yet.
    open: VecDeque<Call>,
}

struct Call {
    id: String,
    kind: &'static str,
    name: String,
    command: Option<String>,
    path: Option<String>,
}

impl Drawing {
    pub(crate) fn new(ignore: &[String]) -> Self {
        let sketcher = Sketcher::ignoring(Ignore::new(ignore));
        Self { sketcher, beside: BothEnds::default(), open: VecDeque::new() }
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
        self.sketcher.push(text.as_bytes());
        self.sketcher.break_line();
    }

    pub(crate) fn signal(&mut self, signal: &AgentSignal) {
        match signal {
            AgentSignal::Text { text, delta: false } => self.message(text),
            AgentSignal::ToolCall { id, kind, name, command, path } => {
                if self.open.len() == MAX_OPEN
                    && let Some(oldest) = self.open.pop_front()
                {
                    self.ended(&oldest, None, None, "");
                }
                let told = |text: &Option<String>| text.as_deref().map(|text| cut(text).to_owned());
                let (id, name, kind) = (id.clone(), name.clone(), kind_name(*kind));
                self.open.push_back(Call { id, kind, name, command: told(command), path: told(path) });
            }
            AgentSignal::ToolResult { id, status, exit_code, output } => {
                let Some(at) = self.open.iter().position(|call| call.id == *id) else { return };
                let Some(call) = self.open.remove(at) else { return };
                self.ended(&call, succeeded(*status), *exit_code, output);
            }
            _ => {}
        }
    }

    fn ended(&mut self, call: &Call, ok: Option<bool>, exit_code: Option<i64>, output: &str) {
        let Call { kind, name, command, path, .. } = call;
        let (command, path) = (command.as_deref(), path.as_deref());
        self.sketcher.tool(&ToolUse { kind, name, command, path, ok, exit_code, output });
    }

    pub(crate) fn finish(mut self) -> Box<Sketch> {
        for call in std::mem::take(&mut self.open) {
            self.ended(&call, None, None, "");
        }
        if self.beside.total > 0 {
            self.sketcher.break_line();
            self.sketcher.push(self.beside.text().as_bytes());
        }
        Box::new(self.sketcher.finish())
    }
}

pub(crate) fn succeeded(status: ToolStatus) -> Option<bool> {
    match status {
        ToolStatus::Ok => Some(true),
        ToolStatus::Failed => Some(false),
        ToolStatus::Unknown => None,
    }
}

pub(crate) fn kind_name(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Shell => "shell",
        ToolKind::Write => "write",
        ToolKind::Edit => "edit",
        ToolKind::Read => "read",
        ToolKind::Search => "search",
        ToolKind::Other => "other",
    }
}

fn cut(text: &str) -> &str {
    let end = (0..=MAX_TOLD.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, kind: ToolKind, command: &str) -> AgentSignal {
        let (id, name) = (id.to_owned(), "Tool".to_owned());
        AgentSignal::ToolCall { id, kind, name, command: Some(command.to_owned()), path: None }
    }

    fn result(id: &str, status: ToolStatus, output: &str) -> AgentSignal {
        AgentSignal::ToolResult { id: id.to_owned(), status, exit_code: None, output: output.to_owned() }
    }

    #[test]
    fn tools_are_part_of_the_picture_and_one_without_an_end_too() {
        let mut drawing = Drawing::new(&[]).naming_tools();
        drawing.signal(&AgentSignal::Text { text: "Running the tests.".to_owned(), delta: false });
        drawing.signal(&AgentSignal::Text { text: "Runn".to_owned(), delta: true });
        drawing.signal(&call("1", ToolKind::Shell, "make check"));
        drawing.signal(&result("1", ToolStatus::Failed, "error: no rule for check"));
        drawing.signal(&call("2", ToolKind::Edit, "Makefile"));
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
