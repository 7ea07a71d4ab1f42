//! What runs cost, and what keeps them from costing more.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::harness::*;

/// A program called `claude` that says these lines of its stream before its result, and costs so much.
fn claude(world: &World, lines: &[Value], usd: f64) -> String {
    let init = json!({"type": "system", "subtype": "init", "session_id": "s", "model": "claude-sonnet-4-5"});
    let usage = json!({"input_tokens": 100, "output_tokens": 10});
    let result = json!({
        "type": "result", "subtype": "success", "is_error": false, "result": format!("Step {usd}."),
        "session_id": "s", "total_cost_usd": usd, "usage": usage,
    });
    let all = [&[init], lines, &[result]].concat();
    let body: String = all.iter().map(|line| format!("echo '{line}'\n")).collect();
    let folder = world.path("bin");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("claude");
    // What it says differs, so that nobody takes it for stuck.
    let work = "date +%s%N > \"work-$RALPH_ITERATION.txt\"";
    fs::write(&path, format!("#!/bin/sh\ncat >/dev/null\n{work}\n{body}")).expect("write");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    path.display().to_string()
}

fn run<'a>(agent: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    [&["run", "-p", "the task", "-a", agent], args].concat()
}

#[test]
fn a_limit_that_cannot_be_enforced_is_an_error_with_two_ways_out() {
    let world = World::new();
    let agent = world.agent("say hello");
    for (args, name) in [
        (["--max-cost", "5"], "max_cost"),
        (["--set", "event_loop.max_tokens=5"], "max_tokens"),
        (["--set", "budget.day=5"], "budget.day"),
    ] {
        let done = world.ralph(run(&agent, &args)).expect(2);
        let ways = format!(
            "leave {name} out, and let `event_loop.max_iterations` and `event_loop.max_runtime` hold"
        );
        for part in [&format!("{name} cannot be enforced: "), "does not report", &ways, "agent.output"] {
            assert!(done.stderr.contains(part), "`{part}` is not in\n{}", done.stderr);
        }
    }
    assert!(world.run_dirs().is_empty(), "a run was started");
    let done = world.ralph(run(&agent, &["-n", "1"])).expect(3);
    assert!(done.stdout.contains("no cost limit"), "{}", done.stdout);
    let done = world.ralph(["resume", "--max-cost", "5"]).expect(2);
    assert!(done.stderr.contains("max_cost cannot be enforced"), "{}", done.stderr);
}

#[test]
fn the_limit_of_a_preset_is_left_out_where_it_cannot_hold() {
    let world = World::new();
    world.write("Makefile", "test:\n\ttrue\n");
    let gate = "gates=[{name: t, run: 'true'}]";
    let agent = world.agent("say hello");
    let done = world.ralph(run(&agent, &["--preset", "quick", "-n", "1", "--set", gate])).expect(3);
    assert!(done.stderr.contains("the preset's max_cost is left out"), "{}", done.stderr);
    assert!(done.stdout.contains("no cost limit"), "{}", done.stdout);
    let claude = claude(&world, &[], 0.5);
    let done = world.ralph(run(&claude, &["--preset", "quick", "-n", "1", "--set", gate])).expect(3);
    assert!(done.stdout.contains("cost $3.00") && !done.stdout.contains("no cost limit"), "{}", done.stdout);
}

#[test]
fn a_budget_is_shared_by_all_runs_and_ends_the_one_that_would_pass_it() {
    let world = World::new();
    let agent = claude(&world, &[], 0.4);
    let budget = ["--set", "budget.day=1"];
    world.ralph(run(&agent, &[&budget[..], &["-n", "2"]].concat())).expect(3);
    assert_eq!(world.stopped().0, "max_iterations");
    world.ralph(run(&agent, &[&budget[..], &["-n", "9"]].concat())).expect(3);
    assert_eq!(world.stopped().0, "budget_day");
    let events = world.events();
    assert_eq!(events.of("iteration.started").len(), 1, "0.8 were spent before it, and 1.2 after");
    let read = events.fields("ledger.read", "day_usd");
    assert!(read[0].as_f64().is_some_and(|usd| (usd - 0.8).abs() < 1e-9), "{read:?}");
    world.verify();
    // One that waits does nothing meanwhile, and says why.
    let waits = ["--set", "budget.day=1", "--set", "budget.then=wait"];
    let live = world.start(run(&agent, &waits));
    let events = world.wait_for("delay.started", 1);
    assert_eq!(events.last("delay.started")["reason"], "budget");
    assert!(events.of("iteration.started").is_empty());
    let status = world.ralph(["status"]).expect(0).stdout;
    assert!(status.contains("waiting: the budget is spent: next iteration in"), "{status}");
    world.ralph(["stop"]).expect(0);
    live.wait().expect(130);
    world.verify();
}

