//! The arguments, with the help that teaches them.

mod logs;
mod net;

mod gates;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, CommandFactory, Parser};
use ralph_evidence::detector::{DETECTORS, DetectorDef};

use ralph_config::Given;

pub use gates::*;

pub use logs::LogsArgs;
pub use net::{BisectArgs, DiffArgs, NetArgs, UndoArgs};

const BELOW_HELP: &str = "\
New here? `ralph demo` shows the loop at work in seconds. It needs no agent, key or network.

Exit codes:
  0    done: complete, or the single pass of --once ended well
  1    failed: too many failures or refused claims, stuck, an agent or journal error
  2    usage: bad arguments or definition; nothing was started
  3    limit: iterations, runtime, wall time, cost, tokens or idle time
  4    blocked: needs a person
  5    busy: another run holds this workspace
  130, 143, 129  interrupted by Ctrl-C or `ralph stop`, SIGTERM, SIGHUP

Environment:
  RALPH_STATE_DIR  where runs are kept, instead of ~/.local/state/ralph
  RUST_LOG         writes a log of the program to `ralph.log` in that folder: `warn`, `ralph=debug`";

const RESUME_HELP: &str = "\
A limit that is not given stays as the run has it. The run goes on with its memory and its counters; one that was complete has to \
prove its claim again.

Examples:
  ralph resume                             the last run of this workspace
  ralph resume RUN -n 20 --max-cost 10     with limits raised
  ralph resume RUN -p 'and now the docs'   with more to do";

const LIST_HELP: &str = "\
Below each run stands what it is about, what it waits for, and what to type where it needs you. A run that is over needs nobody \
once another one was started in its workspace. Where runs of other workspaces need you, the last line says so.";

/// Runs a coding agent again and again on one task, each time with a fresh context, until the task is done or there is a
/// good reason to stop.
#[derive(Debug, Parser)]
#[command(name = "ralph", version, about, arg_required_else_help = true, after_help = BELOW_HELP)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Subcommand,
}

impl Args {
    /// Adds what is for the ralph that is run.
    pub fn with_given(mut self, given: Vec<Given>, options: Vec<String>) -> Self {
        if let Subcommand::Run(run) = &mut self.command {
            (run.given, run.options) = (given, options);
        }
        self
    }
}

/// The whole command line, for completions and generated documentation.
pub fn command() -> clap::Command {
    Args::command()
}

/// The defaults of the limits are those of a new run.
fn without_default(arg: clap::Arg) -> clap::Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    match help.split_once(" [default: ").filter(|_| !arg.is_positional()) {
        Some((help, _)) => arg.help(help.to_owned()),
        None => arg,
    }
}

#[derive(Debug, clap::Subcommand)]
pub enum Subcommand {
    /// Run an agent in a loop
    #[command(after_help = crate::docs::run_help())]
    Run(Box<RunArgs>),
    /// Continue a run that was stopped, killed or cut off, or with -p one that is complete
    #[command(mut_args(without_default), after_help = RESUME_HELP)]
    Resume(ResumeArgs),
    /// Show the live screen of a run that works elsewhere, with its keys
    Attach(AttachArgs),
    /// Wait until runs have ended, and end with their exit code
    Wait(WaitArgs),
    /// List the runs of this workspace, those that need you first
    #[command(after_help = LIST_HELP)]
    List(ListArgs),
    /// Show what was spent, by all runs of this state folder
    Cost(CostArgs),
    /// Show where a run stands
    Status(ShowArgs),
    /// Show the events of a run; with hats, what they published (`--type '*'` shows everything)
    Events(EventsArgs),
    /// Show what the agent said and did, its prompt, or what a gate printed
    Logs(LogsArgs),
    /// Show every limit of a run with its current value, and why it stopped
    Explain(ShowArgs),
    /// Show an old run as if it were running now
    Replay(ReplayArgs),
    /// Stop a run: let its iteration finish, then end
    Stop(StopArgs),
    /// Show what an iteration or the run changed
    #[command(after_help = net::DIFF_HELP)]
    Diff(DiffArgs),
    /// Bring the tree back as it was before the run, or after an iteration
    #[command(after_help = net::UNDO_HELP)]
    Undo(UndoArgs),
    /// Find the iteration that broke a gate
    #[command(after_help = net::BISECT_HELP)]
    Bisect(BisectArgs),
    /// Pause a run after its current iteration
    Pause(ControlArgs),
    /// Let a paused run go on
    Unpause(UnpauseArgs),
    /// Give guidance that the next prompt carries
    Say(SayArgs),
    /// Publish a topic; for the agent inside a run
    Emit(EmitArgs),
    /// Remove old runs
    Clean(CleanArgs),
    /// Try stuck detection on recorded iterations
    Detect(DetectArgs),
    /// Validate a definition, and say what its hats can and cannot reach
    Check(CheckArgs),
    /// List the gates, run them now, or see which cheats they would let through
    Gates(GatesArgs),
    /// Try what keeps agents together and confines them on this machine
    Doctor(DoctorArgs),
    /// Draw hats and topics
    Graph(GraphArgs),
    /// Write a ralph.yml to start from
    Init(InitArgs),
    /// List the definitions that come with ralph
    Presets(PresetsArgs),
    /// See the loop at work on a small task, in seconds: no agent, key or network needed
    Demo(DemoArgs),
    /// Print the JSON Schema of ralph.yml and of a RALPH.md's frontmatter, or of what `--json` prints
    Schema(SchemaArgs),
    /// What works in the agent's place in the demo
    #[command(name = "__demo-agent", hide = true)]
    DemoAgent,
    /// Print a table of the documentation that is derived from the program
    #[command(name = "__doc", hide = true)]
    Doc { name: String },
}

