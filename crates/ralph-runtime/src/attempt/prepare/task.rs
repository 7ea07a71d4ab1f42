//! The text of the task as it is now: read again before every iteration, with the output of its commands in it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};
use std::thread;

use ralph_core::event::CommandFinished;
use ralph_core::input::Report;
use ralph_core::plan::{CommandPlan, Plan, Task};
use ralph_core::ralph_md::{self, CREDIT, Values};
use ralph_store::plain::{self, Links};

use crate::attempt::Attempt;
use crate::both_ends::BothEnds;
use crate::executor::report;
use crate::job::{Finds, Job, JobEnd};
use crate::lock;
use crate::process::{Exit, Stream};
use crate::redacted::Redacted;

/// What is recorded of a command's output.
const TAIL_MAX: usize = 1000;

pub(crate) enum TaskError {
    /// The run was told to end meanwhile.
    Killed,
    /// There is nothing in it.
    Empty(String),
    Failed(String),
}

/// The task's text, with nothing left to resolve in it.
pub(crate) fn text(attempt: &Attempt) -> Result<String, TaskError> {
    let plan = &attempt.shared.plan;
    // Before the commands: without a prompt there is no need for them.
    let text = read(&plan.task).map_err(TaskError::Failed)?;
    if let Some(message) = empty(&plan.task, &text) {
        return Err(TaskError::Empty(message));
    }
    let outputs = run_commands(attempt)?;
    Ok(complete(plan, attempt.spawn.iteration.0, &text, &outputs))
}

/// Placeholders resolved, credit asked for.
pub fn complete(plan: &Plan, iteration: u32, text: &str, outputs: &[String]) -> String {
    let is_template =
        matches!(plan.task, Task::RalphMd(_)) || !plan.commands.is_empty() || !plan.args.is_empty();
    if !is_template {
        return text.to_owned();
    }
    let names = plan.commands.iter().map(|command| command.name.as_str());
    let values = Values {
        commands: names.zip(outputs.iter().map(String::as_str)).collect::<BTreeMap<_, _>>(),
        args: Some(&plan.args),
        name: &plan.name,
        iteration,
        max_iterations: plan.event_loop.max_iterations,
    };
    let text = ralph_md::resolve(text, &values);
    if plan.credit { format!("{text}\n\n{CREDIT}") } else { text }
}

/// The task as it is written, without the settings and comments of a RALPH.md.
pub fn read(task: &Task) -> Result<String, String> {
    let path = match task {
        Task::Text(text) => return Ok(text.clone()),
        Task::File(path) | Task::RalphMd(path) => path,
    };
    let bytes = plain::read(path, Links::Follow, plain::TEXT).map_err(|error| {
        let why = match error.kind() {
            ErrorKind::NotFound => "it is gone".to_owned(),
            _ => error.to_string(),
        };
        format!("cannot read the prompt {}: {why}", path.display())
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let (line, column) = place(error.as_bytes(), error.utf8_error().valid_up_to());
        format!("the prompt {} is not UTF-8 at line {line}, column {column}", path.display())
    })?;
    Ok(match task {
        Task::RalphMd(_) => ralph_md::body(&text),
        _ => text,
    })
}

/// An agent without a task does whatever it likes, and is paid for it.
fn empty(task: &Task, text: &str) -> Option<String> {
    let path = match task {
        Task::File(path) | Task::RalphMd(path) => path.display(),
        Task::Text(_) => return None,
    };
    text.trim().is_empty().then(|| format!("the prompt {path} has become empty"))
}

/// Line and column of a byte, from 1.
fn place(bytes: &[u8], at: usize) -> (usize, usize) {
    let before = &bytes[..at];
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    (memchr::memchr_iter(b'\n', before).count() + 1, column)
}

/// In order; those that may run together and stand beside each other do.
fn run_commands(attempt: &Attempt) -> Result<Vec<String>, TaskError> {
    let mut outputs = Vec::new();
    for group in attempt.shared.plan.commands.chunk_by(|one, next| one.parallel && next.parallel) {
        if let [one] = group {
            outputs.push(run_command(attempt, one)?);
            continue;
        }
        let results: Vec<_> = thread::scope(|scope| {
            let start = |one| {
                let run = move || run_command(attempt, one);
                // Without a thread for it, it runs right here.
                let thread = thread::Builder::new().name("command".into()).spawn_scoped(scope, run);
                thread.map_err(|_| run_command(attempt, one))
            };
            let started: Vec<_> = group.iter().map(start).collect();
            let lost = || Err(TaskError::Failed("a command's thread was lost".to_owned()));
            started
                .into_iter()
                .map(|thread| match thread {
                    Ok(thread) => thread.join().unwrap_or_else(|_| lost()),
                    Err(result) => result,
                })
                .collect()
        });
        for result in results {
            outputs.push(result?);
        }
    }
    Ok(outputs)
}

fn run_command(attempt: &Attempt, plan: &CommandPlan) -> Result<String, TaskError> {
    let shared = &attempt.shared;
    let clean = Redacted::of(&shared.secrets);
    let kept = Arc::new(Mutex::new((BothEnds::default(), BothEnds::default(), clean)));
    let sink = Arc::clone(&kept);
    let env = attempt.environment();
    let job = Job { words: &plan.words, cwd: &plan.cwd, env, timeout: plan.timeout };
    let ended = job.run(&shared.ground(Finds::Ralph), &attempt.group, move |stream, bytes| {
        let (stdout, stderr, clean) = &mut *lock(&sink);
        let bytes = clean.push(stream, bytes);
        if stream == Stream::Stdout { stdout.push(&bytes) } else { stderr.push(&bytes) }
    });
    let (finished, timed_out) = match ended {
        JobEnd::Ran { finished, timed_out } => (finished, timed_out),
        JobEnd::Cancelled => return Err(TaskError::Killed),
        JobEnd::NotStarted { message } => {
            return Err(TaskError::Failed(format!("cannot run the command `{}`: {message}", plan.name)));
        }
    };
    let (stdout, stderr) = {
        let (stdout, stderr, clean) = &mut *lock(&kept);
        let [rest, rest_of_errors] = clean.finish();
        stdout.push(&rest);
        stderr.push(&rest_of_errors);
        (std::mem::take(stdout), std::mem::take(stderr))
    };
    let text = stdout.text() + &stderr.text();
    let finished = CommandFinished {
        iteration: attempt.spawn.iteration,
        attempt: attempt.spawn.attempt,
        name: plan.name.clone(),
        exit_code: match finished.exit {
            Exit::Code(code) => Some(code),
            _ => None,
        },
        duration: finished.duration,
        timed_out,
        output_bytes: stdout.total + stderr.total,
        tail: tail(&text).to_owned(),
    };
    report(&shared.inbox, Report::CommandFinished(finished));
    Ok(if timed_out { with_note(text, plan) } else { text })
}

/// What is recorded of a text.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(TAIL_MAX);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[from..].trim_end()
}

/// The agent has to know that it does not see everything.
fn with_note(mut text: String, plan: &CommandPlan) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let time = ralph_core::duration::format(plan.timeout);
    text + &format!("[the command `{}` timed out after {time}; its output may be incomplete]\n", plan.name)
}
