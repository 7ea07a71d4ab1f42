//! The definitions that come with ralph, each to its completion and to its exhaustion.

use super::*;

/// A preset, agents that get it done, and agents that never do.
struct Case {
    name: &'static str,
    done: &'static str,
    /// The last hat that is put on, in a run that gets done.
    last: &'static str,
    never: &'static str,
    /// The hat that is exhausted, and how the run then ends.
    exhausted: &'static str,
    ends: (&'static str, i64),
}

const CASES: [Case; 6] = [
    Case {
        name: "review-loop",
        done: "hat executor: write a.txt %i\nhat executor: emit implementation.done ok\non 2: emit review.changes_requested a\n\
            on 4: emit review.approved good\non 4: say <ralph>COMPLETE</ralph>",
        last: "code_reviewer",
        never: "hat executor: emit implementation.done ok\nhat code_reviewer: emit review.changes_requested no\n\
            hat escalator: say <ralph>BLOCKED: they do not agree</ralph>",
        exhausted: "code_reviewer",
        ends: ("blocked", 4),
    },
    Case {
        name: "spec-driven",
        done: "hat spec_writer: emit spec.ready specs/a.md\non 2: emit spec.unclear which?\n\
            hat verifier: emit spec.satisfied all\nhat verifier: say <ralph>COMPLETE</ralph>",
        last: "verifier",
        never: "hat spec_writer: emit spec.ready specs/a.md\nhat verifier: emit spec.violated 3",
        exhausted: "verifier",
        ends: ("hat_exhausted", 4),
    },
    Case {
        name: "tdd",
        done: "on 1: emit test.red a\nhat green: emit test.green b\non 4: emit test.none c\non 5: say <ralph>COMPLETE</ralph>",
        last: "refactor",
        never: "hat red: emit test.red a\nhat green: emit test.green b\nhat refactor: emit refactor.done c",
        exhausted: "red",
        ends: ("hat_exhausted", 4),
    },
    Case {
        name: "debug",
        done: "hat investigator: emit cause.found here\non 3: emit fix.insufficient again\non 6: emit fix.proved gone\n\
            on 6: say <ralph>COMPLETE</ralph>",
        last: "prover",
        never: "hat investigator: emit cause.found here\nhat prover: emit fix.insufficient still",
        exhausted: "investigator",
        ends: ("hat_exhausted", 4),
    },
    Case {
        name: "research",
        done: "on 2: emit research.gaps b\non 4: emit research.solid\nhat writer: say <ralph>COMPLETE</ralph>",
        last: "writer",
        never: "hat critic: emit research.gaps more\nhat writer: say <ralph>COMPLETE</ralph>",
        exhausted: "critic",
        ends: ("complete", 0),
    },
    Case {
        name: "docs",
        done: "on 2: emit draft.unclear line 3\non 4: emit draft.clear\non 4: say <ralph>COMPLETE</ralph>",
        last: "reader",
        never: "hat reader: emit draft.unclear line 3",
        exhausted: "reader",
        ends: ("hat_exhausted", 4),
    },
];

#[test]
fn each_runs_to_its_completion() {
    for case in &CASES {
        let world = World::new();
        world.run(case.done, &["--preset", case.name, "--set", GATE]).expect(0);
        let events = world.events();
        assert_eq!(world.stopped(), ("complete".to_owned(), 0), "{}", case.name);
        assert_eq!(events.last("hat.activated")["hat"], case.last, "{}", case.name);
        assert_eq!(events.of("topic.rejected").len(), 0, "{}", case.name);
    }
}

/// What is required is said in the last iteration of each; nobody has to claim anything besides.
#[test]
fn what_is_required_completes_each_that_requires_something() {
    for case in CASES.iter().filter(|case| !["tdd", "research"].contains(&case.name)) {
        let world = World::new();
        let script = case.done.replace("say <ralph>COMPLETE</ralph>", "say fine");
        world.run(&script, &["--preset", case.name, "--set", GATE]).expect(0);
        let events = world.events();
        assert_eq!(world.stopped(), ("complete".to_owned(), 0), "{}", case.name);
        assert_eq!(events.last("hat.activated")["hat"], case.last, "{}", case.name);
        assert_eq!(events.of("completion.inferred").len(), 1, "{}", case.name);
        assert!(events.of("completion.claimed").is_empty(), "{}", case.name);
        world.verify();
    }
}

#[test]
fn an_escalator_that_only_writes_things_down_ends_the_review_loop_for_a_person() {
    let world = World::new();
    let script = "hat executor: emit implementation.done ok\nhat code_reviewer: emit review.changes_requested no\n\
        hat escalator: write REVIEW.md open\nhat ralph: write never x";
    let done = world.run(script, &["--preset", "review-loop", "--set", GATE]).expect(4);
    assert_eq!(world.stopped(), ("hat_exhausted".to_owned(), 4));
    assert!(done.stdout.contains("--reset-hat code_reviewer"), "{}", done.stdout);
    assert_eq!(world.events().last("hat.activated")["hat"], "escalator");
    world.verify();
}

#[test]
fn each_runs_to_its_exhaustion() {
    for case in &CASES {
        let world = World::new();
        world.run(case.never, &["--preset", case.name, "--set", GATE]).expect(case.ends.1 as i32);
        assert_eq!(world.stopped(), (case.ends.0.to_owned(), case.ends.1), "{}", case.name);
        let events = world.events();
        let exhausted = events.of("hat.exhausted");
        assert_eq!(exhausted.len(), 1, "{}", case.name);
        assert_eq!(exhausted[0]["hat"], case.exhausted, "{}", case.name);
        world.verify();
    }
}

#[test]
fn each_passes_the_check_without_warnings() {
    let world = World::new();
    let listed = world.ralph(["presets"]).expect(0).stdout;
    assert_eq!(listed.lines().count(), CASES.len() + 2);
    for line in listed.lines() {
        let (name, summary) = line.split_once("  ").expect("a name and what it is");
        assert!(summary.trim().ends_with('.'), "{line}");
        let gates = if name == "strict" { GATES } else { GATE };
        let args = ["check", "--preset", name, "--set", "agent=/bin/cat", "--set"];
        let refused = world.ralph(&args[..5]).expect(2);
        assert!(refused.stderr.contains("`gates: auto` found no test"), "{name}: {}", refused.stderr);
        let done = world.ralph(args.iter().chain([&gates])).expect(0);
        assert!(done.stdout.contains("is fine"), "{name}: {}", done.stdout);
        let left_out = "note: the preset's max_cost is left out: /bin/cat does not report a cost";
        assert_eq!(done.stderr.trim(), left_out, "{name}");
    }
}

/// In an empty folder there is no gate to be found, and no preset does without.
const GATE: &str = "gates=[{name: t, run: 'true', kind: test}]";
const GATES: &str = "gates=[{name: t, run: 'true', kind: test}, {name: l, run: 'true', kind: lint}, \
    {name: c, run: 'test -f done', kind: typecheck}]";

#[test]
fn strict_proves_everything_and_quick_what_there_is() {
    let world = World::new();
    let script = "on 2: write done x\nsay <ralph>COMPLETE</ralph>";
    world.run(script, &["--preset", "strict", "--set", GATES]).expect(0);
    assert_eq!(world.events().finished().len(), 2);
    let world = World::new();
    world.run(script, &["--preset", "quick", "--set", GATE]).expect(0);
    assert_eq!(world.events().finished().len(), 1);
    world.run("say more", &["--preset", "quick", "--set", GATE]).expect(3);
}

#[test]
fn a_preset_proves_its_end_with_what_the_project_has_or_does_not_start() {
    let world = World::new();
    let refused = world.run("say <ralph>COMPLETE</ralph>", &["--preset", "quick"]).expect(2);
    for part in ["`gates: auto` found no test", "preset quick", "--set 'gates=[{name: tests"] {
        assert!(refused.stderr.contains(part), "no {part} in {}", refused.stderr);
    }
    assert_eq!(world.run_dirs().len(), 0, "nothing was started");
    if !std::path::Path::new("/usr/bin/make").exists() {
        eprintln!("skipped: make is not installed");
        return;
    }
    world.write("Makefile", "test:\n\ttest -f done\n");
    let script = "on 2: write done x\nsay <ralph>COMPLETE</ralph>";
    let done = world.run(script, &["--preset", "quick"]).expect(0);
    assert!(
        done.stderr.contains("gates found in this project: tests (`make test`, from Makefile: test)"),
        "{}",
        done.stderr
    );
    let events = world.events();
    assert_eq!(events.fields("gate.finished", "passed"), [false, true]);
    assert_eq!(events.last("run.started")["plan"]["gates"][0]["name"], "tests");
    // What is written lies over what is found.
    let done = world.run("say <ralph>COMPLETE</ralph>", &["--preset", "quick", "--set", GATE]).expect(0);
    assert!(!done.stderr.contains("gates found"), "{}", done.stderr);
}

#[test]
fn init_writes_one_and_never_over_anything() {
    let world = World::new();
    let wrong = world.ralph(["init", "--preset", "review-lop"]).expect(2);
    assert!(wrong.stderr.contains("did you mean `review-loop`?"), "{}", wrong.stderr);
    world.ralph(["init", "--preset", "tdd"]).expect(0);
    let text = world.read("ralph.yml");
    assert_eq!(text, world.ralph(["presets", "tdd"]).expect(0).stdout);
    let again = world.ralph(["init", "--preset", "docs"]).expect(2);
    assert!(again.stderr.contains("is there already"), "{}", again.stderr);
    assert_eq!(world.read("ralph.yml"), text);
}

#[test]
fn a_file_and_flags_change_a_preset() {
    let world = world("hats: {code_reviewer: {max_activations: 1}}\n");
    world.run(CASES[0].never, &["--preset", "review-loop", "--set", GATE]).expect(4);
    assert_eq!(world.events().last("hat.exhausted")["activations"], 1);
    let unknown = world.ralph(["run", "--preset", "nope", "-p", "x"]).expect(2);
    assert!(unknown.stderr.contains("known here: review-loop"), "{}", unknown.stderr);
}

#[test]
fn what_init_writes_takes_its_task_from_prompt_md() {
    let world = World::new();
    world.ralph(["init", "--preset", "tdd"]).expect(0);
    let checked = |args: &[&str]| {
        let agent =
            ["check", "--set", "agent.command=sh", "--set", GATE, "--set", "event_loop.max_cost_usd=none"];
        world.ralph([&agent, args].concat()).expect(0).stdout
    };
    let prompt_file = || {
        let rows = checked(&["--show"]);
        let row = rows.lines().find(|row| row.starts_with("prompt_file ")).expect("a row").to_owned();
        row.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    assert!(checked(&[]).contains("it has no prompt: write one into PROMPT.md"), "{}", checked(&[]));
    assert_eq!(prompt_file(), "- default");
    world.write("PROMPT.md", "Build the thing.");
    assert!(!checked(&[]).contains("no prompt"), "{}", checked(&[]));
    assert_eq!(prompt_file(), "PROMPT.md default");
    // Only in a RALPH.md the task stands below the settings.
    world.write("RALPH.md", "---\nagent: sh\n---\n");
    let checked = world.ralph(["check", "RALPH.md"]).expect(0).stdout;
    assert!(checked.contains("write one below its settings"), "{checked}");
}
