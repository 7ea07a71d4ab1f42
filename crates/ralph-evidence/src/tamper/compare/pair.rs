//! Which test of now is which test of before: by place and name, by name, by what it says.

use super::ComparedTest;
use std::collections::BTreeMap;

/// Share of common tokens from which a test is the same one under another name.
const ALIKE: f64 = 0.7;
/// Comparisons of texts at most; beyond that, names alone tell.
const MOST: usize = 60_000;

pub(super) fn pairs(old: &[ComparedTest], new: &[ComparedTest]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut taken = (vec![false; old.len()], vec![false; new.len()]);
    let live = |test: &ComparedTest| test.test.skipped.is_none();
    // The same name may stand twice in a file: the first pairs with the first.
    by_key(old, new, &mut taken, &mut pairs, |test| Some((test.file.to_owned(), test.test.name.clone())));
    by_key(old, new, &mut taken, &mut pairs, |test| {
        (!test.is_loose()).then(|| (String::new(), test.test.name.clone()))
    });
    let free = |taken: &[bool]| (0..taken.len()).filter(|at| !taken[*at]).collect::<Vec<_>>();
    let (olds, news) = (free(&taken.0), free(&taken.1));
    if olds.len() * news.len() > MOST {
        return pairs;
    }
    let texts = |tests: &[ComparedTest], places: &[usize]| -> Vec<BTreeMap<String, usize>> {
        places.iter().map(|at| bag(&tests[*at])).collect()
    };
    let (bags_old, bags_new) = (texts(old, &olds), texts(new, &news));
    let mut close: Vec<(f64, usize, usize)> = Vec::new();
    for (a, left) in bags_old.iter().enumerate() {
        for (b, right) in bags_new.iter().enumerate() {
            let score = alike(left, right) + if live(&new[news[b]]) { 0.0001 } else { 0.0 };
            if score >= ALIKE {
                close.push((score, a, b));
            }
        }
    }
    close.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (_, a, b) in close {
        let (a, b) = (olds[a], news[b]);
        if !taken.0[a] && !taken.1[b] {
            (taken.0[a], taken.1[b]) = (true, true);
            pairs.push((a, b));
        }
    }
    pairs
}

fn by_key(
    old: &[ComparedTest],
    new: &[ComparedTest],
    taken: &mut (Vec<bool>, Vec<bool>),
    pairs: &mut Vec<(usize, usize)>,
    key: impl Fn(&ComparedTest) -> Option<(String, String)>,
) {
    let mut waiting: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (at, test) in new.iter().enumerate().rev().filter(|(at, _)| !taken.1[*at]) {
        if let Some(key) = key(test) {
            waiting.entry(key).or_default().push(at);
        }
    }
    for (at, test) in old.iter().enumerate() {
        if taken.0[at] {
            continue;
        }
        if let Some(now) = key(test).and_then(|key| waiting.get_mut(&key)).and_then(Vec::pop) {
            (taken.0[at], taken.1[now]) = (true, true);
            pairs.push((at, now));
        }
    }
}

fn bag(test: &ComparedTest) -> BTreeMap<String, usize> {
    let mut bag = BTreeMap::new();
    for at in test.places() {
        *bag.entry(test.sheet.tokens.list[at].key()).or_default() += 1;
    }
    bag
}

/// Twice the common ones over all.
fn alike(left: &BTreeMap<String, usize>, right: &BTreeMap<String, usize>) -> f64 {
    let common: usize =
        left.iter().map(|(key, count)| right.get(key).map_or(0, |other| *count.min(other))).sum();
    let all: usize = left.values().sum::<usize>() + right.values().sum::<usize>();
    if all == 0 { 0.0 } else { 2.0 * common as f64 / all as f64 }
}
