use super::*;

/// The rules of a definition with this promise.
fn rules_of(completion_promise: Option<&str>, prompt: &str) -> Rules {
    let completion_promise = completion_promise.map(str::to_owned);
    Rules::new(&SignalPlan { completion_promise, ..SignalPlan::default() }, prompt)
}

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
        "> <ralph>COMPLETE</ralph>",
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
    let rules = rules_of(Some(" LOOP_COMPLETE "), "");
    assert!(tail_with("LOOP_COMPLETE\n", &rules).complete);
    assert!(tail_with("<ralph>COMPLETE</ralph>\n", &rules).complete);
    assert!(!tail_with("loop_complete\n", &rules).complete);
    assert!(!tail_with("The LOOP_COMPLETE is near\n", &rules).complete);
}

#[test]
fn an_echo_of_the_prompt_claims_nothing() {
    let prompt = "Fix it.\nWhen done, print:\n\n<ralph>COMPLETE</ralph>\n";
    let rules = rules_of(None, prompt);
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

mod pieces;
mod shown;

mod speech {
    use std::time::Duration;

    use super::*;
    use crate::marker::{AgentState, Published, Said, SpeechScanner};

    fn said(text: &str) -> Said {
        said_with(text, &Rules::default())
    }

    /// As a stream in pieces of any size and as one message: the same.
    fn said_with(text: &str, rules: &Rules) -> Said {
        let mut message = SpeechScanner::new(rules.clone());
        message.message(text);
        let message = message.finish();
        let sizes = if text.len() < 10_000 { [1, 2, 7, 64] } else { [61, 64, 4096, 65_536] };
        for size in sizes.into_iter().chain([text.len().max(1)]) {
            let mut stream = SpeechScanner::new(rules.clone());
            text.as_bytes().chunks(size).for_each(|chunk| stream.push(chunk));
            assert!(stream.finish() == message, "{:?}… in pieces of {size}", cut(text, 200));
        }
        message
    }

    fn state(text: &str) -> Option<AgentState> {
        said(text).state
    }

    fn published(text: &str) -> Vec<(String, String)> {
        said(text).published.into_iter().map(|event| (event.topic, event.payload)).collect()
    }

    fn event(topic: &str, payload: &str) -> (String, String) {
        (topic.to_owned(), payload.to_owned())
    }

    #[test]
    fn a_state_on_a_line_of_its_own_counts_anywhere() {
        assert_eq!(state("<!-- ralph:state idle -->"), Some(AgentState::Idle));
        let early = format!("  <!--ralph:state   waiting_for_review-->\r\n{}", "more\n".repeat(500));
        assert_eq!(state(&early), Some(AgentState::WaitingForReview));
        assert_eq!(state("\x1b[2m<!-- ralph:state blocked -->\x1b[0m\n"), Some(AgentState::Blocked));
        let twice = "<!-- ralph:state idle -->\nOh, there is something.\n<!-- ralph:state working -->\n";
        assert_eq!(state(twice), Some(AgentState::Working), "the last word counts");
    }

    #[test]
    fn a_state_marker_that_is_quoted_or_mentioned_does_not_count() {
        for text in [
            "I would print `<!-- ralph:state idle -->` now",
            "<!-- ralph:state idle --> nothing to do",
            "> <!-- ralph:state idle -->",
            "<!-- ralph:state sleepy -->",
            "<!-- ralph:state IDLE -->",
            "<!-- ralph:state idle",
            "<!-- ralph:state -->",
            "ralph:state idle",
            "```\n<!-- ralph:state idle -->\n```",
            "~~~md\n<!-- ralph:state idle -->\n~~~\n",
            "```\nnever closed\n\n<!-- ralph:state idle -->",
        ] {
            assert_eq!(Said { misheard: None, ..said(text) }, Said::default(), "{text:?}");
        }
        assert_eq!(state("```\ncode\n```\n<!-- ralph:state idle -->"), Some(AgentState::Idle));
    }

    #[test]
    fn a_delay_is_any_duration() {
        assert_eq!(said("<!-- ralph:delay 60s -->").delay, Some(Duration::from_secs(60)));
        assert_eq!(said("<!-- ralph:delay 1h 30m -->").delay, Some(Duration::from_secs(5400)));
        assert_eq!(said("<!-- ralph:delay 1.5 -->").delay, Some(Duration::from_millis(1500)));
        for text in ["-5s", "soon", "inf", "", "60s please"] {
            assert_eq!(said(&format!("<!-- ralph:delay {text} -->")).delay, None, "{text}");
        }
    }

    #[test]
    fn events_are_found_on_one_line_and_over_several() {
        assert_eq!(published("<event topic=\"a.b\">ok</event>"), [event("a.b", "ok")]);
        assert_eq!(published("text\n <event topic='x' target=\"y\"></event>\nmore"), [event("x", "")]);
        let block =
            "<event topic=\"review\">\nline 1\n\n  ```\n  code\nline 2</event>\n<!-- ralph:state idle -->\n";
        assert_eq!(published(block), [event("review", "line 1\n\n  ```\n  code\nline 2")]);
        assert_eq!(state(block), Some(AgentState::Idle), "a fence in a payload ends with it");
        let two = "<event topic=\"a\">1</event> <event topic=\"b\">2\n</event>";
        assert_eq!(published(two), [event("a", "1"), event("b", "2")]);
    }

    #[test]
    fn an_event_ends_at_the_first_end_tag() {
        assert_eq!(
            published("<event topic=\"a\">x\n<event topic=\"b\">y</event>\n</event>\n"),
            [event("a", "x\n<event topic=\"b\">y")]
        );
    }

    #[test]
    fn what_only_looks_like_an_event_is_none() {
        for text in [
            "I publish <event topic=\"a\">x</event>",
            "<event topic=\"a\">x</event> as I said",
            "<event topic=\"a\">x\ny</event> as I said\n",
            "<event topic=\"\">x</event>",
            "<event>x</event>",
            "<event name=\"a\">x</event>",
            "<event topic=a>x</event>",
            "<events topic=\"a\">x</events>",
            "<event topic=\"a\">never closed\n",
            "```\n<event topic=\"a\">x</event>\n```\n",
        ] {
            assert_eq!(said(text), Said::default(), "{text:?}");
        }
    }

    #[test]
    fn an_event_that_never_ends_hides_nothing() {
        let text = "Write it like this:\n<event topic=\"a\">\n```\n<!-- ralph:state blocked -->\n```\n<!-- ralph:state idle -->\n";
        assert_eq!(said(text), Said { state: Some(AgentState::Idle), ..Said::default() });
        let closed = format!("{text}</event>\n");
        assert_eq!(state(&closed), None, "a payload says nothing");
    }

    #[test]
    fn an_echo_of_the_prompt_says_nothing() {
        let prompt = "Nothing to do? Print:\n\n   <!-- ralph:state idle -->\n\nDone? Print:\n<event topic=\"done\">\nit\n</event>\n";
        let rules = Rules::new(&SignalPlan::default(), prompt);
        assert_eq!(said_with(prompt, &rules), Said::default());
        let own = "Nothing.\n<!-- ralph:state idle -->\nDone.\n<event topic=\"done\">\nit\n</event>\n";
        for text in [own.to_owned(), format!("{prompt}{own}")] {
            let said = said_with(&text, &rules);
            assert_eq!(said.state, Some(AgentState::Idle));
            assert_eq!(said.published.len(), 1, "{text}");
        }
    }

    #[test]
    fn count_and_size_of_events_are_bounded() {
        let many = "<event topic=\"a\">x</event>\n".repeat(150);
        let found = said(&many);
        assert_eq!((found.published.len(), found.unpublished), (100, 50));
        let long = format!("<event topic=\"a\">{}</event>\n<!-- ralph:state idle -->", "é".repeat(200_000));
        let found = said(&long);
        let Published { payload, truncated, .. } = &found.published[0];
        assert!(payload.len() <= 64 * 1024 && payload.len() > 60 * 1024 && *truncated);
        assert_eq!(found.state, Some(AgentState::Idle));
        let lines = format!("<event topic=\"a\">{}</event>\n", "line of text\n".repeat(30_000)).repeat(9);
        let found = said(&lines);
        assert_eq!((found.published.len(), found.unpublished), (4, 5));
    }

    #[test]
    fn a_stream_needs_no_memory() {
        let mut scanner = SpeechScanner::new(Rules::default());
        scanner.push(b"<event topic=\"a\">");
        (0..2000).for_each(|_| scanner.push(&[b'x'; 10_000]));
        scanner.push(b"\n</event>\n");
        (0..2000).for_each(|_| scanner.push(&[b'y'; 10_000]));
        assert!(scanner.partial_capacity() < 256 * 1024);
        assert!(scanner.finish().published[0].truncated);
    }

    #[test]
    fn a_message_does_not_reach_into_the_next_one() {
        let mut scanner = SpeechScanner::new(Rules::default());
        scanner.message("```\nopen");
        scanner.message("<!-- ralph:state idle -->");
        scanner.message("<event topic=\"a\">open");
        scanner.message("</event>\n<event topic=\"b\">2</event>");
        let said = scanner.finish();
        assert_eq!(said.state, Some(AgentState::Idle));
        assert_eq!(said.published.iter().map(|e| &*e.topic).collect::<Vec<_>>(), ["b"]);
    }
}

mod promise {
    use super::*;

    fn rules(signal: &str, prompt: &str) -> Rules {
        let completion_signal = Some(signal.to_owned());
        Rules::new(&SignalPlan { completion_signal, ..SignalPlan::default() }, prompt)
    }

    #[test]
    fn a_promise_counts_alone_on_its_line_with_its_exact_text() {
        let rules = rules("ALL  DONE", "");
        let complete = |text: &str| tail_with(text, &rules).complete;
        assert!(complete("<promise>ALL DONE</promise>"));
        assert!(complete("text\n <promise>  ALL \t DONE </promise>\nbye\n"));
        assert!(complete("<promise>\nALL\nDONE\n</promise>\n"));
        for text in [
            "<promise>all done</promise>",
            "<promise>ALL DONE NOW</promise>",
            "<promise></promise>",
            "I say <promise>ALL DONE</promise>",
            "<promise>ALL DONE</promise>!",
            "```\n<promise>ALL DONE</promise>\n```",
            "<promise>ALL DONE",
            "<PROMISE>ALL DONE</PROMISE>",
        ] {
            assert!(!complete(text), "{text:?}");
        }
        assert!(!tail("<promise>ALL DONE</promise>").complete, "nobody asked for it");
    }

    #[test]
    fn an_echo_of_the_promise_is_none() {
        let prompt = "When done:\n<promise>X</promise>\n";
        let rules = rules("X", prompt);
        assert!(!tail_with(prompt, &rules).complete);
        assert!(tail_with(&format!("{prompt}\nDone.\n<promise>X</promise>"), &rules).complete);
    }
}

fn own_rules(success: Option<&str>, blocked: Option<&str>, prompt: &str) -> Rules {
    let text = |text: Option<&str>| text.map(str::to_owned);
    let signals =
        SignalPlan { success_regex: text(success), blocked_regex: text(blocked), ..SignalPlan::default() };
    Rules::new(&signals, prompt)
}

#[test]
fn a_rule_of_the_users_own_is_applied_as_written_in_any_case_and_replaces_the_marker() {
    let rules = own_rules(Some("all (tests|checks) pass"), None, "");
    assert!(scan("Good news: ALL TESTS PASS now.", &rules).complete);
    assert!(!scan("no tests pass", &rules).complete);
    assert!(!scan("<ralph>COMPLETE</ralph>", &rules).complete, "it was replaced");
    assert!(scan("<ralph>BLOCKED: key</ralph>", &rules).blocked.is_some(), "that one was not");
    let mut scanner = TailScanner::new(rules);
    scanner.push(b"working\nall checks pass\n");
    assert!(scanner.finish().complete);
}

#[test]
fn a_blocked_rule_of_the_users_own_gives_its_first_group_over_several_lines() {
    let rules = own_rules(None, Some("NEED HELP: (.*?) END"), "");
    let found = scan("so\nneed help: the key\nis missing END", &rules);
    assert_eq!(found.blocked.as_deref(), Some("the key\nis missing"));
    assert_eq!(scan("<ralph>BLOCKED: key</ralph>", &rules).blocked, None, "it was replaced");
    let bare = own_rules(None, Some("stuck!"), "");
    assert_eq!(scan("I am stuck!", &bare).blocked.as_deref(), Some("no reason given"));
}

#[test]
fn an_echo_of_the_prompt_does_not_match_a_rule_of_the_users_own() {
    let prompt = "Work.\nSay ALL DONE when all is done.\n";
    let rules = own_rules(Some("all done"), None, prompt);
    assert!(!scan(prompt, &rules).complete);
    assert!(scan(&format!("{prompt}\nALL DONE"), &rules).complete);
}
