use super::memory::{MEMORY, MOST_KEPT, MOST_VALUES};
use super::*;
use ralph_core::event::ToolKind;

use crate::detector::sketch::{Sketcher, ToolUse};

fn sketch(output: &str) -> Sketch {
    let mut sketcher = Sketcher::new();
    sketcher.push(output.as_bytes());
    sketcher.finish()
}

/// The index of the first alarm.
fn first(sketches: impl IntoIterator<Item = Sketch>) -> Option<usize> {
    let mut detector = NoProgress::default();
    sketches.into_iter().position(|sketch| detector.observe(&sketch).alarm)
}

fn fired(outputs: &[String]) -> Option<usize> {
    first(outputs.iter().map(|output| sketch(output)))
}

/// What a working agent says: each time about something else.
fn work(n: usize) -> String {
    const PARTS: [&str; 8] =
        ["parser", "lexer", "printer", "resolver", "cache", "router", "scanner", "indexer"];
    const DEEDS: [&str; 5] = ["validate_input", "read_header", "flush_buffer", "merge_spans", "count_tokens"];
    let (part, deed) = (PARTS[n % 8], DEEDS[n / 2 % 5]);
    format!(
        "Now the {part}: {deed} drops the last {part} entry.\n[Edit] src/{part}/{deed}.rs\n\
         pub fn {deed}_{part}(input: &{part}::Input) -> Result<{part}::Output>\ntest {part}::{deed} ... ok\n"
    )
}

const FAILURE: &str = "[Bash] cargo test --workspace\nerror[E0308]: mismatched types\n --> src/auth/login.rs:41:9\n\
    expected struct `Session`, found enum `Option<Session>`\n";

#[test]
fn working_is_no_loop_and_the_third_time_around_is() {
    let mut outputs: Vec<String> = (0..20).map(work).collect();
    assert_eq!(fired(&outputs), None);
    outputs.extend(vec![FAILURE.to_owned(); 4]);
    assert_eq!(fired(&outputs), Some(22));
}

#[test]
fn other_words_and_other_noise_around_the_same_thing_are_a_loop() {
    let leads = [
        "Let me try this once more.",
        "Perhaps the lock file is stale, so I will start over.",
        "Trying again.",
    ];
    let outputs: Vec<String> = (0..3)
        .map(|n| {
            format!(
                "[12:0{n}:17] {}\n{}finished in {}.2{n}s\n",
                leads[n],
                FAILURE.replace("41", &(40 + 9 * n).to_string()),
                n * 3
            )
        })
        .collect();
    assert_eq!(fired(&outputs), Some(2));
}

#[test]
fn longer_circles_are_found_in_their_third_round() {
    for period in 2..=6 {
        let outputs: Vec<String> = (0..4 * period).map(|n| work(n % period)).collect();
        assert_eq!(fired(&outputs), Some(2 * period), "{period}");
    }
}

#[test]
fn one_retry_and_a_return_to_an_old_place_are_none() {
    let outputs: Vec<String> = [0, 1, 1, 2, 0, 3, 0, 4, 4, 5].map(work).into();
    assert_eq!(fired(&outputs), None);
}

#[test]
fn counts_that_move_are_progress() {
    let count = |n: usize| format!("{FAILURE}{} tests failing, {} passed\n", 12 - n, 80 + n);
    assert_eq!(fired(&(0..10).map(count).collect::<Vec<_>>()), None);
    let list = |n: usize| {
        let item = |at: usize| {
            format!("- [{}] Migrate module {}\n", if at < n { 'x' } else { ' ' }, (b'a' + at as u8) as char)
        };
        (0..10).map(item).collect::<String>()
    };
    assert_eq!(fired(&(0..10).map(list).collect::<Vec<_>>()), None);
    let fewer = |n: usize| (n..10).map(|at| format!("FAIL suite_{at}/case\n")).collect::<String>();
    assert_eq!(
        fired(&(0..9).map(fewer).collect::<Vec<_>>()),
        None,
        "no number says it, but the list gets shorter"
    );
    let unknown = |n: usize| format!("The migration is going on.\nrows copied {}\n", 1500 * n);
    assert_eq!(fired(&(1..9).map(unknown).collect::<Vec<_>>()), None, "a word that no list knows");
    let up_and_down = |n: usize| format!("{FAILURE}{} tests failing\n", 3 + n % 2);
    assert_eq!(fired(&(0..10).map(up_and_down).collect::<Vec<_>>()), Some(3));
}

