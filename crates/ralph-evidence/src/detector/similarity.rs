//! Outputs that are nearly the same, line by line.

use std::collections::VecDeque;

use ralph_core::event::DetectorKey;
use serde::{Deserialize, Serialize};

use super::lines::{Lines, Measure};
use super::{Detector, DetectorDef, Sketch, Suspicion};

pub(super) const DEF: DetectorDef = DetectorDef {
    key: DetectorKey::new("similarity"),
    summary: "An output that is as good as the same as one of the last, line by line.",
    role: |plan| plan.similarity,
    build: |plan| Box::new(OutputSimilarityDetector::new(plan.similarity_window, plan.similarity_threshold)),
};

/// Lines of an output that are compared exactly; of longer ones a sample.
const MOST_LINES: usize = 8192;

/// Compares each output with the last few by the ratio of a line diff.
///
/// Whatever is printed, a check is linear in it: a diff is quadratic in the differing lines, so it is done only where it is
/// affordable. [`Match::measure`] tells how a ratio was found.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSimilarityDetector {
    window: usize,
    threshold: f64,
    recent: VecDeque<Lines>,
    /// The last output, and how many outputs in a row were alike up to it: for what is said, not for what is decided.
    last: Option<(Lines, usize)>,
    /// Whether the output that was looked at last is like another one.
    looked: Option<bool>,
}

/// Two outputs that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Match {
    pub ratio: f64,
    pub measure: Measure,
    /// How many outputs back: 1 is the one before.
    pub back: usize,
}

impl OutputSimilarityDetector {
    pub fn new(window_size: usize, threshold: f64) -> Self {
        Self { window: window_size, threshold, recent: VecDeque::new(), last: None, looked: None }
    }

    /// Whether the output is as good as the same as one of the last. It is remembered for the next checks.
    pub fn detect_loop(&mut self, output: &str) -> bool {
        self.check(output).is_some()
    }

    /// Like [`Self::detect_loop`], and tells what was found.
    pub fn check(&mut self, output: &str) -> Option<Match> {
        self.observe(&Lines::of(output.as_bytes(), MOST_LINES)?)
    }

    /// The same for an output of which only the lines' hashes are left. One without text must not come here.
    pub fn observe(&mut self, lines: &Lines) -> Option<Match> {
        let best = self.best(lines);
        self.remember(lines, best.is_some());
        best
    }

    /// How many outputs in a row are alike, this one included.
    fn in_a_row(&self, lines: &Lines, is_match: bool) -> usize {
        let like = |last: &Lines| is_match || lines.ratio(last, self.threshold).0 >= self.threshold;
        match &self.last {
            Some((last, times)) if like(last) => times.saturating_add(1),
            _ => 1,
        }
    }

    fn remember(&mut self, lines: &Lines, is_match: bool) {
        self.last = Some((lines.clone(), self.in_a_row(lines, is_match)));
        self.recent.push_front(lines.clone());
        self.recent.truncate(self.window);
    }

    fn best(&self, lines: &Lines) -> Option<Match> {
        let mut best: Option<Match> = None;
        for (at, earlier) in self.recent.iter().enumerate() {
            let (ratio, measure) = lines.ratio(earlier, self.threshold);
            if ratio >= self.threshold && best.is_none_or(|best| ratio > best.ratio) {
                best = Some(Match { ratio, measure, back: at + 1 });
            }
        }
        best
    }

    /// Forgets all outputs.
    pub fn reset(&mut self) {
        self.recent.clear();
        self.last = None;
    }

    /// How many outputs the next one will be compared with.
    pub fn len(&self) -> usize {
        self.recent.len()
    }

    pub fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }
}

impl Detector for OutputSimilarityDetector {
    fn look(&mut self, now: &Sketch) -> Suspicion {
        let found = now.lines.as_ref().and_then(|lines| Some((lines, self.best(lines)?)));
        self.looked = Some(found.is_some());
        let Some((lines, Match { ratio, measure, back })) = found else { return Suspicion::default() };
        let whose = match back {
            1 => "the output before".to_owned(),
            back => format!("the output {back} back"),
        };
        let row = match self.in_a_row(lines, true) {
            0..=2 => String::new(),
            times => format!(", {times} alike in a row"),
        };
        let pattern = format!("{:.0}% like {whose}{row}{}", 100.0 * ratio, measure.remark());
        let (period, iterations) = (back, back + 1);
        let ratio = Some(ratio);
        Suspicion { score: 1.0, alarm: true, period, iterations, pattern, ratio, ..Suspicion::default() }
    }

    fn learn(&mut self, now: &Sketch) {
        if let Some(lines) = &now.lines {
            let is_match = self.looked.take().unwrap_or_else(|| self.best(lines).is_some());
            self.remember(lines, is_match);
        }
    }

    fn start_over(&mut self) {
        self.recent.clear();
    }
}

