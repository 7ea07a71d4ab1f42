//! The lines of an output in their order, in bounded memory, so that two outputs can be compared line by line.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::hash::{Hasher, LineHasher, short};
use super::sample::{decode, encode};

/// Distinct lines whose occurrences are counted. Of those that come later each one counts as the first.
const COUNTED: usize = 1 << 16;

/// The lines of a text, each as a hash; of a long text a sample of them. Of two texts the same lines are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    /// How many lines the text has.
    total: u64,
    /// 0: `marks` are all the lines. Else the n-th of several equal lines has a mark of its own, and those marks are kept that
    /// begin with so many zero bits.
    level: u8,
    /// In their order.
    marks: Vec<u32>,
}

/// Takes a text in pieces of any size.
#[derive(Debug)]
pub(super) struct LineReader {
    most: usize,
    lines: Lines,
    seen: Counts,
    hasher: LineHasher,
    open: bool,
    /// Bytes were left out, so the next line may not be whole.
    torn: bool,
    blank: bool,
}

impl LineReader {
    /// Keeps at most `most` lines.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            lines: Lines::default(),
            seen: Counts::default(),
            hasher: LineHasher::new(),
            open: false,
            torn: false,
            blank: true,
        }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            // The line's end belongs to the line, as a diff sees it.
            self.extend(&bytes[..=end]);
            self.end_line();
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    /// Leaves bytes out. Their lines are counted, and no more.
    pub(super) fn skip(&mut self, bytes: &[u8]) {
        self.lines.total += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.torn = true;
        self.open = false;
        self.hasher = LineHasher::new();
    }

    fn extend(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.open = true;
            self.blank = self.blank && bytes.iter().all(u8::is_ascii_whitespace);
            self.hasher.push(bytes);
        }
    }

    fn end_line(&mut self) {
        if !std::mem::take(&mut self.open) {
            return;
        }
        let line = short(std::mem::replace(&mut self.hasher, LineHasher::new()).finish());
        self.lines.total += 1;
        if std::mem::take(&mut self.torn) {
            return;
        }
        let mark = if self.lines.level == 0 { line } else { self.seen.mark(line) };
        if keeps(mark, self.lines.level) {
            self.keep(mark);
        }
    }

    fn keep(&mut self, mark: u32) {
        self.lines.marks.push(mark);
        while self.lines.marks.len() > self.most && self.lines.level < 32 {
            if self.lines.level == 0 {
                self.lines.marks.iter_mut().for_each(|mark| *mark = self.seen.mark(*mark));
            }
            self.lines.level += 1;
            let level = self.lines.level;
            self.lines.marks.retain(|mark| keeps(*mark, level));
        }
    }

    /// The lines, and whether there is anything but white space on them.
    pub(super) fn finish(mut self) -> (Lines, bool) {
        self.end_line();
        (self.lines, !self.blank)
    }
}

/// Gives each of several equal lines a mark of its own.
#[derive(Debug, Default)]
struct Counts(HashMap<u32, u32, BuildHasherDefault<AsItIs>>);

impl Counts {
    fn mark(&mut self, line: u32) -> u32 {
        let full = self.0.len() >= COUNTED;
        let nth = match self.0.get_mut(&line) {
            Some(count) => {
                *count = count.wrapping_add(1);
                *count
            }
            None => {
                if !full {
                    self.0.insert(line, 0);
                }
                0
            }
        };
        short(Hasher::new().number(u64::from(line) << 32 | u64::from(nth)).finish())
    }
}

/// For keys that are hashes already.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl std::hash::Hasher for AsItIs {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u32(&mut self, n: u32) {
        self.0 = u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn keeps(mark: u32, level: u8) -> bool {
    mark.leading_zeros() >= u32::from(level)
}

/// How a ratio was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The ratio of a line diff.
    Exact,
    /// Not even in any order do the texts share enough lines for a match; the ratio is an upper bound.
    Bound,
    /// The texts differ in too many lines for a diff: a common subsequence that may not be the longest.
    Anchors,
    /// Anchors among a sample of the lines.
    Sample,
}

