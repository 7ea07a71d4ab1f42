//! Runs that go in circles, with real agents' processes.

use crate::harness::*;
use crate::pty::{Pty, Seated};

/// Says what it did first, and from then on the same error.
const CIRCLE: &str = "read-stdin
on 1: say Moved load_ledger into src/ledger.rs and wrote tests/ledger.rs for it.
on 2+: say $ make check
on 2+: err src/orbit.c:14: error: 'tally_orbit' undeclared
on 2+: say make: *** Error 1";

#[test]
fn an_agent_that_goes_in_circles_is_told_so_and_then_stopped() {
    let world = World::new();
    let done = world.run(&format!("save-prompt ../prompt-%i.md\n{CIRCLE}"), &[]).expect(1);
    let events = world.events();
    assert_eq!(world.stopped(), ("output_similarity".to_owned(), 1));
    assert_eq!(events.fields("loop.detected", "iteration"), [4, 5, 6]);
    assert_eq!(events.fields("loop.detected", "action"), ["redirect", "demand", "stop"]);
    let first = events.of("loop.detected")[0];
    assert_eq!(first["detector"], "no_progress");
    assert!(first["repeated"].to_string().contains("tally_orbit"), "{first}");
    assert!(first["options"][0]["command"].as_str().is_some_and(|text| text.starts_with("ralph say ")));
    let prompt = |n: u32| read(&world.path(format!("prompt-{n}.md")));
    let told = |n: u32| prompt(n).contains("This run goes in circles");
    assert_eq!([4, 5, 6].map(told), [false, true, false]);
    let demand = prompt(6);
    assert!(demand.contains("After iteration 4 you were told") && demand.contains("tally_orbit"), "{demand}");
    let prompt = prompt(5);
    assert!(prompt.contains("tally_orbit") && prompt.contains("Take a different approach"), "{prompt}");
    let scores = events.fields("iteration.finished", "stuck_score");
    let scores: Vec<f64> = scores.iter().map(|score| score.as_f64().expect("a score")).collect();
    assert!(scores[..2] == [0.0, 0.0] && scores[2] < 0.6, "{scores:?}");
    assert!(scores[3..].iter().all(|score| *score > 0.9), "{scores:?}");
    assert!(done.stdout.contains("#4 ok") && done.stdout.contains("stuck 0.9"), "{}", done.stdout);
    assert!(done.stdout.contains("going in circles: the same for the 3rd time"), "{}", done.stdout);
    let summary = world.read(".ralph/ralph-summary.md");
    assert!(summary.contains("- Going in circles: the same for the 3rd time"), "{summary}");
    world.verify();
}

#[test]
fn a_run_that_was_killed_sees_the_same_circle_as_one_that_was_not() {
    let world = World::new();
    let script = format!("on 4: attempt 1: write there x\non 4: attempt 1: sleep 60s\n{CIRCLE}");
    let live = world.start_run(&script, &[]);
    world.wait_for_file("there");
    live.kill();
    world.ralph(["resume"]).expect(1);
    let events = world.events();
    assert_eq!(events.fields("loop.detected", "iteration"), [4, 5, 6]);
    assert_eq!(events.of("iteration.interrupted").len(), 1);
    world.verify();
}

#[test]
fn who_sets_the_keys_of_similarity_gets_what_they_mean_elsewhere() {
    for set in ["similarity_threshold=0.9", "similarity_window_size=5", "enable_similarity_detection=true"] {
        let world = World::new();
        world.run(CIRCLE, &["--set", &format!("event_loop.{set}")]).expect(1);
        assert_eq!((world.stopped().0.as_str(), world.events().finished().len()), ("output_similarity", 3));
    }
    let world = World::new();
    world.run(CIRCLE, &["--set", "event_loop.enable_similarity_detection=false"]).expect(1);
    assert_eq!(world.stopped().0, "loop_detected");
    assert!(!world.events().fields("loop.suspected", "detector").contains(&json!("similarity")));
    let world = World::new();
    let kept =
        ["--set", "event_loop.similarity_threshold=0.9", "--set", "loop_detection.similarity=evidence"];
    world.run(CIRCLE, &kept).expect(1);
    assert_eq!(world.events().finished().len(), 6, "what is said outright counts");
}

#[test]
fn noise_that_the_user_knows_can_be_ignored() {
    // Each time another name in it: nothing that ralph could know to be noise.
    let script = "sh printf 'Restarted worker %s at rack_%s.\\n' $(head -c9 /dev/urandom | base32 | tr -d 0-9=) $RALPH_ITERATION";
    let args = ["-n", "8", "--set", "loop_detection.action=stop"];
    let world = World::new();
    world.run(script, &args).expect(3);
    let world = World::new();
    let ignore = [&args[..], &["--set", "loop_detection.ignore=['worker \\w+', 'rack_\\d+']"]].concat();
    world.run(script, &ignore).expect(1);
    // Nobody knows the agent's tools, so the third time may take a fourth to be sure.
    assert!((3..=4).contains(&world.events().finished().len()));
}

