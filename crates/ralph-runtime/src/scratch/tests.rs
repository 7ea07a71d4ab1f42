//! Copies of workspaces with all that can stand in one.

use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::fs::{FileType, Mode};

use super::*;

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { dir: tempfile::tempdir().expect("a folder") };
        fs::create_dir(world.at("w")).expect("mkdir");
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("the folder").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.at("w").join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
        fs::write(path, text).expect("write");
    }

    fn copy(&self) -> Scratch {
        Scratch::create(&self.at("state/scratch"), &self.at("w")).expect("a copy")
    }
}

fn hash(folder: &Path) -> String {
    Trees::new(folder, []).look().expect("a look").hash
}

fn write(path: &str, text: &str) -> Edit {
    Edit::Write { path: path.to_owned(), text: text.to_owned(), executable: false }
}

#[test]
fn it_has_what_the_tree_has_with_modes_and_links_and_nothing_else() {
    let world = World::new();
    fs::create_dir(world.at("w/.git")).expect("mkdir");
    fs::write(world.at("outside"), "secret").expect("write");
    world.write(".gitignore", "*.log\nnode_modules/\n.venv/\n");
    world.write("a/run.sh", "#!/bin/sh\n");
    world.write("b.log", "ignored");
    world.write("node_modules/x/index.js", "x");
    let venv = format!("#!{}/.venv/bin/python\n", world.at("w").display());
    world.write(".venv/bin/tool", &venv);
    fs::set_permissions(world.at("w/a/run.sh"), fs::Permissions::from_mode(0o751)).expect("chmod");
    symlink("run.sh", world.at("w/a/near")).expect("link");
    symlink("../../outside", world.at("w/a/far")).expect("link");
    symlink(world.at("w/a"), world.at("w/folder")).expect("link");
    let pipe = world.at("w/pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    let before = hash(&world.at("w"));
    let scratch = world.copy();
    let tree = scratch.tree().to_owned();
    let mode = fs::metadata(tree.join("a/run.sh")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o751);
    assert_eq!(fs::read_link(tree.join("a/near")).expect("a link"), Path::new("run.sh"));
    assert_eq!(fs::read_link(tree.join("a/far")).expect("a link"), world.at("outside"));
    assert_eq!(
        fs::read_link(tree.join("folder")).expect("a link"),
        tree.join("a"),
        "never back into the workspace"
    );
    assert!(!tree.join("pipe").exists() && !tree.join("b.log").exists());
    assert!(tree.join("node_modules/x/index.js").is_file());
    let tool = fs::read_to_string(tree.join(".venv/bin/tool")).expect("read");
    assert_eq!(tool, format!("#!{}/.venv/bin/python\n", tree.display()));
    let folder = fs::metadata(tree.parent().expect("a folder")).expect("there");
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    drop(scratch);
    assert!(!tree.exists());
    assert_eq!(hash(&world.at("w")), before, "the workspace is as it was");
}

#[test]
fn every_change_is_undone_whoever_made_it_and_builds_stay() {
    let world = World::new();
    world.write("Cargo.toml", "[package]\n");
    world.write("src/lib.rs", "one");
    world.write("node_modules/.bin/jest", "real");
    symlink("lib.rs", world.at("w/src/link.rs")).expect("link");
    let mut scratch = world.copy();
    let tree = scratch.tree().to_owned();
    let before = hash(&tree);
    for _ in 0..2 {
        let edits = [
            write("src/lib.rs", "two"),
            write("new/deep/file", "x"),
            write("src/link.rs", "no link any more"),
            write("node_modules/.bin/jest", "fake"),
            Edit::Remove { path: "Cargo.toml".to_owned() },
        ];
        scratch.apply(&edits).expect("applied");
        assert_eq!(fs::read_to_string(tree.join("node_modules/.bin/jest")).expect("read"), "fake");
        assert_eq!(fs::read_to_string(tree.join("src/lib.rs")).expect("read"), "two", "not through the link");
        fs::create_dir_all(tree.join("target/debug")).expect("mkdir");
        fs::write(tree.join("target/debug/kept"), "").expect("write");
        fs::create_dir_all(tree.join("src/__pycache__")).expect("mkdir");
        fs::write(tree.join("src/__pycache__/x.pyc"), "").expect("write");
        assert_ne!(hash(&tree), before);
        scratch.restore().expect("restored");
        assert_eq!(hash(&tree), before);
        assert_eq!(scratch.changed().expect("compared"), 0);
        assert!(tree.join("target/debug/kept").exists() && !tree.join("src/__pycache__").exists());
        assert_eq!(fs::read_to_string(tree.join("node_modules/.bin/jest")).expect("read"), "real");
    }
}

#[test]
fn a_file_changed_to_the_same_length_within_one_tick_is_undone() {
    let world = World::new();
    world.write("a.py", "x == 1");
    let mut scratch = world.copy();
    for _ in 0..50 {
        scratch.apply(&[write("a.py", "x != 1")]).expect("applied");
        scratch.restore().expect("restored");
        assert_eq!(fs::read_to_string(scratch.tree().join("a.py")).expect("read"), "x == 1");
    }
}

#[test]
fn an_edit_never_leaves_the_copy() {
    let world = World::new();
    world.write("a", "x");
    fs::create_dir(world.at("elsewhere")).expect("mkdir");
    symlink(world.at("elsewhere"), world.at("w/out")).expect("link");
    let mut scratch = world.copy();
    for path in ["../x", "/tmp/x", "out/x", ""] {
        assert!(scratch.apply(&[write(path, "x")]).is_err(), "{path}");
    }
    assert_eq!(fs::read_dir(world.at("elsewhere")).expect("a folder").count(), 0);
}

#[test]
fn held_out_files_are_laid_over_it_and_replace_links() {
    let world = World::new();
    world.write("tests/a.py", "old");
    fs::create_dir_all(world.at("elsewhere")).expect("mkdir");
    fs::write(world.at("elsewhere/b.py"), "not yours").expect("write");
    symlink(world.at("elsewhere"), world.at("w/held")).expect("link");
    fs::create_dir_all(world.at("files/tests")).expect("mkdir");
    fs::create_dir_all(world.at("files/held")).expect("mkdir");
    fs::write(world.at("files/tests/a.py"), "new").expect("write");
    fs::write(world.at("files/held/b.py"), "b").expect("write");
    let mut scratch = world.copy();
    assert_eq!(scratch.lay_in(&world.at("files")).expect("laid in"), 2);
    assert_eq!(fs::read_to_string(scratch.tree().join("tests/a.py")).expect("read"), "new");
    assert_eq!(fs::read_to_string(scratch.tree().join("held/b.py")).expect("read"), "b");
    assert_eq!(fs::read_to_string(world.at("elsewhere/b.py")).expect("read"), "not yours");
    assert_eq!(fs::read_to_string(world.at("w/tests/a.py")).expect("read"), "old");
}

#[test]
fn too_much_is_an_error_that_says_so_and_leaves_nothing() {
    let world = World::new();
    for n in 0..5 {
        world.write(&format!("{n}"), "12345678");
    }
    for budget in [Budget { files: 4, bytes: 1000 }, Budget { files: 100, bytes: 39 }] {
        let error =
            Scratch::within(&world.at("state/scratch"), &world.at("w"), budget).expect_err("too much");
        assert!(error.to_string().contains("too large"), "{error}");
        assert_eq!(fs::read_dir(world.at("state/scratch")).expect("a folder").count(), 0);
    }
}

#[test]
fn what_a_killed_one_left_is_removed_and_what_is_in_use_is_not() {
    let world = World::new();
    world.write("a", "x");
    let left = world.at("state/scratch/left");
    fs::create_dir_all(left.join("w/deep")).expect("mkdir");
    fs::set_permissions(left.join("w/deep"), fs::Permissions::from_mode(0o000)).expect("chmod");
    let first = world.copy();
    assert!(!left.exists());
    let second = world.copy();
    assert!(first.tree().exists() && second.tree().exists() && first.tree() != second.tree());
}

#[test]
fn git_works_in_it_and_the_repository_stays_as_it_is() {
    let world = World::new();
    let git = |folder: &Path, args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args).current_dir(folder);
        git.env_remove("GIT_DIR").env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", world.at("state"));
        String::from_utf8(git.output().expect("git").stdout).expect("text")
    };
    git(&world.at("w"), &["init", "-q"]);
    world.write("a", "x\n");
    git(&world.at("w"), &["add", "."]);
    git(&world.at("w"), &["commit", "-qm", "first"]);
    world.write("a", "y\n");
    let scratch = world.copy();
    let head = git(&world.at("w"), &["rev-parse", "HEAD"]);
    assert_eq!(git(scratch.tree(), &["rev-parse", "HEAD"]), head);
    assert_eq!(git(scratch.tree(), &["status", "--porcelain"]), " M a\n");
    git(scratch.tree(), &["commit", "-qam", "in the copy"]);
    assert_ne!(git(scratch.tree(), &["rev-parse", "HEAD"]), head);
    assert_eq!(git(&world.at("w"), &["rev-parse", "HEAD"]), head);
    assert_eq!(git(&world.at("w"), &["status", "--porcelain"]), " M a\n");
}
