//! Starting a run: where the prompt, the agent and the settings come from, and what the agent gets.

use std::fs;

use crate::harness::*;

#[test]
fn a_prompt_and_an_agent_are_enough() {
    let world = World::new();
    let done = world.run("save-prompt prompt.txt; say working".replace("; ", "\n").as_str(), &["-n", "2"]);
    let done = done.expect(3);
    assert!(done.stdout.contains("#1 ok") && done.stdout.contains("#2 ok"), "{}", done.stdout);
    assert_eq!(world.stopped(), ("max_iterations".to_owned(), 3));
    assert!(world.read("prompt.txt").contains("the task"));
    assert_eq!(world.events().finished(), [1, 2]);
    world.verify();
    world.expect_no_survivors();
}

#[test]
fn words_are_split_as_a_shell_would_but_no_shell_runs() {
    let world = World::new();
    let agent =
        format!("{} --flag \"a b\" 'c d' e\\ f '$HOME' x; echo >file *", world.agent("save-args args.txt"));
    world.ralph(["run", "-p", "x", "-a", &agent, "--once"]).expect(0);
    assert_eq!(world.read("args.txt"), "--flag\na b\nc d\ne f\n$HOME\nx;\necho\n>file\n*\n");
    assert!(!world.work("file").exists());
}

#[test]
fn a_prompt_file_is_read_again_before_every_iteration() {
    let world = World::new();
    world.write("PROMPT.md", "\n\nfirst version\n");
    let agent = world.agent("save-prompt got-%i.txt\nwrite PROMPT.md second version");
    world.ralph(["run", "-f", "PROMPT.md", "-a", &agent, "-n", "2"]).expect(3);
    assert!(world.read("got-1.txt").contains("first version"));
    assert!(world.read("got-2.txt").contains("second version"));
    assert!(!world.read("got-2.txt").contains("first version"));
}

#[test]
fn a_ralph_yml_says_everything() {
    let world = World::new();
    let agent = world.agent("save-prompt got.txt\nsay ALL DONE");
    world.write(
        "my.yml",
        &format!("agent: {agent}\nprompt: do it\nevent_loop:\n  max_iterations: 7\n  completion_promise: ALL DONE\n"),
    );
    world.ralph(["run", "my.yml"]).expect(0);
    assert!(world.read("got.txt").contains("do it"));
    let events = world.events();
    assert_eq!(events.last("run.stopped")["reason"], "complete");
    assert_eq!(events.last("run.started")["plan"]["event_loop"]["max_iterations"], 7);
    // Without a target it is found by its usual name.
    fs::rename(world.work("my.yml"), world.work("ralph.yml")).expect("rename");
    world.ralph(["run"]).expect(0);
    assert_eq!(world.run_dirs().len(), 2);
}

#[test]
fn the_body_of_a_ralph_md_is_the_prompt_as_written() {
    let world = World::new();
    let agent = world.agent("save-prompt got.txt");
    world.write(
        "job/RALPH.md",
        &format!("---\nagent: {agent}\ncredit: no\n---\n\n\n  Do this.\n\n---\nAnd that.\n\n\n"),
    );
    for target in ["job", "job/RALPH.md"] {
        world.ralph(["run", target, "--once"]).expect(0);
        assert_eq!(world.read("got.txt"), "Do this.\n\n---\nAnd that.");
        fs::remove_file(world.work("got.txt")).expect("remove");
    }
}

