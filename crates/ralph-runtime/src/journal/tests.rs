//! What a journal is worth is seen when something happens to it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ralph_core::event::*;
use ralph_core::ids::IterationNumber;
use ralph_store::{JOURNAL, last_lines};
use tempfile::TempDir;

use super::*;

fn at(n: u64) -> Timestamp {
    Timestamp::from_millis(1_768_730_400_000 + n as i64)
}

/// A journal without its `run.started`: the file layer does not care what the records mean.
fn event(n: u64) -> Event {
    let iteration = IterationNumber(u32::try_from(n).unwrap_or(0));
    match n % 3 {
        0 => Event::IterationStarted(IterationStarted { iteration, attempt: 1, agent: 0, hat: None }),
        1 => Event::AgentText(AgentText {
            iteration,
            attempt: 1,
            text: format!("line {n} \"é\""),
            truncated: false,
        }),
        _ => Event::DelayStarted(DelayStarted {
            reason: DelayReason::Delay,
            until: at(n),
            wait: Duration::from_millis(n),
        }),
    }
}

/// Records in batches of one; every third is synced. Returns where each ends.
fn journal(dir: &Path, records: u64) -> Vec<u64> {
    let storage = FileStorage::create(dir).expect("create");
    let mut journal = Journal::new(Box::new(storage), Position::default());
    (0..records)
        .map(|n| {
            journal.append(&[(at(n), event(n))]).expect("append");
            journal.position().len
        })
        .collect()
}

fn reopen(dir: &Path) -> (Vec<Record>, Result<Option<Cut>, OpenError>) {
    let mut records = Vec::new();
    let result = open(dir, &mut |record| records.push(record.clone())).map(|(_, cut)| cut);
    (records, result)
}

#[test]
fn a_journal_goes_on_where_it_ended() {
    let dir = TempDir::new().expect("a folder");
    journal(dir.path(), 5);
    let mut seen = 0;
    let (mut journal, cut) = open(dir.path(), &mut |_| seen += 1).expect("open");
    assert_eq!((seen, cut), (5, None));
    journal.append(&[(at(5), event(5)), (at(6), event(6))]).expect("append");
    drop(journal);
    let (records, result) = reopen(dir.path());
    assert_eq!(result.expect("open"), None);
    assert_eq!(records.iter().map(|r| r.seq.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(
        records.iter().map(|r| r.event.clone()).collect::<Vec<_>>(),
        (0..7).map(event).collect::<Vec<_>>()
    );
}

#[test]
fn only_one_process_writes() {
    let dir = TempDir::new().expect("a folder");
    let storage = FileStorage::create(dir.path()).expect("create");
    let second = FileStorage::open(dir.path());
    assert_eq!(second.err().map(|e| e.kind()), Some(io::ErrorKind::WouldBlock));
    drop(storage);
    assert!(FileStorage::open(dir.path()).is_ok());
}

/// Cuts the file at every byte and flips every bit, with and without the mark. Prints how many of each there were.
#[test]
fn at_every_byte_a_cut_and_every_flipped_bit_is_handled() {
    // In memory where there is such a place: this opens tens of thousands of files.
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.expect("a folder");
    let ends = journal(dir.path(), 12);
    let path = dir.path().join(JOURNAL);
    let whole = fs::read(&path).expect("read");
    let synced_end = ends[9];
    let (mut cuts, mut flips) = (0, 0);
    for marked in [true, false] {
        if !marked {
            fs::remove_file(dir.path().join("journal.mark")).expect("remove");
        }
        for offset in 0..whole.len() {
            cuts += 1;
            check(dir.path(), &whole[..offset], offset, &ends, marked.then_some(synced_end));
            for bit in 0..8 {
                flips += 1;
                let mut bad = whole.clone();
                bad[offset] ^= 1 << bit;
                check(dir.path(), &bad, offset, &ends, marked.then_some(synced_end));
            }
        }
    }
    println!("{cuts} cuts and {flips} flipped bits: nothing damaged accepted, nothing sound lost");
    assert!(cuts + flips >= 20_000, "{cuts} + {flips}");
}

fn check(dir: &Path, bytes: &[u8], damaged: usize, ends: &[u64], synced_end: Option<u64>) {
    // A new file each time: writing over an old one makes some file systems flush it.
    fs::remove_file(dir.join(JOURNAL)).expect("remove");
    fs::write(dir.join(JOURNAL), bytes).expect("write");
    let (records, result) = reopen(dir);
    let sound = ends.iter().filter(|end| **end <= damaged as u64).count();
    assert_eq!(records.len(), sound, "damage at byte {damaged}");
    for (n, record) in records.iter().enumerate() {
        assert_eq!(record.event, event(n as u64));
    }
    let must_fail = synced_end.is_none_or(|synced_end| (damaged as u64) < synced_end);
    match result {
        // Without a mark nobody can tell what is missing.
        Err(OpenError::Unmarked { records, .. }) => {
            assert!(synced_end.is_none() && records.0 as usize == sound && sound > 0);
        }
        Err(OpenError::Damaged { record, .. }) => {
            assert!(synced_end.is_some() && must_fail, "damage at byte {damaged} is the tail of a crash");
            assert_eq!(record.0 as usize, sound + 1);
        }
        Err(OpenError::Empty { .. }) => assert!(sound == 0 && (synced_end.is_none() || !must_fail)),
        Err(error) => panic!("{error}"),
        Ok(cut) => {
            assert!(!must_fail, "damage at byte {damaged} of what was synced was cut");
            let left = fs::metadata(dir.join(JOURNAL)).expect("metadata").len();
            assert_eq!(left, if sound == 0 { 0 } else { ends[sound - 1] });
            assert_eq!(cut.is_some(), bytes.len() as u64 > left);
        }
    }
}

#[test]
fn a_damaged_journal_can_be_recovered_and_its_copy_is_kept() {
    let dir = TempDir::new().expect("a folder");
    let ends = journal(dir.path(), 12);
    let path = dir.path().join(JOURNAL);
    let mut bytes = fs::read(&path).expect("read");
    bytes[usize::try_from(ends[3]).expect("small") + 9] ^= 1;
    fs::write(&path, &bytes).expect("write");
    let message = reopen(dir.path()).1.expect_err("damaged").to_string();
    assert!(message.contains("record 5") && message.contains("Records 1 to 4 are sound"), "{message}");
    let copy = recover(dir.path()).expect("recover");
    assert_eq!(fs::read(copy).expect("the copy"), bytes);
    let (records, result) = reopen(dir.path());
    assert_eq!((records.len(), result.expect("open")), (4, None));
}

#[test]
fn a_journal_that_somebody_else_touches_is_noticed_at_the_next_record() {
    type Act<'a> = (&'a str, &'a dyn Fn(&Path));
    let acts: [Act; 4] = [
        ("was deleted", &|path| fs::remove_file(path).expect("removed")),
        ("was replaced", &|path| {
            fs::copy(path, path.with_extension("new")).expect("copied");
            fs::rename(path.with_extension("new"), path).expect("moved");
        }),
        ("was cut", &|path| fs::write(path, "").expect("cut")),
        ("was written to", &|path| {
            let mut file = fs::OpenOptions::new().append(true).open(path).expect("open");
            io::Write::write_all(&mut file, b"x").expect("written");
        }),
    ];
    for (word, act) in acts {
        let dir = TempDir::new().expect("a folder");
        let storage = FileStorage::create(dir.path()).expect("create");
        let mut journal = Journal::new(Box::new(storage), Position::default());
        journal.append(&[(at(0), event(0))]).expect("append");
        act(&dir.path().join(JOURNAL));
        let error = journal.append(&[(at(1), event(1))]).expect_err("noticed").to_string();
        assert!(error.contains(word), "{word}: {error}");
    }
}

/// A disk that takes so many bytes and no more, and may stop taking them in the middle of a write.
struct SmallDisk {
    inner: FileStorage,
    room: usize,
    reserve: usize,
}

impl Storage for SmallDisk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fits = bytes.len().min(self.room);
        self.inner.append(&bytes[..fits])?;
        self.room -= fits;
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let now = self.inner.journal().metadata()?.len();
        self.room += usize::try_from(now - len).unwrap_or(0);
        self.inner.truncate(len)
    }

    fn sync(&mut self, mark: Mark) -> io::Result<()> {
        self.inner.sync(mark)
    }

    fn release_reserve(&mut self) {
        self.room += std::mem::take(&mut self.reserve);
    }
}

