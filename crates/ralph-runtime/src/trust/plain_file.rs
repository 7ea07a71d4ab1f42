//! Files that an agent may have prepared, read without following a link, waiting for a pipe, or swelling.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// What stands at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    File {
        bytes: Vec<u8>,
        is_program: bool,
    },
    /// Where a link points.
    Link(std::path::PathBuf),
    Nothing,
    /// A folder, a pipe, or a file that is too large or cannot be read.
    Other,
}

/// The bytes of one file that are read.
pub(super) const MAX_BYTES: u64 = 8 << 20;

pub(super) fn look(path: &Path) -> Found {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return Found::Nothing };
    if meta.is_symlink() {
        return std::fs::read_link(path).map_or(Found::Other, Found::Link);
    }
    match read(path) {
        Ok(Some((bytes, is_program))) => Found::File { bytes, is_program },
        Ok(None) | Err(_) => Found::Other,
    }
}

fn read(path: &Path) -> io::Result<Option<(Vec<u8>, bool)>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= MAX_BYTES);
    Ok(fits.then(|| (bytes, meta.permissions().mode() & 0o100 != 0)))
}

/// The text of a plain file; nothing for anything else.
pub(super) fn text(path: &Path) -> Option<String> {
    match look(path) {
        Found::File { bytes, .. } => Some(String::from_utf8_lossy(&bytes).into_owned()),
        _ => None,
    }
}
