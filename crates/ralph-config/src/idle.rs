//! What is wrong with `idle`, `on_state` and `wake` as they are written.

use std::time::Duration;

use ralph_core::plan::{Act, Idle, Plan, Reaction};

use super::definition::Definition;
use super::diagnostic::Diagnostic;
use super::validate::Settings;

/// Everything that is wrong.
pub fn check(settings: &Settings, definition: &Definition) -> Vec<Diagnostic> {
    let idle = match &definition.idle {
        Idle::Waits(idle) => longer_than_longest(settings, "idle", idle.delay, idle.max_delay),
        Idle::Unset | Idle::Off => None,
    };
    let blocked = reaction(settings, "on_state.blocked", &definition.on_state.blocked);
    let review = reaction(settings, "on_state.waiting_for_review", &definition.on_state.waiting_for_review);
    idle.into_iter().chain(blocked).chain(review).chain(wake(settings, definition)).collect()
}

fn longer_than_longest(
    settings: &Settings,
    path: &str,
    delay: Duration,
    max_delay: Option<Duration>,
) -> Option<Diagnostic> {
    max_delay.filter(|max| delay > *max)?;
    let given = format!("{path}.delay");
    let which = if settings.root.find(&given).is_some() { given } else { format!("{path}.max_delay") };
    Some(settings.at(&which, format!("`{path}`: `delay` is longer than `max_delay`")))
}

fn reaction(settings: &Settings, path: &str, reaction: &Reaction) -> Option<Diagnostic> {
    if reaction.r#do == Act::Wait {
        return longer_than_longest(settings, path, reaction.delay, reaction.max_delay);
    }
    let mut waits = ["delay", "backoff", "max_delay", "max"].into_iter();
    waits.find(|key| settings.root.find(&format!("{path}.{key}")).is_some())?;
    let message = format!("`{path}`: only `do: wait` has `delay`, `backoff`, `max_delay` and `max`");
    Some(settings.at(path, message))
}

fn wake(settings: &Settings, definition: &Definition) -> Option<Diagnostic> {
    let wake = &definition.wake;
    if wake.run.is_none() && settings.root.find("wake.every").is_some() {
        return Some(settings.at("wake.every", "`wake.every` is for `wake.run`, which is not set"));
    }
    let pattern = wake.files.iter().position(|file| file.contains(['*', '?']))?;
    let found = settings.at(&format!("wake.files.{pattern}"), "`wake.files` are paths, not patterns");
    Some(found.help("name the folder: a change of anything directly in it ends the wait"))
}

/// A `wake` that has little to end.
pub fn findings(settings: &Settings, plan: &Plan) -> Vec<Diagnostic> {
    if !plan.wake.is_set() || plan.idle != Idle::Off {
        return Vec::new();
    }
    let message =
        "`wake` ends waits, and with `idle: false` an agent that has nothing to do is not waited for";
    let found = settings.at("wake", message).help("remove `idle: false`");
    vec![Diagnostic { is_warning: true, ..found }]
}
