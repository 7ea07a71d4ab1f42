//! A repository to work in, and an independent look at its files.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ralph_runtime::checkpoint::{Git, Label, Saved, Saver, Undone, at_risk, undo};

/// What one file is: its kind and its bytes.
pub type Manifest = BTreeMap<PathBuf, (&'static str, Vec<u8>)>;

pub struct Repo {
    pub dir: tempfile::TempDir,
    /// Where the person works: the top, or a folder in it.
    pub workspace: PathBuf,
    pub saver: Saver,
}

impl Repo {
    pub fn new() -> Self {
        Self::below("")
    }

    /// With a workspace that is a folder of the repository.
    pub fn below(folder: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a path").join("repo");
        let workspace = root.join(folder);
        fs::create_dir_all(&workspace).expect("a folder");
        assert!(git(&root, &["init", "-q", "-b", "main"]).status.success());
        fs::write(root.join("first"), "first\n").expect("write");
        for args in [&["add", "-A"][..], &["commit", "-qm", "first"]] {
            assert!(git(&root, args).status.success());
        }
        let saver = Saver::new(Git::open(&workspace).expect("git"), &workspace, None);
        Self { dir, workspace, saver }
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.workspace.join(name)
    }

    pub fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        if let Some(folder) = path.parent() {
            let _ = fs::create_dir_all(folder);
        }
        // An agent does not care whether it worked.
        let _ = fs::write(path, bytes);
    }

    pub fn git(&self, args: &[&str]) -> Output {
        git(&self.workspace, args)
    }

    pub fn text(&self, args: &[&str]) -> String {
        String::from_utf8_lossy(&self.git(args).stdout).trim_end().to_owned()
    }

    pub fn save(&mut self, name: &str) -> Saved {
        let label = Label { run: "20260118-100000-1ec0a7", name, what: "a test" };
        self.saver.save(label, Vec::new(), &[]).expect("a checkpoint")
    }

    /// As `ralph undo` does it: saved first, then undone.
    pub fn undo(&mut self, to: &Saved) -> (Saved, Undone) {
        let git = self.saver.git().clone();
        let also = at_risk(&git, &to.commit).expect("files");
        let label = Label { run: "20260118-100000-1ec0a7", name: "undo-1", what: "a test" };
        let before = self.saver.save(label, Vec::new(), &also).expect("a checkpoint");
        let done = undo(&git, &self.workspace, &before.commit, &to.commit).expect("an undo");
        (before, done)
    }

    /// Every tracked and every untracked, unignored file, as git tells of them, with its kind and bytes; repositories inside too.
    pub fn manifest(&self) -> Manifest {
        let mut all = Manifest::new();
        list(&self.workspace, Path::new(""), &mut all);
        all
    }

    /// Everything that a checkpoint and an undo must leave alone: HEAD, index, branches, stash, reflogs.
    pub fn books(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let root = self.dir.path().join("repo/.git");
        let mut all = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let (path, name) =
                    (entry.path(), entry.path().strip_prefix(&root).unwrap_or(&root).to_owned());
                match path.is_dir() {
                    true if name == Path::new("objects") || name == Path::new("refs/ralph") => {}
                    true => folders.push(path),
                    false => drop(all.insert(name, fs::read(path).unwrap_or_default())),
                }
            }
        }
        all
    }
}

fn list(folder: &Path, below: &Path, all: &mut Manifest) {
    // `--cached` and `--others` name a path twice while a conflict is open.
    let out = git(folder, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).stdout;
    for name in out.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = PathBuf::from(OsString::from_vec(name.to_vec()));
        let (full, path) = (folder.join(&name), below.join(&name));
        let plain = name
            .ancestors()
            .skip(1)
            .all(|up| fs::symlink_metadata(folder.join(up)).is_ok_and(|meta| meta.is_dir()));
        let Ok(meta) = fs::symlink_metadata(&full) else { continue };
        if !plain || path.starts_with(".ralph") {
            continue;
        }
        if meta.is_dir() {
            if full.join(".git").exists() {
                list(&full, &path, all);
            }
        } else if let Some(file) = look(&full) {
            all.insert(path, file);
        }
    }
}

/// What is at this very path.
pub fn look(path: &Path) -> Option<(&'static str, Vec<u8>)> {
    let meta = fs::symlink_metadata(path).ok()?;
    if meta.is_symlink() {
        return Some(("link", fs::read_link(path).ok()?.into_os_string().into_vec()));
    }
    let kind = if meta.permissions().mode() & 0o100 == 0 { "file" } else { "program" };
    meta.is_file().then(|| Some((kind, fs::read(path).ok()?)))?
}

/// git as an agent has it: with its own settings, and nothing of the machine's.
pub fn git(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
        command.env_remove(name);
    }
    let own = [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "a"),
        ("GIT_AUTHOR_EMAIL", "a@localhost"),
        ("GIT_COMMITTER_NAME", "a"),
        ("GIT_COMMITTER_EMAIL", "a@localhost"),
        ("GIT_EDITOR", "true"),
    ];
    command
        .envs(own)
        .args(["-c", "protocol.file.allow=always", "-c", "gc.auto=0"])
        .args(args.iter().map(OsStr::new));
    command.current_dir(folder).output().expect("git")
}