#[test]
fn a_false_alarm_can_be_switched_off_for_the_rest_of_the_run() {
    let world = World::new();
    world.run(CIRCLE, &["--set", "loop_detection.action=stop", "-n", "9"]).expect(1);
    assert_eq!(world.events().finished().len(), 4);
    world.ralph(["resume", "--set", "loop_detection.enabled=false"]).expect(3);
    assert_eq!(world.stopped().0, "max_iterations");
    world.verify();
    let refused = world.ralph(["resume", "--set", "loop_detection.actoin=stop"]).expect(2).stderr;
    assert!(refused.contains("did you mean `action`?"), "{refused}");
}

#[test]
fn a_person_elsewhere_is_asked_by_a_pause() {
    let world = World::new();
    let live = world.start_run(CIRCLE, &["--set", "loop_detection.action=ask"]);
    world.wait_for("run.paused", 1);
    world.ralph(["say", "Include orbit.h."]).expect(0);
    world.wait_for("run.paused", 2);
    world.ralph(["unpause"]).expect(0);
    world.wait_for("run.paused", 3);
    world.ralph(["stop"]).expect(0);
    let done = live.wait().expect(130);
    assert!(done.stdout.contains("the run pauses until a person decides"), "{}", done.stdout);
    assert!(done.stdout.contains("ralph unpause "), "{}", done.stdout);
    world.verify();
}

#[test]
fn a_person_at_the_terminal_answers_by_a_key() {
    let world = World::new();
    let agent = world.agent(CIRCLE);
    let args = ["run", "-p", "x", "-a", &agent, "--set", "loop_detection.action=ask"];
    let mut person = Seated::start(&world, Pty::new(), &args, "stopped by a person");
    person.await_screen("v review");
    person.press(b'v');
    world.wait_for("loop.reviewed", 1);
    person.press(b'c');
    world.wait_for("run.paused", 2);
    person.await_screen_after("unpaused", "v review");
    person.press(b'q');
    let seen = person.ends(130);
    assert!(seen.contains("c continue with a different approach, v review, q cancel"), "{seen:?}");
    world.verify();
}

/// Three options, by whichever detector a person chose: continue with a different approach, review, cancel.
#[test]
fn a_person_is_asked_for_a_signature_at_the_terminal_too() {
    let world = World::new();
    let agent = world.agent(CIRCLE);
    let args = ["run", "-p", "x", "-a", &agent, "--set", "loop_detection.signature=ask"];
    let mut person = Seated::start(&world, Pty::new(), &args, "stopped by a person");
    person.await_screen("v review");
    person.press(b'v');
    world.wait_for("loop.reviewed", 1);
    person.press(b'c');
    world.wait_for("run.unpaused", 1);
    person.await_screen_after("unpaused", "v review");
    person.press(b'q');
    person.ends(130);
    let events = world.events();
    let detectors = events.fields("loop.detected", "detector");
    let answers: Vec<(Value, Value)> =
        detectors.into_iter().zip(events.fields("loop.detected", "action")).collect();
    let asked = (json!("signature"), json!("ask"));
    // What another detector does about it in between keeps none that was chosen from counting.
    assert_eq!(answers, [asked.clone(), (json!("no_progress"), json!("redirect")), asked]);
    world.verify();
}

#[test]
fn a_detached_run_that_asks_needs_a_person_and_says_what_to_type() {
    for (set, detector) in [("signature", "signature"), ("similarity", "similarity")] {
        let world = World::new();
        let agent = world.agent(&format!("save-prompt ../prompt-%i.md\n{CIRCLE}"));
        let set = format!("loop_detection.{set}=stop");
        let args =
            ["run", "--detach", "-p", "x", "-a", &agent, "--set", &set, "--set", "loop_detection.action=ask"];
        world.ralph(args).expect(0);
        world.wait_for("run.paused", 1);
        let seen: Value =
            serde_json::from_str(&world.ralph(["status", "--json"]).expect(0).stdout).expect("json");
        let needs = &seen["needs_person"];
        assert_eq!(needs["kind"], "choice", "{seen}");
        let steps = needs["steps"].to_string();
        for step in [
            "ralph unpause ",
            "ralph logs ",
            "ralph stop ",
            "continue with a different approach",
            "review",
            "cancel",
        ] {
            assert!(steps.contains(step), "{step}: {steps}");
        }
        let asked = world.events().fields("loop.detected", "iteration").last().cloned().expect("a loop");
        let command = needs["steps"][0]["command"].as_str().expect("a command").to_owned();
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        world.ralph(&words).expect(0);
        world.wait_for("run.paused", 2);
        let next = asked.as_u64().expect("a number") + 1;
        let prompt = read(&world.path(format!("prompt-{next}.md")));
        assert!(prompt.contains("Take a different approach"), "{prompt}");
        assert_eq!(world.events().fields("loop.detected", "detector")[0], detector);
        world.ralph(["stop"]).expect(0);
        world.wait_for("run.stopped", 1);
    }
}