impl Default for OutputSimilarityDetector {
    fn default() -> Self {
        Self::new(5, 0.9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use similar::TextDiff;

    fn lines(range: std::ops::Range<u32>) -> String {
        range.map(|n| format!("line number {n}\n")).collect()
    }

    #[test]
    fn outputs_that_share_nine_lines_of_ten_match_and_eight_do_not() {
        let text = |changed: u32| {
            (0..10)
                .map(|n| if n < changed { format!("{changed} {n}\n") } else { format!("same {n}\n") })
                .collect::<String>()
        };
        let mut detector = OutputSimilarityDetector::default();
        assert!(!detector.detect_loop(&text(0)));
        assert!(!detector.detect_loop(&text(2)), "0.8");
        assert!(detector.detect_loop(&text(1)), "0.9 against the first");
        let mut detector = OutputSimilarityDetector::default();
        assert!(!detector.detect_loop("same\n"));
        let found = detector.check("same\n").unwrap();
        assert_eq!((found.ratio, found.measure, found.back), (1.0, Measure::Exact, 1));
    }

    #[test]
    fn only_the_newest_are_kept() {
        let mut detector = OutputSimilarityDetector::new(5, 0.9);
        for n in 0..6 {
            assert!(!detector.detect_loop(&format!("output {n}")));
        }
        assert_eq!(detector.len(), 5);
        assert!(!detector.detect_loop("output 0"), "the oldest has been dropped");
        assert!(detector.detect_loop("output 2"));
        assert_eq!(detector.check("output 4").map(|found| found.back), Some(4));
    }

    #[test]
    fn empty_outputs_never_match_and_a_reset_forgets() {
        let mut detector = OutputSimilarityDetector::default();
        for empty in ["", "", "\n", " \n\t\n", " \n\t\n"] {
            assert!(!detector.detect_loop(empty));
        }
        assert!(detector.is_empty());
        detector.detect_loop("said");
        detector.reset();
        assert!(!detector.detect_loop("said"));
    }

    #[test]
    fn a_ratio_is_that_of_a_line_diff() {
        let shuffled: String = (0..60).map(|n| format!("line {}\n", n * 37 % 60)).collect();
        let texts = [
            lines(0..40),
            lines(3..40) + "x\nx\nx\n",
            "a\nb\na\nb\nc".to_owned(),
            "b\na\nb\n".to_owned(),
            "x\n".repeat(50),
            "x\n".repeat(45) + &lines(0..5),
            shuffled,
            lines(0..60),
            "no end".to_owned(),
        ];
        for a in &texts {
            for b in &texts {
                let of = |text: &str| Lines::of(text.as_bytes(), MOST_LINES).unwrap();
                let (ratio, measure) = of(a).ratio(&of(b), 0.0);
                let want = f64::from(TextDiff::from_lines(b.as_str(), a.as_str()).ratio());
                assert_eq!(measure, Measure::Exact);
                assert!((ratio - want).abs() < 1e-6, "{ratio} for {want}:\n{a}\n{b}");
                let (bound, _) = of(a).ratio(&of(b), 0.9);
                assert!(bound >= want - 1e-6 && (bound < 0.9) == (want < 0.9 - 1e-6), "{bound} for {want}");
            }
        }
    }

    #[test]
    fn a_flood_is_judged_by_a_sample_and_by_its_order() {
        let mut detector = OutputSimilarityDetector::default();
        assert!(!detector.detect_loop(&lines(0..100_000)));
        let mostly = lines(3_000..100_000) + &lines(200_000..203_000);
        let found = detector.check(&mostly).unwrap();
        assert_eq!(found.measure, Measure::Sample);
        assert!((found.ratio - 0.97).abs() < 0.02, "{}", found.ratio);
        assert!(!detector.detect_loop(&lines(30_000..130_000)));
        let backwards: String = (0..100_000).rev().map(|n| format!("line number {n}\n")).collect();
        assert!(!detector.detect_loop(&backwards), "the same lines in another order");
    }

    #[test]
    fn a_million_equal_lines_are_counted_not_collapsed() {
        let mut detector = OutputSimilarityDetector::default();
        assert!(!detector.detect_loop(&"x\n".repeat(1_000_000)));
        assert!(detector.detect_loop(&"x\n".repeat(990_000)));
        assert!(!detector.detect_loop(&"x\n".repeat(500_000)));
        assert!(detector.recent.iter().all(|lines| serde_json::to_string(lines).unwrap().len() < 60_000));
    }

    #[test]
    fn many_differing_lines_are_not_diffed() {
        let (a, b): (String, String) = (
            (0..4_000).map(|n| format!("{}\n", n * 7 % 4_000)).collect(),
            (0..4_000).map(|n| format!("{}\n", n * 11 % 4_000)).collect(),
        );
        let of = |text: &str| Lines::of(text.as_bytes(), MOST_LINES).unwrap();
        let (ratio, measure) = of(&a).ratio(&of(&b), 0.9);
        assert_eq!(measure, Measure::Anchors);
        assert!(ratio < 0.1, "{ratio}");
    }

    #[test]
    fn what_is_said_counts_beyond_the_window_and_beyond_an_alarm() {
        let sketch =
            |text: &str| Sketch { lines: Lines::of(text.as_bytes(), MOST_LINES), ..Sketch::default() };
        let mut detector = OutputSimilarityDetector::default();
        let mut see = |text: &str, over: bool| {
            let now = sketch(text);
            let found = detector.look(&now).pattern;
            detector.learn(&now);
            if over {
                Detector::start_over(&mut detector);
            }
            found
        };
        assert_eq!(see("same", false), "");
        assert_eq!(see("same", false), "100% like the output before");
        for n in 3..=12 {
            assert_eq!(see("same", n == 12), format!("100% like the output before, {n} alike in a row"));
        }
        assert_eq!(see("same", false), "", "compared with nothing any more");
        assert_eq!(see("same", false), "100% like the output before, 14 alike in a row");
        assert_eq!(see("other", false), "");
        assert_eq!(see("other", false), "100% like the output before");
    }
}
