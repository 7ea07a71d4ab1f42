//! The machinery that dialogues by lines share: lines, JSON, bounded texts, and what puts them together.

pub(crate) mod json;
pub(crate) mod lax;
pub mod lines;
pub mod text;

pub use text::{FINAL_TEXT_MAX, excerpt};

use lines::{Line, Lines};

use crate::dialogue::{Dialogue, Stream};
use crate::signal::AgentSignal;
use crate::tool::ToolResult;

/// What one format does with its lines. The lines are UTF-8, without line ends, and not blank.
pub(crate) trait Decode: Send {
    /// How to see that a line too long to keep is a tool's result: what stands in it, and what stands before the id of
    /// the call. That a tool has ended must not be lost, or it is waited for.
    const LONG_RESULT: Option<(&'static str, &'static str)> = None;

    /// A line of stdout. False: it is not of this format.
    fn stdout(&mut self, line: &str, out: &mut Vec<AgentSignal>) -> bool;

    /// A line of stderr. False: it is noise.
    fn stderr(&mut self, _line: &str, _out: &mut Vec<AgentSignal>) -> bool {
        false
    }

    /// A line of stdout that was too long to keep; what is left of it may still say something.
    fn long(&mut self, head: &str, tail: &str, out: &mut Vec<AgentSignal>) {
        let Some((_, key)) = Self::LONG_RESULT.filter(|(mark, _)| head.contains(mark) || tail.contains(mark))
        else {
            return;
        };
        let id = [head, tail].iter().find_map(|part| part.split_once(key)?.1.split_once('"'));
        if let Some((id, _)) = id.filter(|(id, _)| id.len() < 200) {
            let (id, output) = (id.to_string(), text::NOT_SHOWN.to_string());
            out.push(AgentSignal::ToolResult(ToolResult { id, ok: None, exit_code: None, output }));
        }
    }

    fn finish(&mut self, _out: &mut Vec<AgentSignal>) {}
}

/// Drives a [`Decode`] with lines.
pub(crate) struct LineDialogue<D> {
    stdout: Lines,
    stderr: Lines,
    decode: D,
}

impl<D: Decode> LineDialogue<D> {
    pub(crate) fn new(decode: D) -> Self {
        LineDialogue { stdout: Lines::default(), stderr: Lines::default(), decode }
    }

    pub(crate) fn boxed(decode: D) -> Box<dyn Dialogue>
    where
        D: 'static,
    {
        Box::new(LineDialogue::new(decode))
    }
}

impl<D: Decode> Dialogue for LineDialogue<D> {
    fn take(&mut self, from: Stream, bytes: &[u8], out: &mut Vec<AgentSignal>) {
        let decode = &mut self.decode;
        match from {
            Stream::Stdout => self.stdout.push(bytes, |line| take(decode, from, line, out)),
            Stream::Stderr => self.stderr.push(bytes, |line| take(decode, from, line, out)),
        }
    }

    fn finish(&mut self, out: &mut Vec<AgentSignal>) {
        let decode = &mut self.decode;
        self.stdout.finish(|line| take(decode, Stream::Stdout, line, out));
        self.stderr.finish(|line| take(decode, Stream::Stderr, line, out));
        decode.finish(out);
    }
}

fn take(decode: &mut impl Decode, from: Stream, line: Line<'_>, out: &mut Vec<AgentSignal>) {
    match line {
        Line::Whole(bytes) => match std::str::from_utf8(bytes) {
            Ok(line) => take_text(decode, from, line, out),
            Err(_) => take_text(decode, from, &String::from_utf8_lossy(bytes), out),
        },
        Line::Long { head, tail, len } => {
            let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
            let what = front_type(&head).map(|name| format!(" of type {name:?}")).unwrap_or_default();
            out.push(AgentSignal::Noise { line: format!("[a line{what} of {len} bytes was skipped]") });
            if from == Stream::Stdout {
                decode.long(&head, &tail, out);
            }
        }
    }
}

fn take_text(decode: &mut impl Decode, from: Stream, line: &str, out: &mut Vec<AgentSignal>) {
    if line.trim().is_empty() {
        return;
    }
    let known = match from {
        Stream::Stdout => decode.stdout(line, out),
        Stream::Stderr => decode.stderr(line, out),
    };
    if known {
        return;
    }
    if from == Stream::Stdout
        && let Some((prose, object)) = json::find_glued(line)
    {
        push_noise(prose, out);
        if !decode.stdout(object, out) {
            push_noise(object, out);
        }
        return;
    }
    push_noise(line, out);
}

fn push_noise(line: &str, out: &mut Vec<AgentSignal>) {
    if !line.trim().is_empty() {
        out.push(AgentSignal::Noise { line: text::noise(line) });
    }
}

/// The `type` of an object that is only there in part, when it stands at the front.
fn front_type(head: &str) -> Option<&str> {
    let front = text::start(head, 512);
    let at = front.find("\"type\":")? + "\"type\":".len();
    let rest = front[at..].trim_start().strip_prefix('"')?;
    rest.split_once('"').map(|(name, _)| name).filter(|name| !name.contains('\\'))
}
