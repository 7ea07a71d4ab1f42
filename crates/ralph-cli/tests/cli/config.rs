//! Mistakes on the command line and in definitions, and what is shown of a definition.

use crate::harness::*;

#[test]
fn a_misspelt_key_is_shown_with_its_place_and_the_nearest_one() {
    let world = World::new();
    let agent = world.agent("append runs.txt");
    world.write("ralph.yml", &format!("agent: {agent}\nprompt: x\nevent_loop:\n  max_iteratoins: 5\n"));
    for args in [&["run"][..], &["check"], &["run", "--dry-run"], &["run", "-p", "x"]] {
        let done = world.ralph(args).expect(2);
        for part in ["ralph.yml:4:3", "max_iteratoins: 5", "^^^^^^^^^^^^^^", "did you mean `max_iterations`?"]
        {
            assert!(done.stderr.contains(part), "{part} is not in\n{}", done.stderr);
        }
        assert!(!done.stderr.contains('\u{1b}') && done.stdout.is_empty());
    }
    assert!(!world.state().exists() && !world.work("runs.txt").exists());
}

#[test]
fn mistakes_on_the_command_line_start_nothing() {
    let world = World::new();
    let agent = world.agent("append runs.txt");
    let cases: &[(&[&str], &str)] = &[
        (&["--no-such-flag"], "--no-such-flag"),
        (&["-n", "many"], "many"),
        (&["-n", "0"], "-n"),
        (&["-t", "5 parsecs"], "parsecs"),
        (&["--set", "event_loop.max_iteration=5"], "max_iterations"),
        (&["--set", "nonsense"], "nonsense"),
        (&["-f", "no-such-file.md"], "no-such-file.md"),
        (&["no-such-target"], "no-such-target"),
        (&["-q", "--json"], "--json"),
    ];
    for (args, part) in cases {
        let base: &[&str] =
            if args[0] == "-f" { &["run", "-a", &agent] } else { &["run", "-p", "x", "-a", &agent] };
        let done = world.ralph([base, args].concat()).expect(2);
        assert!(done.stderr.contains(part) && done.stdout.is_empty(), "{args:?}: {}", done.stderr);
    }
    world.ralph(["run"]).expect(2);
    world.ralph(["run", "-p", "x"]).expect(2);
    world.ralph(["no-such-command"]).expect(2);
    world.ralph([] as [&str; 0]).expect(2);
    assert!(!world.state().exists() && !world.work("runs.txt").exists());
}

#[test]
fn check_tells_good_from_bad_and_show_where_each_value_comes_from() {
    let world = World::new();
    let agent = world.agent("append runs.txt");
    world.write(
        "ralph.yml",
        &format!("agent: {agent}\nprompt: x\nevent_loop:\n  max_runtime: 30m\n  delay: 2s\n"),
    );
    std::fs::create_dir(world.path("config/ralph")).expect("a folder");
    std::fs::write(
        world.path("config/ralph/config.yml"),
        "event_loop:\n  delay: 9s\n  stop_on_error: true\n",
    )
    .expect("write");
    assert!(world.ralph(["check"]).expect(0).stdout.contains("ralph.yml is fine"));
    let shown = world.ralph(["check", "--show", "--set", "event_loop.max_iterations=3"]).expect(0).stdout;
    let line = |key: &str| {
        let line = shown.lines().find(|line| line.split_whitespace().next() == Some(key));
        line.unwrap_or_else(|| panic!("{key} is not in\n{shown}")).to_owned()
    };
    let ends = |key: &str, value: &str, from: &str| {
        let line = line(key);
        assert!(line.contains(value) && line.contains(from), "{line}");
    };
    ends("event_loop.max_runtime", "30m", "ralph.yml:4:3");
    ends("event_loop.delay", "2s", "ralph.yml:5:3");
    ends("event_loop.stop_on_error", "true", "config.yml:3:3");
    ends("event_loop.max_iterations", "3", "--set");
    ends("event_loop.max_wall_time", "7d", "default");
    let json = world.ralph(["check", "--json"]).expect(0).json();
    let delay = json.as_array().expect("a list").iter().find(|one| one["path"] == "event_loop.delay");
    assert_eq!(delay.expect("delay")["from"], "ralph.yml:5:3");
    // The file of the user applies to a run as well, and the flags come first.
    world.ralph(["run", "-n", "2", "-d", "1ms"]).expect(3);
    let events = world.events();
    let plan = &events.last("run.started")["plan"];
    assert_eq!(
        (&plan["event_loop"]["delay"], &plan["event_loop"]["stop_on_error"]),
        (&json!("1ms"), &json!(true))
    );
}

