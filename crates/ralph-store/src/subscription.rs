//! Records of a live run as they come, over its socket.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use ralph_core::ids::Seq;
use ralph_core::record::Record;
use ralph_model::{Asked, Reply, Request};

use crate::client::{AskError, connect};
use crate::read::MAX_LINE;
use crate::records::ReadError;

/// A run answers at once, unless its disk stands still.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Subscription {
    lines: BufReader<UnixStream>,
    line: Vec<u8>,
}

impl Subscription {
    /// From this record on: those there are, and then those to come.
    pub fn open(socket: &Path, from: Seq) -> Result<Self, AskError> {
        let mut stream = connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let asked = Asked::from(Request::Subscribe { from });
        let mut line = serde_json::to_vec(&asked).map_err(io::Error::from)?;
        line.push(b'\n');
        stream.write_all(&line)?;
        let mut subscription = Self { lines: BufReader::new(stream), line: Vec::new() };
        let answer = subscription.read()?.ok_or(AskError::Ended)?;
        match serde_json::from_slice(answer) {
            Ok(Reply::Subscribed { .. }) => {}
            Ok(Reply::Error { error, message }) => return Err(AskError::Complaint { error, message }),
            Ok(other) => return Err(AskError::Answer(format!("{other:?}"))),
            Err(error) => return Err(AskError::Answer(error.to_string())),
        }
        // The next record may be hours away.
        subscription.lines.get_ref().set_read_timeout(None)?;
        Ok(subscription)
    }

    /// The next record; nothing when the process that works on the run is gone, or somebody has hung up.
    pub fn next_record(&mut self) -> Result<Option<Record>, ReadError> {
        match self.read()? {
            // Without the checksum of the journal: nobody writes it again.
            Some(line) => Record::from_json(line).map(Some).map_err(ReadError::Content),
            None => Ok(None),
        }
    }

    /// Ends the subscription from another thread.
    pub fn hang_up(&self) -> io::Result<impl Fn() + Send + 'static> {
        let stream = self.lines.get_ref().try_clone()?;
        Ok(move || drop(stream.shutdown(Shutdown::Both)))
    }

    /// A whole line, without its end.
    fn read(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let most = u64::try_from(MAX_LINE).unwrap_or(u64::MAX).saturating_add(1);
        self.lines.by_ref().take(most).read_until(b'\n', &mut self.line)?;
        Ok(self.line.strip_suffix(b"\n"))
    }
}
