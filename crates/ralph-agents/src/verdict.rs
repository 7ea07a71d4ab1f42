//! Did the agent's run go well? Neither its exit code nor its stream alone can say.

use std::fmt;

use crate::summary::RunSummary;

/// How the process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    Failed { why: Why },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// ralph ended it.
    Signalled,
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
            Why::Signalled => f.write_str("ended by ralph"),
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

/// Ok only if the stream's own end says so, the exit code is 0, and ralph sent no signal.
///
/// A missing end is a failure whatever the exit code. Where a format has no end event, its parser gives a result when
/// the output ends: opencode's if the last step had ended, plain text always.
pub fn verdict(run: &RunSummary, exit: Exit, ralph_sent_signal: bool) -> Outcome {
    match failed(run, exit, ralph_sent_signal) {
        None => Outcome::Ok,
        Some(why) => Outcome::Failed { why },
    }
}

fn failed(run: &RunSummary, exit: Exit, ralph_sent_signal: bool) -> Option<Why> {
    if ralph_sent_signal {
        return Some(Why::Signalled);
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
        Exit::Signal(signal) => Some(Why::KilledBy(signal)),
        // What it said last is the best explanation there is.
        Exit::Code(_) if !ended => Some(Why::NoEnd { last_words: run.noise.join("\n") }),
        Exit::Code(0) => None,
        Exit::Code(code) => Some(Why::ExitCode(code)),
    }
}
