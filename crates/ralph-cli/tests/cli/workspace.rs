//! Nothing that the agent does in the workspace loses anything of the run.

use crate::harness::*;

#[test]
fn an_agent_that_cleans_everything_away_loses_nothing() {
    let world = World::new();
    let mut git = world.command("git");
    git.args(["init", "-q"]);
    world.spawn(git).wait().expect(0);
    world.write("notes.txt", "gone soon");
    world.write(".gitignore", "*.log\n");
    world.write("old.log", "gone soon");
    let script = "on 1: sh git clean -fdxq\non 2: sh rm -rf ./* ./.[!.]*\nsay still here %i";
    world.run(script, &["-n", "4"]).expect(3);
    let events = world.events();
    assert_eq!(events.finished(), [1, 2, 3, 4]);
    assert_eq!(events.fields("iteration.finished", "outcome"), ["ok"; 4]);
    assert!(!world.work("notes.txt").exists() && !world.work(".git").exists());
    assert!(world.ralph(["logs", "--all"]).expect(0).stdout.contains("still here 1"));
    world.verify();
    world.ralph(["resume", "-n", "5"]).expect(3);
}

#[test]
fn an_agent_that_removes_the_workspace_itself_ends_the_run_and_not_its_record() {
    let world = World::new();
    let done = world.run("on 1: sh rm -rf \"$RALPH_WORKSPACE\"\nsay hi", &["-n", "3"]).expect(1);
    assert!(done.stdout.contains("the working directory"), "{}", done.stdout);
    std::fs::create_dir(world.path("work")).expect("a folder");
    world.ralph(["resume"]).expect(3);
    assert_eq!(world.events().finished(), [1, 2, 3]);
    world.verify();
}

#[test]
fn without_a_state_dir_the_state_is_where_xdg_says() {
    let world = World::new();
    let agent = world.agent("say hi");
    let run_without = |names: &[&str]| {
        let mut command = world.command(RALPH);
        for name in names {
            command.env_remove(name);
        }
        command.args(["run", "-p", "x", "-a", &agent, "--once"]);
        world.spawn(command).wait().expect(0);
    };
    run_without(&["RALPH_STATE_DIR"]);
    assert!(!world.state().exists() && world.path("xdg-state/ralph/runs").is_dir());
    run_without(&["RALPH_STATE_DIR", "XDG_STATE_HOME"]);
    assert!(world.path("home/.local/state/ralph/runs").is_dir());
}

#[test]
fn the_state_is_private_and_outside_the_workspace() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.run("say hi", &["--once"]).expect(0);
    let left = std::fs::read_dir(world.path("work")).expect("the workspace").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, [".ralph"], "only what is for the agent to read, and git ignores it");
    assert_eq!(world.read(".ralph/.gitignore"), "*\n");
    let mut todo = vec![world.run_dir()];
    while let Some(path) = todo.pop() {
        let meta = std::fs::symlink_metadata(&path).expect("a file");
        if meta.is_dir() {
            todo.extend(std::fs::read_dir(&path).expect("a folder").flatten().map(|entry| entry.path()));
        }
        assert!(meta.is_symlink() || meta.permissions().mode() & 0o077 == 0, "{}", path.display());
    }
}
