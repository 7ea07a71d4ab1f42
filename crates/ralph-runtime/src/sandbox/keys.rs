//! `secrets`: whether an agent can be kept from the keys that it uses, and how it is told whom to speak to.

use ralph_agents::agent;
use ralph_core::plan::{AgentPlan, EnvSource, Plan, SandboxLevel, SecretPlan, split_url};

use ralph_store::plain::{self, Links};

use crate::process::PROXY_AT;

/// What an agent gets in the place of a key: the variable that names the service, and what it says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Detour {
    pub(crate) variable: String,
    pub(crate) value: String,
}

/// The way of this agent to the service behind a key, by the proxy.
pub(crate) fn detour(secret: &SecretPlan, agent: &AgentPlan) -> Result<Detour, String> {
    let known = agent::by_name(&agent.name).map(|def| def.base_urls).unwrap_or_default();
    let known = known.iter().find(|known| known.key == secret.name);
    let variable = secret.base_url.clone().or_else(|| known.map(|known| known.variable.to_owned()));
    let variable = variable.ok_or_else(|| {
        format!(
            "secrets: ralph knows no variable that tells {} whom to speak to for {}; name it in `base_url` of the \
             secret, or give the agent its key by `agent.env`",
            agent.called(),
            secret.name
        )
    })?;
    let first =
        || secret.hosts.iter().find(|host| host.name().is_some()).map(|host| format!("https://{host}"));
    let usual = || known.map(|known| known.usual.to_owned()).filter(|url| is_among(secret, url));
    let url = secret.url.clone().or_else(usual).or_else(first);
    let url = url.filter(|url| is_among(secret, url));
    let url =
        url.ok_or_else(|| format!("secrets: the `url` of {} is at none of its `hosts`", secret.name))?;
    let (host, path) = split_url(&url)?;
    Ok(Detour { variable, value: format!("http://{PROXY_AT}{}{host}{path}", crate::proxy::TO) })
}

fn is_among(secret: &SecretPlan, url: &str) -> bool {
    let port = |host: &str| host.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(443);
    let name = |host: &str| host.split(':').next().unwrap_or_default().to_owned();
    let host = split_url(url).map(|(host, _)| host);
    host.is_ok_and(|host| secret.hosts.iter().any(|own| own.is_asked(&name(&host), port(&host))))
}

