//! The keys that the agent uses and never has: found anew for each attempt, given to the proxy, and a placeholder to the agent.

use std::ffi::OsString;

use ralph_core::plan::AgentPlan;

use super::env;
use crate::attempt::Attempt;
use crate::proxy::Key;
use crate::sandbox::keys::{detour, with_key};
use crate::token;

type Environment = Vec<(OsString, Option<OsString>)>;

/// What the proxy gets, and what the agent finds in its environment.
pub(super) fn find(attempt: &Attempt, agent: &AgentPlan) -> Result<(Vec<Key>, Environment), String> {
    let (mut keys, mut environment) = (Vec::new(), Environment::new());
    for secret in &attempt.shared.plan.secrets {
        let wrong = |why: String| format!("`secrets`, {}: {why}", secret.name);
        let value = env::find(attempt, &secret.from).map_err(wrong)?;
        attempt.shared.secrets.learn(&value);
        let key = Key::new(&value, &secret.hosts, &token::random()).map_err(wrong)?;
        environment.extend(with_key(&value).into_iter().map(|name| (name.into(), None)));
        let way = detour(secret, agent)?;
        environment.push((secret.name.clone().into(), Some(key.placeholder().into())));
        environment.push((way.variable.into(), Some(way.value.into())));
        keys.push(key);
    }
    Ok((keys, environment))
}
