//! What a person would type now, and whether a person must.

use std::time::Duration;

use ralph_core::event::{DelayReason, RunStopped};
use ralph_core::guard::MAX_IDLE;
use ralph_core::stop::{self, StopDef, StopKind};

use crate::snapshot::{LimitReading, LimitUnit, Need, NeedsPerson, NextStep, PhaseNow, RunSnapshot, RunWord};
use crate::text::clean;

/// What was wrong with the hats is only mended by a new run: a resume has them as they were.
const WRONG_HATS: [StopDef; 2] = [stop::NO_SUBSCRIBER, stop::NO_HANDOFF];

impl RunSnapshot {
    /// The commands for the run as it is, the likeliest first.
    pub(crate) fn steps(&self) -> Vec<NextStep> {
        let run = clean(&self.run.0);
        let step =
            |subcommand: &str, why: &'static str| NextStep::new(format!("ralph {subcommand} {run}"), why);
        if let Some(stop) = &self.stopped {
            return self.steps_after(&stop.stopped, &run);
        }
        match &self.phase {
            _ if self.state == RunWord::Crashed => vec![step("resume", "go on")],
            PhaseNow::Paused { asking: true } if !self.options().is_empty() => self.options(),
            PhaseNow::Paused { .. } => vec![step("unpause", "go on")],
            PhaseNow::Waiting { reason: DelayReason::Question | DelayReason::Blocked, .. } => {
                vec![answer(&run), step("stop", "end the run")]
            }
            PhaseNow::Waiting { reason: DelayReason::Review, .. } => {
                vec![review(&run), step("stop", "end the run")]
            }
            _ => vec![
                NextStep::new(format!("ralph events {run} --follow"), "watch it"),
                step("stop", "end the run"),
            ],
        }
    }

    fn steps_after(&self, stopped: &RunStopped, run: &str) -> Vec<NextStep> {
        let resume = |why: &'static str| NextStep::new(format!("ralph resume {run}"), why);
        let explain = NextStep::new(format!("ralph explain {run}"), "why it stopped");
        if stopped.reason.is(&WRONG_HATS) {
            let anew = NextStep::new("ralph run …", "anew, with the hats mended");
            return vec![anew, resume("let the coordinator go on"), explain];
        }
        match stopped.kind {
            StopKind::Done => vec![
                NextStep::new(format!("ralph replay {run}"), "see it again"),
                NextStep::new(format!("ralph resume {run} -p 'AND NOW …'"), "with more to do"),
            ],
            StopKind::Limit if stopped.reason.is(&[MAX_IDLE]) => vec![resume("look again"), explain],
            StopKind::Limit => {
                let raise = self.limit(stopped.reason.as_str()).and_then(raised).unwrap_or_default();
                vec![NextStep::new(format!("ralph resume {run}{raise}"), "go on, limit raised"), explain]
            }
            StopKind::Blocked => {
                let reset = self.reset_flags();
                let go_on = |why: &'static str| NextStep::new(format!("ralph resume {run}{reset}"), why);
                match stopped.reason.is(&[stop::BLOCKED]) {
                    true => vec![answer(run), go_on("then go on")],
                    false if stopped.reason.is(&[stop::WAITING_FOR_REVIEW]) => {
                        vec![review(run), go_on("then go on")]
                    }
                    false if reset.is_empty() => vec![go_on("go on once that is fixed"), explain],
                    false => vec![go_on("go on"), explain],
                }
            }
            StopKind::Failed if self.stuck.ended_the_run && self.stuck.last.is_some() => self.options(),
            StopKind::Failed if stopped.reason.is(&[stop::JOURNAL_ERROR]) => {
                vec![resume("go on once there is room")]
            }
            StopKind::Failed => vec![explain, resume("try again")],
            StopKind::Interrupted => vec![resume("go on")],
        }
    }

    /// What the last alarm offers.
    fn options(&self) -> Vec<NextStep> {
        let options = self.stuck.last.iter().flat_map(|last| &last.options);
        options.map(|option| NextStep::new(clean(&option.command), clean(&option.what))).collect()
    }

    /// The flags that give exhausted hats their activations again: without them nothing would change.
    fn reset_flags(&self) -> String {
        let spent = self.hats.iter().filter(|hat| hat.exhausted);
        spent.map(|hat| format!(" --reset-hat {}", clean(&hat.hat))).collect()
    }