#[test]
fn the_account_has_a_row_for_each_and_says_what_has_no_price() {
    let world = World::new();
    let paid = claude(&world, &[], 0.25);
    world.ralph(run(&paid, &["-n", "2"])).expect(3);
    let plain = world.agent("say hello");
    world.ralph(run(&plain, &["-n", "1"])).expect(3);
    let done = world.ralph(["cost", "--by", "agent"]).expect(0).stdout;
    let row = |name: &str| done.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    assert!(row("claude").contains("$0.50") && row("claude").ends_with("  2"), "{done}");
    assert!(row("total").contains("$0.50+") && row("total").ends_with("  3"), "{done}");
    assert!(done.contains("1 iteration told neither a cost nor tokens"), "{done}");
    let json: Value =
        serde_json::from_str(&world.ralph(["cost", "--by", "model", "--json"]).expect(0).stdout)
            .expect("json");
    let rows = json["rows"].as_array().expect("rows");
    let sonnet = rows.iter().find(|row| row["key"] == "claude-sonnet-4-5").expect("the model");
    assert_eq!(
        (&sonnet["cost_usd"], &sonnet["attempts"], &sonnet["tokens"]),
        (&json!(0.5), &json!(2), &json!(220))
    );
    assert_eq!(json["total"]["silent"], 1);
    for by in ["day", "run", "hat", "task"] {
        world.ralph(["cost", "--by", by, "--since", "1d"]).expect(0);
    }
    let none = world.ralph(["cost", "--since", "2999-01-01"]).expect(0);
    assert_eq!(none.stdout, "nothing was spent\n");
    world.ralph(["cost", "--since", "yesterday"]).expect(2);
}

#[test]
fn a_window_that_is_used_up_to_its_mark_holds_the_next_iteration_back() {
    let soon =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs() + 3600;
    let told = |used: f64| {
        let info = json!({"status": "allowed_warning", "resetsAt": soon, "rateLimitType": "five_hour", "utilization": used});
        [json!({"type": "rate_limit_event", "rate_limit_info": info})]
    };
    let world = World::new();
    let agent = claude(&world, &told(0.79), 0.1);
    world.ralph(run(&agent, &["-n", "2", "--set", "quota.five_hour=80%"])).expect(3);
    let agent = claude(&world, &told(0.81), 0.1);
    let live = world.start(run(&agent, &["-n", "2", "--set", "quota.five_hour=80%"]));
    let events = world.wait_for("delay.started", 1);
    assert_eq!(events.last("delay.started")["reason"], "quota");
    let status = world.ralph(["status"]).expect(0).stdout;
    for part in ["81% of five_hour used, begins anew at", "waiting: the plan's quota is used up to its mark"]
    {
        assert!(status.contains(part), "{status}");
    }
    world.ralph(["stop"]).expect(0);
    live.wait().expect(130);
    // Further away than anybody waits.
    let far = ["-n", "2", "--set", "quota.five_hour=80%", "--set", "event_loop.max_wait=1m"];
    world.ralph(run(&agent, &far)).expect(4);
    assert_eq!(world.stopped().0, "usage_limit");
    world.verify();
}

#[test]
fn a_forecast_stands_in_the_status_after_three_iterations_and_a_limit_names_the_way_on() {
    let world = World::new();
    let agent = claude(&world, &[], 0.25);
    let live = world.start(run(&agent, &["--max-cost", "5", "-n", "4", "-d", "100ms"]));
    world.wait_for("iteration.finished", 3);
    let status = world.ralph(["status"]).expect(0).stdout;
    let status = status.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(status.contains("forecast") && status.contains(" and $0.25 an iteration; room for "), "{status}");
    live.wait().expect(3);
    let done = world.ralph(run(&agent, &["--max-cost", "0.3"])).expect(3);
    let run = world.events().0[0]["run"].as_str().expect("an id").to_owned();
    assert!(done.stdout.contains(&format!("ralph resume {run} --max-cost 0.6")), "{}", done.stdout);
    let events = world.events();
    assert_eq!(events.of("iteration.started").len(), 2);
    world.ralph(["resume", &run, "--max-cost", "0.8"]).expect(3);
    let events = world.events();
    assert_eq!((events.of("iteration.started").len(), events.of("run.started").len()), (4, 1));
}
