//! Did the agent's run go well? Neither its exit code nor its stream alone can say.

use std::fmt;

use ralph_core::event::Exit;

use crate::summary::RunSummary;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    Failed { why: Why },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Its own stream says that it failed.
    Stream {
        reason: String,
    },
    /// Its stream stopped without an end.
    NoEnd {
        last_words: String,
    },
    ExitCode(i32),
    KilledBy(i32),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Stream { reason } => write!(f, "the agent reports an error: {reason}"),
            Why::NoEnd { last_words } if last_words.is_empty() => {
                f.write_str("its output stopped without an end")
            }
            Why::NoEnd { last_words } => write!(f, "its output stopped without an end: {last_words}"),
            Why::ExitCode(code) => write!(f, "exit code {code}"),
            Why::KilledBy(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}

/// Ok only if the stream's own end says so and the exit code is 0.
///
/// A missing end is a failure whatever the exit code. Where a format has no end event, its dialogue gives a result when
/// the output ends: opencode's if the last step had ended, plain text always. Of a process that never ran, or of which
/// nobody knows how it ended, the stream explains nothing; that is told by the exit itself.
pub fn verdict(run: &RunSummary, exit: &Exit) -> Outcome {
    match failed(run, exit) {
        None => Outcome::Ok,
        Some(why) => Outcome::Failed { why },
    }
}

fn failed(run: &RunSummary, exit: &Exit) -> Option<Why> {
    use Exit::{Lost, Missing, NoPrompt, NotStarted};
    if matches!(exit, Missing { .. } | NotStarted { .. } | NoPrompt { .. } | Lost { .. }) {
        return None;
    }
    let ended = run.result.is_some();
    let error = run.error.as_ref().map(|error| &error.message);
    match (run.result.as_ref().filter(|result| !result.ok), error) {
        (Some(result), error) => {
            return Some(Why::Stream { reason: error.unwrap_or(&result.reason).clone() });
        }
        (None, Some(error)) if !ended => return Some(Why::Stream { reason: error.clone() }),
        _ => {}
    }
    match exit {
        Exit::Signal(signal) => Some(Why::KilledBy(*signal)),
        // What it said last is the best explanation there is.
        Exit::Code(_) if !ended => Some(Why::NoEnd { last_words: run.noise.join("\n") }),
        Exit::Code(code) if *code != 0 => Some(Why::ExitCode(*code)),
        _ => None,
    }
}
