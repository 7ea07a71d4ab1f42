//! The agent's own variables, found where the plan says. What is found is secret from then on.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ralph_core::plan::{AgentPlan, EnvSource, EnvValue};
use ralph_store::plain::{self, Links};

use crate::attempt::Attempt;
use crate::job::{Finds, Job, JobEnd};
use crate::lock;
use crate::process::{Exit, Stream};

/// A command that finds a key has this long.
const TIMEOUT: Duration = Duration::from_secs(60);

/// An error says which variable could not be found, and never what was.
pub(super) fn resolve(
    attempt: &Attempt,
    agent: &AgentPlan,
) -> Result<Vec<(OsString, Option<OsString>)>, String> {
    let mut all = Vec::with_capacity(agent.env.len());
    for (name, value) in &agent.env {
        let text = match value {
            EnvValue::Text(text) => text.clone(),
            EnvValue::Found(source) => {
                let found = find(attempt, source).map_err(|why| format!("`agent.env.{name}`: {why}"))?;
                attempt.shared.secrets.learn(&found);
                found
            }
        };
        if text.contains('\0') {
            return Err(format!("`agent.env.{name}`: the value has a NUL byte"));
        }
        all.push((name.into(), Some(text.into())));
    }
    Ok(all)
}

pub(super) fn find(attempt: &Attempt, source: &EnvSource) -> Result<String, String> {
    let text = match source {
        EnvSource::Env(name) => {
            let value = std::env::var_os(name).ok_or_else(|| format!("the variable {name} is not set"))?;
            value.into_string().map_err(|_| format!("the variable {name} is not UTF-8"))?
        }
        EnvSource::File(path) => {
            let full = attempt.shared.plan.workspace.join(Path::new(path));
            plain::read_text(&full, Links::Follow, plain::SMALL)
                .map_err(|error| format!("cannot read {}: {error}", full.display()))?
        }
        EnvSource::Command(line) => printed(attempt, line.words())?,
    };
    Ok(text
        .strip_suffix('\n')
        .map(|text| text.strip_suffix('\r').unwrap_or(text))
        .unwrap_or(&text)
        .to_owned())
}

fn printed(attempt: &Attempt, words: &[String]) -> Result<String, String> {
    let shared = &attempt.shared;
    let kept = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&kept);
    let most = usize::try_from(plain::SMALL).unwrap_or(usize::MAX);
    let job = Job { words, cwd: &shared.plan.workspace, env: Vec::new(), timeout: TIMEOUT };
    let ended = job.run(&shared.ground(Finds::Ralph), &attempt.group, move |stream, bytes| {
        let mut kept = lock(&sink);
        if stream == Stream::Stdout && kept.len() <= most {
            kept.extend_from_slice(bytes);
        }
    });
    let called = words.first().map_or("", String::as_str);
    match ended {
        JobEnd::NotStarted { message } => Err(format!("cannot run `{called}`: {message}")),
        JobEnd::Cancelled => Err(format!("`{called}` was ended")),
        JobEnd::Ran { timed_out: true, .. } => Err(format!("`{called}` did not end in time")),
        JobEnd::Ran { finished, .. } if finished.exit != Exit::Code(0) => {
            Err(format!("`{called}` has failed"))
        }
        JobEnd::Ran { .. } => {
            let bytes = std::mem::take(&mut *lock(&kept));
            match bytes.len() <= most {
                true => String::from_utf8(bytes).map_err(|_| format!("what `{called}` prints is not UTF-8")),
                false => Err(format!("`{called}` prints more than a key")),
            }
        }
    }
}
