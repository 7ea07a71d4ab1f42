//! Recognises a log of ralph's own output by what stands in it.
//!
//! Most logs are held open by whoever reads ralph's output, and are found by that. One that is opened anew for every line
//! (`ralph run | while read line; do echo "$line" >> run.log; done`) is not: it is known by its last lines, which are
//! those that this process has printed from its first one on, in their order, each perhaps behind a time stamp.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;

use ralph_store::plain::{self, Links};

use crate::lock;

/// Lines of the own output that are remembered.
const MAX_LINES: usize = 16_384;
/// A line that goes on behind this is remembered by its beginning.
const MAX_LINE: usize = 4096;
/// Of a file, from its end.
const MAX_READ: u64 = 4 << 20;
/// Words of a time stamp.
const MAX_STAMP: usize = 7;
/// Places of the output at which a file may end, from the newest.
const MAX_PLACES: usize = 64;

static PRINTED: Mutex<Printed> = Mutex::new(Printed::new());

/// What this process has printed, as a number for each line that is not empty.
#[derive(Debug)]
struct Printed {
    lines: VecDeque<u64>,
    /// The oldest are not there any more.
    is_cut: bool,
    /// A line whose end has not been printed.
    open: Vec<u8>,
}

/// Writes, and remembers what was written. For what ralph prints about a run.
#[derive(Debug)]
pub struct Noted<W>(pub W);

impl<W: Write> Write for Noted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Remembered first: a reader may have it in its log before the call comes back.
        lock(&PRINTED).note(bytes);
        self.0.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Whether the file ends with what this process has printed. One that is `known` to be such a log may have begun with what is
/// no longer remembered.
pub(crate) fn is_echo(path: &Path, known: bool) -> bool {
    if lock(&PRINTED).lines.is_empty() {
        return false;
    }
    let Ok((text, whole)) = read_end(path) else { return false };
    lock(&PRINTED).stands_at_the_end_of(&text, whole, known)
}

fn read_end(path: &Path) -> io::Result<(String, bool)> {
    let mut file = plain::open(path, Links::Refuse)?;
    let skipped = file.metadata()?.len().saturating_sub(MAX_READ);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(MAX_READ).read_to_end(&mut bytes)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), skipped == 0))
}

impl Printed {
    const fn new() -> Self {
        Self { lines: VecDeque::new(), is_cut: false, open: Vec::new() }
    }

    fn note(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = MAX_LINE.saturating_sub(self.open.len());
            self.open.extend(piece.iter().take(room));
            if !piece.ends_with(b"\n") {
                continue;
            }
            let line = std::mem::take(&mut self.open);
            let line = String::from_utf8_lossy(&line);
            let words = words(&line);
            if words.is_empty() {
                continue;
            }
            if self.lines.len() == MAX_LINES {
                self.lines.pop_front();
                self.is_cut = true;
            }
            self.lines.push_back(number(&words));
        }
    }

    fn stands_at_the_end_of(&self, text: &str, whole: bool, known: bool) -> bool {
        let lines: Vec<Line> = text.lines().rev().take(2 * MAX_LINES).map(Line::of).collect();
        let said = |line: &&Line| line.numbers.iter().any(|one| self.lines.contains(one));
        let Some(last) = lines.iter().find(|line| !line.may_be_empty || said(line)) else { return false };
        let ends = (0..self.lines.len()).rev().filter(|n| last.numbers.contains(&self.lines[*n]));
        let goes_back = |end: usize| {
            let mut left = lines.iter();
            let stands = |one: &&u64| {
                left.find(|line| !line.may_be_empty || line.numbers.contains(one))
                    .is_some_and(|line| line.numbers.contains(one))
            };
            let same = self.lines.range(..=end).rev().take_while(stands).count();
            // All that is remembered up to there; or, of a log that is longer, all that was read of it.
            let all = same == end.saturating_add(1) && (known || !self.is_cut);
            all || known
                && !whole
                && same.saturating_add(1) >= lines.iter().filter(|line| !line.may_be_empty).count()
        };
        let ends = ends.take(MAX_PLACES);
        ends.into_iter().any(goes_back)
    }
}

/// A shell's `read` drops backslashes and space at both ends, its `echo` folds the space between.
fn words(line: &str) -> Vec<String> {
    let mut cut = line.len().min(MAX_LINE);
    while !line.is_char_boundary(cut) {
        cut -= 1;
    }
    line[..cut].split_whitespace().map(|word| word.replace('\\', "")).collect()
}

