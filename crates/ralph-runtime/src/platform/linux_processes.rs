//! The processes of this machine, as far as /proc shows them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use crate::attempt::Process;

/// All that can be seen. Any may end meanwhile: it is left out.
pub(crate) fn processes() -> Vec<Process> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    all.flatten().filter_map(|entry| process(entry.file_name().to_str()?.parse().ok()?)).collect()
}

fn process(pid: u32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let program = fs::metadata(format!("/proc/{pid}/exe")).ok();
    // Two file systems may have the same number for a file; then a tool is taken for the agent, which is no harm.
    let program = program.map(|file| file.ino().rotate_left(32) ^ file.dev());
    read(pid, &stat, &io, program)
}

/// The fields of its status are counted behind the name, which may hold anything.
fn read(pid: u32, stat: &[u8], io: &str, program: Option<u64>) -> Option<Process> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let fields: Vec<&str> =
        str::from_utf8(stat.get(name_end + 1..)?).ok()?.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let ticks = number(11)?.saturating_add(number(12)?);
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    let bytes = |key: &str| {
        let line = io.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|rest| rest.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    Some(Process {
        pid,
        parent: u32::try_from(number(1)?).ok()?,
        started: number(19)?,
        cpu: Duration::from_millis(ticks.saturating_mul(1000) / per_second),
        bytes: bytes("rchar:").saturating_add(bytes("wchar:")),
        program,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_status_is_read_behind_any_name() {
        let line = b"42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 150 50 9 9 20 0 1 0 12345 1 2";
        let found = read(42, line, "rchar: 10\nwchar: 5\nsyscr: 99\n", Some(1)).unwrap();
        assert_eq!((found.parent, found.started, found.bytes), (7, 12345, 15));
        assert_eq!(found.cpu, Duration::from_millis(200_000 / rustix::param::clock_ticks_per_second()));
        assert_eq!(read(42, b"42 (x) S 7", "", None), None);
        assert_eq!(read(42, b"", "", None), None);
    }

    #[test]
    fn this_process_is_among_them() {
        let mine = std::process::id();
        let all = processes();
        let found = all.iter().find(|one| one.pid == mine).unwrap();
        assert_eq!(found.parent, std::os::unix::process::parent_id());
        assert!(found.program.is_some() && found.bytes > 0);
    }
}
