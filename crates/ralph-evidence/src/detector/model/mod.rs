//! How probable it is that an iteration brings nothing that those before it did not: small trees over named numbers.
//!
//! The trees are data, `model.txt`, written by `cargo xtask stuck train`. Their leaves are whole numbers, thousandths of a
//! logit, and a table turns the sum into a probability; so every machine comes to the same.

mod features;

use std::fmt::Write as _;
use std::sync::LazyLock;

use ralph_core::plan::Sensitivity;

pub use features::{Evidence, FEATURES, Feature};

/// A part of a tree. `value` is what is known so far; the difference to the value below is what the question has told.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Leaf { value: i64 },
    Split { feature: usize, below: f64, value: i64, yes: Box<Node>, no: Box<Node> },
}

/// The trees, and what their sum means.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model {
    pub trees: Vec<Node>,
    /// Sums and the probabilities they stand for, in thousandths, both rising. Between two the way is straight.
    pub probabilities: Vec<(i64, i64)>,
    /// For each sensitivity: low, normal, high.
    pub limits: [Limits; 3],
}

/// From which probabilities on there is an alarm, in thousandths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Where rules count the third time around a circle as well.
    pub counted: i64,
    /// Where they do not, in several iterations in a row.
    pub told: i64,
}

/// What the model says of an iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The sum of all leaves, in thousandths of a logit.
    pub sum: i64,
    /// In thousandths.
    pub probability: i64,
    /// By how much each feature has moved the sum.
    pub weights: [i64; FEATURES.len()],
}

impl Node {
    pub fn value(&self) -> i64 {
        match self {
            Node::Leaf { value } | Node::Split { value, .. } => *value,
        }
    }

    fn ask(&self, values: &[f64], weights: &mut [i64]) -> i64 {
        let mut node = self;
        while let Node::Split { feature, below, value, yes, no } = node {
            node = if values[*feature] < *below { yes } else { no };
            weights[*feature] += node.value() - value;
        }
        node.value()
    }

    fn write(&self, out: &mut String) {
        match self {
            Node::Leaf { value } => _ = writeln!(out, "= {value}"),
            Node::Split { feature, below, value, yes, no } => {
                _ = writeln!(out, "{} {below} {value}", FEATURES[*feature].name);
                yes.write(out);
                no.write(out);
            }
        }
    }

    fn read<'a>(lines: &mut impl Iterator<Item = &'a str>, deep: u32) -> Result<Node, String> {
        let line = lines.next().filter(|_| deep < MOST_DEEP).ok_or("a tree without an end")?;
        let wrong = || format!("not a part of a tree: {line}");
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["=", value] => Ok(Node::Leaf { value: value.parse().map_err(|_| wrong())? }),
            [name, below, value] => Ok(Node::Split {
                feature: Feature::find(name).ok_or_else(wrong)?,
                below: below.parse().map_err(|_| wrong())?,
                value: value.parse().map_err(|_| wrong())?,
                yes: Box::new(Node::read(lines, deep + 1)?),
                no: Box::new(Node::read(lines, deep + 1)?),
            }),
            _ => Err(wrong()),
        }
    }
}

/// In the order of [`Model::limits`].
const SENSITIVITIES: [&str; 3] = ["low", "normal", "high"];
/// Questions behind each other in a tree.
const MOST_DEEP: u32 = 16;
/// The first line of the file.
const HEAD: &str = "ralph: trees that tell whether an iteration brings anything, version 1";

impl Model {
    pub fn limits(&self, sensitivity: Sensitivity) -> Limits {
        let [low, normal, high] = self.limits;
        match sensitivity {
            Sensitivity::Low => low,
            Sensitivity::Normal => normal,
            Sensitivity::High => high,
        }
    }

    pub fn judge(&self, evidence: &Evidence) -> Verdict {
        let values = evidence.values();
        let mut weights = [0; FEATURES.len()];
        let sum = self.trees.iter().map(|tree| tree.ask(&values, &mut weights)).sum();
        Verdict { sum, probability: self.probability(sum), weights }
    }

    /// What a sum means, in thousandths.
    pub fn probability(&self, sum: i64) -> i64 {
        let table = &self.probabilities;
        let behind = table.partition_point(|(at, _)| *at <= sum);
        match (behind.checked_sub(1).map(|before| table[before]), table.get(behind)) {
            (Some((from, low)), Some((to, high))) => low + (high - low) * (sum - from) / (to - from).max(1),
            (Some((_, one)), None) => one,
            (None, Some((_, one))) => *one,
            (None, None) => 0,
        }
    }

