//! What is said between ralph and one process of an agent, without I/O: bytes in, signals and bytes out.

use crate::signal::AgentSignal;

/// Where bytes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// One process of an agent, from its first word to its last.
///
/// Takes bytes as they come: signals and answers do not depend on where the chunks are cut. Memory stays flat whatever
/// comes. Never panics. Most agents are told everything at their start; their dialogues only listen.
pub trait Dialogue: Send {
    /// What the agent has printed.
    fn take(&mut self, from: Stream, bytes: &[u8], out: &mut Vec<AgentSignal>);

    /// Both streams are at their end.
    fn finish(&mut self, out: &mut Vec<AgentSignal>);

    /// What ralph says before the agent has said anything. Only for an agent whose prompt goes in by its dialogue.
    fn open(&mut self, _opening: &Opening<'_>, _reply: &mut Reply) {}

    /// What ralph has to say by now. Asked for after every [`take`](Dialogue::take), and only where the agent's standard
    /// input is open for it. What the agent never reads is bounded by the caller, so an answer is best short.
    fn answer(&mut self, _reply: &mut Reply) {}
}

/// What a dialogue needs to begin.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    pub prompt: &'a str,
    /// The folder the agent works in.
    pub workspace: &'a str,
}

/// What goes to the agent's standard input.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub bytes: Vec<u8>,
    /// These were the last ones: the agent is to read the end of its input behind them.
    pub closes: bool,
}
