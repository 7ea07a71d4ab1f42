//! Calls that may be asserts under a name that is not known here: they are given the benefit of the doubt.

use super::super::asserts::{Assert, chain_end};
use super::super::dead::dead;
use super::super::lex::Tokens;
use super::ComparedTest;
use std::collections::BTreeSet;
use std::ops::Range;

/// A call, with what it was given.
pub(super) struct Call {
    literals: Vec<String>,
    words: BTreeSet<String>,
}

/// Words that only show.
const SHOWS: &[&str] = &[
    "print", "println", "eprintln", "printf", "log", "Log", "Logf", "console", "debug", "info", "warn",
    "echo", "puts", "format", "dbg", "write",
];

/// The calls of the test as it is now that it did not have before, of which nobody knows that they check nothing.
pub(super) fn calls(old: &ComparedTest, new: &ComparedTest, idle: &BTreeSet<String>) -> Vec<Call> {
    let known: BTreeSet<String> = chains(old).into_iter().map(|(_, text)| text).collect();
    let tokens = &new.sheet.tokens;
    let mut found = Vec::new();
    for (range, text) in chains(new) {
        let named = named(tokens, range.clone());
        // The last one called is the one that could check.
        let nothing = named.iter().any(|word| SHOWS.contains(word))
            || named.last().is_some_and(|word| idle.contains(*word));
        let part = tokens.part(range);
        if known.contains(&text) || nothing {
            continue;
        }
        found.push(Call {
            literals: part
                .iter()
                .filter(|token| token.is_literal())
                .map(|token| token.text.clone())
                .collect(),
            words: part.iter().filter_map(|token| token.word()).map(str::to_owned).collect(),
        });
    }
    found
}

/// The names in a chain of calls, without what is in their brackets.
fn named(tokens: &Tokens, range: Range<usize>) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = range.start;
    while at < range.end {
        found.extend(tokens.word(at));
        at = if tokens.opens(at) { tokens.close(at) } else { at } + 1;
    }
    found
}

/// Calls with what is chained to them, outermost ones, outside of asserts.
fn chains(test: &ComparedTest) -> Vec<(Range<usize>, String)> {
    let tokens = &test.sheet.tokens;
    let asserts: Vec<&Assert> = test.real.iter().chain(&test.constant).collect();
    let dead = test
        .sheet
        .language
        .map(|language| dead(tokens, test.test.body.clone(), language))
        .unwrap_or_default();
    let mut found = Vec::new();
    let mut at = test.test.body.start;
    while at < test.test.body.end {
        let taken = asserts.iter().any(|assert| assert.range.contains(&at))
            || dead.iter().any(|gone| gone.contains(&at));
        let starts = tokens.word(at).is_some() && ["(", ".", "::"].iter().any(|sign| tokens.is(at + 1, sign));
        let end = if starts && !taken { chain_end(tokens, at) } else { at };
        if end > at + 1 {
            let text: Vec<String> = tokens.part(at..end).iter().map(|token| token.key()).collect();
            found.push((at..end, text.join(" ")));
        }
        at = end.max(at + 1);
    }
    found
}

/// Whether one of the calls has all values of the lost assert, and its subject or several of its values. It stands for one.
pub(super) fn takes(calls: &mut Vec<Call>, lost: &Assert) -> bool {
    let fits = |call: &Call| {
        let mut left = call.literals.clone();
        let all = lost.literals.iter().all(|literal| match left.iter().position(|other| other == literal) {
            Some(at) => {
                left.swap_remove(at);
                true
            }
            None => false,
        });
        all && !lost.literals.is_empty() && (lost.literals.len() > 1 || !lost.words.is_disjoint(&call.words))
    };
    match calls.iter().position(fits) {
        Some(at) => {
            calls.swap_remove(at);
            true
        }
        None => false,
    }
}
