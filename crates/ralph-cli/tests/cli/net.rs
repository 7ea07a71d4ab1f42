//! The net under the code: checkpoints, diff, undo, bisect, worktrees, and what is looked at before a run starts.

use std::fs;

use crate::harness::*;

const GIT: [&str; 4] = ["-c", "user.name=a", "-c", "user.email=a@localhost"];

impl World {
    pub fn git(&self, args: &[&str]) -> String {
        let mut git = self.command("git");
        git.args(GIT).args(args);
        self.spawn(git).wait().expect(0).stdout.trim_end().to_owned()
    }

    /// A workspace with a commit, and a change that no commit has.
    fn repository(&self) {
        self.git(&["init", "-q", "-b", "main"]);
        self.write("mine", "committed\n");
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "first"]);
        self.write("mine", "not committed\n");
    }
}

/// Undoes a person's work, as agents have done.
const CARELESS: &str = "sh git checkout -q -- .\nwrite f%i one\non 2: sh git add -A\n\
    on 2: sh git -c user.name=a -c user.email=a@localhost commit -qm 'the agent'\nsay did %i";

#[test]
fn what_a_careless_agent_threw_away_comes_back_and_its_commits_stay() {
    let world = World::new();
    world.repository();
    let done = world.run(CARELESS, &["-n", "3"]).expect(3);
    assert!(
        done.stderr.contains("1 file has changes that no commit has (mine); `ralph undo`"),
        "{}",
        done.stderr
    );
    let id = world.run_id();
    assert!(done.stdout.contains(&format!("ralph diff {id} --since-start")), "{}", done.stdout);
    assert_eq!(world.read("mine"), "committed\n");
    let events = world.events();
    assert_eq!(events.fields("checkpoint.saved", "name"), ["0", "1", "2", "3"]);
    // A checkpoint is on disk before the iteration is finished.
    let kinds = events.kinds();
    let place = |kind: &str, nth: usize| {
        kinds.iter().enumerate().filter(|(_, it)| **it == kind).nth(nth).expect("an event").0
    };
    assert!(place("checkpoint.saved", 3) < place("iteration.finished", 2));
    let (head, status) = (world.git(&["rev-parse", "HEAD"]), world.git(&["stash", "list"]));

    let done = world.ralph(["undo"]).expect(0);
    assert!(
        done.stdout.contains("as it was before the run: 1 file written, 3 files removed"),
        "{}",
        done.stdout
    );
    assert!(done.stdout.contains("1 commit made since then stays") && done.stdout.contains("the agent"));
    assert_eq!(world.read("mine"), "not committed\n");
    assert!(!world.work("f1").exists() && !world.work("f3").exists());
    assert_eq!((world.git(&["rev-parse", "HEAD"]), world.git(&["stash", "list"])), (head.clone(), status));

    let done = world.ralph(["undo", "--to", "undo-1", "--json"]).expect(0);
    assert_eq!(done.json()["written"], json!(["f1", "f2", "f3", "mine"]));
    assert_eq!((world.read("mine"), world.read("f3")), ("committed\n".to_owned(), "one".to_owned()));
    world.verify();

    world.ralph(["undo", "--to", "1", "--hard"]).expect(0);
    assert_ne!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "main");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? f1");
    assert_eq!(world.git(&["log", "--format=%s"]), "first");
    assert_eq!(world.git(&["cat-file", "-t", &head]), "commit", "what was committed is still there");
    // A resume saves what is there first, and goes on.
    world.ralph(["resume", "-n", "4"]).expect(3);
    let names = world.events().fields("checkpoint.saved", "name");
    assert_eq!(names[4..], ["undo-1", "undo-2", "undo-3", "3-resumed", "4"]);
    world.verify();
}

#[test]
fn a_diff_shows_what_an_iteration_or_the_run_changed_without_escapes() {
    let world = World::new();
    world.repository();
    let script = "on 1: write f one\non 2: sh printf 'red \\033[31mtext\\033[0m\\n' > f\non 3: write g new";
    world.run(script, &["-n", "3"]).expect(3);
    let diff = |args: &[&str]| world.ralph([&["diff"], args].concat()).expect(0).stdout;
    let last = diff(&[]);
    assert!(
        last.starts_with("from after iteration 2 to after iteration 3\n") && last.contains("+++ b/g"),
        "{last}"
    );
    let second = diff(&["2"]);
    assert!(
        second.contains("+red text") && !second.contains('\u{1b}') && second.contains("-one"),
        "{second}"
    );
    let id = world.run_id();
    assert_eq!(diff(&[&id, "2"]), second);
    let all = diff(&["--since-start", "--stat"]);
    assert!(
        all.contains("from before the run to after iteration 3") && all.contains("2 files changed"),
        "{all}"
    );
    assert_eq!(
        diff(&["0..1", "--json"]).parse::<Value>().expect("JSON")["files"],
        json!([{"path": "f", "how": "added"}])
    );
    assert!(diff(&["1..1"]).contains("nothing was changed"));
    let done = world.ralph(["diff", "9"]).expect(2);
    assert!(done.stderr.contains("no checkpoint `9`; it has 0, 1, 2, 3"), "{}", done.stderr);
}