fn number(words: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}

/// A line of a file.
struct Line {
    /// As it is, and without what may be a time stamp before it.
    numbers: Vec<u64>,
    /// Nothing stands in it but what may be a time stamp: perhaps it was an empty line.
    may_be_empty: bool,
}

impl Line {
    fn of(line: &str) -> Self {
        let words = words(line);
        let stamped = words.iter().take(MAX_STAMP).take_while(|word| is_of_stamp(word)).count();
        let numbers = (0..=stamped).filter(|n| *n < words.len()).map(|n| number(&words[n..])).collect();
        let is_dated =
            words.is_empty() || words.iter().any(|word| word.contains(|c: char| c.is_ascii_digit()));
        Self { numbers, may_be_empty: stamped == words.len() && is_dated }
    }
}

/// `Nov`, `19`, `[12:00:01.123]`, `2026-11-19T02:00:00Z`, `PM`: nothing that says something.
fn is_of_stamp(word: &str) -> bool {
    let letters = word.split(|c: char| !c.is_alphabetic()).map(str::len).max().unwrap_or(0);
    let plain = word.chars().all(|c| c.is_alphanumeric() || ":.,+-/[]()|>".contains(c));
    let says = word == "|" || word.contains(char::is_alphanumeric);
    plain
        && says
        && word.len() <= 40
        && letters <= if word.chars().any(|c| c.is_ascii_digit()) { 3 } else { 4 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> Printed {
        let mut printed = Printed::new();
        // In pieces, as it comes.
        text.as_bytes().chunks(7).for_each(|piece| printed.note(piece));
        printed
    }

    const SCREEN: &str =
        "run 20261119-1 in /work\nagent   ./a.sh\n\n#1 ok 1ms, \\o/\n#2 ok 1ms  (iterations 2/9)\n";

    #[test]
    fn a_log_of_what_was_printed_is_known_with_and_without_stamps_and_behind_older_lines() {
        let printed = printed(SCREEN);
        let is_log = |text: &str| printed.stands_at_the_end_of(text, true, false);
        assert!(is_log(SCREEN));
        assert!(is_log("run 20261119-1 in /work\nagent ./a.sh\n#1 ok 1ms, o/\n"), "as a shell repeats it");
        assert!(
            is_log("run 20261118-9 in /work\ncomplete\nrun 20261119-1 in /work\n"),
            "a reader lags behind"
        );
        let stamped =
            |stamp: &str| SCREEN.lines().map(|line| format!("{stamp} {line}\n")).collect::<String>();
        for stamp in
            ["Nov 19 02:00:01", "[2026-11-19T02:00:01.123Z]", "Thu Nov 19 02:00:01 AM UTC 2026", "17 |"]
        {
            assert!(is_log(&stamped(stamp)), "{stamp}");
        }
    }

    #[test]
    fn what_says_anything_else_is_no_log() {
        let printed = printed(SCREEN);
        let is_log = |text: &str| printed.stands_at_the_end_of(text, true, false);
        assert!(!is_log(""));
        assert!(!is_log("agent ./a.sh\n#1 ok 1ms, o/\n"), "not from the first line on");
        assert!(!is_log(&format!("{SCREEN}fn work() {{}}\n")));
        assert!(!is_log("run 20261119-1 in /work\nagent ./a.sh\nfn work() {}\n#1 ok 1ms, o/\n"));
        let comment: String = SCREEN.lines().map(|line| format!("// {line} \n")).collect();
        let code: String = SCREEN.lines().map(|line| format!("print {line}\n")).collect();
        assert!(!is_log(&comment) && !is_log(&comment.replace("// ", "//")) && !is_log(&code));
    }

    #[test]
    fn a_log_that_is_longer_than_what_is_remembered_stays_known_and_none_begins_so() {
        let text: String = (0..MAX_LINES + 9).map(|n| format!("line {n} of many\n")).collect();
        let printed = printed(&text);
        assert!(printed.stands_at_the_end_of(&text, true, true));
        assert!(!printed.stands_at_the_end_of(&text, true, false));
        let tail: String = text.lines().skip(MAX_LINES - 9).map(|line| format!("{line}\n")).collect();
        assert!(printed.stands_at_the_end_of(&format!("ny\n{tail}"), false, true));
        assert!(!printed.stands_at_the_end_of(&format!("{tail}else\n"), false, true));
    }
}
