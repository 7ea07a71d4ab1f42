//! Whole runs as a person sees them.

use unicode_width::UnicodeWidthStr;

use super::script::*;
use crate::{JsonScreen, LiveScreen, PlainScreen, Screen, ScreenOptions, Style, Verbosity};
use ralph_core::event::{Event, Exit, StopHow};
use ralph_core::stop::Interrupt;
use ralph_core::time::Timestamp;

#[test]
fn a_run_on_a_pipe() {
    let text = plain(&eventful().records, Verbosity::Normal);
    assert!(!text.contains('\u{1b}'));
    assert!(text.lines().all(|line| line.width() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn quiet_tells_only_the_end_and_verbose_also_what_the_agent_says() {
    let records = eventful().records;
    let (quiet, normal) = (plain(&records, Verbosity::Quiet), plain(&records, Verbosity::Normal));
    assert!(normal.ends_with(&quiet) && quiet.lines().count() < 8, "{quiet}");
    let verbose = plain(&records, Verbosity::Verbose);
    let said: Vec<&str> = verbose.lines().filter(|line| line.starts_with("  | ")).collect();
    assert_eq!(
        said,
        ["  | Reading the tests.", "  | Fixing the cart", "  | oops", "  | 日本語のテストを直します 🎉"]
    );
    let rest: Vec<&str> = verbose.lines().filter(|line| !line.starts_with("  | ")).collect();
    assert_eq!(rest, normal.lines().collect::<Vec<_>>());
}

#[test]
fn a_run_on_a_terminal_with_its_bytes() {
    let text =
        show(&eventful().records, |out| LiveScreen::new(out, options(true, Verbosity::Normal), || Some(80)));
    insta::assert_snapshot!(visible(&text));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let records = eventful().records;
    let colored = show(&records, |out| PlainScreen::new(out, options(true, Verbosity::Verbose)));
    assert!(colored.contains("\u{1b}[32mok\u{1b}[0m") && colored.contains("\u{1b}[31mfailed\u{1b}[0m"));
    let stripped: Vec<String> = colored.lines().map(strip).collect();
    assert_eq!(stripped.join("\n") + "\n", plain(&records, Verbosity::Verbose));
}

/// Without trimming, unlike the cleaning of foreign text.
fn strip(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    out + rest
}

#[test]
fn no_color_on_a_terminal_still_has_the_live_line() {
    let text =
        show(&eventful().records, |out| LiveScreen::new(out, options(false, Verbosity::Normal), || Some(80)));
    assert!(text.contains("#1 of 100"));
    // Erasing and wrapping only.
    for (at, _) in text.match_indices('\u{1b}') {
        let escape = &text[at..];
        assert!(["\u{1b}[K", "\u{1b}[?7l", "\u{1b}[?7h"].iter().any(|known| escape.starts_with(known)));
    }
}

#[test]
fn json_is_the_records_and_nothing_else() {
    let records = eventful().records;
    let text = show(&records, JsonScreen::new);
    let lines: Vec<String> = records.iter().map(|record| record.to_json().expect("a line")).collect();
    assert_eq!(text, lines.join("\n") + "\n");
}

#[test]
fn a_resumed_run_is_told_from_its_resume_on() {
    let mut script = Script::start(plan());
    script.works(41, 2, 0.12).pass(5);
    let (fold, before) = (resumed(&script.records), script.records.len());
    script.pass(3600).resumes(plan().event_loop).works(9, 0, 0.05).says("half").pass(1);
    let options = ScreenOptions { fold, ..ScreenOptions::new(Style::plain()) };
    let text = show(&script.records[before..], |out| PlainScreen::new(out, options));
    insta::assert_snapshot!(text, @r#"
    resumed run 0119a4c2 in /srv/anna/shop
      agent   claude -p --append 'be brief'
      gates   none: "complete" will be the agent's word alone, unproved
              add one: --set 'gates=[{name: tests, run: YOUR TEST COMMAND}]'
      limits  iterations 100, runtime 4h, wall time 7d, consecutive failures 5,
              no cost limit
      done    1 iteration, goes on with #2
    #2 interrupted after 0s: ralph went down; it runs again
    #2 (attempt 2) ok 9s, 0 files changed, $0.05  (iterations 2/100)

    no end is recorded: it still runs, or it crashed
      total   2 iterations, 50s of work in 50s, $0.17
      logs    ralph logs 0119a4c2
      next    ralph status 0119a4c2  # see which
              ralph resume 0119a4c2  # go on if it crashed
    "#);
    // The whole journal, replayed, has the same lines behind those of the first session.
    let replayed = plain(&script.records, Verbosity::Normal);
    assert!(replayed.ends_with(&text), "{replayed}");
}

#[test]
fn a_single_pass_speaks_of_no_limits() {
    let mut script = Script::start(ralph_core::plan::Plan { once: true, ..plan() });
    script.works(5, 1, 0.01);
    let text = plain(&script.records, Verbosity::Normal);
    assert!(text.contains("limits  a single pass\n#1 ok 5s, 1 file changed, $0.01\n"), "{text}");
}

#[test]
fn every_wait_has_a_line_and_a_long_one_a_date() {
    let with_delay = |millis| {
        let mut plan = plan();
        plan.event_loop.delay = std::time::Duration::from_millis(millis);
        let mut script = Script::start(plan);
        script.works(5, 0, 0.0);
        plain(&script.records, Verbosity::Normal)
    };
    assert!(with_delay(200).contains("waiting: between iterations: next iteration in 200ms, at 10:00:05\n"));
    assert!(with_delay(1000).contains("waiting: between iterations: next iteration in 1s, at 10:00:06\n"));
    assert!(
        with_delay(86_400_000)
            .contains("waiting: between iterations: next iteration in 1d, at 2026-01-19 10:00:05\n")
    );
}

#[test]
fn hostile_text_stays_in_its_line() {
    let mut script = Script::start(plan());
    script.hears("a\u{1b}[2J\u{1b}]0;title\u{7}b\rc\u{202e}d\u{0}");
    let evil = "no \u{1b}[1;1Hhome\nsecond \u{9b}31mline";
    script.ends(1, |exited| exited.exit = Exit::Lost { message: evil.to_owned() });
    let text = plain(&script.records, Verbosity::Verbose);
    assert!(text.contains("guidance for the next iteration: \"ab cd\"\n"), "{text}");
    assert!(text.contains("#1 failed 1s: no home second line  ("), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn the_live_line_follows_the_run() {
    let captured = Captured::default();
    let mut screen =
        LiveScreen::new(Box::new(captured.clone()), options(false, Verbosity::Normal), || Some(60));
    let mut script = Script::start(plan());
    let mut shown = 0;
    let mut last_line = |script: &Script, screen: &mut LiveScreen, now: Timestamp| {
        for record in &script.records[shown..] {
            screen.event(record);
        }
        shown = script.records.len();
        screen.tick(now);
        let terminal = terminal(40, 60, &captured.text());
        let contents = terminal.screen().contents();
        contents.lines().last().unwrap_or_default().to_owned()
    };
    let now = script.now;
    assert_eq!(last_line(&script, &mut screen, now), "⠋ #1 of 100  0s");
    script.says("日本語のテストを直しますので、少しお待ちください。すぐに終わります。");
    let now = script.pass(41).now;
    assert_eq!(
        last_line(&script, &mut screen, now),
        "⠇ #1 of 100  41s  日本語のテストを直しますので、少しお待ち…"
    );
    assert!(screen.moves());
    let now = script.fails(1, 7).now;
    assert_eq!(last_line(&script, &mut screen, now), "⠦ after a failure: next try in 1s, at 10:00:43");
    let now = script.input(ralph_core::input::Command::PauseRun).now;
    assert_eq!(last_line(&script, &mut screen, now), "paused: ralph unpause 0119a4c2");
    assert!(!screen.moves());
}

#[test]
fn every_line_is_on_the_terminal_once_and_the_live_line_is_gone_at_the_end() {
    let records = eventful().records;
    let text = show(&records, |out| LiveScreen::new(out, options(true, Verbosity::Verbose), || Some(80)));
    let terminal = terminal(60, 80, &text);
    let seen = terminal.screen().contents();
    assert_eq!(seen.trim_end(), plain(&records, Verbosity::Verbose).trim_end());
}

#[test]
fn no_text_and_no_width_makes_two_lines_of_the_live_line() {
    for said in ["👩‍👩‍👧‍👦❤️".repeat(40), "x".repeat(500), "\u{301}".repeat(900), "\t\u{1b}[5B語".repeat(90)]
    {
        for width in [0, 1, 2, 5, 20, 79] {
            let mut script = Script::start(plan());
            script.says(&said);
            let captured = Captured::default();
            let mut screen =
                LiveScreen::new(Box::new(captured.clone()), options(true, Verbosity::Normal), move || {
                    Some(width)
                });
            script.records.iter().for_each(|record| screen.event(record));
            screen.tick(script.now.plus(std::time::Duration::from_secs(1)));
            let text = captured.text();
            let opening = text.find("\r\u{1b}[?7l").unwrap_or(text.len());
            let row = |text: &str| terminal(30, 80, text).screen().cursor_position().0;
            assert_eq!(row(&text), row(&text[..opening]), "{width} {said}");
        }
    }
}

#[test]
fn a_line_that_is_too_wide_for_the_terminal_breaks_between_words() {
    let mut script = Script::start(plan());
    script.ends(3, |exited| {
        exited.exit = Exit::Code(9);
        exited.stderr = Some("cannot open the file of the settings: it is not there".to_owned());
    });
    let live =
        show(&script.records, |out| LiveScreen::new(out, options(true, Verbosity::Normal), || Some(60)));
    let narrow = ScreenOptions { columns: Some(60), ..options(true, Verbosity::Normal) };
    let replayed = show(&script.records, |out| PlainScreen::new(out, narrow));
    for text in [live, replayed] {
        let terminal = terminal(30, 60, &text);
        let rows: Vec<String> = terminal.screen().rows(0, 60).collect();
        let at = rows.iter().position(|row| row.starts_with("#1 failed")).unwrap();
        assert_eq!(rows[at], "#1 failed 3s: exit code 9: cannot open the file of the");
        assert_eq!(rows[at + 1], "  settings: it is not there  (consecutive failures 1/5)");
    }
    // On a pipe it stays a line, for whoever looks for it.
    let piped = plain(&script.records, Verbosity::Normal);
    assert!(piped.lines().any(|line| line.contains("the file of the settings")), "{piped}");
}

#[test]
fn what_the_terminal_writes_at_ctrl_c_leaves_nothing_behind() {
    let mut script = Script::start(plan());
    script.says(&"reading and reading ".repeat(9));
    let mut captured = Captured::default();
    let mut screen =
        LiveScreen::new(Box::new(captured.clone()), options(false, Verbosity::Normal), || Some(70));
    script.records.iter().for_each(|record| screen.event(record));
    screen.tick(script.now.plus(std::time::Duration::from_secs(1)));
    let seen = |captured: &Captured| terminal(20, 70, &captured.text()).screen().contents();
    assert!(seen(&captured).lines().last().unwrap().ends_with('…'), "{}", seen(&captured));
    std::io::Write::write_all(&mut captured, b"^C^C").unwrap();
    let told = script.records.len();
    script.asks_to_stop(StopHow::AfterIteration, Interrupt::Int);
    script.records[told..].iter().for_each(|record| screen.event(record));
    let after = seen(&captured);
    let last: Vec<&str> = after.lines().rev().take(2).collect();
    assert!(last[0].contains("stops after this  reading") && last[1].ends_with("ends it now"), "{after}");
    assert!(!after.contains("^C") && after.matches("#1 of 100").count() == 1, "{after}");
}

#[test]
fn an_unchanged_line_is_not_drawn_again() {
    let script = Script::start(plan());
    let captured = Captured::default();
    let mut screen =
        LiveScreen::new(Box::new(captured.clone()), options(false, Verbosity::Normal), || Some(60));
    script.records.iter().for_each(|record| screen.event(record));
    let before = captured.text();
    screen.tick(script.now);
    assert_eq!(captured.text(), before);
    screen.tick(script.now.plus(std::time::Duration::from_millis(125)));
    assert_ne!(captured.text(), before);
}

#[test]
fn records_without_a_beginning_are_shown_as_far_as_they_go() {
    let records = eventful().records;
    let tail: Vec<_> =
        records.iter().filter(|record| !matches!(record.event, Event::RunStarted(_))).cloned().collect();
    assert!(plain(&tail, Verbosity::Normal).contains("#1 ok 41s, 2 files changed, $0.12\n"));
}