/// Why the keys of a plan would not be safe from its agents, a sentence each. What holds here alone is no reason to go on.
pub(super) fn problems(plan: &Plan, is_namespace: bool, is_off: bool) -> Vec<String> {
    if plan.secrets.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let of_hats = plan.hats.iter().flat_map(|hats| &hats.hats);
    let levels = of_hats.clone().filter_map(|hat| hat.sandbox).chain([plan.sandbox.agent]);
    if is_off || !is_namespace || levels.into_iter().any(|level| level != SandboxLevel::Strict) {
        found.push(
            "secrets: an agent is kept from a key by `sandbox: strict` alone, in a pid namespace".to_owned(),
        );
    }
    let runs_jobs = !plan.gates.is_empty() || !plan.commands.is_empty() || plan.wake.run.is_some();
    if runs_jobs && !plan.sandbox.gates.is_on() {
        found.push(
            "secrets: gates and commands run what the agent wrote; set `gates_sandbox: workspace` or `strict`".to_owned(),
        );
    }
    let agents = std::iter::once(&plan.agent).chain(&plan.fallback);
    for agent in agents.chain(of_hats.filter_map(|hat| hat.agent.as_ref())) {
        for secret in &plan.secrets {
            found.extend(detour(secret, agent).err());
            if agent.env.contains_key(&secret.name) {
                found.push(format!("secrets: `agent.env.{}` would give the agent its key", secret.name));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Variables of ralph's own environment that nothing below it may find: those that hold a key. What a command prints is known only
/// when it has run.
pub(crate) fn taken_away(plan: &Plan) -> Vec<String> {
    let mut names: Vec<String> = plan.secrets.iter().map(|secret| secret.name.clone()).collect();
    for secret in &plan.secrets {
        let key = match &secret.from {
            EnvSource::Env(name) => {
                names.push(name.clone());
                std::env::var(name).ok()
            }
            EnvSource::File(path) => {
                plain::read_text(&plan.workspace.join(path), Links::Follow, plain::SMALL).ok()
            }
            EnvSource::Command(_) => None,
        };
        names.extend(key.iter().flat_map(|key| holding(key.trim_end(), own_environment())));
    }
    names
}

fn own_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The variables that hold this key.
pub(crate) fn with_key(key: &str) -> Vec<String> {
    holding(key, own_environment())
}

fn holding(key: &str, all: impl Iterator<Item = (String, String)>) -> Vec<String> {
    all.filter(|(_, value)| !key.is_empty() && value.contains(key)).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::plan::Task;

    fn secret(name: &str, hosts: &[&str]) -> SecretPlan {
        let hosts = hosts.iter().map(|host| host.parse().expect("a host")).collect();
        let from = EnvSource::Env("SOURCE".to_owned());
        SecretPlan { name: name.to_owned(), hosts, from, base_url: None, url: None }
    }

    fn known(name: &str) -> AgentPlan {
        AgentPlan { name: name.to_owned(), ..AgentPlan::command(name) }
    }

    #[test]
    fn an_agent_is_led_to_the_proxy_or_it_is_said_that_it_cannot_be() {
        let way = |secret: &SecretPlan, agent: &str| {
            detour(secret, &known(agent)).map(|way| (way.variable, way.value))
        };
        let of_claude = secret("ANTHROPIC_API_KEY", &["api.anthropic.com"]);
        let two =
            |variable: &str, rest: &str| Ok((variable.to_owned(), format!("http://{PROXY_AT}/to/{rest}")));
        assert_eq!(way(&of_claude, "claude"), two("ANTHROPIC_BASE_URL", "api.anthropic.com"));
        let elsewhere = secret("ANTHROPIC_API_KEY", &["gateway.example.com:8443"]);
        assert_eq!(way(&elsewhere, "claude"), two("ANTHROPIC_BASE_URL", "gateway.example.com:8443"));
        let own = SecretPlan {
            base_url: Some("MY_URL".to_owned()),
            url: Some("https://a.b/v1/".to_owned()),
            ..secret("MY_KEY", &["a.b"])
        };
        assert_eq!(way(&own, "command"), two("MY_URL", "a.b/v1"));
        assert!(way(&of_claude, "amp").is_err_and(|why| why.contains("amp") && why.contains("base_url")));
        let astray = SecretPlan { url: Some("https://evil.org".to_owned()), ..own };
        assert!(way(&astray, "command").is_err_and(|why| why.contains("none of its `hosts`")));
    }

    #[test]
    fn a_plan_whose_agents_could_get_at_a_key_is_refused() {
        let mut plan = Plan::new("x", "/w", Task::Text(String::new()), known("claude"));
        assert_eq!(problems(&plan, false, true), [] as [String; 0]);
        plan.secrets = vec![secret("ANTHROPIC_API_KEY", &["api.anthropic.com"])];
        assert_eq!(problems(&plan, true, false).len(), 1, "no sandbox");
        plan.sandbox.agent = SandboxLevel::Strict;
        assert_eq!(problems(&plan, true, false), [] as [String; 0]);
        assert_eq!((problems(&plan, false, false).len(), problems(&plan, true, true).len()), (1, 1));
        plan.gates = vec![ralph_core::plan::Gate::new("tests", &["make"])];
        assert!(problems(&plan, true, false)[0].contains("gates_sandbox"));
        plan.sandbox.gates = SandboxLevel::Workspace;
        plan.agent.env.insert("ANTHROPIC_API_KEY".to_owned(), "x".into());
        plan.fallback = vec![known("amp")];
        assert_eq!(problems(&plan, true, false).len(), 2);
    }

    #[test]
    fn every_variable_that_holds_a_key_is_taken_away() {
        let vars = [("SOURCE", "key-1"), ("COPY", "x=key-1;"), ("OTHER", "y")];
        let all = || vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        assert_eq!(holding("key-1", all()), ["SOURCE", "COPY"]);
        assert_eq!(holding("", all()), [] as [String; 0]);
    }
}
