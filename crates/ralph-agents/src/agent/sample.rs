//! An agent in one file, as a sample and as a test: it is answered while it works, and its tools have names of their own.
//! A real one needs besides this file only its line in the list.

use super::command::{CommandLine, Prompt};
use super::{AgentDef, PromptInput, StreamFacts, Told, ToolResults, Turn};
use crate::dialogue::{Dialogue, Opening, Reply, Stream};
use crate::signal::AgentSignal;
use crate::stream::lines::{Line, Lines};
use crate::tool::{ToolCall, ToolKind, usual_kind};

const DEF: AgentDef = AgentDef {
    name: "sample",
    file_names: &["sample-agent"],
    summary: "A sample.",
    folders: &[],
    hosts: &[],
    base_urls: &[],
    stream: StreamFacts {
        format: "sample-lines",
        end_event: true,
        answered: true,
        tokens: Told::Never,
        cost: false,
        calls: Told::AsItGoes,
        tool_results: ToolResults::Unsure,
    },
    line: CommandLine { program: "sample-agent", prompt: Prompt::Stdin, ..CommandLine::PLAIN },
    dialogue: || Box::new(Sample::default()),
};

/// `may I TOOL` is a question; `end` is the end.
#[derive(Default)]
struct Sample {
    lines: Lines,
    answers: Vec<u8>,
    ended: bool,
}

impl Dialogue for Sample {
    fn open(&mut self, opening: &Opening<'_>, reply: &mut Reply) {
        reply.bytes.extend_from_slice(opening.prompt.as_bytes());
        reply.bytes.push(b'\n');
    }

    fn take(&mut self, _from: Stream, bytes: &[u8], out: &mut Vec<AgentSignal>) {
        let Self { lines, answers, ended } = self;
        lines.push(bytes, |line| {
            let Line::Whole(line) = line else { return };
            let line = String::from_utf8_lossy(line);
            if let Some(name) = line.strip_prefix("may I ") {
                let kind = if name == "hammer" { ToolKind::Shell } else { usual_kind(name) };
                let (id, name) = ("1".to_owned(), name.to_owned());
                out.push(AgentSignal::ToolCall(ToolCall { id, kind, name, command: None, path: None }));
                answers.extend_from_slice(b"yes\n");
            }
            *ended |= line == "end";
        });
    }

    fn answer(&mut self, reply: &mut Reply) {
        reply.bytes.append(&mut self.answers);
        reply.closes |= self.ended;
    }

    fn finish(&mut self, out: &mut Vec<AgentSignal>) {
        let (ok, text, reason) = (self.ended, String::new(), String::new());
        out.push(AgentSignal::Result { ok, text, reason });
    }
}

#[test]
fn an_agent_that_is_answered_fits_into_one_file() {
    let spec = DEF.command(&Turn::default()).unwrap();
    assert_eq!((spec.program.as_str(), spec.prompt), ("sample-agent", PromptInput::Dialogue));
    assert!(spec.args.is_empty());

    let (mut dialogue, mut reply, mut out) = (DEF.dialogue(), Reply::default(), Vec::new());
    dialogue.open(&Opening { prompt: "Build a shed.", workspace: "/w" }, &mut reply);
    assert_eq!(std::mem::take(&mut reply).bytes, b"Build a shed.\n");
    dialogue.take(Stream::Stdout, b"may I ham", &mut out);
    dialogue.answer(&mut reply);
    assert_eq!((out.len(), &reply), (0, &Reply::default()), "half a question has no answer");
    dialogue.take(Stream::Stdout, b"mer\nend\n", &mut out);
    dialogue.answer(&mut reply);
    assert_eq!(reply, Reply { bytes: b"yes\n".to_vec(), closes: true });
    assert!(matches!(&out[..], [AgentSignal::ToolCall(call)] if call.kind == ToolKind::Shell));
}