    /// Nothing while the run can go on, or has ended in a way that needs nobody.
    pub(crate) fn need(&self) -> Option<NeedsPerson> {
        let (kind, reason, since) = match (&self.stopped, &self.phase) {
            (Some(stop), _) if stop.stopped.kind == StopKind::Blocked => {
                (Need::Blocked, stop.stopped.message.clone(), stop.at)
            }
            (Some(_), _) => return None,
            _ if self.state == RunWord::Crashed => {
                let reason = "no process works on the run any more, and its journal ends without a stop";
                (Need::Crashed, reason.to_owned(), self.last_at)
            }
            (None, PhaseNow::Waiting { reason: DelayReason::Question, since, .. }) => {
                let asks = self.idle.why.clone();
                (Need::Answer, asks.unwrap_or_else(|| "the agent needs a person".to_owned()), *since)
            }
            (None, PhaseNow::Waiting { reason: DelayReason::Blocked, since, .. }) => {
                let why = self.idle.why.clone();
                (Need::Answer, why.unwrap_or_else(|| "the agent is blocked".to_owned()), *since)
            }
            (None, PhaseNow::Waiting { reason: DelayReason::Review, since, .. }) => {
                (Need::Review, "the agent waits for a review".to_owned(), *since)
            }
            (None, PhaseNow::Paused { .. }) if self.paused_for.is_some() => {
                (Need::Prompt, self.paused_for.clone().unwrap_or_default(), self.last_at)
            }
            (None, PhaseNow::Paused { asking: true }) => {
                let pattern = self.stuck.last.as_ref().map(|last| last.pattern.clone());
                (Need::Choice, pattern.unwrap_or_else(|| "the run goes in circles".to_owned()), self.last_at)
            }
            _ => return None,
        };
        Some(NeedsPerson { kind, reason, since, steps: self.next.clone() })
    }
}

/// Characters of a reason in a sentence that also has a command.
const REASON: usize = 120;

impl NeedsPerson {
    /// `which database? ralph say 'ANSWER' --run 7, then: ralph resume 7`: why, and exactly what to type.
    pub fn sentence(&self) -> String {
        let commands: Vec<&str> = self.steps.iter().map(|step| step.command.as_str()).collect();
        let type_this = match (self.kind, &commands[..]) {
            // Said to a run that has stopped, it is heard when the run goes on.
            (Need::Blocked, [say, resume, ..]) if say.starts_with("ralph say") => {
                format!("{say}, then: {resume}")
            }
            (Need::Prompt, [first, ..]) => format!("write it, then: {first}"),
            (_, [first, ..]) => (*first).to_owned(),
            (_, []) => return clean(&self.reason),
        };
        // The whole of it stands elsewhere.
        let whole = clean(self.reason.trim().trim_end_matches(['.', ':']));
        let reason = match whole.char_indices().nth(REASON) {
            Some((end, _)) => format!("{}…", &whole[..end]),
            None => whole,
        };
        let colon = if reason.ends_with(['?', '!']) { "" } else { ":" };
        format!("{reason}{colon} {type_this}")
    }
}

fn review(run: &str) -> NextStep {
    NextStep::new(format!("ralph say 'WHAT TO CHANGE' --run {run}"), "say what came of the review")
}

fn answer(run: &str) -> NextStep {
    NextStep::new(format!("ralph say 'ANSWER' --run {run}"), "answer it")
}

/// The flag that doubles a limit. Limits without a flag of their own are set by their path.
fn raised(reading: &LimitReading) -> Option<String> {
    let limit = reading.limit * 2.0;
    let value = match reading.unit {
        LimitUnit::Count => format!("{limit:.0}"),
        LimitUnit::Seconds => ralph_core::duration::format(Duration::try_from_secs_f64(limit).ok()?),
        LimitUnit::Usd => format!("{limit:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    Some(match &*reading.key {
        "max_iterations" => format!(" -n {value}"),
        "max_runtime" => format!(" --max-runtime {value}"),
        "max_cost" => format!(" --max-cost {value}"),
        _ => format!(" --set {}={value}", reading.setting),
    })
}
