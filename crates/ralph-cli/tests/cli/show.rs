//! The commands that show a run: list, status, events, logs, explain, replay, clean.

use std::fs;

use crate::harness::*;

#[test]
fn list_shows_the_runs_of_this_workspace_or_of_all() {
    let world = World::new();
    assert!(world.ralph(["list"]).expect(0).stdout.contains("no runs yet"));
    world.run("say hi", &["-n", "2"]).expect(3);
    world.run("say <ralph>COMPLETE</ralph>", &[]).expect(0);
    fs::create_dir(world.path("other")).expect("a folder");
    let agent = world.agent("exit 1");
    world.ralph(["run", "-C", "../other", "-p", "x", "-a", &agent, "--once"]).expect(1);

    let here = world.ralph(["list", "--json"]).expect(0).json();
    let pick = |list: &Value, key: &str| -> Vec<Value> {
        list.as_array().expect("a list").iter().map(|run| run[key].clone()).collect()
    };
    assert_eq!(pick(&here, "reason"), ["complete", "max_iterations"]);
    assert_eq!(pick(&here, "iterations"), [1, 2]);
    let all = world.ralph(["list", "--all", "--json"]).expect(0).json();
    assert_eq!(pick(&all, "reason"), ["once", "complete", "max_iterations"]);
    assert_eq!(pick(&all, "kind"), ["failed", "done", "limit"]);
    let text = world.ralph(["list", "--all"]).expect(0).stdout;
    assert!(text.contains("other: x\n") && text.contains("work: the task\n"), "{text}");
    let width = |line: &str| line.chars().count();
    assert!(text.lines().all(|line| width(line) <= 80), "{text}");
}

#[test]
fn list_shows_first_what_needs_a_person_with_the_words_of_its_task_and_the_answer() {
    let world = World::new();
    world.write("TASK.md", "# Mend the *parser*\n\nAll of it.\n");
    let agent = world.agent("say <ralph>BLOCKED: which database?</ralph>");
    world.ralph(["run", "-f", "TASK.md", "-a", &agent, "--set", "on_state.blocked=stop"]).expect(4);
    let blocked = world.run_id();
    fs::create_dir(world.path("other")).expect("a folder");
    let agent = world.agent("say hi");
    world.ralph(["run", "-C", "../other", "-p", "other things", "-a", &agent, "--once"]).expect(0);
    let all = world.ralph(["list", "--all"]).expect(0).stdout;
    let lines: Vec<&str> = all.lines().collect();
    assert!(lines[1].starts_with(&format!("{blocked}  needs you")), "{all}");
    assert!(lines[2].ends_with("work: Mend the *parser*"), "{all}");
    let words = all.split_whitespace().collect::<Vec<_>>().join(" ");
    let answer = format!("which database? ralph say 'ANSWER' --run {blocked}, then: ralph resume {blocked}");
    assert!(words.contains(&answer), "{all}");
    let there = world.ralph(["list", "-C", "../other"]).expect(0).stdout;
    assert!(there.contains("other things") && !there.contains(&blocked), "{there}");
    assert!(there.ends_with("1 run of another workspace needs you: ralph list --all\n"), "{there}");
    let json = world.ralph(["list", "--json"]).expect(0).json();
    assert_eq!(json[0]["task"], "Mend the *parser*");
    assert_eq!(json[0]["needs_person"]["kind"], "blocked");
    // Whoever starts something new here has dealt with it.
    world.run("say hi", &["--once"]).expect(0);
    let json = world.ralph(["list", "--json"]).expect(0).json();
    assert_eq!((&json[0]["reason"], &json[1]["needs_person"]), (&json!("once"), &Value::Null));
}

