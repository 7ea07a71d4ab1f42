//! The plan: a loop's definition with every default filled in. It is stored whole in `run.started`, so a resumed run needs
//! nothing else to know what it is.

mod budget;
mod change;
mod contain;
mod env;
mod event_loop;
mod gate;
mod host;
mod idle;
mod limits;
mod memory;
mod net;
mod protect;
mod quota;
mod sandbox;
mod secret;
mod section;
mod signals;
mod stop;
mod stuck;
pub mod value;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use budget::{Budget, BudgetChange, WhenSpent};
pub use change::SettingsChange;
pub use contain::Contain;
pub use env::{EnvSource, EnvValue};
pub use event_loop::{Backoff, BackoffChange, EventLoop, EventLoopChange};
pub use gate::{ACCEPTANCE_CHECK, GATE_TIMEOUT, Gate, GateWhen};
pub use host::{Host, is_public, plain_name};
pub use idle::{
    Act, Idle, IdleWait, IdleWaitChange, OnState, OnStateChange, Reaction, ReactionChange, Wait, Wake,
    WakeChange,
};
pub use limits::{Limits, LimitsChange};
pub use quota::{Quota, QuotaChange};

use crate::hat::HatsPlan;
use crate::time::millis;

pub use memory::{Context, ContextChange, Core, CoreChange, Memory, MemoryChange};
pub use net::{Switch, WorktreeLists, WorktreePlan};
pub use protect::{Protect, ProtectLists, ProtectPolicy};
pub use sandbox::{SandboxAccess, SandboxFallback, SandboxLevel, SandboxPlan};
pub use secret::{SecretPlan, split_url};
pub use signals::SignalPlan;
pub use stop::{NoErrors, Stop, StopChange, TamperingPolicy};
pub use stuck::{SIGNATURE_WINDOW, Sensitivity, StuckAction, StuckChange, StuckPlan, Use};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the run is called: the folder of a RALPH.md, or the workspace's.
    pub name: String,
    pub workspace: PathBuf,
    /// The definition file this came from, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// The preset below it, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    pub task: Task,
    pub agent: AgentPlan,
    /// Run before every iteration, in this order; the prompt shows what they print.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandPlan>,
    /// What `{{ args.NAME }}` stands for in the prompt.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<String, String>,
    /// Ask the agent for a `Co-authored-by` trailer in its commits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub credit: bool,
    /// Who takes over when the agent's limits or outages last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<AgentPlan>,
    /// What tokens cost, by the user's word; before what ralph knows of prices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<Price>,
    /// When the loop goes on, waits and stops.
    pub event_loop: EventLoop,
    /// What all runs together may spend.
    #[serde(default, skip_serializing_if = "is_default")]
    pub budget: Budget,
    /// How much of its windows the agent's plan may be used.
    #[serde(default, skip_serializing_if = "is_default")]
    pub quota: Quota,
    pub pace: Pace,
    /// What to do while there is nothing to do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub idle: Idle,
    /// What to do while somebody else has to act.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_state: OnState,
    /// What ends such waits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wake: Wake,
    /// Whether `<promise>…</promise>`, with the text of `completion_signal`, claims completion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_on_completion_signal: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_signal: Option<String>,
    /// What a claim of completion is, and what it has to stand.
    #[serde(default)]
    pub stop: Stop,
    /// The checks that ralph itself runs, in the order of the definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// How many gates run at the same time. Nothing: as many as the machine has cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_jobs: Option<u32>,
    /// Files that no iteration may change, beside those that the gates run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub protect: ProtectLists,
    #[serde(default, skip_serializing_if = "is_default")]
    pub protect_policy: ProtectPolicy,
    /// Files that are no part of a proof.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proof_ignore: Vec<String>,
    /// What keeps the processes of an agent together.
    #[serde(default, skip_serializing_if = "is_default")]
    pub contain: Contain,
    /// What its programs may reach.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sandbox: SandboxPlan,
    /// What its programs may use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// Whether the machine is held awake for the time of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_awake: bool,
    /// Whether the tree is saved before the first iteration and after each one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checkpoints: Switch,
    /// The worktree that the run was given, where it does not work in the person's own checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorktreePlan>,
    /// What counts as being stuck.
    #[serde(rename = "loop_detection")]
    pub stuck: StuckPlan,
    /// What is carried from one iteration to the next.
    #[serde(default = "Memory::off")]
    pub memory: Memory,
    /// What else of earlier iterations a prompt repeats.
    #[serde(default, skip_serializing_if = "is_default")]
    pub context: Context,
    /// What every prompt repeats.
    #[serde(default, skip_serializing_if = "is_default")]
    pub core: Core,
    /// One pass instead of a loop.
    pub once: bool,
    /// Also write what each iteration printed into this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_dir: Option<PathBuf>,
    /// What else is secret on a line of output, as patterns of the user's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redact: Vec<value::Regex>,
    /// Variables of ralph's environment whose values are secret, whatever they are called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redact_env: Vec<String>,
    /// Keys that agents use and never have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretPlan>,
    /// The roles, where there is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hats: Option<Box<HatsPlan>>,
}

