//! What a run did to its own tests, as facts. The reading of sources is the business of `ralph-evidence`; here stands what
//! was found, for events, screens and prompts.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A way to make checks pass without doing the work.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Tampering {
    /// A file with tests is gone, and its tests are nowhere else.
    TestFileRemoved,
    TestRemoved,
    /// A test that ran before is skipped, ignored, or expected to fail.
    TestSkipped,
    /// Only some tests run, for they are marked so (`.only`, `fit`).
    TestFocused,
    AssertRemoved,
    /// An assert that cannot fail stands where a real one stood.
    AssertConstant,
    /// What a test expects was edited, though the program that it tests was not.
    ExpectedEdited,
    /// The settings of a test runner leave tests out.
    RunnerNarrowed,
    /// Code around the tests decides their outcome.
    OutcomeForced,
    /// A failing check no longer fails the script, recipe or job that runs it.
    ExitSwallowed,
    /// The tests' own process ends with success before the runner can say otherwise.
    EarlyExit,
    /// A program or module of a test runner's name was put where it is found first.
    RunnerShadowed,
    /// The runner counts fewer tests than before.
    FewerTests,
    /// The runner ran no test at all.
    NoTests,
    /// The runner skipped every test.
    AllSkipped,
}

impl Tampering {
    pub const ALL: [Tampering; 15] = [
        Tampering::TestFileRemoved,
        Tampering::TestRemoved,
        Tampering::TestSkipped,
        Tampering::TestFocused,
        Tampering::AssertRemoved,
        Tampering::AssertConstant,
        Tampering::ExpectedEdited,
        Tampering::RunnerNarrowed,
        Tampering::OutcomeForced,
        Tampering::ExitSwallowed,
        Tampering::EarlyExit,
        Tampering::RunnerShadowed,
        Tampering::FewerTests,
        Tampering::NoTests,
        Tampering::AllSkipped,
    ];

    /// In a sentence, before a colon and the detail.
    pub fn phrase(self) -> &'static str {
        match self {
            Tampering::TestFileRemoved => "a test file was removed",
            Tampering::TestRemoved => "a test was removed",
            Tampering::TestSkipped => "a test was switched off",
            Tampering::TestFocused => "all other tests were switched off",
            Tampering::AssertRemoved => "an assert was removed",
            Tampering::AssertConstant => "an assert was made constant",
            Tampering::ExpectedEdited => "an expected value was edited, not the program",
            Tampering::RunnerNarrowed => "the test runner was told to leave tests out",
            Tampering::OutcomeForced => "the outcome of tests was forced",
            Tampering::ExitSwallowed => "a failing check no longer fails its script",
            Tampering::EarlyExit => "the tests end with success before they are done",
            Tampering::RunnerShadowed => "a test runner was shadowed",
            Tampering::FewerTests => "fewer tests ran than before",
            Tampering::NoTests => "no test ran",
            Tampering::AllSkipped => "every test was skipped",
        }
    }
}

/// One thing that was found, and where.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Finding {
    pub kind: Tampering,
    /// Relative to the workspace. Empty: it was seen in a runner's output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// In the file as it is now; of a file or test that is gone, as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What exactly: the test's name, the assert, the setting.
    pub detail: String,
}

/// One sentence, without a full stop: place, kind, detail.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.as_str(), self.line) {
            ("", _) => {}
            (file, Some(line)) => write!(f, "{file}:{line}: ")?,
            (file, None) => write!(f, "{file}: ")?,
        }
        write!(f, "{}: {}", self.kind.phrase(), self.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_sentence_with_its_place() {
        let finding = Finding {
            kind: Tampering::TestSkipped,
            file: "tests/test_a.py".into(),
            line: Some(3),
            detail: "test_total".into(),
        };
        assert_eq!(finding.to_string(), "tests/test_a.py:3: a test was switched off: test_total");
        let counted =
            Finding { kind: Tampering::NoTests, file: String::new(), line: None, detail: "12 before".into() };
        assert_eq!(counted.to_string(), "no test ran: 12 before");
    }

    #[test]
    fn every_kind_has_a_name_on_the_wire_and_a_phrase_of_its_own() {
        let names: std::collections::BTreeSet<_> =
            Tampering::ALL.iter().map(|kind| serde_json::to_string(kind).unwrap()).collect();
        let phrases: std::collections::BTreeSet<_> =
            Tampering::ALL.iter().map(|kind| kind.phrase()).collect();
        assert_eq!((names.len(), phrases.len()), (Tampering::ALL.len(), Tampering::ALL.len()));
        assert!(names.contains("\"test_file_removed\""));
    }
}
