//! Files that an agent may have prepared, read without following a link, waiting for a pipe, or swelling.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ralph_store::plain::{self, Links};

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
        Ok((bytes, is_program)) => Found::File { bytes, is_program },
        Err(_) => Found::Other,
    }
}

fn read(path: &Path) -> io::Result<(Vec<u8>, bool)> {
    let file = plain::open(path, Links::Refuse)?;
    let is_program = file.metadata()?.permissions().mode() & 0o100 != 0;
    Ok((plain::read_open(&file, MAX_BYTES)?, is_program))
}

/// The text of a plain file; nothing for anything else.
pub(super) fn text(path: &Path) -> Option<String> {
    match look(path) {
        Found::File { bytes, .. } => Some(String::from_utf8_lossy(&bytes).into_owned()),
        _ => None,
    }
}
