//! The few words that mean something to the detectors. What a word list can not know is left to the structure of the text.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a word says, as bits: one word may say several things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sense(u16);

impl Sense {
    /// A number beside it tells how far the work is.
    pub(super) const PROGRESS: Sense = Sense(1);
    /// A number beside it counts tries, not work.
    pub(super) const TRY: Sense = Sense(2);
    /// A number beside it is noise: a size, a price, a process.
    pub(super) const NOISE: Sense = Sense(4);
    /// Something went wrong.
    pub(super) const ERROR: Sense = Sense(8);
    /// "All", "nothing", "already": with [`Sense::DONE`] it says that there is nothing to do.
    pub(super) const WHOLE: Sense = Sense(16);
    pub(super) const DONE: Sense = Sense(32);
    /// Something else is still going on.
    pub(super) const WAIT: Sense = Sense(64);
    /// Says nothing by itself.
    pub(super) const FILLER: Sense = Sense(128);
    /// The agent announces work of its own.
    pub(super) const ACT: Sense = Sense(256);
    /// A unit of size.
    pub(super) const SIZE: Sense = Sense(512);

    pub(super) fn is(self, other: Sense) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn and(self, other: Sense) -> Sense {
        Sense(self.0 | other.0)
    }

    /// The sense of a word in lower case.
    pub(super) fn of(word: &str) -> Sense {
        let sense = KNOWN.get(word).copied().unwrap_or_default();
        let stem = STEMS.iter().find(|(_, stems)| stems.iter().any(|stem| word.starts_with(stem)));
        stem.map_or(sense, |(meaning, _)| sense.and(*meaning))
    }
}

static KNOWN: LazyLock<HashMap<&str, Sense>> = LazyLock::new(|| {
    let mut known: HashMap<&str, Sense> = HashMap::new();
    for (sense, words) in WORDS {
        for word in *words {
            let all = known.entry(word).or_default();
            *all = all.and(*sense);
        }
    }
    known
});

const WORDS: &[(Sense, &[&str])] = &[
    (
        Sense::PROGRESS,
        &[
            "passed",
            "passing",
            "pass",
            "passes",
            "ok",
            "failed",
            "failing",
            "fail",
            "fails",
            "failure",
            "failures",
            "error",
            "errors",
            "warning",
            "warnings",
            "problem",
            "problems",
            "issue",
            "issues",
            "remaining",
            "remain",
            "remains",
            "left",
            "done",
            "complete",
            "completed",
            "finished",
            "todo",
            "todos",
            "pending",
            "open",
            "closed",
            "skipped",
            "tests",
            "test",
            "specs",
            "examples",
            "assertions",
            "suites",
            "progress",
            "coverage",
            "covered",
            "total",
            "processed",
            "resolved",
            "unresolved",
            "fixed",
            "broken",
            "violations",
            "mismatches",
            "succeeded",
            "successful",
            "ready",
            "outstanding",
            "unfinished",
            "red",
            "green",
        ],
    ),
    (
        Sense::TRY,
        &[
            "iteration",
            "iterations",
            "iter",
            "loop",
            "loops",
            "attempt",
            "attempts",
            "try",
            "tries",
            "retry",
            "retries",
            "turn",
            "turns",
            "round",
            "rounds",
            "cycle",
            "cycles",
            "run",
            "runs",
            "retrying",
            "session",
            "invocation",
            "tick",
            "lap",
        ],
    ),
    (
        Sense::NOISE,
        &[
            "line", "lines", "col", "column", "offset", "limit", "ms", "s", "sec", "secs", "second",
            "seconds", "min", "mins", "minute", "minutes", "hour", "hours", "token", "tokens", "usd", "cost",
            "price", "pid", "port", "ppid", "tid", "thread", "seed", "duration", "elapsed", "uptime", "took",
            "took:", "time", "timeout", "memory", "mem", "rss", "heap", "cpu", "load", "latency", "speed",
            "rate", "us", "ns", "eta", "age", "ago", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug",
            "sep", "oct", "nov", "dec", "mon", "tue", "wed", "thu", "fri", "sat", "sun", "more", "fps",
            "ops",
        ],
    ),
    (
        Sense::WHOLE,
        &[
            "all",
            "every",
            "everything",
            "each",
            "nothing",
            "no",
            "none",
            "not",
            "any",
            "already",
            "zero",
            "fully",
            "entire",
            "whole",
            "without",
            "isn't",
            "aren't",
            "don't",
            "doesn't",
            "wasn't",
            "weren't",
            "there's",
            "neither",
            "empty",
            "unchanged",
            "never",
        ],
    ),
    (
        Sense::DONE,
        &[
            "done",
            "complete",
            "completed",
            "completion",
            "finished",
            "implemented",
            "remaining",
            "remain",
            "remains",
            "left",
            "pending",
            "outstanding",
            "open",
            "needed",
            "need",
            "needs",
            "required",
            "requires",
            "necessary",
            "further",
            "todo",
            "do",
            "delivered",
            "shipped",
            "satisfied",
            "checked",
            "ticked",
            "resolved",
            "clean",
            "closed",
            "exhausted",
            "empty",
            "addressed",
            "unfinished",
            "incomplete",
            "place",
            "committed",
            "merged",
            "met",
            "fulfilled",
            "actionable",
            "backlog",
            "todos",
            "add",
            "change",
        ],
    ),
    (
        Sense::WAIT,
        &[
            "waiting",
            "wait",
            "waits",
            "awaiting",
            "await",
            "polling",
            "poll",
            "polled",
            "queued",
            "sleeping",
            "sleep",
            "monitoring",
            "in_progress",
            "meanwhile",
        ],
    ),
    (
        Sense::FILLER,
        &[
            "the", "and", "that", "this", "with", "for", "from", "are", "was", "were", "have", "has", "had",
            "been", "will", "would", "can", "could", "should", "its", "it's", "i'll", "i'm", "let", "let's",
            "now", "then", "than", "also", "but", "you", "your", "our", "their", "they", "them", "these",
            "those", "there", "here", "what", "when", "where", "which", "while", "who", "why", "how", "into",
            "onto", "over", "under", "again", "once", "more", "most", "some", "such", "only", "just", "very",
            "still", "same", "other", "another", "first", "next", "last", "before", "after", "because",
            "since", "about", "see", "look", "looking", "make", "sure", "get", "use", "using", "used", "one",
            "two", "may", "might", "does", "did", "out", "off",
        ],
    ),
    (
        Sense::ACT,
        &[
            "added",
            "created",
            "wrote",
            "written",
            "edited",
            "modified",
            "updated",
            "changed",
            "refactored",
            "renamed",
            "moved",
            "removed",
            "deleted",
            "migrated",
            "converted",
            "replaced",
            "installed",
            "fixed",
            "implementing",
            "adding",
            "creating",
            "writing",
            "editing",
            "updating",
            "fixing",
        ],
    ),
];

const STEMS: &[(Sense, &[&str])] = &[
    (
        Sense::ERROR,
        &["error", "exception", "panic", "fatal", "traceback", "failed", "failure", "cannot", "undefined"],
    ),
    (Sense::ERROR, &["fail", "reject", "denied", "invalid", "unexpected", "unresolved", "abort", "segfault"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_may_say_several_things() {
        let failed = Sense::of("failed");
        assert!(failed.is(Sense::PROGRESS) && failed.is(Sense::ERROR) && !failed.is(Sense::WAIT));
        assert_eq!(Sense::of("marshmallow"), Sense::default());
    }
}
