//! What is kept of an iteration for the detectors: a few kilobytes, whatever the agent printed.
//!
//! The runtime reads the output once, while it streams, and puts the sketch into `agent.exited`. The detectors see nothing
//! else, so a resumed run has the same evidence as one that was never interrupted.

mod calls;
mod marks;
mod sketcher;
mod wording;

use serde::{Deserialize, Serialize};

use super::hash::{self, short};
use super::lines::Lines;
use super::sample::Sample;
pub use calls::{Calls, ToolUse};
pub(super) use marks::AMBIGUOUS;
pub use marks::Counts;
use marks::Marks;
pub use sketcher::Sketcher;

/// What an iteration said and did, without the words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sketch {
    /// Bytes of text.
    pub bytes: u64,
    /// Tokens that were read.
    pub tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
    /// Paths, identifiers, codes.
    pub facts: Sample,
    /// Plain words that say something.
    pub words: Sample,
    /// Three tokens in a row.
    pub shingles: Sample,
    /// Those with a fact among them.
    pub named: Sample,
    /// Lines that name an error, normalised.
    #[serde(skip_serializing_if = "Sample::is_empty")]
    pub errors: Sample,
    /// Where the work stands, in the iteration's own words: checkboxes, test results.
    #[serde(skip_serializing_if = "Marks::is_empty")]
    pub marks: Marks,
    /// How else a line is marked or what stands behind a label: `| parser | ✓ |`, `phase: linking`.
    #[serde(skip_serializing_if = "Marks::is_empty")]
    pub forms: Marks,
    /// Lines that name something as failing or not done. A list that gets shorter is progress, though every line of it has
    /// been seen.
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u32,
    /// Different lines that name an error and a place.
    #[serde(skip_serializing_if = "is_zero")]
    pub faults: u32,
    /// Numbers by what stands around them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<(u32, f64, Counts)>,
    #[serde(skip_serializing_if = "Calls::is_empty")]
    pub calls: Calls,
    /// The last thing it did failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
    /// Stands for the state of the workspace after the iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub says: Says,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// Stands for all tests that are named as failing, of which the signature names but a few.
    #[serde(skip_serializing_if = "is_zero")]
    pub failing: u32,
    /// The first lines that say something, and the first error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What the wording tells, in lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Says {
    /// Lines with words on them.
    pub lines: u32,
    /// Words on them.
    pub words: u32,
    /// Words in sentences to the effect that there is nothing to do.
    pub idle: u32,
    /// Words in sentences to the effect that something else has to end first.
    pub waiting: u32,
    /// Words in sentences to the effect that a service is overloaded or refuses more.
    #[serde(skip_serializing_if = "is_zero")]
    pub outage: u32,
    /// Words in sentences to the effect that it cannot go on, or that a person has to give something first.
    #[serde(skip_serializing_if = "is_zero")]
    pub blocked: u32,
    /// Words in sentences that tell of something done.
    #[serde(skip_serializing_if = "is_zero")]
    pub deeds: u32,
    /// Words in sentences to the effect that something is complete, and that tell of no deed.
    #[serde(skip_serializing_if = "is_zero")]
    pub done: u32,
}

/// The most words of an iteration that only tells of an outage, and how many of them must be about it.
const OUTAGE_WORDS: u32 = 60;
const OUTAGE_SHARE: u32 = 4;

impl Sketch {
    /// Whether the last thing failed or, where that is not known, errors are told.
    pub(super) fn fails(&self) -> bool {
        self.failed.unwrap_or(self.error.is_some())
    }

    /// Whether it did nothing and tells little but that a service is overloaded or refuses more.
    pub(super) fn tells_outage(&self) -> bool {
        let says = self.says;
        says.outage * OUTAGE_SHARE > says.words && says.words <= OUTAGE_WORDS && self.calls.count == 0
    }

    /// Everything that tells where the work stands: keys and values.
    pub(super) fn standing(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let counts = [(mark("open"), self.open), (mark("faults"), self.faults)];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        let marks = self.marks.values.iter().chain(&self.forms.values);
        marks.map(|(key, value)| (*key, *value)).chain(counts)
    }
}

/// Stands for anything that can be told apart by a text.
pub(super) fn mark(text: &str) -> u32 {
    short(hash::of(text))
}