#[test]
fn a_dry_run_shows_the_plan_and_the_prompt_and_starts_nothing() {
    let world = World::new();
    let done = world.run("append runs.txt", &["-n", "7", "--dry-run"]).expect(0);
    assert!(
        done.stdout.contains("\"max_iterations\": 7") && done.stdout.contains("the task"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("COMPLETE"), "the rules are shown too");
    assert!(!world.state().exists() && !world.work("runs.txt").exists());
}

#[test]
fn help_version_and_schema() {
    let world = World::new();
    let help = world.ralph(["--help"]).expect(0).stdout;
    for part in ["run", "resume", "explain", "Exit codes", "130, 143, 129"] {
        assert!(help.contains(part), "{part} is not in\n{help}");
    }
    assert_eq!(world.ralph(["--version"]).expect(0).stdout, format!("ralph {}\n", env!("CARGO_PKG_VERSION")));
    let schema = world.ralph(["schema"]).expect(0).json();
    assert!(schema["properties"]["event_loop"].is_object());
    assert!(!world.state().exists());
}

#[test]
fn a_file_of_ralph_orchestrator_keeps_working() {
    let world = World::new();
    let agent = world.agent("save-prompt got.txt\nsay LOOP_COMPLETE");
    world.write(
        "ralph.yml",
        &format!(
            "cli:\n  backend: custom\n  command: {agent}\n  prompt_mode: stdin\nevent_loop:\n  prompt_file: PROMPT.md\n  \
             max_iterations: 9\n  max_runtime_seconds: 600\n  completion_promise: LOOP_COMPLETE\n"
        ),
    );
    world.write("PROMPT.md", "build the thing");
    world.ralph(["run"]).expect(0);
    assert!(world.read("got.txt").contains("build the thing"));
    let events = world.events();
    assert_eq!(events.last("run.started")["plan"]["event_loop"]["max_runtime"], "10m");
}

#[test]
fn a_run_says_where_its_settings_come_from() {
    let world = World::new();
    let agent = world.agent("say hi");
    let header = |args: &[&str]| {
        let done = world.ralph([&["run", "-p", "x", "-a", &agent, "-n", "1"], args].concat()).expect(3);
        done.stdout.lines().find_map(|line| line.strip_prefix("  config  ").map(str::to_owned))
    };
    assert_eq!(header(&[]), None);
    let quick = ["--preset", "quick", "--set", "gates=[{name: t, run: 'true'}]"];
    assert_eq!(header(&quick).as_deref(), Some("preset quick"));
    // It applies to runs with -p, and lies over a preset.
    world.write("ralph.yml", "event_loop: {max_iterations: 7}\n");
    assert_eq!(header(&[]).as_deref(), Some("ralph.yml"));
    assert_eq!(header(&quick).as_deref(), Some("ralph.yml + preset quick"));
    let plan = world.events().last("run.started")["plan"].clone();
    assert_eq!((&plan["preset"], &plan["event_loop"]["max_runtime"]), (&json!("quick"), &json!("20m")));
    let elsewhere = world.path("files").join("other.yml");
    std::fs::write(&elsewhere, "credit: true\n").expect("write");
    let elsewhere = elsewhere.display().to_string();
    assert_eq!(header(&[&elsewhere]), Some(elsewhere));
}

#[test]
fn the_help_of_run_fits_a_terminal_of_80_columns() {
    let world = World::new();
    let mut help = world.command(RALPH);
    help.args(["run", "--help"]).env("COLUMNS", "80");
    let help = world.spawn(help).wait().expect(0).stdout;
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    let ends = help.lines().skip_while(|line| !line.starts_with("What ends a run")).skip(1);
    for line in ends.take_while(|line| !line.is_empty()) {
        let (key, rest) = line.split_at(24);
        assert!(key.ends_with("  ") && !rest.starts_with(' '), "{line}");
    }
}