#[test]
fn a_counter_of_iterations_is_not_progress() {
    let outputs: Vec<String> = (0..6).map(|n| format!("stage {} of the night\n{FAILURE}", n + 1)).collect();
    assert_eq!(fired(&outputs), Some(2));
}

#[test]
fn one_file_after_the_other_in_the_same_words_is_progress() {
    let names = ["alpha", "bravo", "carol", "delta", "eagle", "frank", "gamma", "hotel"];
    let batch = |name: &&str| {
        format!("Converted src/{name}.rs to the new API.\nNo problems found.\nOne file is done.\n")
    };
    assert_eq!(fired(&names.iter().map(batch).collect::<Vec<_>>()), None);
    let numbered = |n: usize| format!("Translated chapter-{n:02}.md, all links checked.\nCommitted.\n");
    assert_eq!(fired(&(1..9).map(numbered).collect::<Vec<_>>()), None);
}

#[test]
fn what_every_iteration_begins_with_says_nothing() {
    let header: String =
        (0..40).map(|n| format!("rule {n}: read docs/rule_{n}.md before src/part_{n}.rs\n")).collect();
    let outputs: Vec<String> = (0..12).map(|n| header.clone() + &work(n)).collect();
    assert_eq!(fired(&outputs), None);
}

#[test]
fn nothing_to_do_is_a_loop_in_any_words() {
    let said = [
        "Checked the plan: no open items.",
        "All tasks are done, nothing remains.",
        "There is no further work required.",
    ];
    let mut outputs: Vec<String> = (0..4).map(work).collect();
    outputs.extend(said.map(str::to_owned));
    assert_eq!(fired(&outputs), Some(6));
}

#[test]
fn saying_nothing_is_a_loop_unless_something_changes() {
    let empty = |state: Option<usize>| Sketch { state: state.map(|n| n.to_string()), ..sketch("\n") };
    assert_eq!(first((0..4).map(|_| empty(None))), Some(2));
    assert_eq!(first((0..4).map(|_| empty(Some(1)))), Some(2));
    assert_eq!(first((0..6).map(|n| empty(Some(n)))), None);
}

#[test]
fn waiting_takes_twice_as_long() {
    let outputs = vec!["Still waiting for the deployment to finish.\n".to_owned(); 9];
    assert!([Some(4), Some(5)].contains(&fired(&outputs)));
}

fn edit(command: &str, state: &str, failed: bool) -> Sketch {
    let mut sketcher = Sketcher::new();
    sketcher.push(b"Next one of the same kind in src/setup_test.rs, with the same words.\n");
    sketcher.tool(&ToolUse {
        kind: ToolKind::Edit,
        name: "Edit",
        command: Some(command),
        ok: Some(!failed),
        ..ToolUse::default()
    });
    Sketch { state: Some(state.to_owned()), ..sketcher.finish() }
}

#[test]
fn edits_that_change_the_tree_are_progress_unless_they_fail() {
    let commands = ["let a", "let b", "let c", "let d", "let e", "let f", "let g"];
    let go = |failed: bool| first(commands.iter().map(|command| edit(command, command, failed)));
    assert_eq!(go(false), None);
    assert!(go(true).is_some_and(|at| (2..=5).contains(&at)), "{:?}", go(true));
    let again = first((0..5).map(|n| edit("let a", &n.to_string(), false)));
    assert_eq!(again, Some(2), "the same edit over and over");
}

#[test]
fn patience_and_the_window_are_settings() {
    let run = |settings: Settings, period: usize| {
        let mut detector = NoProgress::new(settings);
        (0..20).position(|n| detector.observe(&sketch(&work(n % period))).alarm)
    };
    assert_eq!(run(Settings { patience: 2, ..Settings::default() }, 1), Some(4));
    assert_eq!(run(Settings { window: 2, ..Settings::default() }, 2), Some(4));
    assert_eq!(run(Settings { window: 2, ..Settings::default() }, 3), None);
}

