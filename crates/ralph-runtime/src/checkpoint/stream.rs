//! The input of `git fast-import`: a commit, and what is different in it.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Modes as git has them.
pub(super) const FILE: &str = "100644";
pub(super) const PROGRAM: &str = "100755";
pub(super) const LINK: &str = "120000";

pub(super) struct Header<'a> {
    pub reference: &'a str,
    pub message: &'a str,
    /// Seconds since 1970.
    pub time: i64,
    pub parents: &'a [String],
    /// Whether the commit begins with the files of its first parent.
    pub from_parent: bool,
}

pub(super) struct Stream<W> {
    out: W,
}

impl<W: Write> Stream<W> {
    pub(super) fn begin(mut out: W, header: &Header<'_>) -> io::Result<Self> {
        let Header { reference, message, time, parents, from_parent } = header;
        write!(out, "feature done\ncommit {reference}\nmark :1\n")?;
        writeln!(out, "committer ralph <ralph@localhost> {time} +0000")?;
        write!(out, "data {}\n{message}\n", message.len())?;
        for (at, parent) in parents.iter().enumerate() {
            writeln!(out, "{} {parent}", if at == 0 { "from" } else { "merge" })?;
        }
        if !from_parent {
            out.write_all(b"deleteall\n")?;
        }
        Ok(Self { out })
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.out.write_all(b"D ")?;
        self.path(path)?;
        self.out.write_all(b"\n")
    }

    /// Begins a file of this many bytes.
    pub(super) fn file(&mut self, mode: &str, path: &Path, size: u64) -> io::Result<()> {
        write!(self.out, "M {mode} inline ")?;
        self.path(path)?;
        write!(self.out, "\ndata {size}\n")
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    pub(super) fn end_file(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")
    }

    /// Asks for the ids of the tree and of the commit.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.write_all(b"ls \"\"\n\nget-mark :1\ndone\n")?;
        self.out.flush()
    }

    /// In quotes, so that any byte may stand in it.
    fn path(&mut self, path: &Path) -> io::Result<()> {
        let mut text = vec![b'"'];
        for byte in path.as_os_str().as_bytes() {
            match byte {
                b'"' | b'\\' => text.extend([b'\\', *byte]),
                b' '..=b'~' => text.push(*byte),
                other => text.extend(format!("\\{other:03o}").into_bytes()),
            }
        }
        text.push(b'"');
        self.out.write_all(&text)
    }
}