#[test]
fn a_run_that_was_killed_is_listed_as_crashed_and_a_live_one_as_running() {
    let world = World::new();
    let live = world.start_run("say up\nsleep 120s", &[]);
    world.wait_for("agent.text", 1);
    let state = || world.ralph(["list", "--json"]).expect(0).json()[0]["state"].clone();
    assert_eq!(state(), "running");
    let status = world.ralph(["status", "--json"]).expect(0).json();
    assert_eq!(
        (&status["state"], &status["phase"]["is"], &status["phase"]["iteration"], &status["said"]),
        (&json!("running"), &json!("running"), &json!(1), &json!("up"))
    );
    live.kill();
    assert_eq!(state(), "crashed");
    // Nothing more will come of it.
    assert!(world.ralph(["events", "--follow"]).expect(0).stdout.contains("agent.text"));
    let text = world.ralph(["status"]).expect(0).stdout;
    assert!(text.contains(&format!("ralph resume {}", world.run_id())), "{text}");
    assert!(world.ralph(["explain"]).expect(0).stdout.contains("crashed"));
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_name() {
    let world = World::new();
    for _ in 0..2 {
        world.run("say hi", &["--once"]).expect(0);
    }
    let ids: Vec<String> = world
        .run_dirs()
        .iter()
        .map(|dir| dir.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    let shown = |args: &[&str]| world.ralph(args).expect(0).json()["run"].as_str().expect("a run").to_owned();
    for id in &ids {
        assert_eq!(&shown(&["status", id, "--json"]), id);
        assert_eq!(&shown(&["status", &id[..id.len() - 1], "--json"]), id);
    }
    assert_eq!(shown(&["status", "--json"]), ids[1], "the newest, also within a second");
    let done = world.ralph(["status", "2"]).expect(2);
    assert!(ids.iter().all(|id| done.stderr.contains(id)), "{}", done.stderr);
    assert!(world.ralph(["status", "nothing-like-it"]).expect(2).stderr.contains("nothing-like-it"));
}

#[test]
fn events_as_json_are_the_journal_without_its_checksums() {
    let world = World::new();
    world.run("say hi \"there\"\nerr oops", &["-n", "2"]).expect(3);
    let journal = read(&world.journal());
    let want: Vec<String> = journal
        .lines()
        .map(|line| format!("{}}}", line.rsplit_once(",\"crc\":\"").expect("a checksum").0))
        .collect();
    let shown = world.ralph(["events", "--json"]).expect(0).stdout;
    assert_eq!(shown.lines().collect::<Vec<_>>(), want);
    let seqs: Vec<u64> = world.events().0.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=want.len() as u64).collect::<Vec<_>>());
    // In words: a line each.
    assert_eq!(world.ralph(["events"]).expect(0).stdout.lines().count(), want.len());
}

#[test]
fn events_are_filtered_by_type_iteration_and_place() {
    let world = World::new();
    world
        .run("say hi \"iteration\":2 there", &["-n", "12", "--set", "loop_detection.enabled=false"])
        .expect(3);
    let get =
        |args: &[&str]| Events(world.ralph([&["events", "--json"], args].concat()).expect(0).json_lines());
    assert_eq!(get(&["--type", "iteration.finished"]).finished().len(), 12);
    let kinds = get(&["--type", "iteration.*", "--type", "run.stopped"]);
    assert!(kinds.0.iter().all(|e| e["type"] == "run.stopped" || e["iteration"].is_u64()));
    assert_eq!(kinds.0.len(), 25);
    let second = get(&["--iteration", "2"]);
    assert!(!second.0.is_empty() && second.0.iter().all(|event| event["iteration"] == 2), "{:?}", second.0);
    assert_eq!(get(&["--iteration", "1"]).finished(), [1]);
    assert_eq!(get(&["--last", "3", "--type", "iteration.finished"]).finished(), [10, 11, 12]);
    assert_eq!(get(&["--last", "1"]).0[0]["type"], "run.stopped");
    assert_eq!(get(&["--last", "0"]).0.len(), 0);
    assert_eq!(get(&["--type", "gate.*"]).0.len(), 0, "there could be some");
    for wanted in ["no.such", "no.such.*", "iteration.finish"] {
        let done = world.ralph(["events", "--type", "run.*", "--type", wanted]).expect(2);
        assert!(done.stderr.contains(&format!("there is no event `{wanted}`")), "{}", done.stderr);
        assert_eq!(done.stdout, "");
    }
    // One that a newer ralph has written.
    let journal = read(&world.journal());
    fs::write(world.journal(), journal.replace("\"iteration.finished\"", "\"no.such\"")).expect("write");
    assert_eq!(get(&["--type", "no.*"]).0.len(), 12);
}

#[test]
fn following_shows_what_comes_and_ends_with_the_run() {
    let world = World::new();
    let live = world.start_run("say hi\non 2: wait-for go", &["-n", "3"]);
    world.wait_for("agent.spawned", 2);
    let follower = world.start(["events", "--follow", "--json"]);
    let late = world.start(["events", "--follow", "--json", "--last", "1", "--type", "iteration.finished"]);
    wait_until("the follower to catch up", || follower.stdout().contains("agent.spawned"));
    wait_until("the other to catch up", || !late.stdout().is_empty());
    world.write("go", "");
    live.wait().expect(3);
    assert_eq!(Events(follower.wait().expect(0).json_lines()).0, world.events().0);
    assert_eq!(Events(late.wait().expect(0).json_lines()).finished(), [1, 2, 3]);
    // Of a run that is over: everything, then the end.
    let again = world.ralph(["events", "--follow", "--json"]).expect(0);
    assert_eq!(Events(again.json_lines()).0, world.events().0);
}

