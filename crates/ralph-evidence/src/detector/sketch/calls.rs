//! What an iteration did with its tools.

use ralph_core::event::ToolKind;
use serde::{Deserialize, Serialize};

use crate::detector::sample::{decode, encode, share};

/// Tool calls, where the agent's stream names them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Calls {
    /// Whether the stream names tools at all.
    pub known: bool,
    pub count: u32,
    pub failed: u32,
    /// Calls that are meant to change something.
    pub changing: u32,
    /// Name and arguments of the first ones, sorted.
    #[serde(with = "hashes", skip_serializing_if = "Vec::is_empty")]
    pub what: Vec<u32>,
    /// Those of them that were meant to change something and did not fail.
    #[serde(with = "hashes", skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<u32>,
    /// Name, arguments and result of the first ones, where results are known.
    #[serde(with = "hashes", skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<u32>,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        !self.known
    }

    /// Whether the same was called apart from what changed something.
    pub(in crate::detector) fn same_checks(&self, other: &Calls) -> bool {
        let checks = |calls: &Calls| -> Vec<u32> {
            calls.what.iter().copied().filter(|call| !calls.changes.contains(call)).collect()
        };
        let checks_here = checks(self);
        !checks_here.is_empty() && checks_here == checks(other)
    }

    /// How many calls two iterations have in common, of the larger number.
    pub(in crate::detector) fn alike(&self, other: &Calls) -> f64 {
        alike(&self.what, &other.what)
    }

    /// How many of them had the same result.
    pub(in crate::detector) fn alike_in_results(&self, other: &Calls) -> f64 {
        alike(&self.results, &other.results)
    }
}

/// How many members two sorted lists have in common, of the larger number.
fn alike(here: &[u32], there: &[u32]) -> f64 {
    let (mut a, mut b) = (here.iter().peekable(), there.iter().peekable());
    let mut both = 0;
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => drop(a.next()),
            std::cmp::Ordering::Greater => drop(b.next()),
            std::cmp::Ordering::Equal => {
                both += 1;
                a.next();
                b.next();
            }
        }
    }
    share(both, here.len().max(there.len()))
}

mod hashes {
    use super::{decode, encode};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(hashes: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
        encode(hashes).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
        let text = String::deserialize(deserializer)?;
        decode(&text).ok_or_else(|| serde::de::Error::custom("not hashes"))
    }
}

/// What an agent did with a tool, as far as its stream tells.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolUse<'a> {
    pub kind: ToolKind,
    pub name: &'a str,
    pub command: Option<&'a str>,
    pub path: Option<&'a str>,
    pub ok: Option<bool>,
    pub exit_code: Option<i64>,
    pub output: &'a str,
}
