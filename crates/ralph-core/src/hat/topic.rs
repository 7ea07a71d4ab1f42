//! Topics, and the patterns that match them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longer names are no names.
const MAX_BYTES: usize = 200;
const MAX_SEGMENTS: usize = 16;

/// What an event is about: segments with dots between them, such as `review.changes_requested`.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct Topic(String);

/// Which topics are meant: `*` is any one segment, `**` or a lone `*` is any number of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    text: String,
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Segment {
    Word(String),
    /// Exactly one.
    One,
    /// Any number, none included.
    Any,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopicError {
    #[error("a topic must not be empty")]
    Empty,
    #[error("longer than {MAX_BYTES} bytes or {MAX_SEGMENTS} segments")]
    Long,
    #[error("`{0}` has an empty segment: two dots in a row, or one at an end")]
    EmptySegment(String),
    #[error("`{0}`: `{1}` cannot be part of a topic; use letters, digits, `_` and `-`, with dots between")]
    Character(String, char),
    #[error("`{0}`: `*` stands for a whole segment, as in `review.*`")]
    Star(String),
}

/// How closely a pattern fits. More is closer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Specificity {
    words: usize,
    /// The fewer `**`, the closer.
    few_any: std::cmp::Reverse<usize>,
    ones: usize,
}

impl Topic {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('.')
    }

    /// Whether somebody says with it that he cannot go on.
    pub fn is_blocked(&self) -> bool {
        self.segments().next_back() == Some("blocked")
    }

    /// Whether somebody says with it that all is well: only where the word leaves no doubt.
    pub fn approves(&self) -> bool {
        const WORDS: &[&str] =
            &["approved", "accepted", "passed", "verified", "confirmed", "succeeded", "ok", "lgtm"];
        self.segments().next_back().is_some_and(|word| WORDS.contains(&word.to_ascii_lowercase().as_str()))
    }

    /// What ralph publishes when the run goes in circles and a hat wants to know.
    pub fn loop_detected() -> Self {
        Self("loop.detected".to_owned())
    }

    /// What ralph publishes when a hat has used up its activations.
    pub fn exhausted(hat: &str) -> Self {
        Self(format!("{hat}.exhausted"))
    }
}

impl Pattern {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The one topic it matches, if it has no `*`.
    pub fn literal(&self) -> Option<Topic> {
        let words = self.segments.iter().all(|segment| matches!(segment, Segment::Word(_)));
        words.then(|| Topic(self.text.clone()))
    }

    pub fn matches(&self, topic: &Topic) -> bool {
        let words: Vec<Segment> = topic.segments().map(|word| Segment::Word(word.to_owned())).collect();
        overlap(&self.segments, &words)
    }

    /// Whether there is a topic that both match.
    pub fn overlaps(&self, other: &Pattern) -> bool {
        overlap(&self.segments, &other.segments)
    }

    pub fn specificity(&self) -> Specificity {
        let count = |wanted: fn(&Segment) -> bool| self.segments.iter().filter(|one| wanted(one)).count();
        Specificity {
            words: count(|one| matches!(one, Segment::Word(_))),
            few_any: std::cmp::Reverse(count(|one| matches!(one, Segment::Any))),
            ones: count(|one| matches!(one, Segment::One)),
        }
    }
}

impl From<&Topic> for Pattern {
    fn from(topic: &Topic) -> Self {
        let segments = topic.segments().map(|word| Segment::Word(word.to_owned())).collect();
        Self { text: topic.0.clone(), segments }
    }
}

/// Row by row, as for an edit distance: what is asked twice would cost exponential time with many `**`.
fn overlap(a: &[Segment], b: &[Segment]) -> bool {
    // fits[j]: the segments of `a` from here on and those of `b` from `j` on have a topic in common.
    let mut fits = vec![false; b.len() + 1];
    for i in (0..=a.len()).rev() {
        let below = fits.clone();
        for j in (0..=b.len()).rev() {
            fits[j] = match (a.get(i), b.get(j)) {
                (None, None) => true,
                (Some(Segment::Any), None) => below[j],
                (None, Some(Segment::Any)) => fits[j + 1],
                (Some(_), None) | (None, Some(_)) => false,
                (Some(Segment::Any), Some(Segment::Any)) => below[j] || fits[j + 1],
                (Some(Segment::Any), Some(_)) => below[j] || fits[j + 1],
                (Some(_), Some(Segment::Any)) => fits[j + 1] || below[j],
                (Some(Segment::Word(x)), Some(Segment::Word(y))) => x == y && below[j + 1],
                (Some(_), Some(_)) => below[j + 1],
            };
        }
    }
    fits[0]
}

fn split(text: &str) -> Result<Vec<&str>, TopicError> {
    if text.is_empty() {
        return Err(TopicError::Empty);
    }
    let parts: Vec<&str> = text.split('.').collect();
    if text.len() > MAX_BYTES || parts.len() > MAX_SEGMENTS {
        return Err(TopicError::Long);
    }
    if parts.iter().any(|part| part.is_empty()) {
        return Err(TopicError::EmptySegment(text.to_owned()));
    }
    Ok(parts)
}

