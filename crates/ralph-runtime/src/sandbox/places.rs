//! Where things are on this machine, for a sandbox: paths of a definition made whole, what is part of the system, and what of a
//! tree is left when secrets are taken out of it.

use std::env;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// What every program needs to start, and what people install programs to.
const SYSTEM: &[&str] = &[
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/sys",
    "/proc",
    "/run/current-system",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/var/lib/dpkg",
    "/var/lib/ca-certificates",
    "/var/cache",
];
/// Folders of which the system is a small part.
const PARTLY: [&str; 7] = [
    "/run/current-system",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/var/lib/dpkg",
    "/var/lib/ca-certificates",
    "/var/cache",
    "/snap",
];
/// Those that are replaced already, and the kernel's.
const SELDOM_HIDDEN: [&str; 5] = ["/dev", "/tmp", "/proc", "/sys", "/boot"];
/// Where toolchains live below a home.
const TOOLCHAINS: &[&str] = &[
    ".cargo",
    ".rustup",
    ".nvm",
    ".fnm",
    ".volta",
    ".pyenv",
    ".rbenv",
    ".rvm",
    ".asdf",
    ".sdkman",
    ".deno",
    ".bun",
    ".npm",
    ".npmrc",
    ".yarn",
    ".yarnrc",
    ".gradle",
    ".m2",
    ".ivy2",
    ".sbt",
    ".ghcup",
    ".cabal",
    ".stack",
    ".opam",
    ".elan",
    ".julia",
    ".conda",
    ".nix-profile",
    "go",
    "miniconda3",
    "anaconda3",
    ".gitconfig",
    ".config/git",
    ".gitignore",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/uv",
    ".local/share/pnpm",
    ".local/share/fnm",
    ".local/share/virtualenv",
    ".local/pipx",
    ".cache/pip",
    ".cache/uv",
    ".cache/pnpm",
    ".cache/go-build",
    ".cache/node",
];
/// Devices that are no way to anything else.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
    "/dev/mqueue",
];
/// A `.git` that is a file has one line.
const MAX_GIT_FILE: u64 = 4096;

pub(super) fn home() -> Option<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// A path as a definition writes it, by its one true name. Nothing if there is nothing there.
pub(super) fn find(written: &str, workspace: &Path) -> Option<PathBuf> {
    absolute(written, workspace)?.canonicalize().ok()
}

fn absolute(written: &str, workspace: &Path) -> Option<PathBuf> {
    match written.strip_prefix("~/") {
        Some(rest) => Some(home()?.join(rest)),
        None if written == "~" => home(),
        None => Some(workspace.join(written)),
    }
}

/// What an agent's program keeps its settings in. A folder that is not there yet is made: its name ends with `/`.
pub(super) fn make(written: &str, workspace: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    if let (Some(folder), true) = (absolute(written, workspace), written.ends_with('/')) {
        // Where that fails it is not there, and the agent has to say so itself.
        let _ = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    }
    find(written, workspace)
}

pub(super) fn devices() -> Vec<PathBuf> {
    DEVICES.iter().map(PathBuf::from).filter(|path| path.exists()).collect()
}

/// The system, the toolchains, and whatever else the PATH leads to.
pub(super) fn system() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        SYSTEM.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
    let home = home();
    if let Some(home) = &home {
        found.extend(TOOLCHAINS.iter().filter_map(|path| home.join(path).canonicalize().ok()));
    }
    found.extend(on_path());
    found
}

/// Folders right below the root that hold nothing of the system, such as homes. Landlock does not let anybody read there; but a
/// socket can be connected to by whoever can name it, so for `strict` they are not even there, but for what is kept.
pub(super) fn not_the_system(workspace: &Path) -> Vec<PathBuf> {
    let system =
        SYSTEM.iter().map(Path::new).filter(|path| !PARTLY.iter().any(|part| Path::new(part) == *path));
    let system: Vec<PathBuf> = system.filter_map(|path| path.canonicalize().ok()).collect();
    let is_needed = |path: &Path| {
        SELDOM_HIDDEN.iter().any(|own| Path::new(own) == path)
            || system.iter().any(|own| own.starts_with(path))
            || is_link_below(path, workspace)
    };
    let entries = fs::read_dir("/").into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).filter(|path| !is_needed(path)).collect()
}

/// Whether a path that programs go by leads through a link in here, which would be gone.
fn is_link_below(folder: &Path, workspace: &Path) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).chain(home()).chain([workspace.to_owned()]).any(|path| {
        path.starts_with(folder) && path.canonicalize().is_ok_and(|real| !real.starts_with(folder))
    })
}