#[test]
fn a_log_of_the_program_is_written_where_it_is_asked_for() {
    let log = |world: &World| std::fs::read_to_string(world.state().join("ralph.log"));
    let run = |world: &World, most: &str, asked: &str| {
        let agent = world.agent(CIRCLE);
        let mut command = world.command(env!("CARGO_BIN_EXE_ralph"));
        command.args(["run", "-p", "x", "-a", &agent, "-n", most]).env("RUST_LOG", asked);
        world.spawn(command).wait().expect(3);
    };
    let world = World::new();
    run(&world, "3", "warn");
    let text = log(&world).expect("a log");
    assert!(text.lines().all(|line| line.contains(" WARN ralph::stuck: ")), "{text}");
    assert!(
        text.contains(
            "Loop detected: output too similar to previous iteration iteration=3 similarity=100.0%"
        ),
        "{text}"
    );
    let world = World::new();
    run(&world, "3", "hyper=debug,ralph::stuck=off");
    assert!(log(&world).is_err(), "nothing was asked of ralph");
    let world = World::new();
    run(&world, "1", "ralph=debug");
    let text = log(&world).expect("a log");
    assert!(text.contains(" INFO ralph::event: run.stopped seq="), "{text}");
}

#[test]
fn a_recorded_run_can_be_tried_with_other_settings() {
    let world = World::new();
    world.run(CIRCLE, &["--set", "loop_detection.enabled=false", "-n", "8"]).expect(3);
    let text = world.ralph(["detect"]).expect(0).stdout;
    assert!(text.contains("8 iterations, 8 of them evidence"), "{text}");
    assert!(text.contains("no_progress (decides: redirect, then stop): 3 alarms\n  #4  "), "{text}");
    let one =
        world.ralph(["detect", "--detector", "similarity", "--set", "event_loop.similarity_threshold=1"]);
    let text = one.expect(0).stdout;
    assert!(text.contains("similarity (an alarm ends the run)") && !text.contains("no_progress"), "{text}");
    let lines =
        world.ralph(["detect", "--set", "loop_detection.patience=2", "--json"]).expect(0).json_lines();
    let alarm = |line: &Value| line["detectors"][0]["alarm"] == true;
    assert_eq!(lines.iter().position(alarm), Some(5), "two more than without");
    let keys: Vec<&String> = lines[0]["detectors"][0].as_object().expect("a finding").keys().collect();
    assert_eq!(
        keys,
        ["alarm", "detector", "kind", "pattern", "period", "ratio", "reasons", "score", "use"],
        "each in every line"
    );
    let whole = lines.last().expect("the run as a whole");
    assert_eq!((&whole["iterations"], &whole["first_alarm"]["iteration"]), (&json!(8), &json!(6)));
    assert!(whole["stop"].is_null(), "{whole}");
    let error = world.ralph(["detect", "--set", "loop_detection.ignore=['x']"]).expect(2).stderr;
    assert!(error.contains("cannot be tried on a recorded run"), "{error}");
    let error = world.ralph(["detect", "--set", "loop_detection.patient=2"]).expect(2).stderr;
    assert!(error.contains("did you mean `patience`?"), "{error}");
    for set in ["event_loop.max_iterations=2", "event_loop={max_iterations: 2}"] {
        let error = world.ralph(["detect", "--set", set]).expect(2).stderr;
        assert!(error.contains("has nothing to do with stuck detection"), "{error}");
    }
    world.ralph(["detect", "--predictions"]).expect(2);
    world.ralph(["detect", "nobody"]).expect(2);
}

