//! What an agent prints, on its way: to the log, to its dialogue, and as reports to the engine. Flat memory.

mod conversation;
pub(super) mod life;
mod log;
mod plain;
mod sampler;
pub(super) mod silence;

use ralph_agents::{Dialogue, Opening};
use ralph_core::event::AgentExited;
use ralph_core::ids::IterationNumber;
use ralph_core::input::Report;
use ralph_core::marker::Rules;
use ralph_core::plan::{AgentPlan, Plan};
use ralph_core::time::Timestamp;
use ralph_evidence::detector::Sketch;
use ralph_evidence::redact;

use self::conversation::Conversation;
pub(crate) use self::log::{Log, create_copy};
use self::plain::PlainListener;
use crate::process::{Input, Stream};

/// Makes a dialogue that is in no list of agents.
pub type MakeDialogue = fn() -> Box<dyn Dialogue>;

/// Whose output this is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttemptKey {
    pub(crate) iteration: IterationNumber,
    pub(crate) attempt: u32,
}

/// Listens to one attempt.
pub(crate) struct Listener {
    /// Of standard output, and of standard error.
    redacted: [redact::Stream; 2],
    log: Log,
    agent: Speaker,
}

enum Speaker {
    Plain(Box<PlainListener>),
    /// Its output has a format that ralph knows.
    Known(Box<Conversation>),
}

/// What keeps an agent busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Activity {
    /// A tool of the agent runs: it may be silent.
    pub(crate) tool_runs: bool,
    /// The agent has said its last word: nothing is left to do but to end.
    pub(crate) ended: bool,
    /// It tells of a tool only when that has ended: while it is silent, one may run.
    pub(crate) may_run_a_tool: bool,
}

impl Listener {
    pub(crate) fn new(
        log: Log,
        of: AttemptKey,
        rules: &Rules,
        agent: &AgentPlan,
        plan: &Plan,
        dialogue: Option<MakeDialogue>,
    ) -> Self {
        let agent = match Conversation::of(agent, plan, of, rules, dialogue) {
            Some(conversation) => Speaker::Known(Box::new(conversation)),
            None => Speaker::Plain(Box::new(PlainListener::new(
                of,
                rules,
                &plan.stuck.ignore,
                plan.kept_output(),
            ))),
        };
        Self { redacted: Default::default(), log, agent }
    }

    /// Prepares what is said first to an agent that is answered.
    pub(crate) fn open(&mut self, opening: &Opening<'_>) {
        if let Speaker::Known(conversation) = &mut self.agent {
            conversation.open(opening);
        }
    }

    /// The agent runs: it is told what is said first.
    pub(crate) fn started(&mut self, input: &mut Input) {
        if let Speaker::Known(conversation) = &mut self.agent {
            conversation.started(input);
        }
    }

    /// Takes a chunk of output. `tell` gets what is worth an event, `input` what is to be answered.
    pub(crate) fn take(
        &mut self,
        stream: Stream,
        bytes: &[u8],
        input: &mut Input,
        tell: &mut dyn FnMut(Report),
    ) {
        let own = &mut self.redacted[usize::from(stream == Stream::Stderr)];
        let bytes = own.push(&self.log.redactor(), bytes);
        if !bytes.is_empty() {
            self.pass(stream, &bytes, input, tell);
        }
    }

    /// What is left of it without secrets.
    fn pass(&mut self, stream: Stream, bytes: &[u8], input: &mut Input, tell: &mut dyn FnMut(Report)) {
        self.log.write(bytes);
        match &mut self.agent {
            Speaker::Plain(plain) => plain.take(stream, bytes, tell),
            Speaker::Known(conversation) => conversation.take(stream, bytes, input, tell),
        }
    }

    pub(crate) fn activity(&self) -> Activity {
        match &self.agent {
            Speaker::Plain(_) => Activity::default(),
            Speaker::Known(conversation) => conversation.activity(),
        }
    }

    /// Adds to the report what the output came to. `exited` says already how the process ended. Gives what the detectors
    /// of stuck runs see of it.
    /// What the agent published beside what it prints.
    pub(crate) fn emitted(&mut self, text: &str) {
        match &mut self.agent {
            Speaker::Plain(plain) => plain.drawing().message(text),
            Speaker::Known(conversation) => conversation.drawing().message(text),
        }
    }

    pub(crate) fn finish(
        mut self,
        exited: &mut AgentExited,
        now: Timestamp,
        tell: &mut dyn FnMut(Report),
    ) -> Option<Box<Sketch>> {
        for (stream, n) in [(Stream::Stdout, 0), (Stream::Stderr, 1)] {
            let rest = self.redacted[n].finish(&self.log.redactor());
            if !rest.is_empty() {
                // Nobody is there any more to be answered.
                self.pass(stream, &rest, &mut Input::default(), tell);
            }
        }
        exited.output_bytes = self.log.total();
        match self.agent {
            Speaker::Plain(plain) => Some(plain.finish(exited, tell)),
            Speaker::Known(conversation) => conversation.finish(exited, now, tell),
        }
    }
}
