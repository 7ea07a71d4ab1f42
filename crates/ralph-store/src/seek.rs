//! Finding a place in a journal without reading all of it: records are in order, so the file can be halved.

use std::io;
use std::ops::Range;
use std::path::Path;

use ralph_core::ids::{IterationNumber, Seq};

use crate::read::{Line, Lines};

/// What is left at the end is read line by line.
const BLOCK: u64 = 64 * 1024;

/// The number of a stored line, without parsing it: ours is always the first key.
pub fn seq_of(line: &[u8]) -> Option<Seq> {
    number_at(line.strip_prefix(b"{\"seq\":")?).map(Seq)
}

/// The iteration of a stored line, without parsing it: where an event has one, it stands right behind the type.
pub fn iteration_of(line: &[u8]) -> Option<IterationNumber> {
    // Sequence number, time and type stand before it, in less than 120 bytes.
    let head = &line[..line.len().min(160)];
    let kind = memchr::memmem::find(head, b"\"type\":\"")? + 8;
    let behind = kind + memchr::memchr(b'"', &line[kind..])? + 1;
    let digits = line.get(behind..)?.strip_prefix(b",\"iteration\":")?;
    u32::try_from(number_at(digits)?).ok().map(IterationNumber)
}

fn number_at(text: &[u8]) -> Option<u64> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).filter(|end| (1..=20).contains(end))?;
    std::str::from_utf8(&text[..end]).ok()?.parse().ok()
}

/// The byte at which the first record with this number, or with a later one, begins; else the end of the last whole line.
pub fn offset_of(path: &Path, seq: Seq) -> io::Result<u64> {
    first(path, &|line| seq_of(line).map(|found| found >= seq)).map(|(offset, _)| offset)
}

/// The records of an iteration and of what follows it up to the next: from the first record that names the iteration, or a
/// later one, to the first that names a later one.
pub fn iteration_range(path: &Path, iteration: IterationNumber) -> io::Result<Range<Seq>> {
    let start = |wanted: IterationNumber| {
        let (_, seq) = first(path, &|line| iteration_of(line).map(|found| found >= wanted))?;
        seq.map_or_else(|| end(path), Ok)
    };
    Ok(start(iteration)?..start(iteration.next())?)
}

/// The records of the newest iterations: of `iterations` of them, but no more than `records` where the last one has fewer. The last
/// iteration is always whole.
pub fn newest_range(path: &Path, iterations: u32, records: u64) -> io::Result<Range<Seq>> {
    let end = end(path)?;
    let lines = crate::read::last_lines(path, 1, &|line| iteration_of(line).is_some())?;
    let Some(last) = lines.first().and_then(|line| iteration_of(line)) else { return Ok(end..end) };
    let start = |number: u32| Ok::<_, io::Error>(iteration_range(path, IterationNumber(number))?.start);
    let oldest = start(last.0.saturating_sub(iterations.saturating_sub(1)))?;
    let room = Seq(end.0.saturating_sub(records));
    Ok(oldest.max(room).min(start(last.0)?)..end)
}

/// The number that comes behind the last record.
fn end(path: &Path) -> io::Result<Seq> {
    let lines = crate::read::last_lines(path, 1, &|line| seq_of(line).is_some())?;
    Ok(lines.first().and_then(|line| seq_of(line)).unwrap_or_default().next())
}

/// The first line that `is_behind` says yes to, with its number. `is_behind` says no, then yes, and to some lines nothing.
fn first(path: &Path, is_behind: &dyn Fn(&[u8]) -> Option<bool>) -> io::Result<(u64, Option<Seq>)> {
    let len = std::fs::metadata(path)?.len();
    let (mut low, mut high) = (0, len);
    let mut answer = None;
    while high - low > BLOCK {
        let middle = low + (high - low) / 2;
        match judged(path, middle, high, is_behind)? {
            Some(Judged { is_behind: false, end, .. }) => low = end,
            Some(found) => (answer, high) = (Some((found.start, found.seq)), middle),
            None => high = middle,
        }
    }
    let mut lines = Lines::open_at(path, low)?;
    let mut at = low;
    while at < high || answer.is_none() {
        let Some(Line::Whole(line)) = lines.read()? else { break };
        if is_behind(line) == Some(true) {
            return Ok((at, seq_of(line)));
        }
        at += line.len() as u64 + 1;
    }
    Ok(answer.unwrap_or((at, None)))
}

