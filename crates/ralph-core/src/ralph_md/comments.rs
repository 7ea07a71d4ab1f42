//! HTML comments in a prompt are notes for people: they are taken out before anything else is done with it.

use std::ops::Range;

use crate::marker::Fence;

const OPEN: &str = "<!--";
const CLOSE: &str = "-->";

/// The text without its comments. Those in fenced blocks stay, as do `<!-- ralph:… -->` ones: they show the agent what it
/// can say. A comment that is never closed is none.
pub fn without_comments(text: &str) -> String {
    kept(text).into_iter().map(|range| &text[range]).collect()
}

/// What is left of the text, as ranges of it; two that touch are one.
pub(super) fn kept(text: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut fence = Fence::default();
    let mut at = 0;
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        if fence.covers(text[at..end].trim_end().as_bytes()) {
            keep(at..end, &mut out);
            at = end;
        } else {
            at = line(text, at, end, &mut out);
        }
    }
    out
}

fn keep(range: Range<usize>, out: &mut Vec<Range<usize>>) {
    match out.last_mut().filter(|last| last.end == range.start) {
        Some(last) => last.end = range.end,
        None => out.push(range),
    }
}

/// Keeps one line, up to `end`, and the rest of the line that its last comment ends on. Gives where that is.
fn line(text: &str, mut at: usize, mut end: usize, out: &mut Vec<Range<usize>>) -> usize {
    while let Some(open) = text[at..end].find(OPEN).map(|open| at + open) {
        let Some(close) = text[open..].find(CLOSE).map(|close| open + close + CLOSE.len()) else { break };
        let kept = text[open + OPEN.len()..].trim_start().starts_with("ralph:");
        keep(at..if kept { close } else { open }, out);
        at = close;
        if close > end {
            end = text[close..].find('\n').map_or(text.len(), |more| close + more + 1);
        }
    }
    keep(at..end, out);
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_removed_except_in_fenced_blocks() {
        assert_eq!(without_comments("a <!-- x --> b"), "a  b");
        assert_eq!(without_comments("a\n<!-- x\n\n```\ny -->\nb <!--z--> c\n"), "a\n\nb  c\n");
        for fence in ["```", "~~~", "````md"] {
            let close = fence.trim_end_matches("md");
            let text = format!("{fence}\n<!-- x -->\n{close}\n<!-- y -->z");
            assert_eq!(without_comments(&text), format!("{fence}\n<!-- x -->\n{close}\nz"));
        }
        assert_eq!(without_comments("<!-- a --><!-- b\n-->c<!-- d -->"), "c");
        assert_eq!(without_comments("<!-- never closed\n```\n"), "<!-- never closed\n```\n");
    }

    #[test]
    fn comments_that_ralph_understands_stay() {
        for text in ["<!-- ralph:state idle -->", "a <!--ralph:delay 5s--> b", "<!--\n ralph:state x\n-->"] {
            assert_eq!(without_comments(text), text);
        }
        assert_eq!(
            without_comments("<!-- ralph is fun --><!-- ralph:state idle -->"),
            "<!-- ralph:state idle -->"
        );
    }
}
