//! `ralph detect`: the detectors of stuck runs on recorded iterations.

use std::fs;

use crate::harness::*;

fn case(id: &str, outputs: &[&str]) -> String {
    let iterations: Vec<Value> = outputs.iter().map(|output| json!({ "output": output })).collect();
    json!({ "id": id, "iterations": iterations }).to_string()
}

const ERROR: &str =
    "$ make check\nsrc/orbit.c:14: error: 'tally_orbit' undeclared\nmake: *** [check] Error 1\n";

#[test]
fn each_detector_tells_where_it_would_have_fired() {
    let world = World::new();
    let said =
        ["I moved load_ledger into src/ledger.rs.", "Next is src/quarry.rs, where rank_quarry is slow."];
    let looped = case("loop", &[said[0], ERROR, ERROR, ERROR, ERROR, ERROR]);
    let fine =
        case("work", &[said[0], said[1], "The harbor tests in tests/harbor.rs cover sync_harbor now."]);
    fs::write(world.path("cases.jsonl"), format!("{looped}\n\n{fine}\n")).expect("a file");
    let cases = world.path("cases.jsonl").display().to_string();
    for (detector, index, stop) in
        [("no_progress", 3, json!(5)), ("similarity", 2, Value::Null), ("signature", 3, Value::Null)]
    {
        let args = ["detect", "--cases", &cases, "--predictions", "--detector", detector];
        let out = world.ralph(args).expect(0).stdout;
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("json")).collect();
        let want = [
            json!({ "id": "loop", "fired_at": index, "stop_at": stop }),
            json!({ "id": "work", "fired_at": null, "stop_at": null }),
        ];
        assert_eq!(lines, want, "{detector}");
    }
    let text = world.ralph(["detect", "--cases", &cases]).expect(0).stdout;
    assert_eq!(
        text,
        "loop: 6 iterations, first alarm after #4: the same for the 3rd time, and nothing new; stopped after #6\n\
         work: no alarm in 3 iterations\n"
    );
}

#[test]
fn a_case_is_judged_as_a_whole_and_told_in_words() {
    let world = World::new();
    let looped =
        case("loop", &["I moved load_ledger into src/ledger.rs.", ERROR, ERROR, ERROR, ERROR, ERROR]);
    fs::write(world.path("cases.jsonl"), looped).expect("a file");
    let cases = world.path("cases.jsonl").display().to_string();
    let lines = world.ralph(["detect", "--cases", &cases, "--json"]).expect(0).json_lines();
    let told = |alarm: &str, field: &str| lines[0][alarm][field].clone();
    assert_eq!((lines.len(), &lines[0]["id"], &lines[0]["iterations"]), (1, &json!("loop"), &json!(6)));
    assert_eq!(
        (told("first_alarm", "iteration"), told("first_alarm", "action")),
        (json!(4), json!("redirect"))
    );
    assert_eq!((told("stop", "iteration"), told("stop", "action")), (json!(6), json!("stop")));
    assert_eq!(told("stop", "detector"), "no_progress");
    let text = world.ralph(["detect", "--cases", &cases, "--explain", "loop"]).expect(0).stdout;
    for says in [
        "alarm: the agent is told to take a different approach",
        "then: nothing new came of it: another approach is demanded",
        "alarm: the run stops",
        "100% like the output before",
    ] {
        assert!(text.contains(says), "{says}: {text}");
    }
    let error = world.ralph(["detect", "--cases", &cases, "--explain", "nobody"]).expect(2).stderr;
    assert!(error.contains("there is no case `nobody`"), "{error}");
    // Settings count.
    let args = ["detect", "--cases", &cases, "--json", "--set", "loop_detection.action=stop"];
    assert_eq!(world.ralph(args).expect(0).json_lines()[0]["stop"]["iteration"], 4);
}

#[test]
fn what_is_no_case_is_an_error_with_its_line() {
    let world = World::new();
    fs::write(world.path("cases.jsonl"), format!("{}\n{{\"id\":1}}\n", case("a", &[]))).expect("a file");
    let cases = world.path("cases.jsonl").display().to_string();
    let stderr = world.ralph(["detect", "--cases", &cases, "--predictions"]).expect(2).stderr;
    assert!(stderr.contains("line 2: not a case"), "{stderr}");
    fs::write(world.path("bytes.jsonl"), b"\xff\xfe\n").expect("a file");
    let bytes = world.path("bytes.jsonl").display().to_string();
    let stderr = world.ralph(["detect", "--cases", &bytes]).expect(2).stderr;
    assert!(stderr.contains("line 1: not UTF-8"), "{stderr}");
    let stderr = world.ralph(["detect", "--cases", "nowhere.jsonl"]).expect(2).stderr;
    assert!(stderr.contains("cannot open the cases nowhere.jsonl"), "{stderr}");
    world.ralph(["detect", "--cases", &cases, "--detector", "magic"]).expect(2);
}
