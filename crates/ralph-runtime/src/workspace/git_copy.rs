//! A repository beside a copy of its files, so that git works there: with refs and an index of its own, and the objects of the
//! first, which are only read.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use ralph_store::plain::{self, Links};

use super::git::Repository;

/// References are small files; more than this many are not copied.
const MAX_REFS: usize = 20_000;

/// Makes `to/.git`, if the workspace is the top of a repository. `false`: it is not, or not one that can be copied.
pub(crate) fn copy_repository(workspace: &Path, to: &Path) -> io::Result<bool> {
    let Some(repository) = Repository::open(workspace) else { return Ok(false) };
    let config = repository.config();
    // The files of such a repository are said to be elsewhere.
    if config.to_ascii_lowercase().contains("worktree") {
        return Ok(false);
    }
    let objects = repository.common_dir.join("objects").canonicalize()?;
    let git = to.join(".git");
    for folder in ["", "objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(git.join(folder))?;
    }
    let mut alternates = plain::create(&git.join("objects/info/alternates"))?;
    alternates.write_all(objects.as_os_str().as_bytes())?;
    alternates.write_all(b"\n")?;
    // Nothing of the user's is to run or to watch because of the copy.
    let calm = "\n[core]\n\tfsmonitor = false\n\thooksPath = /dev/null\n[gc]\n\tauto = 0\n";
    plain::create(&git.join("config"))?.write_all(format!("{config}{calm}").as_bytes())?;
    for name in ["HEAD", "index"] {
        copy_file(&repository.git_dir.join(name), &git.join(name))?;
    }
    for name in ["packed-refs", "info/exclude", "shallow"] {
        copy_file(&repository.common_dir.join(name), &git.join(name))?;
    }
    let mut left = MAX_REFS;
    copy_refs(&repository.common_dir.join("refs"), &git.join("refs"), &mut left)?;
    Ok(true)
}

/// A file that is not there is not copied.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    if !plain::is_file(from) {
        return Ok(());
    }
    let mut source = plain::open(from, Links::Refuse)?;
    // What grows while it is copied does not grow for ever here.
    let length = source.metadata()?.len();
    io::copy(&mut (&mut source).take(length), &mut plain::create(to)?).map(drop)
}

fn copy_refs(from: &Path, to: &Path, left: &mut usize) -> io::Result<()> {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&target)?;
            copy_refs(&entry.path(), &target, left)?;
        } else if kind.is_file() && *left > 0 {
            *left -= 1;
            copy_file(&entry.path(), &target)?;
        }
    }
    Ok(())
}
