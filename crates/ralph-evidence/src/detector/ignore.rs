//! What the user knows to be noise is taken out of an output before it is looked at.

use regex::{NoExpand, Regex};

use super::text;

/// A longer line is looked at in parts.
const MAX_LINE: usize = 4096;

/// Rules for text that says nothing.
#[derive(Debug, Clone, Default)]
pub struct Ignore {
    rules: Vec<Regex>,
    /// The line that has not ended yet.
    partial: Vec<u8>,
}

impl Ignore {
    /// The rules of a definition, like its other ones in any letter case. One that does not compile was reported there.
    pub fn new(rules: &[String]) -> Self {
        let rules = rules.iter().filter_map(|rule| ralph_core::marker::pattern(rule).ok());
        Self { rules: rules.collect(), partial: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Takes text in pieces of any size; gives the lines that are whole, without what the rules match.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut kept = Vec::with_capacity(bytes.len());
        while !bytes.is_empty() {
            let end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
            let take = end.min(MAX_LINE - self.partial.len());
            self.partial.extend_from_slice(&bytes[..take]);
            bytes = &bytes[take..];
            if bytes.first() == Some(&b'\n') {
                bytes = &bytes[1..];
                let line = self.end_line();
                if !line.is_empty() {
                    kept.extend_from_slice(&line);
                    kept.push(b'\n');
                }
            } else if self.partial.len() == MAX_LINE {
                kept.append(&mut self.end_line());
            }
        }
        kept
    }

    /// What is left of the line that has begun. A line of nothing but noise is no line.
    pub(super) fn end_line(&mut self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.partial);
        // As a person sees it: without colours, and without the end that `$` stands for.
        let line = text::clean(&bytes);
        let mut line = line.trim_end_matches('\r').to_owned();
        for rule in &self.rules {
            if rule.is_match(&line) {
                line = rule.replace_all(&line, NoExpand("")).into_owned();
            }
        }
        if line.trim().is_empty() { Vec::new() } else { line.into_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(rules: &[&str], chunks: &[&str]) -> String {
        let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        let mut ignore = Ignore::new(&rules);
        let mut out: Vec<u8> = chunks.iter().flat_map(|chunk| ignore.push(chunk.as_bytes())).collect();
        out.append(&mut ignore.end_line());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_matches_is_taken_out_and_a_line_of_noise_is_gone() {
        let text = ["build 17 of ", "today\nready\nseed=", "99\nend"];
        assert_eq!(kept(&["seed=\\d+", "\\d+"], &text), "build  of today\nready\nend");
        assert_eq!(kept(&["^READY"], &text), "build 17 of today\nseed=99\nend");
    }

    #[test]
    fn a_rule_sees_a_line_from_its_beginning_to_its_end_without_colours() {
        let text = ["\u{1b}[32mSeed: 4\u{1b}[0m\r\nkept\n"];
        assert_eq!(kept(&["^seed: .*$"], &text), "kept\n");
    }

    #[test]
    fn an_endless_line_needs_no_memory() {
        let mut ignore = Ignore::new(&["x+y".to_owned()]);
        for _ in 0..1000 {
            assert!(ignore.push(&[b'x'; 10_000]).len() <= 10_000 + MAX_LINE);
        }
        assert!(ignore.partial.len() <= MAX_LINE);
    }
}