#[test]
fn an_agent_mapping_says_how_the_prompt_gets_there() {
    let world = World::new();
    let script = world.agent("read-stdin\nsave-args args-%r.txt\nsave-env env-%r.txt GREETING OTHER");
    for via in ["arg", "file", "stdin"] {
        world.write(
            "ralph.yml",
            &format!(
                "prompt: the one task\nagent:\n  command: {script}\n  args: [--deep, 'two words']\n  prompt: {via}\n  \
                 env:\n    GREETING: hello there\n"
            ),
        );
        world.ralph(["run", "--once"]).expect(0);
        let run = world.run_id();
        let args = world.read(&format!("args-{run}.txt"));
        let (own, rest) = args.split_once("two words\n").expect("the arguments");
        assert_eq!(own, "--deep\n");
        match via {
            "arg" => assert!(rest.contains("the one task"), "{rest}"),
            "file" => assert!(read(rest.trim().as_ref()).contains("the one task")),
            _ => assert_eq!(rest, ""),
        }
        assert_eq!(world.read(&format!("env-{run}.txt")), "GREETING=hello there\nOTHER=\n");
    }
}

#[test]
fn a_prompt_of_a_megabyte_does_not_trouble_an_agent_that_never_reads() {
    let world = World::new();
    world.write("big.md", &"0123456789abcdef".repeat(1 << 16));
    let agent = world.agent("say fine");
    world.ralph(["run", "-f", "big.md", "-a", &agent, "-n", "2"]).expect(3);
    assert_eq!(world.events().fields("iteration.finished", "outcome"), ["ok", "ok"]);
    // And one that reads gets all of it.
    let agent = world.agent("save-prompt got.txt");
    world.ralph(["run", "-f", "big.md", "-a", &agent, "--once"]).expect(0);
    assert!(world.read("got.txt").len() > 1 << 20);
}

#[test]
fn the_agent_knows_where_it_is_and_finds_this_ralph() {
    let world = World::new();
    let script = "save-env env-%i.txt RALPH_RUN_ID RALPH_ITERATION RALPH_WORKSPACE RALPH_BIN\n\
                  sh ralph list --json > list.json && \"$RALPH_BIN\" --version > version.txt";
    world.run(script, &["-n", "2"]).expect(3);
    for i in [1, 2] {
        let (id, work) = (world.run_id(), world.path("work"));
        let want = format!("RALPH_RUN_ID={id}\nRALPH_ITERATION={i}\nRALPH_WORKSPACE={}\n", work.display());
        let got = world.read(&format!("env-{i}.txt"));
        assert!(got.starts_with(&want), "{got}");
        let bin = got.lines().find_map(|line| line.strip_prefix("RALPH_BIN=")).expect("RALPH_BIN");
        assert_eq!(fs::canonicalize(bin).expect("a program"), fs::canonicalize(RALPH).expect("ralph"));
    }
    let list: Value = serde_json::from_str(&world.read("list.json")).expect("JSON");
    assert_eq!(list[0]["state"], "running");
    assert!(world.read("version.txt").starts_with("ralph "));
}

#[test]
fn the_workspace_is_where_dash_c_says() {
    let world = World::new();
    fs::create_dir(world.path("other")).expect("a folder");
    let agent = world.agent("write here.txt x");
    world.ralph(["run", "-C", "../other", "-p", "x", "-a", &agent, "--once"]).expect(0);
    assert!(world.path("other/here.txt").exists() && !world.work("here.txt").exists());
    assert_eq!(world.ralph(["list", "--json", "-C", "../other"]).json()[0]["iterations"], 1);
    assert_eq!(world.ralph(["list", "--json"]).json(), json!([]));
    world.ralph(["run", "-C", "../nowhere", "-p", "x", "-a", &agent]).expect(2);
}

#[test]
fn log_dir_gets_what_each_iteration_prints() {
    let world = World::new();
    world.run("say out %i\nerr problem %i", &["-n", "2", "--log-dir", "logs"]).expect(3);
    let mut logs: Vec<String> =
        fs::read_dir(world.work("logs")).expect("logs").flatten().map(|entry| read(&entry.path())).collect();
    logs.sort();
    assert_eq!(logs.len(), 2);
    for (log, i) in logs.iter().zip([1, 2]) {
        assert!(log.contains(&format!("out {i}")) && log.contains(&format!("problem {i}")), "{log}");
    }
}
