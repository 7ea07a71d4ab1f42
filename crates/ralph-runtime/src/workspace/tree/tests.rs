use super::*;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use ignore::WalkBuilder;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn plain() -> Self {
        Self { dir: tempfile::tempdir().expect("a folder") }
    }

    fn git() -> Self {
        let place = Self::plain();
        place.run(&["init", "-q", "-b", "main"]);
        place
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn run(&self, args: &[&str]) -> String {
        self.run_in(self.path(), args)
    }

    fn run_in(&self, dir: &Path, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(dir).args(args).env("HOME", self.path().join("..").join("nobody"));
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "t").env(format!("GIT_{who}_EMAIL"), "t@example.com");
        }
        let output = git.output().expect("git is needed for this test");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {told}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
        fs::write(path, text).expect("write");
    }

    fn commit(&self) {
        self.run(&["add", "-A"]);
        self.run(&["commit", "-q", "--allow-empty", "-m", "x"]);
    }

    fn trees(&self) -> Trees {
        Trees::new(self.path(), [])
    }

    fn look(&self) -> Tree {
        self.trees().look().expect("a look")
    }

    fn names(&self) -> BTreeSet<String> {
        self.look().files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect()
    }

    /// What git itself says is tracked or neither tracked nor ignored, and is there.
    fn git_names(&self) -> BTreeSet<String> {
        let told = self.run(&["ls-files", "-z", "-c", "-o", "--exclude-standard"]);
        let there = |path: &&str| !path.is_empty() && self.path().join(path).symlink_metadata().is_ok();
        told.split('\0').filter(there).map(str::to_owned).collect()
    }
}

fn paths(moved: &[Moved]) -> Vec<String> {
    moved.iter().map(|one| one.path.to_string_lossy().into_owned()).collect()
}

#[test]
fn the_hash_follows_contents_modes_names_and_links_and_nothing_else() {
    let place = Place::git();
    place.write("a", "one");
    place.write("dir/b", "two");
    place.write(".gitignore", "*.log\n");
    symlink("a", place.path().join("link")).expect("a link");
    let first = place.look();
    assert_eq!(first.hash.len(), 64);
    let change = |what: &str, act: &dyn Fn(&Path), undo: &dyn Fn(&Path)| {
        act(place.path());
        let changed = place.look();
        assert_ne!(changed.hash, first.hash, "{what}");
        undo(place.path());
        assert_eq!(place.look().hash, first.hash, "{what}, undone");
        paths(&first.moved(&changed))
    };
    let put = |name: &'static str, text: &'static str| {
        move |dir: &Path| fs::write(dir.join(name), text).expect("write")
    };
    let mode = |bits: u32| {
        move |dir: &Path| fs::set_permissions(dir.join("a"), PermissionsExt::from_mode(bits)).expect("chmod")
    };
    let point = |target: &'static str| {
        move |dir: &Path| {
            fs::remove_file(dir.join("link")).expect("remove");
            symlink(target, dir.join("link")).expect("a link");
        }
    };
    let rename = |from: &'static str, to: &'static str| {
        move |dir: &Path| fs::rename(dir.join(from), dir.join(to)).expect("rename")
    };
    assert_eq!(change("contents", &put("a", "ONE"), &put("a", "one")), ["a"]);
    assert_eq!(change("mode", &mode(0o755), &mode(0o644)), ["a"]);
    assert_eq!(change("target", &point("dir/b"), &point("a")), ["link"]);
    assert_eq!(change("name", &rename("dir/b", "dir/c"), &rename("dir/c", "dir/b")), ["dir/b", "dir/c"]);

    place.write("x.log", "ignored");
    place.write(".ralph/note", "ours");
    fs::create_dir(place.path().join("empty")).expect("mkdir");
    mode(0o664)(place.path());
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::open(place.path().join("a")).and_then(|file| file.set_modified(old)).expect("touch");
    assert_eq!(
        place.look().hash,
        first.hash,
        "neither times, ignored files, empty folders nor group bits count"
    );
    place.commit();
    assert_eq!(place.look().hash, first.hash, "a commit changes no file");
}