#[test]
fn a_full_disk_costs_no_record_and_leaves_room_for_the_last_one() {
    for room in 0..2000 {
        let dir = TempDir::new().expect("a folder");
        let inner = FileStorage::create(dir.path()).expect("create");
        let disk = SmallDisk { inner, room, reserve: 4096 };
        let mut journal = Journal::new(Box::new(disk), Position::default());
        let mut stored = 0;
        while stored < 100 && journal.append(&[(at(stored), event(stored))]).is_ok() {
            stored += 1;
        }
        assert!(stored < 100);
        journal.make_room();
        journal.append(&[(at(stored), event(stored))]).expect("the reserve has room");
        drop(journal);
        let (records, result) = reopen(dir.path());
        assert_eq!(result.expect("open"), None, "nothing half written is left");
        assert_eq!(records.len() as u64, stored + 1);
    }
}

#[test]
fn the_last_lines_are_found_from_the_end() {
    let dir = TempDir::new().expect("a folder");
    journal(dir.path(), 3000);
    let path = dir.path().join(JOURNAL);
    let seqs = |count, keep: &dyn Fn(&[u8]) -> bool| -> Vec<u64> {
        let lines = last_lines(&path, count, keep).expect("read");
        lines
            .iter()
            .map(|line| {
                let json = ralph_core::record::json_of(line).expect("a record");
                serde_json::from_str::<Record>(&json).expect("a record").seq.0
            })
            .collect()
    };
    assert_eq!(seqs(3, &|_| true), [2998, 2999, 3000]);
    assert_eq!(seqs(2, &|line| ralph_core::record::type_of(line) == Some("iteration.started")), [2995, 2998]);
    assert_eq!(seqs(5000, &|_| true), (1..=3000).collect::<Vec<_>>());
    assert_eq!(seqs(0, &|_| true), [0; 0]);
    // A line that is being written is not there yet.
    let mut bytes = fs::read(&path).expect("read");
    bytes.extend_from_slice(b"{\"seq\":3001,\"at\":");
    fs::write(&path, bytes).expect("write");
    assert_eq!(seqs(1, &|_| true), [3000]);
}