#[derive(Debug, ClapArgs)]
pub struct DoctorArgs {}

/// Where the work happens.
#[derive(Debug, ClapArgs)]
pub struct WorkspaceArg {
    /// Work in this folder instead of the current one
    #[arg(short = 'C', value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub workspace: PathBuf,
}

/// A run, and the workspace that is meant when none is named.
#[derive(Debug, ClapArgs)]
pub struct PickArgs {
    /// A run: its id or either end of it, its name, or its folder [default: the live or else the last one of this workspace]
    pub run: Option<String>,
    #[command(flatten)]
    pub at: WorkspaceArg,
}

/// Limits, on `run` and on `resume`.
#[derive(Debug, ClapArgs)]
pub struct LimitArgs {
    /// Stop after this many iterations, or `none` [default: 100]
    #[arg(short = 'n', long, value_name = "N", allow_hyphen_values = true)]
    pub max_iterations: Option<String>,
    /// Stop after this much working time, or `none`: 90s, 30m, 6h [default: 4h]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    pub max_runtime: Option<String>,
    /// Stop when this many US dollars are spent
    #[arg(long, value_name = "USD", allow_hyphen_values = true)]
    pub max_cost: Option<String>,
    /// Kill an iteration after this long [default: 2h]
    #[arg(short = 't', long = "timeout", value_name = "D", allow_hyphen_values = true)]
    pub iteration_timeout: Option<String>,
    /// Stop after the first failed iteration
    #[arg(short = 's', long)]
    pub stop_on_error: bool,
}

/// What the screen shows.
#[derive(Debug, ClapArgs)]
pub struct ScreenArgs {
    /// Print every event as one line of JSON, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Print only how it ended
    #[arg(short, long, conflicts_with_all = ["verbose", "json"])]
    pub quiet: bool,
    /// Also print what the agent says
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,
}

#[derive(Debug, ClapArgs)]
pub struct RunArgs {
    /// A RALPH.md, a folder that has one, a ralph.yml, or the name of a ralph under .agents/ralphs [default: the
    /// workspace's ralph.yml or RALPH.md; with -p, -f or --preset its ralph.yml, if it has one]
    pub target: Option<String>,
    /// Arguments for the ralph, by position or as `--NAME VALUE`; everything behind `--` is for it
    #[arg(value_name = "ARGS")]
    pub args: Vec<String>,
    #[arg(skip)]
    pub given: Vec<Given>,
    /// The long names of ralph's own options, for a word that looks like one.
    #[arg(skip)]
    pub options: Vec<String>,
    /// The task
    #[arg(short, long, value_name = "TEXT", conflicts_with = "prompt_file", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    /// Read the task from this file, again before every iteration
    #[arg(short = 'f', long, value_name = "FILE")]
    pub prompt_file: Option<String>,
    /// The agent: a command line, split into words without a shell
    #[arg(short, long, value_name = "AGENT")]
    pub agent: Option<String>,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Wait this long between iterations
    #[arg(short, long, value_name = "D", allow_hyphen_values = true)]
    pub delay: Option<String>,
    /// Make a single pass instead of a loop
    #[arg(long)]
    pub once: bool,
    /// Start from a definition that comes with ralph; TARGET lies over it. `ralph presets` lists them
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// What the agent may reach: off, workspace or strict
    #[arg(long, value_name = "LEVEL")]
    pub sandbox: Option<String>,
    /// Set any key of the definition by its path, such as event_loop.max_iterations=5
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    #[command(flatten)]
    pub at: WorkspaceArg,
    /// Also write what each iteration prints into this folder
    #[arg(short = 'l', long, value_name = "DIR")]
    pub log_dir: Option<PathBuf>,
    #[command(flatten)]
    pub net: NetArgs,
    /// Print the resolved plan and the first prompt; start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Work in the background, without a terminal; `ralph attach` shows it
    #[arg(long, conflicts_with = "dry_run")]
    pub detach: bool,
    #[command(flatten)]
    pub screen: ScreenArgs,
}

