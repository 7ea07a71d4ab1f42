//! The text of the task as it is now: read again before every iteration, with the output of its commands in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::thread;

use ralph_core::event::CommandFinished;
use ralph_core::input::Report;
use ralph_core::plan::{CommandPlan, Plan, Task};
use ralph_core::ralph_md::{self, CREDIT, Values};

use crate::attempt::Attempt;
use crate::command::{self, Ran};
use crate::executor::report;
use crate::process::{Spec, Status, resolve_program};

/// What is recorded of a command's output.
const TAIL_MAX: usize = 1000;

pub(crate) enum TaskError {
    /// The run was told to end meanwhile.
    Killed,
    Failed(String),
}

/// The task's text, with nothing left to resolve in it.
pub(crate) fn text(attempt: &Attempt, path: &OsString) -> Result<String, TaskError> {
    let plan = &attempt.shared.plan;
    // Before the commands: without a prompt there is no need for them.
    let text = read(&plan.task).map_err(TaskError::Failed)?;
    let outputs = run_commands(attempt, path)?;
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
        max_iterations: plan.limits.max_iterations,
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
    let bytes =
        fs::read(path).map_err(|error| format!("can not read the prompt {}: {error}", path.display()))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let (line, column) = place(error.as_bytes(), error.utf8_error().valid_up_to());
        format!("the prompt {} is not UTF-8 at line {line}, column {column}", path.display())
    })?;
    Ok(match task {
        Task::RalphMd(_) => ralph_md::body(&text),
        _ => text,
    })
}

/// Line and column of a byte, from 1.
fn place(bytes: &[u8], at: usize) -> (usize, usize) {
    let before = &bytes[..at];
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    (memchr::memchr_iter(b'\n', before).count() + 1, column)
}

/// In order; those that may run together and stand beside each other do.
fn run_commands(attempt: &Attempt, path: &OsString) -> Result<Vec<String>, TaskError> {
    let mut outputs = Vec::new();
    for group in attempt.shared.plan.commands.chunk_by(|one, next| one.parallel && next.parallel) {
        if let [one] = group {
            outputs.push(run_command(attempt, one, path)?);
            continue;
        }
        let results: Vec<_> = thread::scope(|scope| {
            let start = |one| {
                let run = move || run_command(attempt, one, path);
                // Without a thread for it, it runs right here.
                let thread = thread::Builder::new().name("command".into()).spawn_scoped(scope, run);
                thread.map_err(|_| run_command(attempt, one, path))
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
    attempt.slot.release();
    Ok(outputs)
}

fn run_command(attempt: &Attempt, plan: &CommandPlan, path: &OsString) -> Result<String, TaskError> {
    if attempt.slot.is_killed() {
        return Err(TaskError::Killed);
    }
    let shared = &attempt.shared;
    let failed = |why: &str| TaskError::Failed(format!("can not run the command `{}`: {why}", plan.name));
    let spec = spec(plan, path).map_err(|why| failed(&why))?;
    let spec =
        Spec { env: attempt.environment(path.clone()), kill_leftovers: shared.plan.kill_leftovers, ..spec };
    let ran = command::run(&shared.supervisor, &shared.lock, &attempt.slot, spec, plan.timeout);
    if attempt.slot.is_killed() {
        return Err(TaskError::Killed);
    }
    if let Status::SpawnFailed { message, .. } = &ran.exit.status {
        return Err(failed(message));
    }
    let text = ran.text();
    report(&shared.inbox, Report::CommandFinished(finished(attempt, plan, &ran, &text)));
    Ok(match ran.timed_out {
        true => with_note(text, plan),
        false => text,
    })
}

pub(crate) fn spec(plan: &CommandPlan, path: &OsString) -> Result<Spec, String> {
    let (program, args) = plan.words.split_first().ok_or("nothing is left of it")?;
    let program = resolve_program(program, &plan.cwd, Some(path)).map_err(|error| error.to_string())?;
    let mut spec = Spec::new(program, &plan.cwd);
    spec.args = args.iter().map(OsString::from).collect();
    Ok(spec)
}

fn finished(attempt: &Attempt, plan: &CommandPlan, ran: &Ran, text: &str) -> CommandFinished {
    let from = text.len().saturating_sub(TAIL_MAX);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    CommandFinished {
        iteration: attempt.spawn.iteration,
        attempt: attempt.spawn.attempt,
        name: plan.name.clone(),
        exit_code: ran.exit_code(),
        duration: ran.exit.duration,
        timed_out: ran.timed_out,
        output_bytes: ran.bytes(),
        tail: text[from..].trim_end().to_owned(),
    }
}

/// The agent has to know that it does not see everything.
fn with_note(mut text: String, plan: &CommandPlan) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let time = ralph_core::duration::format(plan.timeout);
    text + &format!("[the command `{}` timed out after {time}; its output may be incomplete]\n", plan.name)
}

/// Whether a command can be started, as far as that is known before anything is.
pub fn check(plan: &CommandPlan, path: Option<&std::ffi::OsStr>) -> Result<(), String> {
    let program = plan.words.first().ok_or("nothing is left of it")?;
    resolve_program(program, &plan.cwd, path).map(drop).map_err(|error| match is_shells(program) {
        true => format!("{error}; no shell runs it: write `sh -c '…'` if you need one"),
        false => error.to_string(),
    })
}

/// Whether only a shell understands this word.
fn is_shells(program: &str) -> bool {
    program.contains(['=', '$', '|', ';', '&', '>', '<', '*'])
        || matches!(program, "cd" | "export" | "source" | ".")
}
