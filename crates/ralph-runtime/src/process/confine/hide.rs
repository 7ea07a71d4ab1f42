//! Secrets that are not there: an empty folder over each, in the namespace's own view of the files. Landlock keeps whoever is
//! inside from taking it away again.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive};

use super::Reach;

const TEMP: [&str; 2] = ["/tmp", "/var/tmp"];

pub(super) fn hide(reach: &Reach) -> Result<(), String> {
    let kept: Vec<(PathBuf, OwnedFd)> =
        reach.keep.iter().filter_map(|path| Some((path.clone(), hold(path).ok()?))).collect();
    let temp = reach.temp.first().map(|path| hold(path).map_err(|error| said(path, error))).transpose()?;
    let mut hidden: Vec<&Path> = Vec::new();
    let is_kept = |place: &Path| reach.keep.iter().any(|kept| place.starts_with(kept));
    for place in
        TEMP.iter().map(Path::new).filter(|place| temp.is_some() && place.is_dir() && !is_kept(place))
    {
        let from = temp.as_ref().map(link).unwrap_or_default();
        mount_bind_recursive(from, place).map_err(|error| said(place, error))?;
        hidden.push(place);
    }
    for path in &reach.hide {
        if cover(path)? {
            hidden.push(path);
        }
    }
    for (path, held) in &kept {
        if hidden.iter().any(|hidden| path.starts_with(hidden)) {
            put_back(path, held).map_err(|error| said(path, error))?;
            // With what is put back its own secrets would be there again.
            for below in reach.hide.iter().filter(|below| below.starts_with(path) && *below != path) {
                cover(below)?;
            }
        }
    }
    Ok(())
}

fn said(path: &Path, error: impl Into<io::Error>) -> String {
    format!("cannot hide files of {} from it: {}", path.display(), error.into())
}

fn hold(path: &Path) -> Result<OwnedFd, Errno> {
    open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

fn link(held: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", held.as_raw_fd())
}

/// Whether there was something to hide: what is below something hidden is gone already.
fn cover(path: &Path) -> Result<bool, String> {
    match lay_over(path) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(error) => Err(said(path, error)),
    }
}

fn lay_over(path: &Path) -> Result<(), Errno> {
    let is_dir =
        rustix::fs::stat(path).map(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir())?;
    match is_dir {
        true => {
            let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            mount("hidden", path, "tmpfs", flags, Some(c"mode=0755,size=1m"))
        }
        false => mount_bind("/dev/null", path),
    }
}

fn put_back(path: &Path, held: &OwnedFd) -> io::Result<()> {
    let is_dir = fs::metadata(link(held))?.is_dir();
    match is_dir {
        true => fs::create_dir_all(path)?,
        false => {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            // A mount needs something to be on.
            fs::OpenOptions::new().append(true).create(true).open(path)?;
        }
    }
    Ok(mount_bind_recursive(link(held), path)?)
}
