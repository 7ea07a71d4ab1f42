//! `secrets`: a key that an agent uses and never has. It gets a placeholder; ralph's proxy puts the key into what goes to the
//! hosts that are named.

use serde::{Deserialize, Serialize};

use super::{EnvSource, Host};

/// One key. Nothing in here is secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SecretPlan {
    /// The variable in which the agent looks for it.
    pub name: String,
    /// Where it may go.
    pub hosts: Vec<Host>,
    /// Where it is found when the agent starts.
    pub from: EnvSource,
    /// The variable by which the agent is told whom to speak to. Not set: the one that is known of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Whom the agent would speak to. Not set: what is known of the agent, else the first host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// `https://host:port/path`, taken apart: the host with its port, and the path without a slash at its end.
pub fn split_url(url: &str) -> Result<(String, String), String> {
    let wrong = || format!("`{url}` is no address such as https://api.example.com/v1");
    let rest = url.strip_prefix("https://").ok_or_else(wrong)?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let is_plain =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic()) && !text.contains(['?', '#', '@']);
    let host: Host = authority.parse().map_err(|_| wrong())?;
    match host.name().is_some() && is_plain(authority) && is_plain(path) {
        true => Ok((authority.to_owned(), path.trim_end_matches('/').to_owned())),
        false => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_path() {
        let two = |host: &str, path: &str| Ok((host.to_owned(), path.to_owned()));
        assert_eq!(split_url("https://a.b"), two("a.b", ""));
        assert_eq!(split_url("https://a.b:8443/v1/"), two("a.b:8443", "/v1"));
        for url in [
            "http://a.b",
            "a.b",
            "https://",
            "https://u@a.b/",
            "https://a.b/?q",
            "https://*.a.b/",
            "https://a b/",
        ] {
            assert!(split_url(url).is_err(), "{url}");
        }
    }
}
