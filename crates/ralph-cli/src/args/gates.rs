//! The arguments of `ralph gates`.

use clap::{Args as ClapArgs, Subcommand};

use super::WorkspaceArg;

/// The checks that decide whether "complete" is true.
#[derive(Debug, ClapArgs)]
pub struct GatesArgs {
    #[command(subcommand)]
    pub command: GatesCommand,
}

#[derive(Debug, Subcommand)]
pub enum GatesCommand {
    /// List the gates, and where each comes from
    List(GatesListArgs),
    /// Run the gates now, without an agent: exit code 0 if every required one passes, else 1
    Run(GatesRunArgs),
    /// Before the first dollar: try a corpus of cheats on a copy of the workspace, and say which ones the gates let through
    #[command(
        after_help = "The workspace is never touched. Exit code 0: no cheat is let through. 1: some are, or the gates \
        do not notice broken code."
    )]
    Audit(GatesAuditArgs),
}

/// Which definition is meant.
#[derive(Debug, ClapArgs)]
pub struct DefinitionArgs {
    /// Start from a definition that comes with ralph
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
pub struct GatesListArgs {
    /// A RALPH.md, a folder that has one, a ralph.yml, or the name of a ralph under .agents/ralphs [default: the workspace's;
    /// without any, the gates that are found in the project]
    pub target: Option<String>,
    #[command(flatten)]
    pub definition: DefinitionArgs,
}

#[derive(Debug, ClapArgs)]
pub struct GatesRunArgs {
    /// The gates to run [default: all of them]
    pub names: Vec<String>,
    /// A RALPH.md, a folder that has one, a ralph.yml, or the name of a ralph under .agents/ralphs
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Run them in a copy of the workspace: also while a run works in it
    #[arg(long)]
    pub copy: bool,
    #[command(flatten)]
    pub definition: DefinitionArgs,
}

#[derive(Debug, ClapArgs)]
pub struct GatesAuditArgs {
    /// A RALPH.md, a folder that has one, a ralph.yml, or the name of a ralph under .agents/ralphs
    pub target: Option<String>,
    /// Only cheats whose name begins so. May be given more than once
    #[arg(long, value_name = "NAME")]
    pub cheat: Vec<String>,
    #[command(flatten)]
    pub definition: DefinitionArgs,
}
