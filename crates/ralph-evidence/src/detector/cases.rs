//! Recorded iterations as one JSON object per case: what a detector may see of them, and nothing about what is right.

use serde::{Deserialize, Serialize};

use super::Ignore;
use super::sketch::{Sketch, Sketcher, mark};

#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    pub id: String,
    pub iterations: Vec<CaseIteration>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct CaseIteration {
    pub output: String,
    #[serde(default)]
    pub tools: Option<Vec<CaseTool>>,
    #[serde(default)]
    pub failed: Option<bool>,
    #[serde(default)]
    pub state: Option<String>,
}

/// A tool call. The arguments may be a hash.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct CaseTool {
    pub name: String,
    #[serde(default)]
    pub args: String,
    #[serde(default)]
    pub error: bool,
    /// A hash of what came of it.
    #[serde(default)]
    pub result: Option<String>,
    /// It is meant to change something.
    #[serde(default, rename = "mut")]
    pub changing: bool,
}

/// What a detector says to a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Prediction {
    pub id: String,
    /// The index of the iteration after which it says "stuck".
    pub fired_at: Option<usize>,
    /// The index of the iteration after which the run would have been stopped.
    pub stop_at: Option<usize>,
}

impl CaseIteration {
    /// What the detectors see of it, without what is to be ignored.
    pub fn sketch(&self, ignore: &Ignore) -> Sketch {
        let mut sketcher = Sketcher::ignoring(ignore.clone());
        sketcher.push(self.output.as_bytes());
        for tool in self.tools.iter().flatten() {
            sketcher.add_call(mark(&format!("{} {}", tool.name, tool.args)), tool.error, tool.changing);
            if let Some(result) = &tool.result {
                sketcher.add_result(mark(&format!("{} {} {result}", tool.name, tool.args)));
            }
        }
        if self.tools.is_some() {
            sketcher.names_tools();
        }
        let mut sketch = sketcher.finish();
        sketch.failed = self.failed.or(sketch.failed);
        sketch.state = self.state.clone();
        sketch
    }
}
