//! The arguments of what is about the net under the code.

use clap::Args as ClapArgs;

use super::{PickArgs, WorkspaceArg};

pub const DIFF_HELP: &str = "\
Examples:
  ralph diff                  what the last iteration changed
  ralph diff 3                what iteration 3 changed
  ralph diff 3..7             from after iteration 3 to after iteration 7; 0 is before the run
  ralph diff --since-start --stat";

pub const UNDO_HELP: &str = "\
What is there now is saved first, and the last line says how to come back to it. Commits, branches, the index and the stash \
stay as they are, unless --hard says so. Files that git ignores are never removed. Refused while a run works there.

Examples:
  ralph undo                  as before the run
  ralph undo --to 7           as after iteration 7
  ralph undo --to undo-1      undo the first undo";

pub const BISECT_HELP: &str = "\
The gate runs in a copy of the workspace, on the checkpoints of the run, until the iteration is found. Exit code 0: it is \
found. 1: the gate passes at the end, or never did.";

/// The net under the code, on `run`.
#[derive(Debug, Default, ClapArgs)]
pub struct NetArgs {
    /// Work in a git worktree of its own, on branch ralph/NAME [default name: the time]
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub worktree: Option<String>,
    /// Do not save the tree before and after each iteration
    #[arg(long)]
    pub no_checkpoints: bool,
    /// Make the workspace a git repository, if it is in none
    #[arg(long)]
    pub git_init: bool,
    /// Work in this folder even if it is your home folder or one of the system's
    #[arg(long)]
    pub here: bool,
}

#[derive(Debug, ClapArgs)]
pub struct DiffArgs {
    /// A run: its id or either end of it, its name, or its folder [default: the live or else the last one of this workspace]
    pub run: Option<String>,
    /// N: what iteration N changed; N..M: from after N to after M [default: the last iteration]
    #[arg(value_name = "N|N..M")]
    pub range: Option<String>,
    /// From before the run; without N to its last checkpoint
    #[arg(long)]
    pub since_start: bool,
    /// Only which files, and how much
    #[arg(long)]
    pub stat: bool,
    /// Print straight out, also on a terminal; else $PAGER or `less -R` shows it there
    #[arg(long)]
    pub no_pager: bool,
    #[command(flatten)]
    pub at: WorkspaceArg,
    /// Print JSON: the two checkpoints, and which files differ
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct UndoArgs {
    #[command(flatten)]
    pub pick: PickArgs,
    /// The state after this iteration; also the name of a checkpoint, or the beginning of its commit [default: before the run]
    #[arg(long, value_name = "N")]
    pub to: Option<String>,
    /// Also set the branch, HEAD and the index back to the commit that was checked out then
    #[arg(long)]
    pub hard: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, ClapArgs)]
pub struct BisectArgs {
    /// A run, and behind it the gate; the gate alone means the live or else the last run of this workspace
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The name of the gate
    #[arg(value_name = "GATE")]
    pub gate: Option<String>,
    #[command(flatten)]
    pub at: WorkspaceArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
