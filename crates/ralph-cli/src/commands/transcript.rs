//! What an agent printed, read again by the dialogue that listened to it.

use std::collections::VecDeque;
use std::io::{self, Write};

use ralph_agents::{AgentSignal, Dialogue, Stream, agent};
use ralph_core::event::{ToolCall, ToolResult};
use ralph_core::plan::AgentPlan;
use ralph_model::{ToolEnd, ToolEntry, TranscriptEntry};

/// The name of the only format that is no stream.
const TEXT: &str = "text";
/// Calls that are open at once; a stream that opens more forgets the oldest.
const OPEN: usize = 64;
/// A line of plain text that is longer goes on in the next one.
const LINE: usize = 64 << 10;

/// Bytes of an agent's log go in; entries come out as soon as they are whole.
pub struct Transcript<F> {
    /// Nothing for plain text.
    dialogue: Option<Box<dyn Dialogue>>,
    signals: Vec<AgentSignal>,
    open: VecDeque<ToolCall>,
    line: Vec<u8>,
    /// Something was said as a message, so that the result need not say it again.
    spoke: bool,
    visit: F,
}

impl<F: FnMut(TranscriptEntry) -> io::Result<()>> Transcript<F> {
    pub fn of(plan: &AgentPlan, visit: F) -> Self {
        let def = agent::by_format(&plan.output).ok().filter(|def| def.stream.format != TEXT);
        Self {
            dialogue: def.map(|def| def.dialogue()),
            signals: Vec::new(),
            open: VecDeque::new(),
            line: Vec::new(),
            spoke: false,
            visit,
        }
    }

    /// Nothing more comes. Tools that are open have not ended, as far as anybody knows.
    pub fn finish(&mut self) -> io::Result<()> {
        if let Some(dialogue) = &mut self.dialogue {
            dialogue.finish(&mut self.signals);
        }
        self.entries()?;
        self.end_line()?;
        while let Some(call) = self.open.pop_front() {
            (self.visit)(entry(call, None))?;
        }
        Ok(())
    }

    fn plain(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.line.len() >= LINE {
                self.end_line()?;
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        match line.is_empty() {
            true => Ok(()),
            false => {
                let text = String::from_utf8_lossy(&line);
                (self.visit)(TranscriptEntry::Line { text: text.trim_end_matches(['\n', '\r']).to_owned() })
            }
        }
    }

    fn entries(&mut self) -> io::Result<()> {
        for signal in std::mem::take(&mut self.signals) {
            match signal {
                AgentSignal::Text { text, delta: false } if !text.trim().is_empty() => {
                    self.spoke = true;
                    (self.visit)(TranscriptEntry::Said { text })?;
                }
                AgentSignal::ToolCall(call) => {
                    if self.open.len() == OPEN
                        && let Some(oldest) = self.open.pop_front()
                    {
                        (self.visit)(entry(oldest, None))?;
                    }
                    self.open.push_back(call);
                }
                AgentSignal::ToolResult(result) => {
                    let at = self.open.iter().position(|call| call.id == result.id);
                    if let Some(call) = at.and_then(|at| self.open.remove(at)) {
                        (self.visit)(entry(call, Some(result)))?;
                    }
                }
                AgentSignal::Retry { reason, .. } => {
                    (self.visit)(TranscriptEntry::Trouble { text: format!("tries again: {reason}") })?;
                }
                AgentSignal::Error { message, .. } => {
                    (self.visit)(TranscriptEntry::Trouble { text: message })?
                }
                // Some streams have their one answer only in their result.
                AgentSignal::Result { ok: true, text, .. } if !self.spoke && !text.trim().is_empty() => {
                    (self.visit)(TranscriptEntry::Said { text })?;
                }
                AgentSignal::Noise { line } => (self.visit)(TranscriptEntry::Line { text: line })?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl<F: FnMut(TranscriptEntry) -> io::Result<()>> Write for Transcript<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.dialogue {
            None => self.plain(bytes)?,
            Some(dialogue) => {
                dialogue.take(Stream::Stdout, bytes, &mut self.signals);
                self.entries()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn entry(call: ToolCall, result: Option<ToolResult>) -> TranscriptEntry {
    let end = match result.as_ref().map(|result| result.ok) {
        None => ToolEnd::Open,
        Some(None) => ToolEnd::Unknown,
        Some(Some(true)) => ToolEnd::Ok,
        Some(Some(false)) => ToolEnd::Failed,
    };
    let (exit_code, output) =
        result.map_or((None, String::new()), |result| (result.exit_code, result.output));
    TranscriptEntry::Tool(ToolEntry {
        name: call.name,
        object: call.command.or(call.path),
        end,
        exit_code,
        output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, bytes: &[u8], chunk: usize) -> Vec<TranscriptEntry> {
        let mut plan = AgentPlan::command("agent");
        plan.output = format.to_owned();
        let mut found = Vec::new();
        let mut transcript = Transcript::of(&plan, |entry| {
            found.push(entry);
            Ok(())
        });
        for piece in bytes.chunks(chunk) {
            transcript.write_all(piece).unwrap();
        }
        transcript.finish().unwrap();
        drop(transcript);
        found
    }

    #[test]
    fn plain_text_is_told_line_by_line_wherever_it_is_cut() {
        let want = ["one", "two \u{1b}[31mred", "", "end"];
        for chunk in [1, 3, 100] {
            let found = read("text", b"one\ntwo \x1b[31mred\r\n\nend", chunk);
            let lines: Vec<String> = found
                .into_iter()
                .map(|entry| match entry {
                    TranscriptEntry::Line { text } => text,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(lines, want);
        }
    }

    #[test]
    fn a_tool_is_told_with_its_end_and_one_that_has_none_is_told_as_open() {
        let stream = concat!(
            r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I look."},"#,
            r#"{"type":"tool_use","id":"a","name":"Bash","input":{"command":"cargo test"}},"#,
            r#"{"type":"tool_use","id":"b","name":"Read","input":{"file_path":"src/a.rs"}}]}}"#,
            "\n",
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"Exit code 101\nboom"}]}}"#,
            "\nnot json\n",
        );
        let found = read("claude-stream-json", stream.as_bytes(), 7);
        let tool = |name: &str, object: &str, end, exit_code, output: &str| {
            let (name, object) = (name.to_owned(), Some(object.to_owned()));
            TranscriptEntry::Tool(ToolEntry { name, object, end, exit_code, output: output.to_owned() })
        };
        assert_eq!(
            found,
            [
                TranscriptEntry::Said { text: "I look.".to_owned() },
                tool("Bash", "cargo test", ToolEnd::Failed, Some(101), "Exit code 101\nboom"),
                TranscriptEntry::Line { text: "not json".to_owned() },
                tool("Read", "src/a.rs", ToolEnd::Open, None, ""),
            ]
        );
    }
}