impl Measure {
    /// What has to be said about a ratio that is not exact.
    pub fn remark(self) -> &'static str {
        match self {
            Measure::Exact | Measure::Bound => "",
            Measure::Anchors => " (estimated: too many lines differ for a diff)",
            Measure::Sample => " (estimated from a sample of the lines)",
        }
    }
}

/// The work that one diff may do, in lines times edits.
const DIFF_BUDGET: usize = 4_000_000;

impl Lines {
    /// All lines of a text; of a long one a sample of at most `most`. `None` if there is nothing on them.
    pub(super) fn of(text: &[u8], most: usize) -> Option<Lines> {
        let mut reader = LineReader::new(most);
        reader.push(text);
        let (lines, says_something) = reader.finish();
        says_something.then_some(lines)
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// How much two texts share, from 0 to 1, as `TextDiff::from_lines(a, b).ratio()` tells. Below `threshold` an upper bound
    /// is answer enough.
    pub fn ratio(&self, other: &Lines, threshold: f64) -> (f64, Measure) {
        let level = self.level.max(other.level);
        let (here, there) = (self.marked(level), other.marked(level));
        let total = here.len() + there.len();
        if total == 0 {
            // A sample that caught no line of either text tells nothing.
            return (if self == other { 1.0 } else { 0.0 }, Measure::Sample);
        }
        let order: HashMap<u32, usize> = there.iter().enumerate().map(|(at, mark)| (*mark, at)).collect();
        let places: Vec<usize> = here.iter().filter_map(|mark| order.get(mark).copied()).collect();
        let bound = ratio(places.len(), total);
        if level == 0 && bound < threshold {
            return (bound, Measure::Bound);
        }
        let anchors = longest_rise(&places);
        if level > 0 {
            return (ratio(anchors, total), Measure::Sample);
        }
        // What Myers' algorithm does is bounded by the lines times the edits, and the anchors bound the edits.
        let edits = total.saturating_sub(2 * anchors) + 1;
        if total.saturating_mul(edits) > DIFF_BUDGET {
            return (ratio(anchors, total), Measure::Anchors);
        }
        let ops = similar::capture_diff_slices(similar::Algorithm::Myers, &self.marks, &other.marks);
        let equal = ops.iter().map(|op| match op {
            similar::DiffOp::Equal { len, .. } => *len,
            _ => 0,
        });
        // The ratio of `similar` in double precision: there nine lines of ten are a little less than 0.9.
        (ratio(equal.sum(), total), Measure::Exact)
    }

    /// The marks at a level that is no finer than this one's own. Each of them is there once.
    fn marked(&self, level: u8) -> Vec<u32> {
        if self.level > 0 {
            return self.marks.iter().copied().filter(|mark| keeps(*mark, level)).collect();
        }
        let mut seen = Counts::default();
        self.marks.iter().map(|line| seen.mark(*line)).filter(|mark| keeps(*mark, level)).collect()
    }
}

fn ratio(shared: usize, total: usize) -> f64 {
    2.0 * shared as f64 / total as f64
}

/// The length of the longest rising subsequence of numbers that are all different.
fn longest_rise(places: &[usize]) -> usize {
    let mut ends: Vec<usize> = Vec::new();
    for place in places {
        match ends.binary_search(place) {
            Ok(_) => {}
            Err(at) if at == ends.len() => ends.push(*place),
            Err(at) => ends[at] = *place,
        }
    }
    ends.len()
}

// On the wire: how many lines, the level, and the marks as one run of base64.
impl Serialize for Lines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{}:{}:{}", self.total, self.level, encode(&self.marks)))
    }
}

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parsed = || {
            let (total, rest) = text.split_once(':')?;
            let (level, marks) = rest.split_once(':')?;
            let level = level.parse().ok().filter(|level| *level <= 32)?;
            Some(Lines { total: total.parse().ok()?, level, marks: decode(marks)? })
        };
        parsed().ok_or_else(|| serde::de::Error::custom("not the hashes of lines"))
    }
}