#[test]
fn wrong_values_are_errors_where_they_stand() {
    let world = World::new();
    for (set, says) in [
        ("loop_detection.action=jump", "jump"),
        ("loop_detection.signature=decide", "decide"),
        ("loop_detection.window=0", "at least 1"),
        ("loop_detection.window=41", "at most 40"),
        ("loop_detection.signature_threshold=1", "from 2 to 5"),
        ("loop_detection.ignore=['(']", "not a regular expression"),
        ("event_loop.similarity_threshold=1.5", "at most 1"),
        ("event_loop.similarity_threshold=0", "above 0"),
        ("event_loop.similarity_window_size=101", "at most 100"),
    ] {
        let error = world.run("say hi", &["--set", set]).expect(2).stderr;
        assert!(error.contains(says), "{set}: {error}");
    }
}

/// What is honest work, or waiting, and looks alike from iteration to iteration.
mod honest {
    use super::*;

    fn alarms(world: &World) -> Vec<Value> {
        world.events().fields("loop.detected", "iteration")
    }

    #[test]
    fn hats_that_exchange_new_payloads_while_their_text_is_ok() {
        let hats = "event_loop: {max_iterations: 12}
hats:
  worker: {triggers: [task.start, review.no], publishes: [review.ask], instructions: Work.}
  reviewer: {triggers: [review.ask], publishes: [review.no], instructions: Review.}
";
        let emit = |topic: &str| format!("on TURN: sh $RALPH emit {topic} \"WHAT\"");
        let findings = [
            "parse_header drops the second colon in src/header.rs",
            "quota_of divides by zero when the plan has no window, src/quota.rs line 80",
            "the retry in fetch_page never backs off",
            "LedgerRow is compared by address and not by value",
            "tests/harbor.rs sleeps for two seconds instead of waiting for the port",
            "merge_tags keeps duplicates where the case differs",
        ];
        let turns = (1..=12).map(|n: usize| {
            let (topic, finding) = match n % 2 {
                1 => ("review.ask", format!("done: {}", findings[n / 2])),
                _ => ("review.no", findings[(n / 2) % 6].to_owned()),
            };
            emit(topic).replace("TURN", &n.to_string()).replace("WHAT", &finding)
        });
        let script = format!("{}\nsay ok", turns.collect::<Vec<_>>().join("\n"));
        let world = World::new();
        world.write("ralph.yml", hats);
        let agent = world.agent(&script.replace("$RALPH", env!("CARGO_BIN_EXE_ralph")));
        world.ralph(["run", "-p", "x", "-a", &agent]).expect(3);
        assert!(world.events().of("topic.published").len() >= 12);
        assert_eq!(alarms(&world), Vec::<Value>::new());
        world.verify();
    }

    #[test]
    fn hats_that_exchange_the_same_payload_again_and_again_go_in_circles() {
        let world = World::new();
        world.write(
            "ralph.yml",
            "event_loop: {max_iterations: 16}
hats:
  worker: {triggers: [task.start, review.no], publishes: [review.ask], instructions: Work.}
  reviewer: {triggers: [review.ask], publishes: [review.no], instructions: Review.}
",
        );
        let ralph = env!("CARGO_BIN_EXE_ralph");
        let script = (1..=16).map(|n| match n % 2 {
            1 => format!("on {n}: sh {ralph} emit review.ask \"fixed parse_header in src/header.rs\""),
            _ => format!("on {n}: sh {ralph} emit review.no \"parse_header drops the second colon\""),
        });
        let script = format!("{}\nsay ok", script.collect::<Vec<_>>().join("\n"));
        let agent = world.agent(&script);
        world.ralph(["run", "-p", "x", "-a", &agent]).expect(1);
        assert!(!alarms(&world).is_empty());
    }

    #[test]
    fn two_failures_and_then_it_works() {
        let world = World::new();
        let script = "on 1-2: err error: cannot find value `tally` in src/orbit.rs
on 1-2: exit 1
on 3: say OK
on 4: say OK, tally_orbit is in src/orbit.rs now and tests/orbit.rs passes.
on 5: say <promise>LOOP_COMPLETE</promise>";
        world.run(script, &["-n", "5"]);
        assert_eq!(alarms(&world), Vec::<Value>::new());
    }

    #[test]
    fn a_limit_of_the_plan_is_no_loop() {
        let world = World::new();
        let script = "say You've hit your limit · resets 11pm";
        let live = world.start_run(script, &["-n", "9"]);
        world.wait_for("delay.started", 1);
        world.ralph(["stop"]).expect(0);
        live.wait();
        assert_eq!(alarms(&world), Vec::<Value>::new());
    }

    #[test]
    fn the_same_line_and_a_touched_file_each_time_is_no_work() {
        let world = World::new();
        let script = "sh echo '// checked' >> lib.rs
say Fixed the failing test in lib.rs.";
        world.run(script, &["-n", "30"]).expect(1);
        assert!(world.events().finished().len() < 20, "{:?}", world.events().finished());
    }
}