    /// As it stands in the file.
    pub fn write(&self) -> String {
        let mut out = format!("{HEAD}\n");
        for (name, Limits { counted, told }) in SENSITIVITIES.iter().zip(self.limits) {
            _ = writeln!(out, "{name} {counted} {told}");
        }
        for (sum, probability) in &self.probabilities {
            _ = writeln!(out, "probability {sum} {probability}");
        }
        for tree in &self.trees {
            out.push_str("tree\n");
            tree.write(&mut out);
        }
        out
    }

    pub fn read(text: &str) -> Result<Model, String> {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err("not a model of this version".to_owned());
        }
        let mut model = Model::default();
        while let Some(line) = lines.next() {
            let wrong = || format!("not a line of a model: {line}");
            let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
            let numbers: Vec<i64> =
                rest.split_whitespace().map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
            match (key, &numbers[..]) {
                ("low", &[counted, told]) => model.limits[0] = Limits { counted, told },
                ("normal", &[counted, told]) => model.limits[1] = Limits { counted, told },
                ("high", &[counted, told]) => model.limits[2] = Limits { counted, told },
                ("probability", &[sum, probability]) => model.probabilities.push((sum, probability)),
                ("tree", []) => model.trees.push(Node::read(&mut lines, 0)?),
                _ => return Err(wrong()),
            }
        }
        Ok(model)
    }

    /// The one that is part of the program.
    pub fn built_in() -> &'static Model {
        static MODEL: LazyLock<Model> =
            LazyLock::new(|| Model::read(include_str!("model.txt")).unwrap_or_default());
        &MODEL
    }
}

impl Verdict {
    /// What weighs most for it, in words, the heaviest first.
    pub fn reasons(&self, evidence: &Evidence, most: usize) -> Vec<String> {
        let values = evidence.values();
        let mut order: Vec<usize> = (0..FEATURES.len()).filter(|at| self.weights[*at] > 0).collect();
        order.sort_by_key(|at| -self.weights[*at]);
        order.into_iter().take(most).map(|at| FEATURES[at].tell(values[at])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(value: i64) -> Box<Node> {
        Box::new(Node::Leaf { value })
    }

    fn model() -> Model {
        let feature = |name| Feature::find(name).unwrap();
        let inner = Node::Split {
            feature: feature("text_last"),
            below: 0.5,
            value: 100,
            yes: leaf(-50),
            no: leaf(900),
        };
        let outer = Node::Split {
            feature: feature("new_names"),
            below: 1.5,
            value: 0,
            yes: Box::new(inner),
            no: leaf(-700),
        };
        Model {
            trees: vec![outer.clone(), outer],
            probabilities: vec![(-1000, 0), (1000, 500), (2000, 1000)],
            limits: [(900, 950), (800, 900), (700, 800)].map(|(counted, told)| Limits { counted, told }),
        }
    }

    #[test]
    fn what_weighs_most_is_what_moved_the_sum() {
        let evidence = Evidence { text_last: 0.97, new_names: 0.0, ..Evidence::default() };
        let verdict = model().judge(&evidence);
        assert_eq!((verdict.sum, verdict.probability), (1800, 900));
        assert_eq!(
            verdict.reasons(&evidence, 3),
            ["97% of its text stood in the iteration before", "0 new names, paths or codes"]
        );
        let fresh = Evidence { new_names: 4.0, ..evidence };
        assert_eq!((model().judge(&fresh).sum, model().judge(&fresh).probability), (-1400, 0));
        assert!(model().judge(&fresh).reasons(&fresh, 3).is_empty());
    }

    #[test]
    fn a_model_is_read_as_it_was_written_and_a_damaged_one_is_refused() {
        let text = model().write();
        assert_eq!(Model::read(&text), Ok(model()));
        for wrong in
            ["", "x", &text.replace("new_names", "no_such"), &text[..text.len() - 8], &(text.clone() + "=\n")]
        {
            assert!(Model::read(wrong).is_err(), "{wrong}");
        }
        let deep = format!("{HEAD}\ntree\n{}", "fails 1 0\n".repeat(100_000));
        assert!(Model::read(&deep).is_err());
    }

    #[test]
    fn the_one_in_the_program_is_sound() {
        let model = Model::built_in();
        assert_eq!(Model::read(include_str!("model.txt")).as_ref(), Ok(model));
        assert!(model.trees.len() > 10 && model.probabilities.len() > 2);
        assert!(model.probabilities.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
    }
}
