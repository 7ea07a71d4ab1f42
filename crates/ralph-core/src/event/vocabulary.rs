//! The vocabulary of events, declared once: the name on the wire, what it carries, where it comes from, whether it must be
//! on disk before anything is done about it, and whether the screens have a line for it.
//!
//! - `opening`: the first record of a journal. `input(PATTERN => INPUT)`: records an input, which a replay gives to a fresh
//!   engine again. `decision`: the engine decided it, and a replay must decide it again.
//! - `synced`: on disk, whatever happens next, before anything is done about it. `buffered`: a crash may lose it.
//! - `line`: the screens have a line for it, at least sometimes. `hidden`: only `ralph events` shows it.

use serde::{Deserialize, Serialize};

use super::*;
use crate::ids::IterationNumber;
use crate::input::{Command, Input, Report};

macro_rules! vocabulary {
    ($( $name:literal => $variant:ident $payload:tt : $origin:ident $(($pattern:tt => $input:expr))?, $sync:ident, $screen:ident; )*) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(tag = "type")]
        pub enum Event {
            $( #[serde(rename = $name)] $variant $payload, )*
        }

        impl Event {
            /// All names there are on the wire.
            pub const NAMES: &'static [&'static str] = &[ $( $name, )* ];

            /// The name on the wire.
            pub fn name(&self) -> &'static str {
                match self { $( Event::$variant { .. } => $name, )* }
            }

            /// Whether the engine decided this; else it records an input.
            pub fn is_decision(&self) -> bool {
                match self { $( Event::$variant { .. } => vocabulary!(@is_decision $origin), )* }
            }

            /// Whether this must be on disk, whatever happens next, before anything is done about it.
            pub fn needs_sync(&self) -> bool {
                match self { $( Event::$variant { .. } => vocabulary!(@is_synced $sync), )* }
            }

            /// Whether a screen has a line for it.
            pub fn has_line(&self) -> bool {
                match self { $( Event::$variant { .. } => vocabulary!(@has_line $screen), )* }
            }

            /// The input this event records. Nothing for a decision, and for the opening: a run begins by `Engine::start`.
            pub fn input(&self) -> Option<Input> {
                match self {
                    $( $( Event::$variant $pattern => Some($input.into()), )? )*
                    _ => None,
                }
            }
        }
    };
    (@is_decision opening) => { false };
    (@is_decision input) => { false };
    (@is_decision decision) => { true };
    (@is_synced synced) => { true };
    (@is_synced buffered) => { false };
    (@has_line line) => { true };
    (@has_line hidden) => { false };
}

