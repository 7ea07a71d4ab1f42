//! `secrets`: keys that agents use and never have.

use ralph_core::plan::value::Text;
use ralph_core::plan::{EnvSource, EnvValue, Host, SecretPlan, split_url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Loaded;
use crate::agent::{EnvDef, EnvName};
use crate::diagnostic::Diagnostic;

/// A key that an agent uses and never has.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping")]
pub struct SecretDef {
    /// The variable in which the agent looks for its key. It finds a placeholder there.
    pub name: EnvName,
    /// The hosts that get the key in the place of the placeholder.
    pub hosts: Vec<Host>,
    /// Where the key is: `{env: NAME}`, `{file: PATH}` or `{command: LINE}`. Not set: the variable of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<EnvDef>,
    /// The variable that tells the agent whom to speak to. Not set: the one of a known agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<EnvName>,
    /// Whom the agent would speak to, such as https://api.example.com/v1. Not set: as a known agent does, else the first host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Text>,
}

impl Loaded {
    pub(crate) fn secrets(&self, found: &mut Vec<Diagnostic>) -> Vec<SecretPlan> {
        let mut plans = Vec::new();
        for (n, secret) in self.definition.secrets.iter().enumerate() {
            match plan(secret) {
                Ok(plan) => plans.push(plan),
                Err((field, why)) => found.push(self.settings.at(&format!("secrets.{n}.{field}"), why)),
            }
        }
        plans
    }
}

fn plan(secret: &SecretDef) -> Result<SecretPlan, (&'static str, String)> {
    let from = match &secret.from {
        None => EnvSource::Env(secret.name.0.clone()),
        Some(EnvDef(EnvValue::Found(source))) => source.clone(),
        Some(EnvDef(EnvValue::Text(_))) => {
            let why = "a key does not stand in a definition\nsay where it is: {env: NAME}, {file: PATH} or {command: LINE}";
            return Err(("from", why.to_owned()));
        }
    };
    if secret.hosts.is_empty() {
        return Err(("hosts", "no host would get the key\nname at least one".to_owned()));
    }
    let url = secret.url.as_ref().map(|url| url.0.clone());
    if let Some(url) = &url {
        split_url(url).map_err(|why| ("url", why))?;
    }
    let base_url = secret.base_url.as_ref().map(|name| name.0.clone());
    Ok(SecretPlan { name: secret.name.0.clone(), hosts: secret.hosts.clone(), from, base_url, url })
}