#[test]
fn logs_are_what_the_agent_printed_and_nothing_of_it_reaches_the_terminal_but_text() {
    let world = World::new();
    world.run("say out %i\nerr problem %i\nsay \u{1b}[31mred\u{1b}]52;c;aGk=\u{7}", &["-n", "3"]).expect(3);
    let logs = |args: &[&str]| world.ralph([&["logs"], args].concat()).expect(0).stdout;
    let newest = logs(&[]);
    assert!(newest.contains("out 3\n") && newest.contains("problem 3\n") && newest.contains("\nred\n"));
    assert!(!newest.contains("out 2") && !newest.contains('\u{1b}'));
    assert!(logs(&["--raw"]).contains("\u{1b}[31mred"));
    assert!(logs(&["-i", "1"]).contains("out 1\n"));
    let all = logs(&["--all"]);
    for i in 1..=3 {
        assert!(
            all.contains(&format!("--- iteration {i}, attempt 1 ---\n"))
                && all.contains(&format!("out {i}\n"))
        );
    }
    assert!(logs(&["--prompt", "-i", "2"]).contains("the task"));
    assert!(world.ralph(["logs", "-i", "9"]).expect(2).stderr.contains("no iteration 9"));
}

#[test]
fn what_a_gate_printed_is_shown_by_its_name() {
    let world = World::new();
    let gates = "gates=[{name: tests, run: 'sh -c \"echo round; printf \\\"\\\\033[1mboom\\\"; exit 1\"'}, {name: lint, run: 'echo fine'}]";
    world.run("say <ralph>COMPLETE</ralph>", &["-n", "2", "--set", gates]);
    let gate = |args: &[&str]| world.ralph([&["logs", "--gate"], args].concat());
    let failed = gate(&["tests"]).expect(0).stdout;
    assert_eq!(failed, "--- gate tests after iteration 2: failed ---\nround\nboom\n");
    assert!(gate(&["tests", "-i", "1"]).expect(0).stdout.contains("after iteration 1"));
    let unknown = gate(&["test"]).expect(2).stderr;
    assert!(unknown.contains("no gate `test`; did you mean `tests`?"), "{unknown}");
}

#[test]
fn logs_follow_a_run_over_its_iterations_to_its_end() {
    let world = World::new();
    let live = world.start_run("say begin %i\nwait-for go%i\nsay end %i", &["-n", "2"]);
    world.wait_for("agent.text", 1);
    let mut command = world.command(RALPH);
    command.args(["logs", "--follow"]);
    let follower = world.spawn(command);
    world.write("go1", "");
    world.wait_for("iteration.finished", 1);
    world.write("go2", "");
    live.wait().expect(3);
    let seen = follower.wait().expect(0).stdout;
    let one = |i: u32| format!("--- iteration {i}, attempt 1 ---\nbegin {i}\nend {i}\n");
    assert!(seen.ends_with(&one(2)), "{seen}");
    // It may have begun to look only when the first iteration was over.
    assert!(seen == one(2) || seen == format!("{}{}", one(1), one(2)), "{seen}");
}

#[test]
fn logs_of_an_iteration_can_be_read_while_it_runs() {
    let world = World::new();
    let _live = world.start_run("say half of it\nsleep 120s", &[]);
    world.wait_for("agent.text", 1);
    assert_eq!(world.ralph(["logs"]).expect(0).stdout, "half of it\n");
}

#[test]
fn explain_names_the_guard_that_ended_the_run() {
    let world = World::new();
    world.run("say hi", &["-n", "2"]).expect(3);
    let text = world.ralph(["explain"]).expect(0).stdout;
    let line = text.lines().find(|line| line.contains("ended the run")).expect("the line");
    assert!(line.contains("max_iterations") && line.contains("2 of 2"), "{text}");
    let json = world.ralph(["explain", "--json"]).expect(0).json();
    assert_eq!(json["stopped"]["reason"], "max_iterations");
    let guards = json["limits"].as_array().expect("limits");
    let ended: Vec<&Value> = guards.iter().filter(|guard| guard["ended_the_run"] == true).collect();
    assert_eq!(ended.len(), 1);
    assert_eq!(
        (&ended[0]["key"], &ended[0]["used"], &ended[0]["limit"]),
        (&json!("max_iterations"), &json!(2.0), &json!(2.0))
    );
    assert!(!json["evidence"].as_array().expect("evidence").is_empty());
    assert!(json["limits_off"].as_array().expect("a list").contains(&json!("max_cost")));
}

