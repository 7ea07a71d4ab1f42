//! What of a run must not be changed by its agent, and what was.

use serde::{Deserialize, Serialize};

use crate::tampering::Finding;

/// The programs of the run, looked up once, at its start: what is put before them on the PATH later is not found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProgramsPinned {
    pub programs: Vec<PinnedProgram>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PinnedProgram {
    /// As the definition calls it.
    pub name: String,
    pub path: String,
}

/// The files that no iteration may change, as they are now: at the start, and after a person changed them between two sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FilesProtected {
    pub files: Vec<ProtectedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProtectedFile {
    /// Relative to the workspace.
    pub path: String,
    /// Only this part of the file counts, such as a target of a Makefile. Nothing: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Why it is protected: the gate that runs it, or the pattern that names it.
    pub by: String,
    /// Of its contents. Nothing: there is no such file, and there must not be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// A protected file that is not what it was at the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProtectedChange {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The first lines that differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diff: Vec<String>,
    /// The file was put back as it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restored: bool,
}

impl ProtectedChange {
    /// `Makefile (target test)`
    pub fn place(&self) -> String {
        match &self.part {
            Some(part) => format!("{} ({part})", self.path),
            None => self.path.clone(),
        }
    }
}

/// What the changes of a run did to its tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TestReview {
    /// The first of them, where there are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Tests went for a reason that can be seen, so a runner may count fewer of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fewer_expected: bool,
}

/// The tests that a runner counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TestCount {
    /// Passed or failed.
    pub ran: u64,
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

/// The folder that offers `ralph` to agents held something else; it was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BinCleaned {
    pub removed: Vec<String>,
}