vocabulary! {
    // Inputs: what a person asked, what the shell saw.
    "run.started" => RunStarted(Box<RunStarted>): opening, synced, line;
    "run.resumed" => RunResumed(Box<RunResumed>): input((e) => Command::ResumeRun(e.clone())), synced, line;
    "stop.requested" => StopRequested(StopRequest): input((e) => Command::StopRun(e.clone())), buffered, line;
    "pause.requested" => PauseRequested {}: input({} => Command::PauseRun), buffered, line;
    "unpause.requested" => UnpauseRequested {
        /// Also ends a wait for a usage limit.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        now: bool,
    }: input({ now } => Command::UnpauseRun { now: *now }), buffered, line;
    "guidance.added" => GuidanceAdded(Guidance): input((e) => Command::AddGuidance(e.clone())), synced, line;
    "command.finished" => CommandFinished(CommandFinished):
        input((e) => Report::CommandFinished(e.clone())), buffered, line;
    "agent.spawned" => AgentSpawned(AgentSpawned):
        input((e) => Report::AgentSpawned(e.clone())), buffered, hidden;
    "agent.text" => AgentText(AgentText): input((e) => Report::AgentSaid(e.clone())), buffered, line;
    "tool.called" => ToolCalled(ToolCalled): input((e) => Report::ToolCalled(e.clone())), buffered, hidden;
    "tool.finished" => ToolFinished(ToolFinished):
        input((e) => Report::ToolFinished(e.clone())), buffered, hidden;
    "agent.retrying" => AgentRetrying(AgentRetrying):
        input((e) => Report::AgentRetried(e.clone())), buffered, hidden;
    "usage.updated" => UsageUpdated(UsageUpdated):
        input((e) => Report::UsageUpdated(e.clone())), buffered, hidden;
    "agent.silent" => AgentSilent(AgentSilent):
        input((e) => Report::AgentFellSilent(e.clone())), buffered, hidden;
    "agent.exited" => AgentExited(Box<AgentExited>):
        input((e) => Report::AgentExited(e.clone())), buffered, line;
    "topic.emitted" => TopicEmitted(TopicEmitted):
        input((e) => Report::TopicEmitted(e.clone())), buffered, hidden;
    "hat.reset" => HatReset(HatReset): input((e) => Command::ResetHat(e.clone())), synced, line;
    "gate.started" => GateStarted(GateStarted):
        input((e) => Report::GateStarted(e.clone())), buffered, hidden;
    "gate.finished" => GateFinished(GateFinished):
        input((e) => Report::GateFinished(e.clone())), buffered, line;
    "gates.finished" => GatesFinished(GatesFinished):
        input((e) => Report::GatesFinished(e.clone())), buffered, hidden;
    "loop.reviewed" => LoopReviewed {}: input({} => Command::ReviewLoop), buffered, line;
    "wait.skipped" => WaitSkipped {}: input({} => Command::SkipWait), buffered, line;
    "wake.triggered" => WakeTriggered(WakeTriggered):
        input((e) => Report::WakeTriggered(e.clone())), buffered, line;
    "timer.fired" => TimerFired(TimerId): input((e) => Report::TimerFired(e.clone())), buffered, hidden;
    "journal.failed" => JournalFailed { message: String }:
        input({ message } => Report::JournalFailed { message: message.clone() }), buffered, line;

    // Decisions of the engine.
    "iteration.started" => IterationStarted(IterationStarted): decision, synced, hidden;
    "guidance.delivered" => GuidanceDelivered { iteration: IterationNumber, count: u32 }:
        decision, buffered, line;
    "agent.killed" => AgentKilled(AgentKilled): decision, buffered, hidden;
    "iteration.idle" => IterationIdle(IterationIdle): decision, buffered, hidden;
    "iteration.finished" => IterationFinished(IterationFinished): decision, synced, line;
    "iteration.interrupted" => IterationInterrupted(IterationInterrupted): decision, synced, line;
    "limit.hit" => LimitHit(LimitHit): decision, buffered, line;
    "agent.switched" => AgentSwitched(AgentSwitched): decision, buffered, line;
    "completion.claimed" => CompletionClaimed { iteration: IterationNumber }: decision, buffered, hidden;
    "topic.rejected" => TopicRejected(TopicRejected): decision, buffered, line;
    "topic.published" => TopicPublished(TopicPublished): decision, buffered, hidden;
    "hat.activated" => HatActivated(HatActivated): decision, buffered, hidden;
    "hat.exhausted" => HatExhausted(HatExhausted): decision, buffered, line;
    "gates.started" => GatesStarted(GatesStarted): decision, synced, line;
    "gates.killed" => GatesKilled(GatesKilled): decision, buffered, hidden;
    "completion.accepted" => CompletionAccepted(CompletionAccepted): decision, buffered, hidden;
    "completion.rejected" => CompletionRejected(CompletionRejected): decision, buffered, line;
    "loop.suspected" => LoopSuspected(LoopSuspected): decision, buffered, line;
    "loop.detected" => LoopDetected(Box<LoopDetected>): decision, buffered, line;
    "delay.started" => DelayStarted(DelayStarted): decision, buffered, line;
    "delay.ended" => DelayEnded { early: bool }: decision, buffered, hidden;
    "run.paused" => RunPaused {}: decision, buffered, line;
    "run.unpaused" => RunUnpaused {}: decision, buffered, line;
    "run.stopped" => RunStopped(RunStopped): decision, synced, line;
}
