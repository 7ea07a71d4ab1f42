//! Arguments of `ralph run`.

use super::*;

fn ralph() -> Ralph {
    let ralph = Ralph::new();
    ralph.write("args: [a, b]", "[{{ args.a }}][{{ args.b }}][{{ args.zzz }}]");
    ralph
}

#[test]
fn positional_arguments_fill_the_declared_names_in_order() {
    assert_eq!(ralph().prompt(&["A", "B"]), "[A][B][]");
    assert_eq!(ralph().prompt(&["A"]), "[A][][]");
    ralph().refuses(&["A", "B", "C"], &["`C` is too much", "a, b"]);
    let none = Ralph::new();
    none.write("", "x").refuses(&["A"], &["`A` is too much", "no arguments"]);
}

#[test]
fn arguments_can_be_given_by_name() {
    assert_eq!(ralph().prompt(&["--b", "perf", "./p"]), "[./p][perf][]");
    assert_eq!(ralph().prompt(&["--a=1=2"]), "[1=2][][]");
    assert_eq!(ralph().prompt(&["--a", "1", "--a=2"]), "[2][][]");
    assert_eq!(ralph().prompt(&["--a="]), "[][][]");
}

#[test]
fn an_undeclared_argument_is_accepted_unless_it_is_almost_an_option() {
    assert_eq!(ralph().prompt(&["--zzz", "v"]), "[][][v]");
    ralph().refuses(&["--max-iteration", "5"], &["--max-iterations"]);
    ralph().refuses(&["--zzz"], &["`--zzz` needs a value"]);
    ralph().refuses(&["--zzz", "--b", "x"], &["`--zzz` needs a value"]);
    ralph().refuses(&["--a.b", "x"], &["`--a.b` is no argument"]);
    ralph().refuses(&["-z"], &["-z"]);
}

#[test]
fn an_argument_that_nothing_uses_is_noted() {
    let done = ralph().run(&["-n", "1", "--zzz", "v", "--yyy", "v", "--a", "v"]).expect(3);
    let note = "note: `--yyy`: ralph has no such option, and as an argument it is neither declared in `args` nor used in the prompt or a \
                command\n";
    assert_eq!(done.stderr, format!("{note}{NO_FINISH}{NO_NET}"));
    let commands = Ralph::new();
    commands.write("commands: [{name: x, run: 'echo {{ args.yyy }}'}]", "{{ commands.x }}");
    assert_eq!(commands.run(&["-n", "1", "--yyy", "v"]).expect(3).stderr, format!("{NO_FINISH}{NO_NET}"));
}

#[test]
fn an_option_of_other_tools_is_an_error_that_names_the_option_of_ralph() {
    for (name, option) in [("--max-iters", "--max-iterations"), ("--budget", "--max-cost")] {
        ralph().refuses(&[name, "5"], &[&format!("`{name}`; did you mean `{option}`?")]);
    }
}

#[test]
fn where_there_is_no_ralph_md_an_argument_has_to_be_declared() {
    let world = World::new();
    let agent = world.agent("save-prompt prompt.txt");
    let refused = |args: &[&str], part: &str| {
        let done = world.ralph([&["run"], args].concat()).expect(2);
        assert!(done.stderr.contains(part), "{args:?}: {}", done.stderr);
        assert!(world.run_dirs().is_empty(), "a run was started");
    };
    refused(
        &["-p", "x", "-a", &agent, "--iterations", "3"],
        "`--iterations`; did you mean `--max-iterations`?",
    );
    refused(&["-p", "{{ args.zzz }}", "-a", &agent, "--zzz", "3"], "no option `--zzz`");
    world.write("ralph.yml", &format!("agent: {agent}\nargs: [focus]\nprompt: '[{{{{ args.focus }}}}]'\n"));
    refused(&["--max-turns", "1"], "`--max-turns`; did you mean `--max-iterations`?");
    refused(&["--zzz", "1"], "no option `--zzz`, nor is it an argument: focus");
    refused(&["--focsu", "1"], "did you mean `--focus`?");
    world.ralph(["run", "-n", "1", "--focus", "perf"]).expect(3);
    assert!(world.read("prompt.txt").contains("\n[perf]\n"), "{}", world.read("prompt.txt"));
}

#[test]
fn words_behind_two_dashes_are_arguments_even_if_they_look_like_options() {
    assert_eq!(ralph().prompt(&["--", "--verbose", "./src"]), "[--verbose][./src][]");
    assert_eq!(ralph().prompt(&["--", "-n", "5"]), "[-n][5][]");
}

#[test]
fn arguments_are_part_of_the_run_when_it_goes_on() {
    let ralph = ralph();
    assert_eq!(ralph.prompt(&["A", "--zzz", "v"]), "[A][][v]");
    ralph.world.ralph(["resume", "-n", "2"]).expect(3);
    assert_eq!(ralph.world.read("prompt-2.txt"), "[A][][v]");
}