/// The folders of the PATH; where one is the `bin` of something, all of that.
pub(super) fn on_path() -> Vec<PathBuf> {
    let home = home().and_then(|home| home.canonicalize().ok());
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    let whole = |folder: PathBuf| {
        // `…/node-v22/bin` is of no use without `…/node-v22/lib`.
        let above = folder.parent().filter(|_| folder.ends_with("bin"));
        let is_narrow = |path: &&Path| path.components().count() > 2 && home.as_deref() != Some(*path);
        above.filter(is_narrow).map_or_else(|| folder.clone(), Path::to_owned)
    };
    folders
        .filter_map(|folder| folder.canonicalize().ok())
        .map(whole)
        .filter(|path| !is_shallow(path))
        .collect()
}

/// The folders that git needs for this workspace, where they are outside of it: that of a worktree, and the repository's.
pub(super) fn git_folders(workspace: &Path) -> Vec<PathBuf> {
    let line = |path: &Path| -> Option<String> {
        let meta = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
        let mut text = String::new();
        fs::File::open(path).ok()?.take(meta.len().min(MAX_GIT_FILE)).read_to_string(&mut text).ok()?;
        Some(text.trim().to_owned())
    };
    let git = line(&workspace.join(".git"));
    let Some(folder) = git.as_deref().and_then(|line| line.strip_prefix("gitdir:")) else {
        return Vec::new();
    };
    let Ok(folder) = workspace.join(folder.trim()).canonicalize() else { return Vec::new() };
    // Written by an agent it could name any folder: only what git itself would have made counts.
    let is_gits = |path: &Path| path.join("HEAD").is_file() && path.join("objects").is_dir();
    let back = line(&folder.join("gitdir")).map(|back| folder.join(back));
    let leads_back =
        back.and_then(|back| back.canonicalize().ok()) == workspace.join(".git").canonicalize().ok();
    let common = line(&folder.join("commondir")).and_then(|common| folder.join(common).canonicalize().ok());
    match common.filter(|common| is_gits(common) && leads_back) {
        Some(common) => vec![folder, common],
        None => Vec::new(),
    }
}

/// What is left of trees when some paths are taken out: whole trees, and the folders on the way, whose names can be listed.
/// Links are left out: what they lead to is named by its own path or not at all.
pub(super) fn carve(roots: &[PathBuf], out: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut whole, mut list) = (Vec::new(), Vec::new());
    let mut todo: Vec<PathBuf> = roots.to_vec();
    while let Some(path) = todo.pop() {
        if out.iter().any(|out| path.starts_with(out)) {
            continue;
        }
        if !out.iter().any(|out| out.starts_with(&path)) {
            whole.push(path);
            continue;
        }
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                todo.push(entry.path());
            }
        }
        list.push(path);
    }
    (whole, list)
}

/// Whether a path is one of a kind that would open everything: the root, or a folder right below it.
pub(super) fn is_shallow(path: &Path) -> bool {
    path.components().filter(|part| matches!(part, Component::Normal(_))).count() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_out_is_in_no_tree_that_is_left() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a folder");
        for path in ["home/me/.ssh", "home/me/work", "home/you", "etc"] {
            fs::create_dir_all(root.join(path)).expect("a folder");
        }
        fs::write(root.join("home/me/.netrc"), "x").expect("a file");
        fs::write(root.join("home/me/notes"), "x").expect("a file");
        std::os::unix::fs::symlink(root.join("home/me/.ssh"), root.join("home/me/link")).expect("a link");
        let out = [root.join("home/me/.ssh"), root.join("home/me/.netrc")];
        let (mut whole, mut list) = carve(std::slice::from_ref(&root), &out);
        let names = |paths: &mut Vec<PathBuf>| -> Vec<String> {
            paths.sort();
            paths.iter().map(|path| path.strip_prefix(&root).expect("below").display().to_string()).collect()
        };
        assert_eq!(names(&mut whole), ["etc", "home/me/notes", "home/me/work", "home/you"]);
        assert_eq!(names(&mut list), ["", "home", "home/me"]);
        assert_eq!(
            carve(&[root.join("home/me/.ssh/deep")], &out),
            (vec![], vec![]),
            "below a secret is secret"
        );
    }

    #[test]
    fn a_git_file_that_an_agent_wrote_opens_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a folder");
        let (work, main) = (root.join("work"), root.join("main/.git"));
        let of_worktree = main.join("worktrees/work");
        for path in [&work, &of_worktree, &main.join("objects")] {
            fs::create_dir_all(path).expect("a folder");
        }
        fs::write(main.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
        fs::write(work.join(".git"), format!("gitdir: {}\n", of_worktree.display())).expect("a file");
        assert_eq!(git_folders(&work), [] as [PathBuf; 0], "the repository does not know of it");
        fs::write(of_worktree.join("gitdir"), format!("{}\n", work.join(".git").display())).expect("a file");
        fs::write(of_worktree.join("commondir"), "../..\n").expect("a file");
        assert_eq!(git_folders(&work), [of_worktree.clone(), main]);
        fs::write(work.join(".git"), "gitdir: /\n").expect("a file");
        assert_eq!(git_folders(&work), [] as [PathBuf; 0]);
    }
}
