use super::*;

fn tail(output: &str) -> Found {
    tail_with(output, &Rules::default())
}

fn tail_with(output: &str, rules: &Rules) -> Found {
    // In one piece and byte by byte: where a chunk ends must not matter.
    let mut whole = TailScanner::new(rules.clone());
    whole.push(output.as_bytes());
    let whole = whole.finish();
    let mut bytes = TailScanner::new(rules.clone());
    output.bytes().for_each(|b| bytes.push(&[b]));
    assert_eq!(bytes.finish(), whole);
    whole
}

fn complete(output: &str) -> bool {
    let found = tail(output);
    assert_eq!(
        scan(output, &Rules::default()).complete,
        found.complete,
        "the two scanners differ on {output:?}"
    );
    found.complete
}

#[test]
fn a_marker_on_a_line_of_its_own_counts() {
    assert!(complete("<ralph>COMPLETE</ralph>"));
    assert!(complete("done\n  <ralph>complete</ralph>  \r\n\n\n"));
    assert!(complete("<RALPH> Complete </Ralph>\nbye"));
    assert!(complete("\x1b[32m<ralph>COMPLETE</ralph>\x1b[0m\n"));
}

#[test]
fn a_mention_does_not_count() {
    for text in [
        "I would emit `<ralph>COMPLETE</ralph>` but the tests fail",
        "<ralph>COMPLETE</ralph>.",
        "- <ralph>COMPLETE</ralph>",
        "> <ralph>COMPLETE</ralph>",
        "`<ralph>COMPLETE</ralph>`",
        "<ralph>COMPLETE</ralph> not yet",
        "<ralph>NOT COMPLETE</ralph>",
        "<ralph>COMPLETE",
        "COMPLETE",
        "<ralph></ralph>",
        "",
    ] {
        assert!(!complete(text), "{text:?}");
    }
}

#[test]
fn a_marker_in_a_code_fence_does_not_count() {
    assert!(!complete("```\n<ralph>COMPLETE</ralph>\n```\n"));
    assert!(!complete("~~~text\n<ralph>COMPLETE</ralph>\n~~~\n"));
    assert!(!complete("````\n```\n<ralph>COMPLETE</ralph>\n````\n"));
    assert!(!complete("```\n~~~\n<ralph>COMPLETE</ralph>\n```\n"));
    assert!(complete("```\ncode\n```\n<ralph>COMPLETE</ralph>\n"));
    assert!(complete("```inline``` code\n<ralph>COMPLETE</ralph>\n"));
}

#[test]
fn a_fence_that_opened_long_ago_still_holds() {
    let text = format!("```\n{}<ralph>COMPLETE</ralph>\n", "line\n".repeat(100));
    assert!(!complete(&text));
}

#[test]
fn only_the_last_twenty_lines_of_a_plain_command_count() {
    let output = |after: usize| format!("<ralph>COMPLETE</ralph>\n{}", "more\n\n".repeat(after));
    assert!(tail(&output(19)).complete);
    assert!(!tail(&output(20)).complete);
    assert!(scan(&output(20), &Rules::default()).complete, "a final answer counts as a whole");
}

#[test]
fn blocked_carries_its_reason_over_lines() {
    assert_eq!(tail("<ralph>BLOCKED: no key</ralph>").blocked.as_deref(), Some("no key"));
    assert_eq!(
        tail("<Ralph>blocked:\nno key,\n\nreally</RALPH>\n").blocked.as_deref(),
        Some("no key,\nreally")
    );
    assert_eq!(tail("<ralph>BLOCKED</ralph>").blocked.as_deref(), Some("no reason given"));
    assert_eq!(tail("<ralph>BLOCKED: no end").blocked, None);
    assert_eq!(tail("<ralph>BLOCKED: a</ralph> or so").blocked, None);
    assert_eq!(tail("say <ralph>BLOCKED: a</ralph>").blocked, None);
    assert_eq!(tail("<ralph>BLOCKEDNESS</ralph>").blocked, None);
    let long = format!("<ralph>BLOCKED: {}</ralph>", "é".repeat(3000));
    assert_eq!(tail(&long).blocked.map(|r| r.chars().count()), Some(2000));
}

#[test]
fn a_promise_of_ones_own_counts_beside_the_marker() {
    let rules = Rules::new(Some(" LOOP_COMPLETE "), "");
    assert!(tail_with("LOOP_COMPLETE\n", &rules).complete);
    assert!(tail_with("<ralph>COMPLETE</ralph>\n", &rules).complete);
    assert!(!tail_with("loop_complete\n", &rules).complete);
    assert!(!tail_with("The LOOP_COMPLETE is near\n", &rules).complete);
}

#[test]
fn an_echo_of_the_prompt_claims_nothing() {
    let prompt = "Fix it.\nWhen done, print:\n\n<ralph>COMPLETE</ralph>\n";
    let rules = Rules::new(None, prompt);
    assert!(!tail_with(prompt, &rules).complete);
    assert!(!tail_with(&format!("{prompt}working on it\n"), &rules).complete);
    assert!(tail_with(&format!("{prompt}All fixed.\n<ralph>COMPLETE</ralph>\n"), &rules).complete);
    let filler = "x\n".repeat(19);
    let echo_at_the_edge = format!("When done, print:\n<ralph>COMPLETE</ralph>\n{filler}");
    assert!(!tail_with(&echo_at_the_edge, &rules).complete);
}

#[test]
fn invalid_bytes_and_endless_lines_do_not_hide_a_marker() {
    let mut scanner = TailScanner::new(Rules::default());
    scanner.push(&[0xff, 0xfe, b'\n']);
    (0..1000).for_each(|_| scanner.push(&[b'x'; 1000]));
    scanner.push(b"\n<ralph>COMPLETE</ralph>");
    assert!(scanner.finish().complete);
}

/// The same text in one piece and in pieces of any size.
#[test]
fn it_does_not_matter_how_the_text_is_cut() {
    let flood = |mark: &str| format!("a\n{mark}\n{}", "line\n \n".repeat(50));
    let texts = [
        ("<ralph>COMPLETE</ralph>\n".to_owned() + &"x\n\n".repeat(19), true),
        ("<ralph>COMPLETE</ralph>\n".to_owned() + &"x\n\n".repeat(20), false),
        (flood("") + "<ralph>COMPLETE</ralph>\n", true),
        (flood("```") + "<ralph>COMPLETE</ralph>\n", false),
        (flood("~~~") + "<ralph>COMPLETE</ralph>", false),
        (flood("```") + "```\n" + &flood("") + "<ralph>COMPLETE</ralph>", true),
        (flood("``") + "<ralph>COMPLETE</ralph>\n" + &"y\n".repeat(19), true),
    ];
    for (text, expected) in &texts {
        for size in [1, 2, 3, 7, 64, text.len()] {
            let mut scanner = TailScanner::new(Rules::default());
            text.as_bytes().chunks(size).for_each(|chunk| scanner.push(chunk));
            assert_eq!(scanner.finish().complete, *expected, "{text:?} in pieces of {size}");
        }
    }
}
