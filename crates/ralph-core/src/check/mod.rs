//! Tests, linters, type checkers and builds that an agent ran, as facts. The recognition of a check in a command line is the business
//! of `ralph-evidence`; here stands what was recognised, and the [`Ledger`] folds it.

mod ledger;

use serde::{Deserialize, Serialize};

pub use ledger::{Failing, Ledger, Settled};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Test,
    Lint,
    Typecheck,
    Build,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Test, Kind::Lint, Kind::Typecheck, Kind::Build];

    /// In a sentence: "no … passed".
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Test => "test",
            Kind::Lint => "lint",
            Kind::Typecheck => "typecheck",
            Kind::Build => "build",
        }
    }
}

/// A command that counts as a check: its first words, where `*` in a word stands for anything. `./ci *` is `./ci` with at
/// least one argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtraPattern {
    pub kind: Kind,
    pub command: String,
}

/// What a run of a check came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    Passed,
    Failed,
    /// It has not ended, its status is lost, or it never ran.
    #[default]
    Unknown,
}

/// A check that an agent's command ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CheckRun {
    pub kind: Kind,
    /// What is run, without wrappers: `npm test`, `cargo nextest`.
    pub program: String,
    /// The folder, relative to the workspace, where the command line says so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dir: String,
    /// The program, what is chosen of it, and where: what tells this check from others.
    pub command: String,
    /// All of it is run: nothing on the command line chooses a part.
    pub whole: bool,
    /// Words on the command line that take in more, or look harder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wider: Vec<String>,
    /// It compiles the program: a pass shows that what the same tool only checks or builds is right as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compiles: bool,
    pub result: CheckResult,
}

impl CheckRun {
    /// Whether a pass of this one is a pass of that one too: the same program in the same place, and all of it.
    fn covers(&self, part: &CheckRun) -> bool {
        let same = self.kind == part.kind && self.program == part.program && self.dir == part.dir;
        same && self.whole && part.wider.iter().all(|word| self.wider.contains(word))
    }

    /// Whether a pass of this one settles what that one found: `cargo build` or `cargo test` a `cargo check`.
    fn settles(&self, other: &CheckRun) -> bool {
        let tool = |check: &CheckRun| check.program.split(' ').next().unwrap_or_default().to_owned();
        let only_compiled = matches!(other.kind, Kind::Typecheck | Kind::Build);
        self.compiles && only_compiled && self.dir == other.dir && tool(self) == tool(other)
    }
}
