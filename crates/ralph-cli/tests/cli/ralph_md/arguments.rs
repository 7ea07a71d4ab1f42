//! Cases 28 to 31: arguments.

use super::*;

fn ralph() -> Ralph {
    let ralph = Ralph::new();
    ralph.write("args: [a, b]", "[{{ args.a }}][{{ args.b }}][{{ args.zzz }}]");
    ralph
}

#[test]
fn case_28_by_position() {
    assert_eq!(ralph().prompt(&["A", "B"]), "[A][B][]");
    assert_eq!(ralph().prompt(&["A"]), "[A][][]");
    ralph().refuses(&["A", "B", "C"], &["`C` is too much", "a, b"]);
    let none = Ralph::new();
    none.write("", "x").refuses(&["A"], &["`A` is too much", "no arguments"]);
}

#[test]
fn case_29_by_name() {
    assert_eq!(ralph().prompt(&["--b", "perf", "./p"]), "[./p][perf][]");
    assert_eq!(ralph().prompt(&["--a=1=2"]), "[1=2][][]");
    assert_eq!(ralph().prompt(&["--a", "1", "--a=2"]), "[2][][]");
    assert_eq!(ralph().prompt(&["--a="]), "[][][]");
}

#[test]
fn case_30_names_that_nobody_declared() {
    assert_eq!(ralph().prompt(&["--zzz", "v"]), "[][][v]");
    ralph().refuses(&["--max-iteration", "5"], &["--max-iterations"]);
    ralph().refuses(&["--zzz"], &["`--zzz` needs a value"]);
    ralph().refuses(&["--zzz", "--b", "x"], &["`--zzz` needs a value"]);
    ralph().refuses(&["--a.b", "x"], &["`--a.b` is no argument"]);
    ralph().refuses(&["-z"], &["-z"]);
}

#[test]
fn case_31_behind_two_dashes_everything_is_for_the_ralph() {
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
