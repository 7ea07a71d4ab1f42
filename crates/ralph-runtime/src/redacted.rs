//! The output of a command without its secrets: both of its streams.
//!
//! What may be the beginning of a secret is held back until more comes. A command has ended when nothing more comes, and what it left
//! unfinished is then no secret; but who gets the output does not hear of the end, so the last few bytes of an output that ends in
//! the middle of one are left out.

use std::borrow::Cow;
use std::sync::Arc;

use ralph_evidence::redact::{self, Redactor};

use crate::process::Stream;
use crate::secrets::Secrets;

pub(crate) struct Redacted {
    redactor: Arc<Redactor>,
    streams: [redact::Stream; 2],
}

impl Redacted {
    pub(crate) fn of(secrets: &Secrets) -> Self {
        Self { redactor: secrets.redactor(), streams: Default::default() }
    }

    pub(crate) fn push<'a>(&mut self, stream: Stream, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.streams[usize::from(stream == Stream::Stderr)].push(&self.redactor, bytes)
    }
}
