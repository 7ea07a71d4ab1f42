//! The definition of a run: one schema for `ralph.yml`, for the frontmatter of `RALPH.md` and for the user's
//! `config.yml`. A new setting is a new field with a doc comment; keys, schema and `ralph check --show` follow.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::{AgentDef, CliDef, CommandLine};
use super::commands::{CommandDef, Name};
use super::hats::{Hats, PatternText, TopicText};
use super::idle::{Idle, OnState, WakeDef};
use super::loop_detection::LoopDetectionDef;
use super::memory::{ContextDef, CoreDef, MemoryDef};
use super::proof::{GateDef, StopDef};
use super::value::{Count, Delay, Factor, Limit, Price, Ratio, Text, Timeout, Usd};

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
    /// Wait while the agent says `<!-- ralph:state idle -->`, longer each time. An empty mapping has every default; not set:
    /// an idle iteration is only reported.
    pub idle: Idle,
    /// What to do while the agent says `<!-- ralph:state blocked -->` or `<!-- ralph:state waiting_for_review -->`.
    pub on_state: OnState,
    /// What ends such waits as soon as there is work.
    pub wake: WakeDef,
    /// Whether to loop. `false` makes a single pass, recorded the same way.
    pub enabled: bool,
    /// When the loop goes on, waits and stops.
    pub event_loop: EventLoop,
    /// What the agent says to claim completion, and what has to hold before it is believed.
    pub stop: StopDef,
    /// Checks that ralph itself runs; a required one that fails refuses a claim of completion.
    pub gates: Vec<GateDef>,
    /// How many gates run at the same time. Not set: as many as the machine has cores.
    pub gate_jobs: Option<Count>,
    /// What counts as going in circles, and what to do about it.
    pub loop_detection: LoopDetectionDef,
    /// What prompts tell of earlier iterations.
    pub memory: MemoryDef,
    /// What else of earlier iterations a prompt repeats.
    pub context: ContextDef,
    /// What every prompt repeats.
    pub core: CoreDef,
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
            idle: Idle(None),
            on_state: OnState::default(),
            wake: WakeDef::default(),
            enabled: true,
            event_loop: EventLoop::default(),
            stop: StopDef::default(),
            gates: Vec::new(),
            gate_jobs: None,
            loop_detection: LoopDetectionDef::default(),
            memory: MemoryDef::default(),
            context: ContextDef::default(),
            core: CoreDef::default(),
            hats: Hats::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
pub struct EventLoop {
    /// Stop after this many iterations. `none` lifts the limit, as long as `max_runtime` holds.
    pub max_iterations: Limit<Count>,
    /// Stop after this much time of work, also in the middle of an iteration. Waits and pauses do not count.
    /// `none` lifts the limit, as long as `max_iterations` holds.
    pub max_runtime: Limit<Timeout>,
    /// Stop after this much time in all, waits and pauses included. It cannot be lifted.
    pub max_wall_time: Timeout,
    /// Stop when the agents have cost this many US dollars, as they report it.
    pub max_cost_usd: Limit<Usd>,
    /// Stop when the agents have used this many tokens of all kinds. For when prices are not known.
    pub max_tokens: Limit<Count>,
    /// The longest wait for a usage limit to end; a longer one ends the run as blocked.
    pub max_wait: Timeout,
    /// Outages of the agent's service in a row that are waited out before they count as failed iterations.
    pub max_outages: Count,
    /// Stop after this many failed iterations in a row.
    pub max_consecutive_failures: Count,
    /// Kill an agent that works longer than this on one iteration; the iteration has failed.
    pub iteration_timeout: Timeout,
    /// Kill an agent that prints nothing for this long; the iteration has failed. Not set: 10m for an agent whose
    /// output shows its work, `none` for a plain command.
    pub silence_timeout: Option<Limit<Timeout>>,
    /// Wait this long between two iterations.
    pub delay: Delay,
    /// How long to wait after a failed iteration.
    pub failure_backoff: FailureBackoff,
    /// Stop at the first failed iteration.
    pub stop_on_error: bool,
    /// How often an iteration that was interrupted by a crash is run again under its number.
    pub max_attempts: Count,
    /// A line that the agent prints, alone on a line, to say that the task is done. The line
    /// `<ralph>COMPLETE</ralph>` always says so.
    pub completion_promise: Option<Text>,
    /// Kill processes that an agent, a gate or a command leaves behind when it ends.
    pub kill_leftovers: bool,
    /// With hats: the topic that is published when the run starts, with the task as its payload. Not set: `task.start`.
    pub starting_event: Option<TopicText>,
    /// With hats: topics that must have been published since files last changed before the run can be complete.
    pub required_events: Vec<PatternText>,
    /// With hats: stop as failed when a hat publishes a topic that ends in `.blocked` this often in a row about the same
    /// task.
    pub max_consecutive_blocked: Count,
    /// Compare outputs line by line. `true`: an output that is as good as the same as one of the last ends the run. `false`: nobody
    /// compares. Not set: a match is told, and supports what `loop_detection` decides.
    pub enable_similarity_detection: Option<bool>,
    /// How many of the last outputs each one is compared with. Not set: 5. Setting it means `enable_similarity_detection: true`.
    pub similarity_window_size: Option<Count>,
    /// How much alike two outputs have to be, from 0 to 1. Not set: 0.9. Setting it means `enable_similarity_detection: true`.
    pub similarity_threshold: Option<Ratio>,
}

impl Default for EventLoop {
    fn default() -> Self {
        Self {
            max_iterations: Limit::At(Count(100)),
            max_runtime: Limit::At(hours(4)),
            max_wall_time: hours(7 * 24),
            max_cost_usd: Limit::Lifted,
            max_tokens: Limit::Lifted,
            max_wait: hours(24),
            max_outages: Count(8),
            max_consecutive_failures: Count(5),
            iteration_timeout: hours(2),
            silence_timeout: None,
            delay: Delay(Duration::ZERO),
            failure_backoff: FailureBackoff::default(),
            stop_on_error: false,
            max_attempts: Count(3),
            completion_promise: None,
            kill_leftovers: true,
            starting_event: None,
            required_events: Vec::new(),
            max_consecutive_blocked: Count(3),
            enable_similarity_detection: None,
            similarity_window_size: None,
            similarity_threshold: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a mapping")]
pub struct FailureBackoff {
    /// The wait after the first failure.
    pub initial: Timeout,
    /// Each further failure in a row waits this many times longer.
    pub factor: Factor,
    /// No wait is longer than this.
    pub max: Timeout,
}

impl Default for FailureBackoff {
    fn default() -> Self {
        Self {
            initial: Timeout(Duration::from_secs(1)),
            factor: Factor(2.0),
            max: Timeout(Duration::from_secs(60)),
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

fn hours(count: u64) -> Timeout {
    Timeout(Duration::from_secs(count * 3600))
}
