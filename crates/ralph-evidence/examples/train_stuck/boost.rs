//! Small trees, one after the other, each for what those before it got wrong. The same rows give the same trees.

use ralph_evidence::detector::model::{FEATURES, Node};

const BINS: usize = 64;
/// Thousandths of a logit in a unit.
pub const UNIT: f64 = 1000.0;

pub struct Row {
    pub values: [f64; FEATURES.len()],
    pub stuck: bool,
    pub weight: f64,
}

#[derive(Clone, Copy)]
pub struct Settings {
    pub trees: usize,
    pub depth: usize,
    pub rate: f64,
    /// What keeps leaves of few rows small.
    pub calm: f64,
    /// The least weight of a leaf.
    pub least: f64,
    /// Of ten features, so many are asked in each tree.
    pub features: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { trees: 120, depth: 3, rate: 0.12, calm: 4.0, least: 3.0, features: 5 }
    }
}

/// Where the values of a feature are cut, and the bin of each row.
struct Bins {
    cuts: Vec<Vec<f64>>,
    /// By feature, then by row.
    of: Vec<Vec<u8>>,
}

impl Bins {
    fn of(rows: &[Row]) -> Bins {
        let mut bins = Bins { cuts: Vec::new(), of: Vec::new() };
        for feature in 0..FEATURES.len() {
            let mut sorted: Vec<f64> = rows.iter().map(|row| row.values[feature]).collect();
            sorted.sort_by(f64::total_cmp);
            let mut cuts: Vec<f64> = Vec::new();
            for n in 1..BINS {
                let (a, b) =
                    (sorted[(n * sorted.len() / BINS).saturating_sub(1)], sorted[n * sorted.len() / BINS]);
                let cut = rounded(a, b, &sorted);
                if cut.is_some_and(|cut| cuts.last().is_none_or(|last| *last < cut)) {
                    cuts.extend(cut);
                }
            }
            let bin = |row: &Row| cuts.partition_point(|cut| *cut <= row.values[feature]) as u8;
            bins.of.push(rows.iter().map(bin).collect());
            bins.cuts.push(cuts);
        }
        bins
    }
}

/// A cut above `a`: halfway to the next larger value, with as few digits as tell them apart.
fn rounded(a: f64, _b: f64, sorted: &[f64]) -> Option<f64> {
    let next = sorted[sorted.partition_point(|value| *value <= a)..].first()?;
    let middle = (a + next) / 2.0;
    let digits = (0..9).map(|digits| 10f64.powi(digits)).map(|scale| (middle * scale).round() / scale);
    digits.into_iter().find(|cut| a < *cut && cut < next).or(Some(middle))
}

#[derive(Clone, Copy, Default)]
struct Sum {
    gradient: f64,
    hessian: f64,
}

struct Split {
    feature: usize,
    bin: usize,
    gain: f64,
}

pub fn train(rows: &[Row], settings: Settings) -> Vec<Node> {
    let bins = Bins::of(rows);
    let mut margins = vec![0.0; rows.len()];
    let mut trees = Vec::new();
    let mut dice = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..settings.trees {
        let sums: Vec<Sum> = rows
            .iter()
            .zip(&margins)
            .map(|(row, margin)| {
                let p = 1.0 / (1.0 + f64::exp(-margin));
                let wrong = f64::from(u8::from(row.stuck)) - p;
                Sum { gradient: row.weight * wrong, hessian: row.weight * (p * (1.0 - p)).max(1e-4) }
            })
            .collect();
        let asked: Vec<usize> = (0..FEATURES.len())
            .filter(|_| {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (dice >> 33) % 10 < settings.features as u64
            })
            .collect();
        let all: Vec<u32> = (0..rows.len() as u32).collect();
        let mut grower = Grower { bins: &bins, sums: &sums, asked: &asked, settings, margins: &mut margins };
        trees.push(grower.grow(all, 0));
    }
    trees
}

struct Grower<'a> {
    bins: &'a Bins,
    sums: &'a [Sum],
    asked: &'a [usize],
    settings: Settings,
    margins: &'a mut Vec<f64>,
}

impl Grower<'_> {
    fn grow(&mut self, rows: Vec<u32>, deep: usize) -> Node {
        let all = self.sum(&rows);
        let value =
            (UNIT * self.settings.rate * all.gradient / (all.hessian + self.settings.calm)).round() as i64;
        let split = (deep < self.settings.depth).then(|| self.best(&rows, all)).flatten();
        let Some(Split { feature, bin, .. }) = split else {
            rows.iter().for_each(|row| self.margins[*row as usize] += value as f64 / UNIT);
            return Node::Leaf { value };
        };
        let of = &self.bins.of[feature];
        let (yes, no): (Vec<u32>, Vec<u32>) =
            rows.into_iter().partition(|row| of[*row as usize] as usize <= bin);
        let below = self.bins.cuts[feature][bin];
        let (yes, no) = (Box::new(self.grow(yes, deep + 1)), Box::new(self.grow(no, deep + 1)));
        Node::Split { feature, below, value, yes, no }
    }

    fn sum(&self, rows: &[u32]) -> Sum {
        rows.iter().fold(Sum::default(), |sum, row| {
            let one = self.sums[*row as usize];
            Sum { gradient: sum.gradient + one.gradient, hessian: sum.hessian + one.hessian }
        })
    }

    fn best(&self, rows: &[u32], all: Sum) -> Option<Split> {
        let worth = |sum: Sum| sum.gradient * sum.gradient / (sum.hessian + self.settings.calm);
        let mut best: Option<Split> = None;
        for feature in self.asked {
            let of = &self.bins.of[*feature];
            let mut bins = [Sum::default(); BINS];
            for row in rows {
                let (bin, one) = (&mut bins[of[*row as usize] as usize], self.sums[*row as usize]);
                bin.gradient += one.gradient;
                bin.hessian += one.hessian;
            }
            let mut low = Sum::default();
            for (bin, one) in bins.iter().enumerate().take(self.bins.cuts[*feature].len()) {
                low = Sum { gradient: low.gradient + one.gradient, hessian: low.hessian + one.hessian };
                let high = Sum { gradient: all.gradient - low.gradient, hessian: all.hessian - low.hessian };
                if low.hessian < self.settings.least || high.hessian < self.settings.least {
                    continue;
                }
                let gain = worth(low) + worth(high) - worth(all);
                if gain > 0.5 && best.as_ref().is_none_or(|best| gain > best.gain) {
                    best = Some(Split { feature: *feature, bin, gain });
                }
            }
        }
        best
    }
}
