//! Where a piece of a stream ends does not matter, whatever is left open when it does.

use super::super::{Said, SpeechScanner};
use super::*;

const IDLE: &str = "<!-- ralph:state idle -->\n";

/// What both scanners find in pieces of this size.
fn found(text: &str, size: usize) -> (Said, Found) {
    let (mut speech, mut tail) = (SpeechScanner::new(Rules::default()), TailScanner::new(Rules::default()));
    for piece in text.as_bytes().chunks(size) {
        speech.push(piece);
        tail.push(piece);
    }
    (speech.finish(), tail.finish())
}

fn whole(text: &str) -> (Said, Found) {
    let whole = found(text, text.len().max(1));
    for size in [1, 2, 7, 61, 97, 230, 700, 2_000] {
        assert!(found(text, size) == whole, "in pieces of {size}: {text:?}");
    }
    whole
}

#[test]
fn what_is_left_open_in_a_flood_stays_open() {
    let flood = "line\n".repeat(120);
    let coloured = "\x1b[0m\n".repeat(120);
    // What stands before, and whether what follows is shown.
    for (before, shown) in [
        (format!("\x1b]0;title\n{flood}"), true),
        (format!("```\n{}", "\x1b]0;\n".repeat(120)), true),
        (format!("```\n\x1b]0;\x07{flood}```\n{flood}"), false),
        (format!("- ```\n  x\nb\n{flood}"), false),
        (format!("> quoted\n{flood}"), true),
        (format!("> quoted\n\n{flood}"), false),
        (format!("{flood}  > quoted\n{flood}"), true),
        (format!("{flood}\x1b[1m> quoted\n{flood}"), true),
        (format!("{flood}\x1b[36m@@ -1 +1 @@\x1b[m\n{flood}"), true),
        (format!("{flood}diff --git a/x b/x\n{flood}\n"), false),
        (format!("- a\n{}", "    - b\n".repeat(120)), false),
        (format!("x\n{}x\n", "     - b\n".repeat(120)), false),
        (format!("{coloured}x\n{coloured}"), false),
        (format!("```\n{coloured}"), true),
    ] {
        let (said, found) = whole(&format!("{before}{IDLE}<ralph>COMPLETE</ralph>\n{coloured}"));
        assert_eq!((said.state.is_none(), !found.complete), (shown, shown), "{before:?}");
    }
    let closed_later = format!("`\n{IDLE}{}`\n{flood}", "x\n".repeat(9));
    assert_eq!(whole(&closed_later).0.state, None);
    let of_its_own = format!("`\n{IDLE}x\n\n{flood}`\n{flood}");
    assert!(whole(&of_its_own).0.state.is_some());
}

#[test]
fn what_was_almost_heard_is_told_wherever_it_stands() {
    let flood = "line\n".repeat(120);
    assert!(whole(&format!("{flood}my ralph:state is idle\n{flood}")).0.misheard.is_some());
    let apart = format!("{flood}my ralph\x1b[1m:state\n<eve\x1b[0mnt topic=\"a\">x</event>\n{flood}");
    assert_eq!(whole(&apart).0, Said::default());
}

#[test]
fn a_long_line_is_cut_at_the_same_place_however_it_comes() {
    for text in [
        format!("{}\u{e9}{}\n{IDLE}", "x".repeat(66_559), "<pre>".repeat(100)),
        format!("<pre>{}</pre>{}\n{IDLE}", "x".repeat(66_600), "y".repeat(300)),
        format!("{}`{}\n{IDLE}`\n", "x".repeat(9_000), "z".repeat(60_000)),
    ] {
        let all = found(&text, text.len());
        for size in [1_000, 4_096, 65_536] {
            assert!(found(&text, size) == all, "in pieces of {size}");
        }
        let mut message = SpeechScanner::new(Rules::default());
        message.message(&text);
        assert!(message.finish() == all.0);
    }
}

/// Any mixture of what opens, closes and shows.
#[test]
fn no_mixture_of_marks_depends_on_its_pieces() {
    let flood = |line: &str| line.repeat(30);
    let floods =
        ["x\n", "  y\n", "    - b\n", "\x1b[0m\n", "> q\n", "1. z\n", "word `a` word\n", " \n"].map(flood);
    let words = "```|~~~|`|\n|\n\n|> |- |    |1. |\x1b]0;|\x07|\x1b[2K|\x1bP|\u{9d}|\u{9c}|\r|<pre>|</pre>|<!--|-->|<<EOF\n|EOF\n\
                 |@@ |diff --git |<event topic=\"a\">|</event>|\u{fffd}|\u{feff}|x|\u{a0}|ralph:state|<ralph>COMPLETE</ralph>";
    let mut parts: Vec<&str> = words.split('|').chain([IDLE, "\n<ralph>COMPLETE</ralph>\n"]).collect();
    parts.extend(floods.iter().map(String::as_str).cycle().take(24));
    let mut state = 7_u64;
    let mut below = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    for _ in 0..600 {
        let text: String = (0..2 + below(14)).map(|_| parts[below(parts.len())]).collect();
        whole(&text);
    }
}