#[derive(Debug, ClapArgs)]
pub struct ResumeArgs {
    #[command(flatten)]
    pub pick: PickArgs,
    /// Say this to the run as it goes on; also opens a run again that is complete
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub prompt: Option<String>,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Set a key of event_loop or loop_detection by its path, such as event_loop.max_wall_time=14d
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Give a hat all of its activations again, and what it was not given. May be given more than once
    #[arg(long, value_name = "HAT")]
    pub reset_hat: Vec<String>,
    /// Go on from the last sound record of a damaged journal; a copy of it is kept
    #[arg(long)]
    pub recover: bool,
    /// Work in the background, without a terminal; `ralph attach` shows it
    #[arg(long)]
    pub detach: bool,
    #[command(flatten)]
    pub screen: ScreenArgs,
}

#[derive(Debug, ClapArgs)]
pub struct AttachArgs {
    #[command(flatten)]
    pub pick: PickArgs,
    #[command(flatten)]
    pub screen: ScreenArgs,
}

#[derive(Debug, ClapArgs)]
pub struct WaitArgs {
    /// Runs: ids or either end of one, names, or folders [default: the live or else the last one of this workspace]
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub at: WorkspaceArg,
}

#[derive(Debug, ClapArgs)]
pub struct CostArgs {
    /// What a row stands for
    #[arg(long, value_enum, default_value_t = CostBy::Day)]
    pub by: CostBy,
    /// Only what was spent since then: a time back such as 7d, or a date such as 2026-01-31
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CostBy {
    Day,
    Run,
    Model,
    Hat,
    Agent,
    Task,
}

#[derive(Debug, ClapArgs)]
pub struct ListArgs {
    /// The runs of every workspace
    #[arg(short, long)]
    pub all: bool,
    #[command(flatten)]
    pub at: WorkspaceArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ShowArgs {
    #[command(flatten)]
    pub pick: PickArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct SchemaArgs {
    /// Of an event, as every `--json` prints it, one a line
    #[arg(long, conflicts_with_all = ["snapshot", "detect"])]
    pub events: bool,
    /// Of a run as `ralph status --json` and `ralph explain --json` print it
    #[arg(long, conflicts_with = "detect")]
    pub snapshot: bool,
    /// Of a case, and of a run as a whole, as `ralph detect --json` prints them
    #[arg(long)]
    pub detect: bool,
}

#[derive(Debug, ClapArgs)]
pub struct EventsArgs {
    #[command(flatten)]
    pub pick: PickArgs,
    /// Go on printing until the run stops
    #[arg(short, long)]
    pub follow: bool,
    /// Only this type, such as iteration.finished; `iteration.*` for all of a kind. May be given more than once
    #[arg(long = "type", value_name = "TYPE")]
    pub types: Vec<String>,
    /// Only published topics that match, such as `review.*`
    #[arg(long, value_name = "PATTERN", conflicts_with = "types")]
    pub topic: Option<String>,
    /// Count published topics, by who published them and who got them
    #[arg(long, conflicts_with_all = ["types", "follow", "last"])]
    pub count: bool,
    /// Only this iteration
    #[arg(short, long, value_name = "N")]
    pub iteration: Option<u32>,
    /// Only the last N that match
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Print one line of JSON per event
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct DetectArgs {
    #[command(flatten)]
    pub pick: PickArgs,
    /// Other settings, such as loop_detection.patience=2 or event_loop.similarity_threshold=0.8
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Instead of a run a file of cases, one JSON object a line: {"id", "iterations": [{"output", "tools"?, "failed"?,
    /// "state"?}]}
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub cases: Option<PathBuf>,
    /// Print one line per case, {"id", "fired_at", "stop_at"}: after which iterations the first alarm and the stop come, counted from 0
    #[arg(long, requires = "cases")]
    pub predictions: bool,
    /// Which detector is asked [default: all of them for a run, no_progress for cases]
    #[arg(long, value_name = "NAME", value_parser = detectors())]
    pub detector: Option<String>,
    /// Tell one case in words: what each iteration scores, why, and what would have been done about it
    #[arg(long, value_name = "ID", requires = "cases", conflicts_with_all = ["predictions", "detector"])]
    pub explain: Option<String>,
    /// Print one JSON object a line: what each detector says after each iteration of a run, then the run as a whole; or each case as a
    /// whole (`ralph schema --detect`)
    #[arg(long, conflicts_with_all = ["predictions", "explain"])]
    pub json: bool,
}

fn detectors() -> clap::builder::PossibleValuesParser {
    let one =
        |def: &'static DetectorDef| clap::builder::PossibleValue::new(def.key.as_str()).help(def.summary);
    DETECTORS.iter().map(one).collect::<Vec<_>>().into()
}

/// A run that is asked for something.
#[derive(Debug, ClapArgs)]
pub struct ControlArgs {
    #[command(flatten)]
    pub pick: PickArgs,
    /// Print JSON: the run, what comes of it in words, and the events
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub pick: PickArgs,
    /// Feed the recorded inputs to a fresh engine and report any decision that differs
    #[arg(long)]
    pub verify: bool,
    #[command(flatten)]
    pub screen: ScreenArgs,
}

#[derive(Debug, ClapArgs)]
pub struct StopArgs {
    #[command(flatten)]
    pub control: ControlArgs,
    /// End the agent at once instead of letting the iteration finish
    #[arg(long)]
    pub now: bool,
}

#[derive(Debug, ClapArgs)]
pub struct UnpauseArgs {
    #[command(flatten)]
    pub control: ControlArgs,
    /// Also end a wait, even one for a usage limit
    #[arg(long)]
    pub now: bool,
}

#[derive(Debug, ClapArgs)]
pub struct SayArgs {
    /// The guidance; `-` reads it from standard input
    #[arg(required_unless_present = "reset_hat")]
    pub text: Option<String>,
    /// Give a hat all of its activations again, and what it was not given. May be given more than once
    #[arg(long, value_name = "HAT")]
    pub reset_hat: Vec<String>,
    /// A run: its id or either end of it, its name, or its folder [default: the live or else the last one of this workspace]
    #[arg(long)]
    pub run: Option<String>,
    #[command(flatten)]
    pub at: WorkspaceArg,
    /// Print JSON: the run, what comes of it in words, and the events
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct CleanArgs {
    /// Remove runs whose last event is older than this, such as 7d [default: 30d, unless --keep is given]
    #[arg(long, value_name = "D")]
    pub older_than: Option<String>,
    /// Keep this many runs of each workspace, those that worked last
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// In every workspace
    #[arg(short, long)]
    pub all: bool,
    /// Say what would be removed; remove nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub at: WorkspaceArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct EmitArgs {
    /// The topic, such as review.approved
    pub topic: String,
    /// What goes with it; `-` reads it from standard input
    #[arg(allow_hyphen_values = true)]
    pub payload: Option<OsString>,
    /// What goes with it, which has to be JSON
    #[arg(long, value_name = "JSON", conflicts_with = "payload", allow_hyphen_values = true)]
    pub json: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct GraphArgs {
    /// A RALPH.md, a folder that has one, a ralph.yml, or the name of a ralph under .agents/ralphs
    pub target: Option<String>,
    /// Draw a run and how often each topic went where; without RUN the live or else the last one of this workspace
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["target", "preset"])]
    pub run: Option<String>,
    /// Print a Mermaid flowchart
    #[arg(long)]
    pub mermaid: bool,
    /// Print an SVG
    #[arg(long, conflicts_with = "mermaid")]
    pub svg: bool,
    /// Print a Graphviz digraph
    #[arg(long, conflicts_with_all = ["mermaid", "svg"])]
    pub dot: bool,
    /// Draw a definition that comes with ralph
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Set any key of the definition by its path
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    #[command(flatten)]
    pub at: WorkspaceArg,
}

#[derive(Debug, ClapArgs)]
pub struct InitArgs {
    /// The definition to write; `ralph presets` lists them
    #[arg(long, value_name = "NAME", default_value = "review-loop")]
    pub preset: String,
    #[command(flatten)]
    pub at: WorkspaceArg,
}

#[derive(Debug, ClapArgs)]
pub struct PresetsArgs {
    /// Print this one
    pub name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct CheckArgs {
    /// A RALPH.md, a folder that has one, a ralph.yml, or the name of a ralph under .agents/ralphs
    pub target: Option<String>,
    /// Print every setting, its value and where it came from
    #[arg(long)]
    pub show: bool,
    /// Check a definition that comes with ralph
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Set any key of the definition by its path
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    #[command(flatten)]
    pub at: WorkspaceArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct DemoArgs {
    /// An empty or a new folder for it [default: a new one among the temporary files]
    pub dir: Option<PathBuf>,
}
