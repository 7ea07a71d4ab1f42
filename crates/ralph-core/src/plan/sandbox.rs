//! `sandbox`: what a program of the run may reach.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host::Host;
use super::section::section;
use super::value::{Rule, Text, leaf};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxLevel {
    /// What the user may do.
    #[default]
    Off,
    /// Writes only to the workspace, to temporary folders of its own, and where the agent's program keeps its settings. Reads
    /// everything but secrets.
    Workspace,
    /// Also reads only the workspace, the system and the toolchains, and speaks only to hosts that are named.
    Strict,
}

leaf!(SandboxLevel, SandboxLevel, |it| it, |it| *it);

impl SandboxLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            SandboxLevel::Off => "off",
            SandboxLevel::Workspace => "workspace",
            SandboxLevel::Strict => "strict",
        }
    }

    pub fn is_on(self) -> bool {
        self != SandboxLevel::Off
    }
}

/// What to do where a sandbox, or a part of it, cannot be had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxFallback {
    /// Start nothing.
    #[default]
    Refuse,
    /// Say what is missing, and go on with what there is.
    Warn,
}

leaf!(SandboxFallback, SandboxFallback, |it| it, |it| *it);

section! {
    /// Paths begin with `/`, or with `~/` for the user's home; others are relative to the workspace.
    pub struct SandboxAccess, changed by SandboxAccessChange {
        /// Secrets: nothing below these can be read. What does not exist is passed over.
        hide: Vec<Text> = SECRETS.iter().map(|path| (*path).to_owned()).collect(),
        /// What `strict` may read besides the workspace, the system and the toolchains.
        read: Vec<Text> = Vec::new(),
        /// What may be written besides the workspace, and read even if it is below something hidden.
        write: Vec<Text> = Vec::new(),
        /// Hosts that an agent in `strict` may speak to, besides those that its own program needs: `api.example.com`, `*.example.com`,
        /// `192.0.2.7`, `10.0.0.0/8`, with `:PORT` if it is not 443 or 80. A name that leads to an address of this machine or of the
        /// network around it is refused, unless that address is named too.
        hosts: Vec<Host> = Vec::new(),
        /// Hosts that gates, and commands of the prompt, may speak to in `strict`.
        gates_hosts: Vec<Host> = Vec::new(),
    }
}

/// Keys, passwords and sessions; and sockets of programs that would start others outside.
pub const SECRETS: &[&str] = &[
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.kube",
    "~/.config/gh",
    "~/.config/gcloud",
    "~/.config/op",
    "~/.config/git/credentials",
    "~/.docker/config.json",
    "~/.netrc",
    "~/.git-credentials",
    "~/.pypirc",
    "~/.cargo/credentials.toml",
    "~/.cargo/credentials",
    "~/.password-store",
    "~/.local/share/keyrings",
    "~/.mozilla",
    "~/.thunderbird",
    "~/.config/google-chrome",
    "~/.config/chromium",
    "~/.config/BraveSoftware",
    "~/.config/microsoft-edge",
    "~/.config/vivaldi",
    "~/.config/opera",
    "~/Library/Keychains",
    "/run/user",
    "/run/dbus",
    "/run/docker.sock",
    "/run/podman",
    "/run/containerd",
    "/run/systemd/private",
];

/// What is asked of the sandbox in a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SandboxPlan {
    pub agent: SandboxLevel,
    pub gates: SandboxLevel,
    pub fallback: SandboxFallback,
    pub access: SandboxAccess,
}

impl SandboxPlan {
    /// The most that any program of the run is held to, by the plan's own word.
    pub fn strongest(&self) -> SandboxLevel {
        self.agent.max(self.gates)
    }
}