impl Plan {
    /// A plan with every default.
    pub fn new(name: impl Into<String>, workspace: impl Into<PathBuf>, task: Task, agent: AgentPlan) -> Self {
        Self {
            name: name.into(),
            workspace: workspace.into(),
            source: None,
            preset: None,
            task,
            agent,
            commands: Vec::new(),
            args: BTreeMap::new(),
            credit: false,
            fallback: Vec::new(),
            prices: Vec::new(),
            event_loop: EventLoop::default(),
            budget: Budget::default(),
            quota: Quota::default(),
            pace: Pace::default(),
            idle: Idle::default(),
            on_state: OnState::default(),
            wake: Wake::default(),
            stop_on_completion_signal: false,
            completion_signal: None,
            stop: Stop::default(),
            gates: Vec::new(),
            gate_jobs: None,
            protect: ProtectLists::default(),
            protect_policy: ProtectPolicy::default(),
            proof_ignore: Vec::new(),
            contain: Contain::default(),
            sandbox: SandboxPlan::default(),
            limits: Limits::default(),
            keep_awake: false,
            checkpoints: Switch::default(),
            worktree: None,
            stuck: StuckPlan::default(),
            memory: Memory::default(),
            context: Context::default(),
            core: Core::default(),
            once: false,
            log_dir: None,
            redact: Vec::new(),
            redact_env: Vec::new(),
            secrets: Vec::new(),
            hats: None,
        }
    }
}

impl Plan {
    /// The plan as a value, in which texts can be looked for. One copy of this serves all crates.
    pub fn to_value(&self) -> Result<serde_json::Value, serde_json::Error> {
        serde_json::to_value(self)
    }

    /// The plan that such a value holds.
    pub fn from_value(value: &serde_json::Value) -> Result<Plan, serde_json::Error> {
        // By way of text: journals are read so too, and the program holds only one copy of the reader.
        serde_json::from_slice(&serde_json::to_vec(value)?)
    }

    /// Whether anything can refuse a claim. `tools_told`: the agents tell how their commands ended.
    pub fn can_refuse(&self, tools_told: bool) -> bool {
        self.gates.iter().any(|gate| gate.required)
            || tools_told && self.stop.require_no_errors != NoErrors::Off
            || self.stop.required().next().is_some()
    }
}

/// Where the task's text comes from. Files are read again before every iteration, so they can be edited during a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    Text(String),
    File(PathBuf),
    /// The body of a RALPH.md. It is sent as written, without ralph's own rules around it.
    RalphMd(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPlan {
    /// The agent's name in the list of those that ralph knows; `command` for any other program.
    #[serde(default = "any_command")]
    pub name: String,
    pub program: String,
    pub args: Vec<String>,
    pub prompt: PromptVia,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, EnvValue>,
    /// The format of its output.
    #[serde(default = "plain_text")]
    pub output: String,
    /// Which of these switch off permission questions. For the person to see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bypass: Vec<String>,
    /// The model, for the price of its tokens, where the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn any_command() -> String {
    "command".to_owned()
}

fn plain_text() -> String {
    "text".to_owned()
}

impl AgentPlan {
    /// Whether its output is a stream that shows its work.
    pub fn shows_work(&self) -> bool {
        self.output != plain_text()
    }

    /// What a person calls it: its name, or the program where nothing more is known of it.
    pub fn called(&self) -> &str {
        if self.name == any_command() { &self.program } else { &self.name }
    }

    /// Any program that takes its prompt on standard input and prints text.
    pub fn command(program: impl Into<String>) -> Self {
        Self {
            name: any_command(),
            program: program.into(),
            args: Vec::new(),
            prompt: PromptVia::Stdin,
            env: BTreeMap::new(),
            output: plain_text(),
            bypass: Vec::new(),
            model: None,
        }
    }
}

/// A command whose output is part of the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPlan {
    pub name: String,
    /// The program and its arguments, with the user's arguments in their places.
    pub words: Vec<String>,
    /// Where it runs.
    pub cwd: PathBuf,
    #[serde(rename = "timeout_ms", with = "millis")]
    pub timeout: Duration,
    /// It may run together with those beside it that may as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parallel: bool,
}

impl CommandPlan {
    /// The time a command has, unless its definition says otherwise.
    pub const TIMEOUT: Duration = Duration::from_secs(60);
}

/// US dollars for a million tokens of each kind. A `*` in the model's name stands for any text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    pub model: String,
    pub input: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    pub output: f64,
}

/// How the prompt reaches the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptVia {
    Stdin,
    /// By the agent's dialogue: its standard input stays open, and it is answered there.
    Dialogue,
    /// As the last argument, behind a flag where the agent wants one.
    Arg {
        flag: Option<String>,
    },
    /// As the last argument: the path of a file that holds it, behind a flag where the agent wants one.
    File {
        flag: Option<String>,
    },
}

/// Waits for the agent's service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// After an outage.
    pub outage_backoff: Backoff,
    /// At a usage limit that does not say when it ends.
    pub limit_backoff: Backoff,
    /// After this many limit or outage waits that are longer than `fallback_wait` the next agent takes over.
    pub fallback_after: u32,
    #[serde(rename = "fallback_wait_ms", with = "millis")]
    pub fallback_wait: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            outage_backoff: Backoff::outage(),
            limit_backoff: Backoff::limit(),
            fallback_after: 2,
            fallback_wait: Duration::from_secs(300),
        }
    }
}

impl Task {
    /// What is known of it without reading a file.
    pub fn text(&self) -> Option<&str> {
        match self {
            Task::Text(text) => Some(text),
            Task::File(_) | Task::RalphMd(_) => None,
        }
    }

    /// Whether ralph adds its own rules around the text.
    pub fn gets_rules(&self) -> bool {
        !matches!(self, Task::RalphMd(_))
    }
}
