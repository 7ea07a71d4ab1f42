//! The loop: failures, delays, targets.

use super::*;

#[test]
fn a_failed_iteration_is_reported_and_the_loop_goes_on() {
    let ralph = Ralph::of("append runs.txt\non 1: exit 7\non 2: kill-self 9");
    let done = ralph.write("", "x").run(&[&["-n", "3"], &NO_BACKOFF[..]].concat()).expect(3);
    assert_eq!(ralph.world.read("runs.txt").lines().count(), 3);
    assert!(done.stdout.contains("exit code 7") && done.stdout.contains("SIGKILL"), "{}", done.stdout);
    assert_eq!(ralph.world.events().fields("iteration.finished", "outcome"), ["failed", "failed", "ok"]);
}

#[test]
fn a_run_whose_last_iterations_failed_does_not_exit_with_0() {
    let ralph = Ralph::of("exit 1");
    ralph.write("", "x").run(&[&["-n", "2"], &NO_BACKOFF[..]].concat()).expect(3);
    let ralph = Ralph::of("exit 1");
    ralph.write("", "x").run(&[&["-n", "9"], &NO_BACKOFF[..]].concat()).expect(1);
    assert_eq!(ralph.world.stopped().0, "consecutive_failures");
}

#[test]
fn stop_on_error_ends_the_run_at_the_first_failure() {
    let ralph = Ralph::of("append runs.txt\non 2: exit 5");
    let done = ralph.write("", "x").run(&["-n", "5", "-s"]).expect(1);
    assert_eq!(ralph.world.read("runs.txt").lines().count(), 2);
    for part in ["exit code 5", "iteration 2 failed"] {
        assert!(done.stdout.contains(part), "{}", done.stdout);
    }
    assert_eq!(ralph.world.stopped().0, "stop_on_error");
}

#[test]
fn a_delay_stands_between_iterations_and_nowhere_else() {
    let ralph = Ralph::new();
    ralph.write("", "x").run(&["-n", "3", "-d", "0.05"]).expect(3);
    let events = ralph.world.events();
    assert_eq!(events.fields("delay.started", "wait_ms"), [json!(50), json!(50)]);
    assert_eq!(events.kinds().last(), Some(&"run.stopped"));
}

#[test]
fn iterations_delays_and_timeouts_out_of_range_are_errors() {
    let ralph = Ralph::new();
    ralph.write("", "x");
    for (option, key, values) in [
        ("-n", "max_iterations", &["0", "-1"][..]),
        ("-d", "delay", &["-1", "inf", "nan"]),
        ("-t", "iteration_timeout", &["0", "-1", "inf", "nan"]),
    ] {
        for value in values {
            ralph.refuses(&[option, value], &[&format!("error: `event_loop.{key}`"), "command line"]);
        }
    }
    for key in ["delay", "iteration_timeout"] {
        for value in ["-1", ".inf", "-.inf", ".nan"] {
            ralph.write(&format!("event_loop: {{{key}: {value}}}"), "x").refuses(&[], &[key, "RALPH.md:4:"]);
        }
    }
}

#[test]
fn a_target_is_a_folder_a_file_or_an_installed_name() {
    let ralph = Ralph::new();
    ralph.write("", "{{ ralph.name }}");
    let world = &ralph.world;
    let prompt = |args: &[&str]| {
        world.ralph([&["run", "-n", "1"], args].concat()).expect(3);
        world.read("prompt-1.txt")
    };
    assert_eq!(prompt(&["r"]), "r");
    assert_eq!(prompt(&["./r/"]), "r");
    assert_eq!(prompt(&["r/RALPH.md"]), "r");
    let text = world.read("r/RALPH.md");
    for folder in
        ["work/.agents/ralphs/installed", "home/.agents/ralphs/installed", "home/.agents/ralphs/at-home"]
    {
        std::fs::create_dir_all(world.path(folder)).expect("a folder");
        let text = text.replace("{{ ralph.name }}", &format!("{{{{ ralph.name }}}} in {}", &folder[..4]));
        std::fs::write(world.path(folder).join("RALPH.md"), text).expect("write");
    }
    assert_eq!(prompt(&["installed"]), "installed in work");
    assert_eq!(prompt(&["at-home"]), "at-home in home");
    let mut here = world.command(RALPH);
    here.args(["run", ".", "-n", "1"]).current_dir(world.work("r"));
    world.spawn(here).wait().expect(3);
    assert_eq!(world.read("r/prompt-1.txt"), "r");
    let missing = world.ralph(["run", "instaled", "-n", "1"]).expect(2);
    assert!(missing.stderr.contains("did you mean `installed`?"), "{}", missing.stderr);
}