#[test]
fn what_is_excluded_does_not_count_even_where_git_tracks_it() {
    let place = Place::git();
    place.write("a", "1");
    place.write(".ralph/tracked", "1");
    place.write("notes/scratch.md", "1");
    place.write("sub/.ralph/x", "1");
    place.run(&["add", "-A", "-f"]);
    let names = |exclude: Vec<PathBuf>| -> Vec<String> {
        let tree = Trees::new(place.path(), exclude).look().expect("a look");
        tree.files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect()
    };
    assert_eq!(names(vec![]), ["a", "notes/scratch.md", "sub/.ralph/x"]);
    let scratchpads = ["notes/scratch.md", "./notes/scratch.md", "notes"].map(PathBuf::from);
    for scratchpad in scratchpads.into_iter().chain([place.path().join("notes/scratch.md")]) {
        assert_eq!(names(vec![scratchpad.clone()]), ["a", "sub/.ralph/x"], "{scratchpad:?}");
    }
    assert_eq!(names(vec![place.path().to_owned()]).len(), 3, "nobody excludes everything");
}

#[test]
fn footprints_and_patterns_do_not_count_tracked_or_not() {
    let place = Place::git();
    for name in ["a", "run.log", "reports/junit.xml"] {
        place.write(name, "1");
    }
    place.run(&["add", "-A"]);
    let patterns = Patterns::new(&["reports/".to_owned()]).expect("patterns");
    let mut trees = place.trees().ignoring(patterns);
    let before = trees.look_past(vec!["run.log".into()]).expect("a look");
    assert_eq!(before.files(), 1);
    place.write("run.log", "2");
    place.write("reports/junit.xml", "2");
    assert_eq!(trees.look_past(vec!["run.log".into()]).expect("a look").hash, before.hash);
    assert_eq!(paths(&before.moved(&trees.look_past(Vec::new()).expect("a look"))), ["run.log"]);
}

#[test]
fn what_moved_is_told_with_whether_git_tracks_it_and_a_hash_can_do_without_it() {
    let place = Place::git();
    place.write("tracked", "1");
    place.run(&["add", "-A"]);
    place.write("kept", "1");
    let before = place.look();
    place.write("tracked", "2");
    place.write("report", "1");
    let after = place.look();
    let moved: Vec<_> =
        before.moved(&after).iter().map(|one| (one.path.to_owned(), one.is_tracked)).collect();
    assert_eq!(moved, [(PathBuf::from("report"), false), (PathBuf::from("tracked"), true)]);
    let left_out = HashSet::from([Path::new("report"), Path::new("tracked")]);
    assert_eq!(before.hash_without(&left_out), after.hash_without(&left_out));
    assert_eq!(after.hash_without(&HashSet::new()), after.hash);
}

#[test]
fn tracked_files_count_though_they_are_ignored() {
    let place = Place::git();
    place.write(".gitignore", "build/\n*.gen\n");
    place.write("build/kept/a", "1");
    place.write("build/b", "1");
    place.write("c.gen", "1");
    place.run(&["add", "-f", "build/kept/a", "c.gen"]);
    assert_eq!(place.names(), place.git_names());
    assert!(place.names().contains("build/kept/a") && !place.names().contains("build/b"));
    let before = place.look();
    place.write("build/kept/a", "2");
    assert_eq!(paths(&before.moved(&place.look())), ["build/kept/a"]);
    fs::remove_file(place.path().join("c.gen")).expect("remove");
    assert_eq!(paths(&before.moved(&place.look())), ["build/kept/a", "c.gen"]);
}

#[test]
fn every_kind_of_index_gives_gits_own_list() {
    let place = Place::git();
    let long = format!("deep/{}/file", "x".repeat(200));
    for name in
        ["a", "ab", "abc", "abcdefgh", "dir/one", "dir/two", "dir/sub/three", "ü/é", "with space", &long]
    {
        place.write(name, name);
    }
    place.commit();
    let tracked = |place: &Place| -> BTreeSet<String> {
        let repository = Repository::open(place.path()).expect("a repository");
        let paths = repository.tracked().expect("an index");
        paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
    };
    let told = |place: &Place| -> BTreeSet<String> {
        let told = place.run(&["ls-files", "-z"]);
        told.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
    };
    let version = |place: &Place| fs::read(place.path().join(".git/index")).expect("index")[7];
    assert_eq!((tracked(&place), version(&place)), (told(&place), 2));
    assert_eq!(told(&place).len(), 10);
    place.write("later", "");
    place.run(&["add", "-N", "later"]);
    assert_eq!((tracked(&place), version(&place)), (told(&place), 3));
    place.run(&["update-index", "--index-version", "4"]);
    assert_eq!((tracked(&place), version(&place)), (told(&place), 4));
    place.run(&["update-index", "--index-version", "2", "--split-index"]);
    place.write("after-split", "");
    place.run(&["add", "after-split"]);
    assert!(tracked(&place).contains("after-split"));
    assert_eq!(tracked(&place), told(&place), "split");

    let other = Place::plain();
    other.run(&["init", "-q", "--object-format=sha256"]);
    other.write("dir/a", "1");
    other.write("b", "1");
    other.commit();
    assert_eq!(tracked(&other), told(&other), "SHA-256");
    assert_eq!(other.look().commit.as_deref(), Some(other.run(&["rev-parse", "HEAD"]).trim()));
}

