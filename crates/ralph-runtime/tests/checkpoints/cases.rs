//! One thing at a time that could go wrong.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ralph_runtime::checkpoint::{Git, GitError, Saver, changes, forget};

use crate::support::{Repo, git};

#[test]
fn a_checkpoint_touches_nothing_and_an_undo_brings_everything_back() {
    let mut repo = Repo::new();
    repo.write(".gitignore", "*.log\n");
    repo.write("kept.log", "ignored");
    repo.write("tool", "#!/bin/sh\n");
    fs::set_permissions(repo.path("tool"), fs::Permissions::from_mode(0o750)).expect("a mode");
    symlink("tool", repo.path("link")).expect("a link");
    repo.git(&["add", "tool"]);
    let (books, start) = (repo.books(), repo.manifest());
    let saved = repo.save("0");
    assert_eq!(repo.books(), books);
    assert_eq!(saved.files as usize, start.len());
    assert_eq!(repo.text(&["rev-parse", "refs/ralph/20260118-100000-1ec0a7/0"]), saved.commit);
    assert_eq!(repo.text(&["rev-parse", &format!("{}^{{tree}}", saved.commit)]), saved.tree);

    repo.write("first", "other");
    repo.write("new/deep/file", "x");
    fs::remove_file(repo.path("link")).expect("removed");
    fs::set_permissions(repo.path("tool"), fs::Permissions::from_mode(0o640)).expect("a mode");
    let (books, later) = (repo.books(), repo.manifest());
    let (before, done) = repo.undo(&saved);
    assert_eq!((done.problems, done.kept), (Vec::new(), Vec::new()));
    assert_eq!(repo.manifest(), start);
    assert_eq!(repo.books(), books, "neither index nor branches");
    assert!(!repo.path("new").exists(), "a folder that has nothing left goes");
    assert_eq!(fs::read(repo.path("kept.log")).expect("it is ignored, so it stays"), b"ignored");
    let mode = fs::metadata(repo.path("tool")).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode, 0o750, "who may read it stays as it is");

    let (_, done) = repo.undo(&before);
    assert!(done.problems.is_empty(), "{:?}", done.problems);
    assert_eq!(repo.manifest(), later, "an undo can be undone");
}

#[test]
fn nothing_that_an_agent_wrote_into_the_repository_is_executed_and_no_byte_is_converted() {
    let mut repo = Repo::new();
    let marker = repo.dir.path().join("executed");
    let evil = format!("touch {}; cat", marker.display());
    for (key, value) in [
        ("filter.evil.clean", evil.as_str()),
        ("filter.evil.smudge", &evil),
        ("filter.evil.process", &evil),
        ("core.fsmonitor", &evil),
        ("diff.evil.textconv", &evil),
        ("diff.external", &evil),
        ("core.sshCommand", &evil),
        ("gpg.program", &evil),
        ("core.autocrlf", "true"),
        ("alias.fast-import", "!false"),
    ] {
        repo.git(&["config", key, value]);
    }
    for hook in ["reference-transaction", "post-checkout", "post-index-change", "pre-commit", "post-commit"] {
        let path = repo.dir.path().join("repo/.git/hooks").join(hook);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, format!("#!/bin/sh\ntouch {}\n", marker.display())).expect("write");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    repo.write(
        ".gitattributes",
        "* filter=evil diff=evil text=auto eol=crlf ident\nwide working-tree-encoding=UTF-16\n",
    );
    repo.write("crlf", "a\r\nb\r\n$Id: not expanded$\n");
    repo.write("lf", "a\nb\n");
    repo.write("wide", "no utf-16");
    let start = repo.manifest();
    // git itself, as the test has it, does execute it.
    assert!(fs::remove_file(&marker).is_ok());
    let saved = repo.save("0");
    repo.write("crlf", "a\nb\n");
    repo.write("lf", "a\r\n");
    fs::remove_file(repo.path("wide")).expect("removed");
    let later = repo.save("1");
    assert_eq!(changes(repo.saver.git(), &saved.commit, &later.commit).expect("changes").len(), 3);
    repo.undo(&saved);
    assert!(!marker.exists(), "something was executed");
    assert_eq!(repo.manifest(), start);
}

#[test]
fn names_of_every_kind_come_back() {
    let mut repo = Repo::new();
    let names: [&[u8]; 8] =
        [b"a\nb", b"quo\"te", b"back\\slash", b"\xff\xfe", b"-dash", b" space ", b"tab\t", b"git~1"];
    use std::os::unix::ffi::OsStrExt;
    let name = |bytes: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
    names.iter().for_each(|bytes| repo.write(name(bytes), bytes));
    repo.write(Path::new(".GIT").join("x"), "a name that git has no place for");
    let saved = repo.save("0");
    assert_eq!(saved.left_out, [".GIT/x: git has no place for this name"]);
    for bytes in names {
        fs::remove_file(repo.path(name(bytes))).expect("removed");
    }
    let (_, done) = repo.undo(&saved);
    assert!(done.problems.is_empty(), "{:?}", done.problems);
    for bytes in names {
        assert_eq!(fs::read(repo.path(name(bytes))).expect("it is back"), bytes);
    }
    assert!(repo.path(".GIT/x").exists());
}

#[test]
fn what_was_ignored_at_the_checkpoint_is_never_removed_nor_overwritten_unsaved() {
    let mut repo = Repo::new();
    repo.write(".gitignore", ".env\n");
    repo.write(".env", "secret");
    repo.write("notes", "mine");
    let start = repo.save("0");
    // From here on it is not ignored, and something else is.
    repo.write(".gitignore", "notes\n");
    repo.write("notes", "the agent's");
    let later = repo.save("1");
    assert_ne!(start.tree, later.tree);
    let (before, done) = repo.undo(&start);
    assert_eq!(done.kept, [PathBuf::from(".env")]);
    assert_eq!(fs::read(repo.path(".env")).expect("there"), b"secret");
    assert_eq!(fs::read(repo.path("notes")).expect("there"), b"mine");
    repo.undo(&before);
    assert_eq!(fs::read(repo.path("notes")).expect("it was saved"), b"the agent's");
}

