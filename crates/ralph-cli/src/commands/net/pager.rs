//! Long output on a terminal, in the user's pager.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use crate::io::quiet;

/// Where lines go: to the pager, or straight out.
pub enum Pager {
    Child(Child),
    Out(io::Stdout),
}

impl Pager {
    /// `$PAGER`, else `less -R`, on a terminal only. Without one that starts, the lines go straight out.
    pub fn open(wanted: bool) -> Self {
        let plain = || Pager::Out(io::stdout());
        if !wanted || !io::stdout().is_terminal() {
            return plain();
        }
        let set = std::env::var_os("PAGER").filter(|text| !text.is_empty());
        let command = set.unwrap_or_else(|| "less -R".into());
        if command == "cat" {
            return plain();
        }
        let mut pager = Command::new("sh");
        pager.arg("-c").arg(command).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // What fits on the screen stays there.
            pager.env("LESS", "FRX");
        }
        pager.spawn().map_or_else(|_| plain(), Pager::Child)
    }

    /// `false`: nobody reads any more.
    pub fn line(&mut self, text: &str) -> io::Result<bool> {
        let written = match self {
            Pager::Child(child) => match &mut child.stdin {
                Some(stdin) => writeln!(stdin, "{text}"),
                None => return Ok(false),
            },
            Pager::Out(out) => writeln!(out, "{text}"),
        };
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Waits until the reader has read enough.
    pub fn close(self) -> io::Result<()> {
        match self {
            Pager::Child(mut child) => {
                drop(child.stdin.take());
                child.wait().map(drop)
            }
            Pager::Out(mut out) => quiet(out.flush()),
        }
    }
}
