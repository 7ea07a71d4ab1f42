//! The output of a command without its secrets: both of its streams.

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

    /// What may be the beginning of a secret is held back until more comes.
    pub(crate) fn push<'a>(&mut self, stream: Stream, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.streams[usize::from(stream == Stream::Stderr)].push(&self.redactor, bytes)
    }

    /// Nothing more comes: what was held back of standard output, and of standard error.
    pub(crate) fn finish(&mut self) -> [Vec<u8>; 2] {
        self.streams.each_mut().map(|stream| stream.finish(&self.redactor))
    }
}