struct Judged {
    is_behind: bool,
    start: u64,
    /// The byte behind the line.
    end: u64,
    seq: Option<Seq>,
}

/// The first line in this part of the file that something can be said about. The line that `from` is in the middle of is not in it.
fn judged(
    path: &Path,
    from: u64,
    to: u64,
    is_behind: &dyn Fn(&[u8]) -> Option<bool>,
) -> io::Result<Option<Judged>> {
    // One byte earlier: if that is a newline, the line at `from` is whole.
    let mut lines = Lines::open_at(path, from - 1)?;
    let Some(Line::Whole(rest)) = lines.read()? else { return Ok(None) };
    let mut start = from + rest.len() as u64;
    while start < to {
        let Some(Line::Whole(line)) = lines.read()? else { return Ok(None) };
        let end = start + line.len() as u64 + 1;
        if let Some(is_behind) = is_behind(line) {
            return Ok(Some(Judged { is_behind, start, end, seq: seq_of(line) }));
        }
        start = end;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seq: u64, iteration: Option<u32>, padding: usize) -> String {
        let iteration = iteration.map_or(String::new(), |n| format!(",\"iteration\":{n}"));
        let text = "x".repeat(padding);
        format!(
            "{{\"seq\":{seq},\"at\":\"2026-01-18T10:00:00.123Z\",\"type\":\"t.t\"{iteration},\"x\":\"{text}\"}}\n"
        )
    }

    #[test]
    fn every_record_and_every_iteration_is_found_where_it_is() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("journal");
        let (mut text, mut starts) = (String::new(), Vec::new());
        // Long and short lines, and long stretches that name no iteration.
        for seq in 1..=3000_u64 {
            starts.push(text.len() as u64);
            let iteration = (seq % 7 == 1).then_some((seq / 100) as u32);
            text.push_str(&line(seq, iteration, if seq % 500 == 0 { 200_000 } else { (seq % 90) as usize }));
        }
        let end = text.len() as u64;
        std::fs::write(&path, text + "{\"seq\":3001,\"at\":").expect("write");
        for seq in 1..=3000 {
            assert_eq!(offset_of(&path, Seq(seq)).expect("read"), starts[seq as usize - 1], "{seq}");
        }
        assert_eq!(offset_of(&path, Seq(3001)).expect("read"), end);
        assert_eq!(offset_of(&path, Seq(0)).expect("read"), 0);
        for iteration in 0..=30 {
            let names = |seq: &u64| seq % 7 == 1 && seq / 100 >= iteration;
            let first = (1..=3000).find(names).unwrap_or(3001);
            let next = (1..=3000).find(|seq| seq % 7 == 1 && seq / 100 > iteration).unwrap_or(3001);
            let found = iteration_range(&path, IterationNumber(iteration as u32)).expect("read");
            assert_eq!(found, Seq(first)..Seq(next), "{iteration}");
        }
    }

    #[test]
    fn the_head_of_a_line_is_read_and_nothing_behind_it() {
        assert_eq!(seq_of(b"{\"seq\":12,\"at\""), Some(Seq(12)));
        assert_eq!(seq_of(b"{\"at\":1,\"seq\":12"), None);
        assert_eq!(seq_of(b"{\"seq\":99999999999999999999999,"), None);
        assert_eq!(iteration_of(line(1, Some(7), 3).as_bytes()), Some(IterationNumber(7)));
        let quoted = b"{\"seq\":1,\"at\":\"x\",\"type\":\"t\",\"text\":\",\\\"iteration\\\":3\"}";
        assert_eq!(iteration_of(quoted), None);
    }
}
