//! A file of cases, one at a time: it may be larger than memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;

use ralph_evidence::detector::Case;

use crate::error::CliError;

/// Bytes of one case.
const LONGEST: u64 = 64 << 20;
/// Cases after which a person at a terminal is told how far it is.
const STEP: u64 = 200;

pub(super) struct CaseLines {
    name: String,
    file: BufReader<File>,
    line: u64,
    read: u64,
    size: u64,
    cases: u64,
    /// A person waits: what comes out goes elsewhere.
    watched: bool,
}

impl CaseLines {
    pub(super) fn open(path: &Path) -> Result<Self, CliError> {
        let name = path.display().to_string();
        let wrong = |error: io::Error| CliError::Usage(format!("cannot open the cases {name}: {error}"));
        let file = File::open(path).map_err(wrong)?;
        let size = file.metadata().map_err(wrong)?.len();
        let watched = io::stderr().is_terminal() && !io::stdout().is_terminal();
        Ok(Self { name, file: BufReader::new(file), line: 0, read: 0, size, cases: 0, watched })
    }

    /// Nothing at the end.
    pub(super) fn next_case(&mut self) -> Result<Option<Case>, CliError> {
        loop {
            let mut bytes = Vec::new();
            let mut part = self.file.by_ref().take(LONGEST + 1);
            let count = part
                .read_until(b'\n', &mut bytes)
                .map_err(|error| CliError::Failed(format!("cannot read {}: {error}", self.name)))?;
            if count == 0 {
                self.tell_progress(true);
                return Ok(None);
            }
            self.line += 1;
            self.read += count as u64;
            if bytes.len() as u64 > LONGEST {
                return Err(self.wrong("longer than 64 MB; a case is one line".to_owned()));
            }
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let text = std::str::from_utf8(&bytes).map_err(|_| self.wrong("not UTF-8".to_owned()))?;
            let case =
                serde_json::from_str(text).map_err(|error| self.wrong(format!("not a case: {error}")))?;
            self.cases += 1;
            self.tell_progress(false);
            return Ok(Some(case));
        }
    }

    fn wrong(&self, what: String) -> CliError {
        CliError::Usage(format!("{}, line {}: {what}", self.name, self.line))
    }

    fn tell_progress(&self, ended: bool) {
        if self.watched && self.cases >= STEP && (ended || self.cases.is_multiple_of(STEP)) {
            let percent = (self.read * 100)
                .checked_div(self.size)
                .map_or(String::new(), |n| format!(" ({}%)", n.min(100)));
            eprint!("\r{} cases{percent}{}", self.cases, if ended { "\n" } else { "" });
        }
    }
}
