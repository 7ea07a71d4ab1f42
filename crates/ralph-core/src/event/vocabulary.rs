//! The vocabulary of events, declared once: the name on the wire, what it carries, where it comes from, whether it must be
//! on disk before anything is done about it, and whether the screens have a line for it.
//!
//! - `opening`: the first record of a journal. `commands`: what a person asked. `reports`: what the shell saw, and of which
//!   work: a report of an attempt or a round of gates that is over changes nothing. A replay gives commands and reports to
//!   a fresh engine again. `decisions`: the engine decided them, and a replay must decide them again.
//! - `synced`: on disk, whatever happens next, before anything is done about it. `buffered`: a crash may lose it.
//! - `line`: the screens have a line for it, at least sometimes. `hidden`: only `ralph events` shows it.

use serde::{Deserialize, Serialize};

use super::*;
use crate::ids::IterationNumber;
use crate::input::{Command, Input};

/// The work that a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    Attempt { iteration: IterationNumber, attempt: u32 },
    Round { iteration: IterationNumber, round: u32 },
    Run,
}

macro_rules! vocabulary {
    (
        opening { $( $first:literal => $opening:ident($start:ty): $opening_sync:ident, $opening_screen:ident; )* }
        commands { $( $asked:literal => $command:ident $ask:tt: $pattern:tt => $input:expr, $command_sync:ident, $command_screen:ident; )* }
        reports { $( $seen:literal => $report:ident($sight:ty): $work:ident, $report_sync:ident, $report_screen:ident; )* }
        decisions { $( $decided:literal => $decision:ident $verdict:tt: $decision_sync:ident, $decision_screen:ident; )* }
    ) => {
        #[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
        #[serde(tag = "type")]
        pub enum Event {
            $( #[serde(rename = $first)] $opening($start), )*
            $( #[serde(rename = $asked)] $command $ask, )*
            $( #[serde(rename = $seen)] $report($sight), )*
            $( #[serde(rename = $decided)] $decision $verdict, )*
        }

        /// The same, as it is read when its name is known.
        #[derive(Deserialize)]
        #[serde(remote = "Event")]
        pub(super) enum EventForm {
            $( #[serde(rename = $first)] $opening($start), )*
            $( #[serde(rename = $asked)] $command $ask, )*
            $( #[serde(rename = $seen)] $report($sight), )*
            $( #[serde(rename = $decided)] $decision $verdict, )*
        }

        /// What the shell saw. It becomes the event of the same name, unless its work is over.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Report {
            $( $report($sight), )*
        }

        impl Report {
            /// The work that this is about.
            pub fn about(&self) -> About {
                match self { $( Report::$report(report) => vocabulary!(@about $work report), )* }
            }
        }

        impl From<Report> for Event {
            fn from(report: Report) -> Event {
                match report { $( Report::$report(report) => Event::$report(report), )* }
            }
        }

        impl Event {
            /// All names there are on the wire.
            pub const NAMES: &'static [&'static str] = &[ $( $first, )* $( $asked, )* $( $seen, )* $( $decided, )* ];

            /// The name on the wire.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Event::$opening(_) => $first, )*
                    $( Event::$command { .. } => $asked, )*
                    $( Event::$report(_) => $seen, )*
                    $( Event::$decision { .. } => $decided, )*
                }
            }

            /// Whether the engine decided this; else it records the start or an input.
            pub fn is_decision(&self) -> bool {
                match self {
                    $( Event::$opening(_) => false, )*
                    $( Event::$command { .. } => false, )*
                    $( Event::$report(_) => false, )*
                    $( Event::$decision { .. } => true, )*
                }
            }

            /// Whether this must be on disk, whatever happens next, before anything is done about it.
            pub fn needs_sync(&self) -> bool {
                match self {
                    $( Event::$opening(_) => vocabulary!(@is_synced $opening_sync), )*
                    $( Event::$command { .. } => vocabulary!(@is_synced $command_sync), )*
                    $( Event::$report(_) => vocabulary!(@is_synced $report_sync), )*
                    $( Event::$decision { .. } => vocabulary!(@is_synced $decision_sync), )*
                }
            }

            /// Whether a screen has a line for it.
            pub fn has_line(&self) -> bool {
                match self {
                    $( Event::$opening(_) => vocabulary!(@has_line $opening_screen), )*
                    $( Event::$command { .. } => vocabulary!(@has_line $command_screen), )*
                    $( Event::$report(_) => vocabulary!(@has_line $report_screen), )*
                    $( Event::$decision { .. } => vocabulary!(@has_line $decision_screen), )*
                }
            }

            /// The input this event records. Nothing for a decision, and for the opening: a run begins by `Engine::start`.
            pub fn input(&self) -> Option<Input> {
                match self {
                    $( Event::$opening(_) => None, )*
                    $( Event::$command $pattern => Some(Input::Command($input)), )*
                    $( Event::$report(report) => Some(Input::Report(Report::$report(report.clone()))), )*
                    $( Event::$decision { .. } => None, )*
                }
            }
        }
    };
    (@about attempt $report:ident) => { About::Attempt { iteration: $report.iteration, attempt: $report.attempt } };
    (@about round $report:ident) => { About::Round { iteration: $report.iteration, round: $report.round } };
    (@about run $report:ident) => {{ let _ = $report; About::Run }};
    (@is_synced synced) => { true };
    (@is_synced buffered) => { false };
    (@has_line line) => { true };
    (@has_line hidden) => { false };
}

vocabulary! {
    opening {
        "run.started" => RunStarted(Box<RunStarted>): synced, line;
    }
    commands {
        "run.resumed" => RunResumed(Box<RunResumed>): (e) => Command::ResumeRun(e.clone()), synced, line;
        "stop.requested" => StopRequested(StopRequest): (e) => Command::StopRun(e.clone()), buffered, line;
        "pause.requested" => PauseRequested {}: {} => Command::PauseRun, buffered, line;
        "unpause.requested" => UnpauseRequested {
            /// Also ends a wait for a usage limit.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            now: bool,
        }: { now } => Command::UnpauseRun { now: *now }, buffered, line;
        "iteration.end_requested" => IterationEndRequested {}: {} => Command::EndIteration, buffered, line;
        "guidance.added" => GuidanceAdded(Guidance): (e) => Command::AddGuidance(e.clone()), synced, line;
        "hat.reset" => HatReset(HatReset): (e) => Command::ResetHat(e.clone()), synced, line;
        "loop.reviewed" => LoopReviewed {}: {} => Command::ReviewLoop, buffered, line;
        "wait.skipped" => WaitSkipped {}: {} => Command::SkipWait, buffered, line;
    }
    reports {
        "command.finished" => CommandFinished(CommandFinished): attempt, buffered, line;
        "keeper.started" => KeeperStarted(KeeperStarted): run, buffered, hidden;
        "keeper.stopped" => KeeperStopped(KeeperStopped): run, buffered, line;
        "survivors.swept" => SurvivorsSwept(SurvivorsSwept): run, buffered, line;
        "agent.spawned" => AgentSpawned(AgentSpawned): attempt, buffered, hidden;
        "agent.text" => AgentText(AgentText): attempt, buffered, line;
        "tool.called" => ToolCalled(ToolCalled): attempt, buffered, hidden;
        "tool.finished" => ToolFinished(ToolFinished): attempt, buffered, hidden;
        "agent.retrying" => AgentRetrying(AgentRetrying): attempt, buffered, hidden;
        "usage.updated" => UsageUpdated(UsageUpdated): attempt, buffered, hidden;
        "agent.silent" => AgentSilent(AgentSilent): attempt, buffered, hidden;
        "agent.stranded" => AgentStranded(AgentStranded): attempt, buffered, line;
        "agent.exited" => AgentExited(Box<AgentExited>): attempt, buffered, line;
        "topic.emitted" => TopicEmitted(TopicEmitted): attempt, buffered, hidden;
        "gate.started" => GateStarted(GateStarted): round, buffered, hidden;
        "gate.finished" => GateFinished(GateFinished): round, buffered, line;
        "gates.finished" => GatesFinished(GatesFinished): round, buffered, hidden;
        "wake.triggered" => WakeTriggered(WakeTriggered): run, buffered, line;
        "ledger.read" => LedgerRead(LedgerRead): run, buffered, hidden;
        "timer.fired" => TimerFired(TimerId): run, buffered, hidden;
        "programs.pinned" => ProgramsPinned(ProgramsPinned): run, buffered, hidden;
        "files.protected" => FilesProtected(FilesProtected): run, synced, line;
        "bin.cleaned" => BinCleaned(BinCleaned): run, buffered, line;
        "checkpoint.saved" => CheckpointSaved(CheckpointSaved): run, synced, hidden;
        "checkpoint.failed" => CheckpointFailed(CheckpointFailed): run, buffered, line;
        "checkpoint.restored" => CheckpointRestored(CheckpointRestored): run, synced, line;
        "run.continued" => RunContinued(RunContinued): run, buffered, line;
        "journal.cut" => JournalCut(JournalCut): run, buffered, hidden;
        "journal.failed" => JournalFailed(JournalFailed): run, buffered, line;
    }
    decisions {
        "iteration.started" => IterationStarted(IterationStarted): synced, hidden;
        "guidance.delivered" => GuidanceDelivered { iteration: IterationNumber, count: u32 }: buffered, line;
        "agent.killed" => AgentKilled(AgentKilled): buffered, hidden;
        "iteration.idle" => IterationIdle(IterationIdle): buffered, hidden;
        "iteration.finished" => IterationFinished(IterationFinished): synced, line;
        "iteration.interrupted" => IterationInterrupted(IterationInterrupted): synced, line;
        "limit.hit" => LimitHit(LimitHit): buffered, line;
        "agent.switched" => AgentSwitched(AgentSwitched): buffered, line;
        "completion.claimed" => CompletionClaimed { iteration: IterationNumber }: buffered, hidden;
        "completion.deferred" => CompletionDeferred(CompletionDeferred): buffered, line;
        "completion.inferred" => CompletionInferred(CompletionInferred): buffered, line;
        "topic.rejected" => TopicRejected(TopicRejected): buffered, line;
        "topic.published" => TopicPublished(TopicPublished): buffered, hidden;
        "hat.activated" => HatActivated(HatActivated): buffered, hidden;
        "hat.exhausted" => HatExhausted(HatExhausted): buffered, line;
        "gates.started" => GatesStarted(GatesStarted): synced, line;
        "gates.killed" => GatesKilled(GatesKilled): buffered, hidden;
        "proof.narrowed" => ProofNarrowed(ProofNarrowed): buffered, line;
        "completion.accepted" => CompletionAccepted(CompletionAccepted): buffered, hidden;
        "completion.rejected" => CompletionRejected(CompletionRejected): buffered, line;
        "loop.suspected" => LoopSuspected(LoopSuspected): buffered, line;
        "loop.detected" => LoopDetected(Box<LoopDetected>): buffered, line;
        "delay.started" => DelayStarted(DelayStarted): buffered, line;
        "delay.ended" => DelayEnded { early: bool }: buffered, hidden;
        "run.paused" => RunPaused {}: buffered, line;
        "run.unpaused" => RunUnpaused {}: buffered, line;
        "run.stopped" => RunStopped(RunStopped): synced, line;
    }
}