#[test]
fn the_score_rises_to_one_and_falls_with_the_first_news() {
    let mut detector = NoProgress::default();
    let mut score = |output: &str| detector.observe(&sketch(output)).score;
    let scores = [score(&work(0)), score(FAILURE), score(FAILURE), score(FAILURE), score(&work(1))];
    assert!(scores[..2].iter().all(|score| *score < 0.15) && scores[2] < 0.6, "{scores:?}");
    assert!(scores[3] > 0.9 && scores[4] < 0.5, "{scores:?}");
}

#[test]
fn memory_is_bounded() {
    let mut detector = NoProgress::default();
    for n in 0..400 {
        detector.observe(&sketch(&format!("{}unique_{n}_name is here\n", work(n))));
    }
    assert_eq!(detector.past.len(), MEMORY);
    assert!(detector.named.0.len() < 40 * MEMORY, "{}", detector.named.0.len());
}

#[test]
fn a_frame_may_count_iterations_and_work_may_count_its_parts() {
    let frames: [fn(usize) -> String; 4] = [
        |n| format!("── pass {n} ──"),
        |n| format!("[{n}/100] starting agent"),
        |n| format!("=== {n} === 12:0{n}:00"),
        |n| format!("Versuch {n}"),
    ];
    for frame in frames {
        let outputs: Vec<String> = (1..6).map(|n| format!("{}\n{FAILURE}", frame(n))).collect();
        assert_eq!(fired(&outputs), Some(2), "{}", frame(1));
    }
    let works: [fn(usize) -> String; 6] = [
        |n| format!("Translated chapter {n}. All links verified."),
        |n| format!("Processed page {n}/60"),
        |n| format!("epoch {}/60 - still running", n + 6),
        |n| format!("[{}] {n}/40", "#".repeat(n)),
        |n| format!("the build: {}%", [10, 10, 11, 16, 17, 20, 25, 31][n - 1]),
        |n| format!("{} left to do", ["eight", "seven", "six", "five", "four", "three", "two", "one"][n - 1]),
    ];
    for work in works {
        assert_eq!(fired(&(1..9).map(work).collect::<Vec<_>>()), None, "{}", work(1));
    }
}

#[test]
fn lists_show_progress_in_any_notation() {
    const ITEMS: [&str; 6] =
        ["the login", "the search", "the menu", "the report", "the export", "the import"];
    let forms = [
        ("| # | ✓ |", "| # | |"),
        ("~~#~~", "#"),
        ("(x) #", "( ) #"),
        ("[DONE] #", "[TODO] #"),
        ("🟢 #", "🔴 #"),
    ];
    for (done, open) in forms {
        let list = |n: usize| {
            let line = |(at, item): (usize, &&str)| {
                format!("{}\n", if at < n { done } else { open }.replace('#', item))
            };
            ITEMS.iter().enumerate().map(line).collect::<String>()
        };
        assert_eq!(fired(&(0..7).map(list).collect::<Vec<_>>()), None, "{done}");
        let stuck = vec![list(2); 4];
        assert!([Some(2), Some(3)].contains(&fired(&stuck)), "{done}");
    }
    let window =
        |n: usize| (n..n + 6).map(|at| format!("* case_{at}_fast: still broken\n")).collect::<String>();
    assert_eq!(fired(&(0..8).map(window).collect::<Vec<_>>()), None, "always six, but others");
    let phase = |phase: &&str| format!("$ jobs show\nphase: {phase}\n");
    assert_eq!(
        fired(&["queued", "packing", "signing", "copying", "over"].iter().map(phase).collect::<Vec<_>>()),
        None
    );
}

#[test]
fn one_new_name_behind_long_rules_is_something_new() {
    let rules: String =
        (0..40).map(|n| format!("rule {n}: read docs/rule_{n}.md before src/part_{n}.rs\n")).collect();
    let names = ["alpha", "bravo", "carol", "delta", "eagle", "frank"];
    let outputs: Vec<String> =
        names.iter().map(|name| format!("{rules}Changed `run_{name}` in src/{name}.rs.\n")).collect();
    assert_eq!(fired(&outputs), None);
}

