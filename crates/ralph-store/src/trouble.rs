//! Why a run cannot be told: in words that say what is in the way.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

use ralph_core::event::{Event, FORMAT};
use ralph_core::ids::Seq;
use ralph_core::record::{Chain, Damage, Record};

use crate::plain::{self, Links};
use crate::read::{Line, Lines};
use crate::run_dir::RunDir;
use crate::store::Store;

impl RunDir {
    /// What is wrong with the beginning of the journal. Nothing: it begins with a start, or there is none yet.
    pub fn trouble(&self) -> Option<String> {
        let path = self.journal();
        let file = match plain::open(&path, Links::Refuse) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Some(self.not_ours()),
            Err(error) => return Some(error.to_string()),
        };
        if file.metadata().is_ok_and(|meta| meta.len() == 0) {
            return None;
        }
        let mut lines = match Lines::open(&path) {
            Ok(lines) => lines,
            Err(error) => return Some(error.to_string()),
        };
        let first = match lines.read() {
            Ok(Some(Line::Whole(line))) => Record::decode(line, &mut Chain::default(), Seq(1)),
            Ok(_) => return Some("its first record is not whole".to_owned()),
            Err(error) => return Some(error.to_string()),
        };
        match first {
            Ok(Record { event: Event::RunStarted(started), .. }) if started.format > FORMAT => Some(format!(
                "it was written by a newer ralph ({}, format {}; this one reads up to {FORMAT})",
                started.version, started.format
            )),
            Ok(Record { event: Event::RunStarted(_), .. }) => None,
            Ok(_) => Some("it does not begin with a start".to_owned()),
            Err(why @ (Damage::Unknown { .. } | Damage::Newer(_))) => {
                Some(format!("it was written by a newer ralph: {why}"))
            }
            Err(why) => Some(format!("its first record is damaged: {why}")),
        }
    }

    fn not_ours(&self) -> String {
        let own = rustix::process::geteuid().as_raw();
        match fs::metadata(self.journal()).map(|meta| (meta.uid(), meta.mode() & 0o777)) {
            Ok((uid, _)) if uid != own => {
                format!("it belongs to another user (number {uid}), who keeps it private")
            }
            Ok((_, mode)) => format!("it may not be read: its mode is {mode:04o}, and should be 0600"),
            Err(_) => "its folder may not be entered".to_owned(),
        }
    }
}

impl Store {
    /// Runs that cannot be told, each with the reason.
    pub(crate) fn troubled(&self) -> impl Iterator<Item = (RunDir, String)> {
        self.folders().filter_map(|run| {
            let why = run.trouble()?;
            Some((run, why))
        })
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::time::Timestamp;

    use super::*;

    #[test]
    fn each_trouble_is_called_by_its_name() {
        let dir = tempfile::tempdir().expect("a folder");
        let store = Store::at(dir.path().to_owned()).expect("a store");
        let trouble = |make: &dyn Fn(&std::path::Path)| {
            let run = store.create_run(Timestamp::default()).expect("a run");
            make(&run.journal());
            run.trouble().unwrap_or_default()
        };
        assert_eq!(trouble(&|_| {}), "");
        assert_eq!(trouble(&|path| fs::write(path, "").expect("write")), "");
        assert_eq!(trouble(&|path| fs::create_dir(path).expect("a folder")), "it is a folder, not a file");
        let damaged = trouble(&|path| fs::write(path, "garbage\n").expect("write"));
        assert_eq!(damaged, "its first record is damaged: the line has no checksum");
        assert_eq!(
            trouble(&|path| fs::write(path, "{\"seq\"").expect("write")),
            "its first record is not whole"
        );
        assert_eq!(store.troubled().count(), 3);
    }
}