#[test]
fn nobody_undoes_under_a_run_that_works() {
    let world = World::new();
    world.repository();
    let run = world.start_run("write f one\nwait-for go", &["-n", "1"]);
    world.wait_for_file("f");
    let done = world.ralph(["undo"]).expect(5);
    assert!(done.stderr.contains("ralph stop"), "{}", done.stderr);
    assert!(world.ralph(["diff"]).expect(2).stderr.contains("no iteration"));
    world.write("go", "");
    run.wait().expect(3);
    world.ralph(["undo"]).expect(0);
    assert!(!world.work("f").exists());
}

#[test]
fn the_end_says_when_the_tree_was_better_and_bisect_says_what_broke_it() {
    let world = World::new();
    world.repository();
    let gates = "gates=[{name: has-f, run: test -f f, when: iteration}, {name: mine, run: test -f mine, when: iteration}]";
    let script = "on 2: write f x\non 5: sh rm f\nsay did %i";
    let done = world.run(script, &["-n", "6", "--set", gates, "--set", "loop_detection.action=warn"]);
    let id = world.run_id();
    let text = done.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let best = format!("iteration 4 passed 2 of 2 gates, the tree now passes 1: ralph undo {id} --to 4");
    assert!(text.contains(&best), "{}", done.stdout);
    let before = world.git(&["for-each-ref"]);
    let done = world.ralph(["bisect", "has-f"]).expect(0);
    assert!(done.stdout.contains("iteration 5 broke has-f: it passes after iteration 4"), "{}", done.stdout);
    assert_eq!(world.git(&["for-each-ref"]), before);
    assert!(world.work("mine").exists() && !world.work("f").exists(), "the workspace is not touched");
    let done = world.ralph(["bisect", &id, "mine", "--json"]).expect(1);
    assert_eq!(done.json()["broke"], Value::Null);
    assert!(world.ralph(["bisect", "has-g"]).expect(2).stderr.contains("did you mean `has-f`?"));
}

#[test]
fn a_checkpoint_that_fails_is_told_and_stops_nothing() {
    let world = World::new();
    world.repository();
    let done = world.run(
        "on 1: sh rm -rf .git/objects; mkdir .git/objects; chmod 0 .git/refs; rm .git/HEAD\nsay hi %i",
        &["-n", "2"],
    );
    assert_eq!(done.status.code(), Some(3), "{}", done.stderr);
    assert!(done.stdout.contains("no checkpoint after #1"), "{}", done.stdout);
    assert_eq!(world.events().finished(), [1, 2]);
}

#[test]
fn a_restored_file_is_saved_as_the_agent_left_it_and_as_it_was_put_back() {
    let world = World::new();
    world.repository();
    let sets = ["-n", "1", "--set", "protect=[mine]", "--set", "protect_policy=restore"];
    world.run("write mine broken", &sets).expect(3);
    let saved = world.events();
    assert_eq!(saved.fields("checkpoint.saved", "why"), ["start", "iteration", "restored"]);
    let commits = saved.fields("checkpoint.saved", "commit");
    let show = |n: usize| world.git(&["show", &format!("{}:mine", commits[n].as_str().expect("an id"))]);
    assert_eq!((show(1), show(2)), ("broken".to_owned(), "not committed".to_owned()));
}

#[test]
fn a_worktree_keeps_the_checkout_out_of_it_and_is_found_from_there() {
    let world = World::new();
    world.repository();
    world.write(".gitignore", ".env\nvendor/\nralph.yml\n");
    world.write(".env", "secret");
    world.write("vendor/lib", "x");
    world.git(&["add", ".gitignore"]);
    world.git(&["commit", "-qm", "rules"]);
    world.write("ralph.yml", "worktree: {copy: [.env, missing], link: [vendor]}\n");
    let script = "sh cat .env vendor/lib > seen\nwrite f%i x\nsh git add f%i\n\
        sh git -c user.name=a -c user.email=a@localhost commit -qm work%i";
    let done = world.run(script, &["-n", "1", "--worktree", "fix"]).expect(3);
    assert!(done.stderr.contains("there is no missing to copy"), "{}", done.stderr);
    assert!(done.stderr.contains("1 changed file of the checkout is not in it"), "{}", done.stderr);
    assert!(done.stdout.contains("merge ralph/fix"), "{}", done.stdout);
    assert_eq!((world.read("mine"), world.work("f1").exists()), ("not committed\n".to_owned(), false));
    let tree = world.state().join("worktrees/work-fix");
    assert_eq!(read(&tree.join("seen")), "secretx");
    assert!(fs::symlink_metadata(tree.join("vendor")).expect("a link").is_symlink());
    // Found from the checkout, and from the worktree.
    assert!(world.ralph(["status"]).expect(0).stdout.contains("work-fix"));
    assert!(world.ralph(["diff"]).expect(0).stdout.contains("b/f1"));
    world.ralph(["resume", "-n", "2", "-C", &tree.to_string_lossy()]).expect(3);
    // Two at once.
    let other = world.start_run("write two x\nwait-for go", &["-n", "1", "--worktree", "two"]);
    let second = world.state().join("worktrees/work-two");
    wait_until("the second one works", || second.join("two").exists());
    fs::write(second.join("go"), "").expect("write");
    other.wait().expect(3);
    let twice = world.run("say hi", &["--worktree", "fix"]).expect(2);
    assert!(twice.stderr.contains("already"), "{}", twice.stderr);

    // Nothing goes that is nowhere else.
    let clean = || world.ralph(["clean", "--older-than", "0s"]).expect(0);
    let done = clean();
    assert!(done.stderr.contains("seen would be lost") && done.stderr.contains("two"), "{}", done.stderr);
    fs::remove_file(tree.join("seen")).expect("removed");
    let done = clean();
    assert!(done.stderr.contains("2 commits are on no branch but ralph/fix"), "{}", done.stderr);
    world.git(&["merge", "-q", "ralph/fix"]);
    assert!(!clean().stderr.contains("work-fix"));
    assert!(!tree.exists() && second.exists());
    assert_eq!(world.git(&["branch", "--list", "ralph/*", "--format=%(refname:short)"]), "ralph/two");
}