fn check_word(whole: &str, word: &str) -> Result<(), TopicError> {
    match word.chars().find(|c| !(c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '/' | '+'))) {
        Some(c) => Err(TopicError::Character(whole.to_owned(), c)),
        None => Ok(()),
    }
}

impl FromStr for Topic {
    type Err = TopicError;

    fn from_str(text: &str) -> Result<Self, TopicError> {
        split(text)?.into_iter().try_for_each(|word| check_word(text, word))?;
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for Pattern {
    type Err = TopicError;

    fn from_str(text: &str) -> Result<Self, TopicError> {
        let parts = split(text)?;
        let mut segments = Vec::with_capacity(parts.len());
        for part in &parts {
            let segment = match *part {
                "*" if parts.len() == 1 => Segment::Any,
                "*" => Segment::One,
                "**" => Segment::Any,
                word if word.contains('*') => return Err(TopicError::Star(text.to_owned())),
                word => {
                    check_word(text, word)?;
                    Segment::Word(word.to_owned())
                }
            };
            // Two in a row mean the same as one.
            if segment != Segment::Any || segments.last() != Some(&Segment::Any) {
                segments.push(segment);
            }
        }
        Ok(Self { text: text.to_owned(), segments })
    }
}

macro_rules! as_text {
    ($type:ident, $field:tt) => {
        impl TryFrom<String> for $type {
            type Error = TopicError;

            fn try_from(text: String) -> Result<Self, TopicError> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.$field
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.$field)
            }
        }
    };
}

as_text!(Topic, 0);
as_text!(Pattern, text);

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().unwrap()
    }

    fn topic(text: &str) -> Topic {
        text.parse().unwrap()
    }

    #[test]
    fn a_star_is_one_segment_and_two_or_a_lone_one_any_number() {
        let hits = |text: &str| {
            ["a", "a.b", "a.c", "a.b.c", "b.a", "a.b.b.c"]
                .into_iter()
                .filter(|one| pattern(text).matches(&topic(one)))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(hits("a.b"), "a.b");
        assert_eq!(hits("a.*"), "a.b a.c");
        assert_eq!(hits("*.a"), "b.a");
        assert_eq!(hits("*.*"), "a.b a.c b.a");
        assert_eq!(hits("*"), "a a.b a.c a.b.c b.a a.b.b.c");
        assert_eq!(hits("**"), hits("*"));
        assert_eq!(hits("a.**"), "a a.b a.c a.b.c a.b.b.c");
        assert_eq!(hits("**.c"), "a.c a.b.c a.b.b.c");
        assert_eq!(hits("a.**.c"), "a.c a.b.c a.b.b.c");
        assert_eq!(hits("a.*.**.c"), "a.b.c a.b.b.c");
        assert_eq!(hits("**.**"), hits("**"));
    }

    #[test]
    fn the_closest_pattern_is_the_exact_one_then_the_one_with_more_words() {
        let order = ["a.b", "a.b.**", "a.*", "a.*.**", "a.**", "*.*", "*"];
        for pair in order.windows(2) {
            assert!(pattern(pair[0]).specificity() > pattern(pair[1]).specificity(), "{pair:?}");
        }
        assert_eq!(pattern("a.*").specificity(), pattern("*.b").specificity());
        assert_eq!(pattern("**").specificity(), pattern("*").specificity());
    }

    #[test]
    fn patterns_overlap_where_a_topic_fits_both() {
        let overlap = |a: &str, b: &str| {
            assert_eq!(pattern(a).overlaps(&pattern(b)), pattern(b).overlaps(&pattern(a)), "{a} {b}");
            pattern(a).overlaps(&pattern(b))
        };
        assert!(overlap("a.*", "*.b") && overlap("a.**", "**.z") && overlap("*", "x.y.z"));
        assert!(overlap("a.**.b", "a.b") && overlap("**.a.**", "**.b.**"));
        assert!(!overlap("a.*", "b.*") && !overlap("a.*", "a") && !overlap("a.*.c", "a.**.d"));
    }

    #[test]
    fn what_is_no_topic_is_refused_with_the_reason() {
        let wrong = |text: &str| text.parse::<Topic>().unwrap_err().to_string();
        assert!(wrong("").contains("empty"));
        assert!(wrong("a..b").contains("empty segment") && wrong(".a").contains("empty segment"));
        assert!(wrong("a b").contains("` `") && wrong("a.*").contains("`*`") && wrong("a\n").contains('\n'));
        assert!(wrong("<event>").contains('<') && wrong("a\"b").contains('"') && wrong("a\0").contains('\0'));
        assert!(wrong(&"a".repeat(201)).contains("200") && wrong(&["a"; 17].join(".")).contains("16"));
        assert!("review*".parse::<Pattern>().unwrap_err().to_string().contains("whole segment"));
        assert!("größe.überprüft_2-b".parse::<Topic>().is_ok());
    }

    #[test]
    fn many_stars_cost_no_exponential_time() {
        let many = pattern(&["**.a"; 8].join("."));
        let long = topic(&["a"; 16].join("."));
        assert!(many.matches(&long));
        assert!(!pattern(&format!("{many}.b")[..].replace("**.a.b", "b")).matches(&long));
    }
}
