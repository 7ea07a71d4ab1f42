//! Any program. Its stdout is what it says; its exit code is all it tells about how it went.

use super::command::{CommandLine, Prompt};
use super::{AgentDef, StreamFacts, Told, ToolResults};
use crate::dialogue::{Dialogue, Stream};
use crate::signal::AgentSignal;
use crate::stream::lines::{Line, Lines};
use crate::stream::text::{self, Tail};

pub(super) const DEF: AgentDef = AgentDef {
    name: "command",
    file_names: &[],
    summary: "Any program: the prompt on stdin, plain text on stdout.",
    folders: &[],
    hosts: &[],
    base_urls: &[],
    stream: StreamFacts {
        format: "text",
        end_event: false,
        answered: false,
        tokens: Told::Never,
        cost: false,
        calls: Told::Never,
        tool_results: ToolResults::None,
    },
    line: CommandLine { prompt: Prompt::Stdin, ..CommandLine::PLAIN },
    dialogue: || Box::new(TextDialogue::default()),
};

/// Plain text: each line of stdout is a delta as it comes; the whole, as far as it is kept, is one message at the end.
///
/// Lines of stdout that `notice` knows are handed to it and belong to no message.
#[derive(Default)]
pub(super) struct TextDialogue {
    stdout: Lines,
    stderr: Lines,
    said: Tail,
    notice: Option<Notice>,
    failed: Option<String>,
}

/// Looks at a line of stdout; true if the line is the program's own notice and not part of what the agent says.
pub(super) type Notice = fn(&str, &mut Option<String>, &mut Vec<AgentSignal>) -> bool;

impl Dialogue for TextDialogue {
    fn take(&mut self, from: Stream, bytes: &[u8], out: &mut Vec<AgentSignal>) {
        match from {
            Stream::Stdout => {
                let mut lines = std::mem::take(&mut self.stdout);
                lines.push(bytes, |line| self.say(line, out));
                self.stdout = lines;
            }
            Stream::Stderr => self.stderr.push(bytes, |line| complain(line, out)),
        }
    }

    fn finish(&mut self, out: &mut Vec<AgentSignal>) {
        let mut lines = std::mem::take(&mut self.stdout);
        lines.finish(|line| self.say(line, out));
        self.stderr.finish(|line| complain(line, out));
        let text = self.said.take();
        if !text.trim().is_empty() {
            out.push(AgentSignal::Text { text: text.clone(), delta: false });
        }
        let (ok, reason) = match self.failed.take() {
            None => (true, "end of output".to_string()),
            Some(reason) => (false, reason),
        };
        out.push(AgentSignal::Result { ok, text, reason });
    }
}

impl TextDialogue {
    pub(super) fn with(notice: Notice) -> TextDialogue {
        TextDialogue { notice: Some(notice), ..TextDialogue::default() }
    }

    fn say(&mut self, line: Line<'_>, out: &mut Vec<AgentSignal>) {
        let mut line = match line {
            Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Line::Long { len, .. } => {
                out.push(AgentSignal::Noise { line: format!("[a line of {len} bytes was skipped]") });
                return;
            }
        };
        if let Some(notice) = self.notice
            && notice(&line, &mut self.failed, out)
        {
            return;
        }
        line.push('\n');
        self.said.push(&line);
        out.push(AgentSignal::Text { text: line, delta: true });
    }
}

fn complain(line: Line<'_>, out: &mut Vec<AgentSignal>) {
    let line = match line {
        Line::Whole(bytes) => text::noise(&String::from_utf8_lossy(bytes)),
        Line::Long { len, .. } => format!("[a line of {len} bytes was skipped]"),
    };
    if !line.trim().is_empty() {
        out.push(AgentSignal::Noise { line });
    }
}