#[test]
fn the_same_small_error_is_a_loop_whatever_is_said_around_it() {
    let said = [
        "Maybe it is the cache, so I clear it.",
        "Now with a smaller change to the order of things.",
        "Deep breath, from the top.",
        "A clean build may behave better.",
    ];
    for error in ["Exit code 134", "Segmentation fault (core dumped)"] {
        let outputs: Vec<String> = said.iter().map(|said| format!("{said}\n{error}\n")).collect();
        assert_eq!(fired(&outputs), Some(2), "{error}");
    }
    let good = [("login", "No errors."), ("search", "Nothing failed."), ("menu", "0 errors")];
    let good = good.map(|(page, good)| format!("Converted the {page} page in one go.\n{good}\n"));
    assert_eq!(fired(&good), None);
}

#[test]
fn an_outage_is_neither_a_loop_nor_the_end_of_one() {
    let down = || sketch("API Error: 529 {\"type\":\"overloaded_error\"}\n");
    assert_eq!(first((0..9).map(|_| down())), None);
    let mut detector = NoProgress::default();
    let mut see = |sketch: &Sketch| detector.observe(sketch);
    see(&sketch(FAILURE));
    see(&sketch(FAILURE));
    assert_eq!((see(&down()).outages, see(&down()).outages), (1, 2));
    let found = see(&sketch(FAILURE));
    assert!(found.alarm && found.outages == 0, "{found:?}");
}

#[test]
fn another_edit_with_the_same_passing_check_is_progress_and_noise_in_arguments_is_not() {
    let iteration = |edit: &str, n: usize, failed: bool| {
        let mut sketch = sketch("One more of them is converted.\nall good\n");
        sketch.calls.known = true;
        sketch.calls.count = 2;
        let edit = crate::detector::sketch::mark(edit);
        sketch.calls.what = vec![edit, 7];
        sketch.calls.what.sort_unstable();
        sketch.calls.changes = vec![edit];
        Sketch { state: Some(n.to_string()), failed: Some(failed), ..sketch }
    };
    assert_eq!(first((0..9).map(|n| iteration(&n.to_string(), n, false))), None);
    assert_eq!(first((0..9).map(|n| iteration(&n.to_string(), n, true))), Some(2));
    // The second one has noise in its arguments.
    assert_eq!(first((0..9).map(|n| iteration(if n == 1 { "odd" } else { "same" }, n, false))), Some(3));
}

#[test]
fn a_run_without_end_needs_no_more_memory() {
    let mut detector = NoProgress::default();
    for n in 0..800u32 {
        let lines = (0..60).map(|i| format!("- [x] item_{n}_{i} took {i} steps of stage_{n}\n"));
        detector.observe(&sketch(&lines.collect::<String>()));
    }
    let sizes = [detector.marks.len(), detector.numbers.len(), detector.common.len(), detector.facts.0.len()];
    assert!(sizes.iter().all(|size| *size <= MOST_KEPT + 1000), "{sizes:?}");
    assert!(detector.marks.values().all(|values| values.len() <= MOST_VALUES));
    assert_eq!(detector.past.len(), MEMORY);
}

#[test]
fn a_lower_sensitivity_never_alarms_before_a_higher_one() {
    let model = Model::built_in();
    let limits = [Sensitivity::Low, Sensitivity::Normal, Sensitivity::High].map(|one| model.limits(one));
    let first = |probability: i64, counted: bool, limits| {
        let run = vec![Some(Sureness { probability, counted, slow: false }); 8];
        alarms(&run, limits).first().map_or(usize::MAX, |(at, _)| *at)
    };
    let mut differ = 0;
    for probability in (0..=1000).step_by(10) {
        for counted in [false, true] {
            let [low, normal, high] = limits.map(|limits| first(probability, counted, limits));
            assert!(low >= normal && normal >= high, "{probability} {counted}: {low} {normal} {high}");
            differ += usize::from(low != normal) + usize::from(normal != high);
        }
    }
    assert!(differ > 10, "they are three points of one curve: {differ}");
}
