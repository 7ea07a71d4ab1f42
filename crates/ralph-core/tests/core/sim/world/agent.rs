//! One agent of the simulated world: how long it lives, how it ends, and what it says meanwhile.

use std::time::Duration;

use ralph_core::check::{CheckResult, CheckRun, Kind};
use ralph_core::effect::SpawnAgent;
use ralph_core::event::{
    AgentExited, AgentRetrying, AgentStranded, Exit, FilesChanged, ToolCall, ToolCalled, ToolFinished,
    ToolKind, ToolResult, TopicEmitted,
};
use ralph_core::failure::{Failure, FailureClass};
use ralph_core::input::Report;
use ralph_core::marker::AgentState;
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;

use crate::sim::hats::Voice;
use crate::sim::proof::TEST;
use crate::sim::rng::Rng;

/// Idle more often than not, so that there are streaks.
const STATES: [AgentState; 7] = [
    AgentState::Idle,
    AgentState::Idle,
    AgentState::Idle,
    AgentState::WaitingForReview,
    AgentState::WaitingForReview,
    AgentState::Blocked,
    AgentState::Working,
];

pub(super) struct Agent {
    pub(super) of: SpawnAgent,
    pub(super) born: Timestamp,
    /// When it is gone, if nobody kills it. A hanging one never goes.
    pub(super) exit: Option<(Timestamp, Exit)>,
    pub(super) says: AgentExited,
    pub(super) ignores_term: bool,
    pub(super) hangs_after_its_end: bool,
    /// It has to be gone by then.
    pub(super) deadline: Option<Timestamp>,
}

impl Agent {
    pub(super) fn new(
        born: Timestamp,
        of: SpawnAgent,
        failure: Option<Failure>,
        modest: u64,
        rng: &mut Rng,
    ) -> Self {
        let life = Duration::from_millis(match rng.below(4) {
            0 => rng.between(1, 50),
            1 => rng.between(1, 1_000),
            _ => rng.between(200, 5_000),
        });
        let message = || "no such file".to_owned();
        // With hats it takes many good iterations to get anywhere.
        let steady = of.prompt.hat.is_some() && !rng.one_in(5);
        let exit = match rng.below(if steady { 16 } else { 40 }) {
            // What the service does not allow ends soon, with or without an exit code that says so.
            0..=36 if failure.is_some() => Some(Exit::Code(rng.pick(&[0, 1, 1]))),
            0..=15 => Some(Exit::Code(0)),
            16..=22 => Some(Exit::Code(rng.between(1, 255) as i32)),
            23..=26 => Some(Exit::Signal(rng.pick(&[6, 9, 11, 15]))),
            27 => Some(Exit::Missing { message: message() }),
            28 => Some(Exit::NotStarted { message: message() }),
            29 => Some(Exit::Lost { message: message() }),
            _ => None,
        };
        let cost_usd = if rng.one_in(4) { Some(rng.fraction() * 0.6) } else { None };
        let says = AgentExited {
            // Whatever the exit: an agent may lie.
            claims_complete: rng.one_in(modest),
            blocked: if rng.one_in(30) { Some("no key".into()) } else { None },
            state: rng.one_in(if steady { 8 } else { 2 }).then(|| rng.pick(&STATES)),
            delay: rng.one_in(8).then(|| Duration::from_millis(rng.below(8_000))),
            files: if rng.one_in(2) {
                Some(FilesChanged { count: rng.pick(&[0, 2]), paths: vec!["notes.md".into()], digest: None })
            } else {
                None
            },
            tree: rng.one_in(2).then(|| rng.pick(&["before", "after"]).to_owned()),
            output_bytes: rng.below(100),
            leftovers: rng.below(2) as u32,
            usage: if rng.one_in(2) { some_tokens(rng) } else { Usage::default() },
            cost_usd,
            error: match &failure {
                Some(failure) => Some(failure.message.clone()),
                None => rng.one_in(if steady { 40 } else { 12 }).then(|| "it says it failed".to_owned()),
            },
            failure,
            ..AgentExited::new(of.iteration, of.attempt, Exit::Code(0))
        };
        let exit = exit.map(|exit| (born.plus(life), exit));
        let hangs_after_its_end = exit.is_none() && rng.one_in(3);
        Self { of, born, exit, says, ignores_term: rng.one_in(3), hangs_after_its_end, deadline: None }
    }