#[test]
fn a_replay_looks_like_the_run_did() {
    let world = World::new();
    let live = world.run("say hi\non 2: exit 3", &[&["-n", "3", "-v"], &NO_BACKOFF[..]].concat()).expect(3);
    assert_eq!(world.ralph(["replay", "-v"]).expect(0).stdout, live.stdout);
    assert_eq!(
        world.ralph(["replay", "--json"]).expect(0).stdout,
        world.ralph(["events", "--json"]).expect(0).stdout
    );
    let done = world.ralph(["replay", "--verify"]).expect(0);
    assert!(done.stdout.contains("all as recorded"), "{}", done.stdout);
    // A decision that does not follow from what came before is found, whatever its checksum.
    let journal = read(&world.journal());
    fs::write(world.journal(), journal.replace("\"outcome\":\"failed\"", "\"outcome\":\"ok\""))
        .expect("write");
    let done = world.ralph(["replay", "--verify"]).expect(1);
    assert!(done.stderr.contains("differs") && done.stderr.contains("iteration.finished"), "{}", done.stderr);
}

#[test]
fn logs_verify_and_clean_have_answers_for_scripts() {
    let world = World::new();
    world.run("say out %i", &["-n", "2"]).expect(3);
    let logs = world.ralph(["logs", "--all", "--json"]).expect(0).json();
    for i in [1, 2] {
        let one = &logs[i - 1];
        assert_eq!(
            (&one["iteration"], &one["attempt"], &one["output_bytes"]),
            (&json!(i), &json!(1), &json!(6))
        );
        assert_eq!(read(one["file"].as_str().expect("a file").as_ref()), format!("out {i}\n"));
    }
    assert_eq!(world.ralph(["logs", "--json"]).expect(0).json().as_array().map(Vec::len), Some(1));

    let verified = world.ralph(["replay", "--verify", "--json"]).expect(0).json();
    assert_eq!((&verified["run"], &verified["difference"]), (&json!(world.run_id()), &Value::Null));
    assert!(verified["inputs"].as_u64() > Some(2) && verified["decisions"].as_u64() > Some(2), "{verified}");
    let journal = read(&world.journal());
    fs::write(world.journal(), journal.replace("\"outcome\":\"ok\"", "\"outcome\":\"failed\""))
        .expect("write");
    let verified = world.ralph(["replay", "--verify", "--json"]).expect(1).json();
    assert_eq!(verified["difference"]["recorded"]["outcome"], "failed");
    assert_eq!(verified["difference"]["decided"]["outcome"], "ok");

    let id = world.run_id();
    let clean = |args: &[&str]| {
        let all = [&["clean", "--older-than", "0s", "--json"], args].concat();
        let done = world.ralph(all).expect(0).json();
        assert!(done["bytes"].as_u64() > Some(0), "{done}");
        (done["removed"].clone(), done["dry_run"].clone())
    };
    assert_eq!(clean(&["--dry-run"]), (json!([id]), json!(true)));
    assert_eq!(clean(&[]), (json!([id]), json!(false)));
    assert_eq!(world.run_dirs().len(), 0);
}

#[test]
fn texts_end_with_one_newline() {
    let world = World::new();
    world.run("say hi", &["-n", "1"]).expect(3);
    for command in
        [&["list"][..], &["status"], &["explain"], &["check"], &["replay"], &["events", "--last", "1"]]
    {
        let stdout = world.ralph(command).stdout;
        assert!(!stdout.ends_with("\n\n"), "{command:?}: {stdout}");
    }
}

#[test]
fn clean_keeps_the_newest_and_the_living() {
    let world = World::new();
    for _ in 0..3 {
        world.run("say hi", &["--once"]).expect(0);
    }
    let ids = world.run_dirs();
    let _live = world.start_run("say up\nsleep 120s", &[]);
    world.wait_until("the live run", |events| events.0.len() >= 4 && world.run_dirs().len() == 4);
    let name = |i: usize| ids[i].file_name().expect("a name").to_string_lossy().into_owned();
    let clean = |args: &[&str]| world.ralph([&["clean", "--keep", "1"], args].concat()).expect(0).stdout;
    let text = clean(&["--dry-run"]);
    assert!(text.contains("2 runs would be removed"), "{text}");
    assert!(text.starts_with(&format!("{}\n{}\n", name(1), name(0))), "{text}");
    let (text, here) = (clean(&["--dry-run", "--all"]), world.path("work"));
    assert!(text.starts_with(&format!("{}  {}\n", name(1), here.display())), "{text}");
    assert_eq!(world.run_dirs().len(), 4);
    let text = clean(&[]);
    assert!(text.contains("2 runs removed") && text.starts_with(&name(1)), "{text}");
    assert_eq!(world.run_dirs()[0], ids[2]);
    assert_eq!(world.run_dirs().len(), 2);
    assert!(world.ralph(["clean"]).expect(0).stdout.contains("0 runs removed"), "young ones stay");
    world.ralph(["clean", "--older-than", "0s"]).expect(0);
    assert_eq!(world.run_dirs().len(), 1);
}
