//! What the targets begin with: recordings, fixtures, examples.

use std::fs;
use std::path::{Path, PathBuf};

/// Of one file: what comes behind it says nothing new.
const MAX: usize = 16 << 10;

/// The files below a folder of the repository that end so.
pub fn files(folder: &str, end: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let (mut open, mut found) = (vec![root], Vec::<PathBuf>::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            match entry.path() {
                path if path.is_dir() => open.push(path),
                path if path.to_string_lossy().ends_with(end) => found.push(path),
                _ => {}
            }
        }
    }
    // In the same order everywhere, so that a seed means the same.
    found.sort();
    let read = |path: PathBuf| {
        let mut bytes = fs::read(path).expect("a file");
        bytes.truncate(MAX);
        bytes
    };
    found.into_iter().map(read).collect()
}

/// Each line for itself.
pub fn lines(files: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    files
        .iter()
        .flat_map(|file| file.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>())
        .collect()
}

/// An index of git's, of each version.
pub fn indexes() -> Vec<Vec<u8>> {
    [2_u32, 3, 4].map(index).into()
}

fn index(version: u32) -> Vec<u8> {
    let mut bytes = b"DIRC".to_vec();
    bytes.extend(version.to_be_bytes());
    bytes.extend(3_u32.to_be_bytes());
    for name in ["a", "src/lib.rs", "src/main.rs"] {
        let start = bytes.len();
        bytes.extend([0; 60]);
        bytes.extend((name.len() as u16).to_be_bytes());
        if version == 4 {
            bytes.push(0);
        }
        bytes.extend(name.as_bytes());
        bytes.push(0);
        while version < 4 && !(bytes.len() - start).is_multiple_of(8) {
            bytes.push(0);
        }
    }
    bytes.extend(b"link\0\0\0\x14");
    bytes.extend([7; 20]);
    bytes.extend([0; 20]);
    bytes
}