    pub(super) fn hat(&self) -> &str {
        self.of.prompt.hat.as_ref().map_or("", |draft| draft.hat.as_str())
    }

    pub(super) fn does_well(&mut self) {
        let says = &mut self.says;
        (says.blocked, says.state, says.delay, says.error) = (None, None, None, None);
        (says.files, says.claims_complete) = (None, false);
        self.exit = Some((self.born.plus(Duration::from_millis(20)), Exit::Code(0)));
    }

    pub(super) fn exited(&self, at: Timestamp) -> AgentExited {
        let exit = self.exit.as_ref().map_or(Exit::Signal(9), |(_, exit)| exit.clone());
        // A monotonic clock tells microseconds too.
        let duration = at.since(self.born) + Duration::from_micros(at.as_millis() as u64 % 1_000);
        AgentExited { exit, duration, ..self.says.clone() }
    }
}

pub(super) fn some_tokens(rng: &mut Rng) -> Usage {
    let mut some = || rng.below(8);
    Usage { input: some(), cache_read: some(), cache_write: some(), output: some(), reasoning: some() }
}

pub(super) fn tool(agent: &Agent, word: u64, rng: &mut Rng) -> Report {
    let (iteration, attempt, id) = (agent.of.iteration, agent.of.attempt, word.to_string());
    let command = Some(rng.pick(&["make", TEST]).to_owned());
    if rng.one_in(2) {
        let checks = checks(command.as_deref(), None);
        let call = ToolCall { id, kind: ToolKind::Shell, name: "Bash".to_owned(), command, path: None };
        return Report::ToolCalled(ToolCalled { iteration, attempt, call, checks });
    }
    let (ok, exit_code) = rng.pick(&[(Some(true), Some(0)), (Some(false), Some(2)), (None, None)]);
    let (output, only_looks, checks) = ("made".to_owned(), false, checks(command.as_deref(), ok));
    let (kind, result) = (Some(ToolKind::Shell), ToolResult { id, ok, exit_code, output });
    Report::ToolFinished(ToolFinished { iteration, attempt, result, kind, command, checks, only_looks })
}

/// What is recognised in a command.
fn checks(command: Option<&str>, ok: Option<bool>) -> Vec<CheckRun> {
    let fact = |command: &str| CheckRun {
        kind: Kind::Test,
        program: command.to_owned(),
        dir: String::new(),
        command: command.to_owned(),
        whole: true,
        wider: Vec::new(),
        compiles: false,
        result: match ok {
            Some(true) => CheckResult::Passed,
            Some(false) => CheckResult::Failed,
            None => CheckResult::Unknown,
        },
    };
    command.filter(|command| *command == TEST).map(fact).into_iter().collect()
}

pub(super) fn retry(agent: &Agent, word: u64) -> Report {
    let (iteration, attempt, reason) = (agent.of.iteration, agent.of.attempt, "overloaded".to_owned());
    Report::AgentRetrying(AgentRetrying { iteration, attempt, tried: Some(word), of: Some(10), reason })
}

pub(super) fn stranded(agent: &Agent) -> Report {
    let (iteration, attempt) = (agent.of.iteration, agent.of.attempt);
    let too_long = || Failure {
        class: FailureClass::ContextTooLong,
        message: "the prompt is too long".to_owned(),
        resets_at: None,
    };
    let failure = agent.says.failure.clone().unwrap_or_else(too_long);
    Report::AgentStranded(AgentStranded { iteration, attempt, failure })
}

/// A topic with the token of an iteration that is over.
pub(super) fn too_late(voice: &Voice, agent: &Agent, rng: &mut Rng) -> Option<Report> {
    let (topic, payload) = voice.emits(agent.hat(), rng).pop()?;
    let (iteration, attempt) = (agent.of.iteration, agent.of.attempt);
    Some(Report::TopicEmitted(TopicEmitted { iteration, attempt, topic, payload }))
}
