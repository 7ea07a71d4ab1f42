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
fn the_state_is_private_and_outside_the_workspace() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.run("say hi", &["--once"]).expect(0);
    let left: Vec<_> = std::fs::read_dir(world.path("work")).expect("the workspace").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
    let mut todo = vec![world.run_dir()];
    while let Some(path) = todo.pop() {
        let meta = std::fs::symlink_metadata(&path).expect("a file");
        if meta.is_dir() {
            todo.extend(std::fs::read_dir(&path).expect("a folder").flatten().map(|entry| entry.path()));
        }
        assert!(meta.is_symlink() || meta.permissions().mode() & 0o077 == 0, "{}", path.display());
    }
}
