//! The definition of a run: one schema for `ralph.yml`, for the frontmatter of `RALPH.md` and for the user's
//! `config.yml`. A setting is a field of its section in `ralph_core::plan`; keys, schema and `ralph check --show` follow.

use std::time::Duration;

use ralph_core::plan::value::{CommandLine, Count, PathPattern, Price, Regex, Text, Timeout};
use ralph_core::plan::{
    Budget, Contain, Context, Core, EventLoop, Gate, Idle, Limits, Memory, OnState, Protect, ProtectPolicy,
    Quota, SandboxAccess, SandboxFallback, SandboxLevel, Stop, StuckPlan, Switch, Wake, WorktreeLists,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::{AgentDef, CliDef, EnvName};
use super::commands::{CommandDef, Name};
use super::hat_def::Hats;
use super::secrets::SecretDef;

/// What ralph runs, on which prompt, and when it stops.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
#[schemars(title = "ralph definition")]
pub struct Definition {
    /// The agent to run in each iteration: a command line such as `./my-agent.sh` or `claude`, or a mapping with
    /// `command`, `args`, `prompt` and `env`.
    #[schemars(schema_with = "super::agent::agent_schema")]
    pub agent: Option<AgentDef>,
    /// Agents that take over, in this order, while the first one's usage limits or outages last.
    pub fallback: Vec<CommandLine>,
    /// A fallback takes over after this many waits that are longer than `fallback_wait`.
    pub fallback_after: Count,
    /// Shorter waits for a usage limit or an outage do not count towards a fallback.
    pub fallback_wait: Timeout,
    /// What tokens cost, for models that ralph has no price of and agents that do not report their cost.
    pub prices: Vec<PriceDef>,
    /// The agent as ralph-orchestrator writes it. Use `agent` or `cli`, not both.
    pub cli: Option<CliDef>,
    /// The task, as text. In a RALPH.md the body is the prompt.
    pub prompt: Option<Text>,
    /// A file that holds the task, relative to the file that names it. Use `prompt` or `prompt_file`, not both. Without either:
    /// PROMPT.md in the workspace, if it is there.
    pub prompt_file: Option<Text>,
    /// Commands that are run before every iteration, in this order. `{{ commands.NAME }}` in the prompt is what they print.
    pub commands: Vec<CommandDef>,
    /// Whether the commands may run at the same time. Default: one after the other.
    pub parallel: bool,
    /// Names of the arguments that `ralph run` takes for this definition, in this order. `{{ args.NAME }}` stands for
    /// them in the prompt and in commands.
    pub args: Vec<Name>,
    /// Ask the agent for a `Co-authored-by` trailer in its commits. Not set: true for a RALPH.md, else false.
    pub credit: Option<bool>,
    /// Take `<promise>RALPH_PROMISE_COMPLETE</promise>`, alone on a line, for the claim that the task is done.
    pub stop_on_completion_signal: bool,
    /// Another text for that promise.
    pub completion_signal: Option<Text>,
    /// Wait while the agent says `<!-- ralph:state idle -->`, longer each time. Not set, empty or `true`: by the defaults.
    /// `false`: an idle iteration is only reported.
    pub idle: Idle,
    /// What to do while the agent says `<!-- ralph:state blocked -->` or `<!-- ralph:state waiting_for_review -->`.
    pub on_state: OnState,
    /// What ends such waits as soon as there is work.
    pub wake: Wake,
    /// Whether to loop. `false` makes a single pass, recorded the same way.
    pub enabled: bool,
    /// When the loop goes on, waits and stops.
    pub event_loop: EventLoop,
    /// What all runs of this state folder together may spend, by the day and by the week. In the user's `config.yml` it holds
    /// for every run.
    pub budget: Budget,
    /// How much of its plan's windows the agent may use before the run waits for the reset. Only where the agent's stream
    /// tells how much is used; what it does not tell is not known, and holds nothing back.
    pub quota: Quota,
    /// What the agent says to claim completion, and what has to hold before it is believed.
    pub stop: Stop,
    /// Checks that ralph itself runs; a required one that fails refuses a claim of completion. `auto`: those that the project
    /// has already, found from its files at the start.
    #[schemars(schema_with = "super::gates::schema")]
    pub gates: Vec<Gate>,
    /// How many gates run at the same time. Not set: as many as the machine has cores.
    pub gate_jobs: Option<Count>,
    /// Files that no iteration may change, as patterns like those of a `.gitignore`, beside what the gates themselves run; or a
    /// mapping with `paths` and `allow`, the files that may be changed all the same.
    pub protect: Protect,
    /// What to do about a protected file that an iteration changed. `refuse`: claims are refused until the file is as it was.
    /// `warn`: only say so. `restore`: put the file back.
    pub protect_policy: ProtectPolicy,
    /// Files that may change while gates run, as patterns like those of a `.gitignore`: they are no part of the proof.
    pub proof_ignore: Vec<PathPattern>,
    /// What keeps the processes of an agent, a gate or a command together, so that none outlives it. `auto`: a pid namespace where
    /// one is to be had, else a keeper process alone. `namespace`: where there is none nothing is started. `keeper`: programs that
    /// change their user, such as sudo, work.
    pub contain: Contain,
    /// What the agent may reach. `off`: what you may. `workspace`: write only to the workspace, to temporary folders of its own and
    /// where the agent's program keeps its settings; read everything but secrets. `strict`: also read only the workspace, the
    /// system and the toolchains, and no network.
    pub sandbox: SandboxLevel,
    /// The same for gates.
    pub gates_sandbox: SandboxLevel,
    /// What to do where a part of the sandbox or of `limits` cannot be had here. `refuse`: start nothing. `warn`: say so and go on.
    pub sandbox_fallback: SandboxFallback,
    /// What the sandbox hides, and what else it lets through.
    pub sandbox_access: SandboxAccess,
    /// What each agent and gate may use, with all of its processes.
    pub limits: Limits,
    /// Hold the machine awake for the time of the run, by `systemd-inhibit` or `caffeinate`. Where there is neither the run says so.
    pub keep_awake: bool,
    /// Whether the tree is saved before the first iteration and after each one, as commits that no branch has. In git only.
    pub checkpoints: Switch,
    /// What of the files that git ignores a worktree of `--worktree` is given.
    pub worktree: WorktreeLists,
    /// What counts as going in circles, and what to do about it.
    pub loop_detection: StuckPlan,
    /// What prompts tell of earlier iterations.
    pub memory: Memory,
    /// What else of earlier iterations a prompt repeats.
    pub context: Context,
    /// What every prompt repeats.
    pub core: Core,
    /// Patterns of what is secret on a line of output, beside what ralph finds by itself: variables that are called like keys,
    /// tokens and passwords, `agent.env`, and the tokens of well-known services. It is replaced wherever ralph writes.
    pub redact: Vec<Regex>,
    /// Variables of ralph's environment whose values are secret, whatever they are called.
    pub redact_env: Vec<EnvName>,
    /// Keys that the agent uses and never has: it gets a placeholder, and ralph's proxy puts the key into requests to the hosts that
    /// are named. With `sandbox: strict`, and for agents that can be told whom to speak to.
    pub secrets: Vec<SecretDef>,
    /// Several roles on one task, which hand work to each other by publishing topics: a mapping from the name of each hat
    /// to what it hears and may publish.
    pub hats: Hats,
}

impl Default for Definition {
    fn default() -> Self {
        Self {
            agent: None,
            fallback: Vec::new(),
            fallback_after: Count(2),
            fallback_wait: Timeout(Duration::from_secs(300)),
            prices: Vec::new(),
            cli: None,
            prompt: None,
            prompt_file: None,
            commands: Vec::new(),
            parallel: false,
            args: Vec::new(),
            credit: None,
            stop_on_completion_signal: false,
            completion_signal: None,
            idle: Idle::default(),
            on_state: OnState::default(),
            wake: Wake::default(),
            enabled: true,
            event_loop: EventLoop::default(),
            budget: Budget::default(),
            quota: Quota::default(),
            stop: Stop::default(),
            gates: Vec::new(),
            gate_jobs: None,
            protect: Protect::default(),
            protect_policy: ProtectPolicy::default(),
            proof_ignore: Vec::new(),
            contain: Contain::default(),
            sandbox: SandboxLevel::default(),
            gates_sandbox: SandboxLevel::default(),
            sandbox_fallback: SandboxFallback::default(),
            sandbox_access: SandboxAccess::default(),
            limits: Limits::default(),
            keep_awake: false,
            checkpoints: Switch::default(),
            worktree: WorktreeLists::default(),
            loop_detection: StuckPlan::default(),
            memory: Memory::default(),
            context: Context::default(),
            core: Core::default(),
            redact: Vec::new(),
            redact_env: Vec::new(),
            secrets: Vec::new(),
            hats: Hats::default(),
        }
    }
}

/// US dollars for a million tokens of each kind.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a mapping")]
pub struct PriceDef {
    /// The model's name. A `*` stands for any text.
    pub model: Text,
    /// Input that is not served from a cache.
    pub input: Price,
    /// Output, reasoning included.
    pub output: Price,
    /// Input that is served from a cache. Not set: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Price>,
    /// Input that is written to a cache. Not set: as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Price>,
}