#[test]
fn a_damaged_index_is_an_error_and_never_a_panic() {
    let place = Place::git();
    for name in ["a", "dir/b", "dir/c"] {
        place.write(name, name);
    }
    place.commit();
    for version in ["2", "4"] {
        place.run(&["update-index", "--index-version", version]);
        let index = fs::read(place.path().join(".git/index")).expect("index");
        for cut in 0..index.len() {
            let _ = ralph_evidence::git_index::parse(&index[..cut], 20);
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = index.clone();
                damaged[cut] ^= flip;
                let _ = ralph_evidence::git_index::parse(&damaged, 20);
            }
        }
    }
    fs::write(place.path().join(".git/index"), "not an index").expect("write");
    let error = place.trees().look().expect_err("an error");
    assert!(error.to_string().contains("index"), "{error}");
}

#[test]
fn the_commit_is_found_wherever_git_keeps_it() {
    let place = Place::git();
    assert_eq!(place.look().commit, None, "no commit yet");
    place.write("a", "1");
    place.commit();
    let head = |dir: &Path| place.run_in(dir, &["rev-parse", "HEAD"]).trim().to_owned();
    let first = head(place.path());
    assert_eq!(place.look().commit.as_deref(), Some(first.as_str()));
    place.write("a", "2");
    place.commit();
    place.run(&["pack-refs", "--all"]);
    assert!(!place.path().join(".git/refs/heads/main").exists());
    let second = head(place.path());
    assert_eq!(place.look().commit.as_deref(), Some(second.as_str()), "packed");
    place.run(&["checkout", "-q", &first]);
    assert_eq!(place.look().commit.as_deref(), Some(first.as_str()), "detached");
    place.run(&["checkout", "-q", "-b", "topic/x"]);
    assert_eq!(place.look().commit.as_deref(), Some(first.as_str()));

    let outside = tempfile::tempdir().expect("a folder");
    let worktree = outside.path().join("w");
    let name = worktree.to_string_lossy().into_owned();
    place.run(&["worktree", "add", "-q", &name, "main"]);
    let tree = Trees::new(&worktree, []).look().expect("a look");
    assert_eq!(tree.commit.as_deref(), Some(second.as_str()), "a worktree has its own HEAD");
    assert_eq!(tree.files(), 1, "and its own index");
    fs::write(worktree.join(".gitignore"), "*.log\n").expect("write");
    fs::write(worktree.join("b.log"), "").expect("write");
    assert_eq!(Trees::new(&worktree, []).look().expect("a look").files(), 2);

    place.write("sub/b", "1");
    let inside = Trees::new(&place.path().join("sub"), []).look().expect("a look");
    assert_eq!((inside.commit.as_deref(), inside.files()), (Some(first.as_str()), 1), "a folder inside");
    assert_eq!(Place::plain().look().commit, None);
}

