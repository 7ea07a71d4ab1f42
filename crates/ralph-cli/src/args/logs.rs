//! What `ralph logs` takes.

use clap::Args as ClapArgs;

use super::PickArgs;

#[derive(Debug, ClapArgs)]
pub struct LogsArgs {
    #[command(flatten)]
    pub pick: PickArgs,
    /// This iteration [default: the newest]
    #[arg(short, long, value_name = "N", conflicts_with = "all")]
    pub iteration: Option<u32>,
    /// All iterations, with a line above each
    #[arg(short, long)]
    pub all: bool,
    /// Go on with what is printed until the run has ended
    #[arg(short, long, conflicts_with_all = ["all", "iteration", "json", "gate", "prompt"])]
    pub follow: bool,
    /// What this gate printed: the last time that it ran, or after the iteration of -i
    #[arg(long, value_name = "NAME", conflicts_with_all = ["all", "json", "prompt"])]
    pub gate: Option<String>,
    /// The prompt, as it was sent
    #[arg(long, conflicts_with = "json")]
    pub prompt: bool,
    /// As it was printed, with the agent's own format and escape sequences
    #[arg(long, conflicts_with_all = ["json", "prompt"])]
    pub raw: bool,
    /// Print straight out, also on a terminal; else $PAGER or `less -R` shows it there
    #[arg(long)]
    pub no_pager: bool,
    /// Print JSON: which attempts there are, how much each printed, and the file that has it
    #[arg(long)]
    pub json: bool,
}
