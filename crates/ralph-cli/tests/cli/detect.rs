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
    let looped = case("loop", &[said[0], ERROR, ERROR, ERROR, ERROR]);
    let fine =
        case("work", &[said[0], said[1], "The harbor tests in tests/harbor.rs cover sync_harbor now."]);
    fs::write(world.path("cases.jsonl"), format!("{looped}\n\n{fine}\n")).expect("a file");
    let cases = world.path("cases.jsonl").display().to_string();
    for (detector, index) in [("no_progress", 3), ("similarity", 2), ("signature", 3)] {
        let args = ["detect", "--cases", &cases, "--predictions", "--detector", detector];
        let out = world.ralph(args).expect(0).stdout;
        let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("json")).collect();
        let want = [json!({ "id": "loop", "fired_at": index }), json!({ "id": "work", "fired_at": null })];
        assert_eq!(lines, want, "{detector}");
    }
    let text = world.ralph(["detect", "--cases", &cases]).expect(0).stdout;
    assert_eq!(
        text,
        "loop: iteration 4 of 5: the same for the 3rd time, and nothing new\nwork: no alarm in 3 iterations\n"
    );
}

#[test]
fn what_is_no_case_is_an_error_with_its_line() {
    let world = World::new();
    fs::write(world.path("cases.jsonl"), format!("{}\n{{\"id\":1}}\n", case("a", &[]))).expect("a file");
    let cases = world.path("cases.jsonl").display().to_string();
    let stderr = world.ralph(["detect", "--cases", &cases, "--predictions"]).expect(2).stderr;
    assert!(stderr.contains("line 2: not a case"), "{stderr}");
    let stderr = world.ralph(["detect", "--cases", "nowhere.jsonl"]).expect(2).stderr;
    assert!(stderr.contains("cannot open the cases nowhere.jsonl"), "{stderr}");
    world.ralph(["detect", "--cases", &cases, "--detector", "magic"]).expect(2);
}