#[test]
fn a_look_writes_nothing() {
    let place = Place::git();
    place.write("a", "1");
    place.commit();
    place.write("b", "1");
    let all = || -> Vec<(PathBuf, Status)> {
        let walk = WalkBuilder::new(place.path()).standard_filters(false).build().flatten();
        let status = |path: &Path| Status::of(&fs::symlink_metadata(path).expect("status"));
        let mut all: Vec<_> = walk.map(|it| (it.path().to_owned(), status(it.path()))).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    let before = all();
    place.look();
    assert_eq!(all(), before);
}

#[test]
fn the_list_of_files_is_gits_own() {
    let place = Place::git();
    for name in
        ["src/a.rs", "src/b.rs", "target/x", ".env", ".hidden/a", "docs/a.md", "docs/a.tmp", "keep.tmp"]
    {
        place.write(name, name);
    }
    place.write(".gitignore", "/target\n*.tmp\n!keep.tmp\n.env\n");
    place.write("docs/.gitignore", "!a.tmp\n");
    place.write(".git/info/exclude", ".hidden/\n");
    symlink("docs", place.path().join("to-docs")).expect("a link");
    symlink("nowhere", place.path().join("dangling")).expect("a link");
    place.run(&["add", "src"]);
    fs::remove_file(place.path().join("src/b.rs")).expect("remove");
    assert_eq!(place.names(), place.git_names());
    // A tracked file behind a link is not that file any more.
    fs::rename(place.path().join("src"), place.path().join("moved")).expect("rename");
    symlink("moved", place.path().join("src")).expect("a link");
    assert!(!place.names().contains("src/a.rs"), "{:?}", place.names());
    assert!(place.names().contains("src") && place.names().contains("moved/a.rs"));
}

#[test]
fn a_repository_inside_counts_with_what_it_tracks() {
    let place = Place::git();
    place.write("a", "1");
    place.write("vendor/lib/.gitignore", "*.bin\n");
    place.write("vendor/lib/tracked.bin", "1");
    place.write("vendor/lib/other.bin", "1");
    let inner = place.path().join("vendor/lib");
    place.run_in(&inner, &["init", "-q"]);
    place.run_in(&inner, &["add", "-f", "tracked.bin"]);
    let expected = ["a", "vendor/lib/.gitignore", "vendor/lib/tracked.bin"];
    assert_eq!(place.names(), expected.map(str::to_owned).into());
}

#[test]
fn outside_git_all_files_count_but_build_folders() {
    let place = Place::plain();
    for name in ["a", ".gitignore", "b.log", "node_modules/x/y", "sub/target/z", ".ralph/n", "sub/c"] {
        place.write(name, "*.log");
    }
    assert_eq!(place.names(), [".gitignore", "a", "b.log", "sub/c"].map(str::to_owned).into());
}

#[test]
fn pipes_and_sockets_are_not_opened() {
    let place = Place::git();
    place.write("a", "1");
    let made = Command::new("mkfifo").arg(place.path().join("pipe")).status().expect("mkfifo");
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(place.path().join("socket")).expect("a socket");
    assert_eq!(place.names(), ["a".to_owned()].into());
}

#[test]
fn a_change_of_the_same_size_in_the_same_moment_is_seen() {
    let place = Place::plain();
    let mut trees = place.trees();
    let mut before = None;
    for n in 100..400 {
        place.write("a", &n.to_string());
        let hash = trees.look().expect("a look").hash;
        assert_ne!(before.replace(hash.clone()), Some(hash), "{n}");
    }
}

#[test]
fn a_reading_is_trusted_only_when_a_later_change_would_show() {
    let status = |modified: i64, changed: i64| Status {
        size: 0,
        modified: (modified, 0),
        changed: (changed, 500_000_000),
        place: (0, 0),
        mode: 0,
    };
    let at = |millis: u64| UNIX_EPOCH + Duration::from_millis(millis);
    let settled = |status: Status, at: SystemTime| status.is_settled(at, COARSEST_TICK);
    assert!(!settled(status(100, 100), at(100_500)));
    assert!(!settled(status(100, 100), at(102_500)));
    assert!(settled(status(100, 100), at(102_501)));
    assert!(!settled(status(103, 100), at(104_000)), "whichever is later");
    assert!(!settled(status(100, 200), at(102_501)), "from the future");
    assert!(!settled(status(100, -5), at(101_000)));
}

#[test]
fn what_has_not_changed_is_not_read_again() {
    let place = Place::plain();
    place.write("a", "1");
    place.write("b", "1");
    let mut trees = place.trees();
    trees.tick = Duration::ZERO;
    // The clock of a file system may stand still for a moment; what is read within it is rightly not trusted.
    while trees.known.len() < 2 {
        trees.look().expect("a look");
    }
    let first = trees.look().expect("a look");
    // What is remembered is used: a wrong memory shows.
    trees.known.get_mut(Path::new("a")).expect("known").hash = [7; 32];
    let wrong = trees.look().expect("a look");
    assert_eq!(paths(&first.moved(&wrong)), ["a"]);
    // And it is dropped with the smallest change of the file's status.
    File::open(place.path().join("a")).and_then(|f| f.set_modified(UNIX_EPOCH)).expect("touch");
    assert_eq!(trees.look().expect("a look").hash, first.hash);
    fs::remove_file(place.path().join("b")).expect("remove");
    trees.look().expect("a look");
    assert!(!trees.known.contains_key(Path::new("b")), "what is gone is forgotten");
}

#[test]
fn large_files_are_read_to_the_end_and_all_changes_are_told() {
    let place = Place::plain();
    let mut large = vec![b'x'; 3 * CHUNK + 17];
    fs::write(place.path().join("large"), &large).expect("write");
    let before = place.look();
    *large.last_mut().expect("a byte") = b'y';
    fs::write(place.path().join("large"), &large).expect("write");
    assert_eq!(before.moved(&place.look()).len(), 1);
    for n in 0..50 {
        place.write(&format!("n/{n:02}"), "");
    }
    assert_eq!(before.moved(&place.look()).len(), 51);
    assert_eq!(place.look().moved(&before).len(), 51);
}