#[test]
fn an_undo_never_follows_a_link_out_of_the_workspace() {
    let mut repo = Repo::new();
    let outside = repo.dir.path().join("outside");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("file"), "theirs").expect("write");
    repo.write("folder/file", "mine");
    let saved = repo.save("0");
    fs::remove_dir_all(repo.path("folder")).expect("removed");
    symlink(&outside, repo.path("folder")).expect("a link");
    let (_, done) = repo.undo(&saved);
    assert!(done.problems.is_empty(), "{:?}", done.problems);
    assert_eq!(fs::read(repo.path("folder/file")).expect("there"), b"mine");
    assert_eq!(fs::read(outside.join("file")).expect("there"), b"theirs");
    // A link that is ignored is nobody's to remove, and nothing is written through it.
    fs::remove_dir_all(repo.path("folder")).expect("removed");
    symlink(&outside, repo.path("folder")).expect("a link");
    repo.write(".gitignore", "folder\n");
    let (_, done) = repo.undo(&saved);
    assert_eq!(fs::read(outside.join("file")).expect("there"), b"theirs");
    assert!(done.problems.iter().any(|one| one.contains("folder")), "{:?}", done.problems);
}

#[test]
fn files_of_repositories_inside_are_saved_and_their_history_is_named() {
    let mut repo = Repo::new();
    repo.write("inner/code", "1");
    assert!(git(&repo.path("inner"), &["init", "-q"]).status.success());
    assert!(git(&repo.path("inner"), &["add", "-A"]).status.success());
    assert!(git(&repo.path("inner"), &["commit", "-qm", "x"]).status.success());
    let head = git(&repo.path("inner"), &["rev-parse", "HEAD"]).stdout;
    let saved = repo.save("0");
    assert_eq!(saved.nested, [format!("inner at {}", String::from_utf8_lossy(&head).trim())]);
    repo.write("inner/code", "2");
    let (_, done) = repo.undo(&saved);
    assert!(done.problems.is_empty());
    assert_eq!(fs::read(repo.path("inner/code")).expect("there"), b"1");
}

#[test]
fn a_folder_of_a_repository_is_saved_by_itself() {
    let mut repo = Repo::below("some/part");
    repo.write("file", "1");
    let saved = repo.save("0");
    assert_eq!(saved.files, 1);
    assert_eq!(repo.text(&["ls-tree", "-r", "--name-only", "--full-tree", &saved.commit]), "some/part/file");
    repo.write("file", "2");
    fs::write(repo.dir.path().join("repo/first"), "elsewhere").expect("write");
    repo.undo(&saved);
    assert_eq!(fs::read(repo.path("file")).expect("there"), b"1");
    assert_eq!(fs::read(repo.dir.path().join("repo/first")).expect("there"), b"elsewhere");
}

#[test]
fn only_what_changed_is_read_again_and_a_broken_history_is_done_without() {
    let mut repo = Repo::new();
    for n in 0..50 {
        repo.write(format!("f{n}"), format!("{n}"));
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        fs::File::open(repo.path(format!("f{n}"))).and_then(|file| file.set_modified(old)).expect("a time");
    }
    // A change within the clock's step would not show, so young files are read again: these are old enough afterwards.
    let first = repo.save("0");
    assert_eq!(first.read, first.files);
    let second = repo.save("1");
    assert_eq!((&second.tree, second.files), (&first.tree, first.files));
    let parents = repo.text(&["log", "-1", "--format=%P", &second.commit]);
    assert!(parents.starts_with(&first.commit) && parents.contains(&repo.text(&["rev-parse", "HEAD"])));
    // The agent throws the checkpoints away, objects and all.
    forget(repo.saver.git(), "20260118-100000-1ec0a7").expect("forgotten");
    assert_eq!(repo.text(&["for-each-ref", "refs/ralph"]), "");
    repo.git(&["gc", "-q", "--prune=now"]);
    let third = repo.save("2");
    assert_eq!(third.tree, first.tree);
    assert_eq!(repo.text(&["fsck", "--connectivity-only"]), "");
    assert!(!repo.books().keys().any(|name| name.to_string_lossy().contains("crash")));
}

#[test]
fn commits_that_were_reset_away_stay_reachable() {
    let mut repo = Repo::new();
    repo.write("work", "1");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "the agent's"]);
    let lost = repo.text(&["rev-parse", "HEAD"]);
    repo.save("1");
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(repo.text(&["cat-file", "-t", &lost]), "commit");
}

#[test]
fn special_files_are_passed_over_and_a_repository_without_a_commit_is_one() {
    let mut repo = Repo::new();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        repo.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .expect("a pipe");
    let saved = repo.save("0");
    assert_eq!(saved.files, 1, "a pipe is nothing that git would keep, and is not waited for");
    let empty = tempfile::tempdir().expect("a folder");
    assert!(matches!(Git::open(empty.path()), Err(GitError::NoRepository)));
    assert!(git(empty.path(), &["init", "-q"]).status.success());
    fs::write(empty.path().join("file"), "x").expect("write");
    let found = Git::open(empty.path()).expect("git");
    repo.saver = Saver::new(found, empty.path(), None);
    let saved = repo.save("0");
    assert_eq!((saved.files, saved.head, saved.branch.is_some()), (1, None, true));
}