#[test]
fn references_go_with_their_run_and_checkpoints_can_be_switched_off() {
    let world = World::new();
    world.repository();
    world.run("write f x", &["-n", "1"]).expect(3);
    let references = || world.git(&["for-each-ref", "--format=%(refname)", "refs/ralph"]);
    assert_eq!(references().lines().count(), 2);
    // No default refspec has them.
    let clone = world.path("clone");
    world.git(&["clone", "-q", ".", &clone.to_string_lossy()]);
    assert!(!fs::exists(clone.join(".git/refs/ralph")).expect("a look"));
    let done = world.run("write f y", &["-n", "1", "--no-checkpoints"]).expect(3);
    assert!(done.stderr.contains("at risk, for checkpoints are off"), "{}", done.stderr);
    assert!(world.events().of("checkpoint.saved").is_empty());
    assert!(world.ralph(["undo"]).expect(2).stderr.contains("they were off"));
    world.ralph(["clean", "--older-than", "0s"]).expect(0);
    assert_eq!(references(), "");
}

#[test]
fn places_that_are_too_much_are_refused_and_outside_git_it_is_said_that_there_is_no_net() {
    let world = World::new();
    let home = world.path("home").to_string_lossy().into_owned();
    for (place, what) in [(home.as_str(), "your home folder"), ("/", "the whole machine")] {
        let done = world.ralph(["run", "-p", "x", "-a", "true", "-C", place]).expect(2);
        assert!(done.stderr.contains(what) && done.stderr.contains("--here"), "{}", done.stderr);
    }
    world.ralph(["run", "-p", "x", "-a", "true", "-n", "1", "--here", "-C", &home]).expect(3);
    let done = world.run("say hi", &["-n", "1"]).expect(3);
    assert!(
        done.stderr.contains("no git repository") && done.stderr.contains("--git-init"),
        "{}",
        done.stderr
    );
    assert!(world.ralph(["undo"]).expect(2).stderr.contains("not in a git repository"));
    world.write("kept", "1");
    let done = world.run("write kept 2", &["-n", "1", "--git-init"]).expect(3);
    assert!(done.stderr.contains("made a git repository"), "{}", done.stderr);
    world.ralph(["undo"]).expect(0);
    assert_eq!(world.read("kept"), "1");
}

#[test]
fn settings_that_draw_in_a_pipe_are_told_and_not_waited_for() {
    let world = World::new();
    world.repository();
    world
        .spawn({
            let mut make = world.command("mkfifo");
            make.arg("pipe");
            make
        })
        .wait()
        .expect(0);
    let settings = world.work(".git/config");
    let drawn_in = format!("{}\n[include]\n\tpath = ../pipe\n", read(&settings));
    fs::write(&settings, drawn_in).expect("write");
    world.run("say hi", &["-n", "1"]).expect(3);
    let failed = world.events().last("checkpoint.failed")["message"].to_string();
    assert!(failed.contains("pipe is no file"), "{failed}");
}

#[test]
fn a_git_that_hangs_ends_with_ralph_however_that_ends() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.repository();
    let tools = world.path("tools");
    fs::create_dir(&tools).expect("a folder");
    let (git, began) = (tools.join("git"), world.path("began"));
    fs::write(&git, format!("#!/bin/sh\n> {}\nexec sleep 1000\n", began.display())).expect("write");
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).expect("rights");
    let mut ralph = world.command(RALPH);
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").expect("a path"));
    ralph.env("PATH", path).args(["run", "-p", "x", "-a", &world.agent("say hi"), "-n", "1"]);
    let live = world.spawn(ralph);
    wait_until("git is at work", || began.exists());
    live.kill();
    world.expect_no_survivors();
}
