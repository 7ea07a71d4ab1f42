//! Figures as Markdown, and what they were measured on.

use crate::lab::Lab;
use crate::{Result, repo};
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// One line of the table.
pub struct Row {
    what: String,
    figure: String,
    against: String,
    goal: String,
}

impl Row {
    pub const HEAD: &'static str = "| what | figure | against | goal |\n|---|---|---|---|";

    pub fn new(what: impl Into<String>, figure: impl Into<String>) -> Row {
        Row { what: what.into(), figure: figure.into(), against: String::new(), goal: String::new() }
    }

    pub fn against(mut self, text: impl Into<String>) -> Row {
        self.against = text.into();
        self
    }

    pub fn goal(mut self, text: &str, met: bool) -> Row {
        self.goal = format!("{text}: {}", if met { "met" } else { "missed" });
        self
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} | {} | {} | {} |", self.what, self.figure, self.against, self.goal)
    }
}

/// The entry of the history.
pub fn entry(about: &str, rows: &[Row]) -> String {
    let rows: Vec<String> = rows.iter().map(Row::to_string).collect();
    format!("{about}\n\n{}\n{}\n", Row::HEAD, rows.join("\n"))
}

/// The heading of an entry: when, which commit, on what.
pub fn about(lab: &Lab) -> Result<String> {
    let root = repo::root();
    let said = |program: &str, args: &[&str]| {
        let text = repo::stdout_of(Command::new(program).current_dir(&root).args(args))?;
        Ok::<String, String>(text.trim().to_owned())
    };
    let commit = said("git", &["describe", "--always", "--dirty"]).unwrap_or_else(|_| "no clone".into());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    Ok(format!(
        "### {}, commit {commit}\n\nLinux {}, {cores} cores, load average {}; state on {}{}.",
        said("date", &["-u", "+%Y-%m-%d %H:%M UTC"])?,
        said("uname", &["-r"])?,
        load(),
        file_system(&lab.path(".")),
        if shm().is_some() { ", and on tmpfs where it says so" } else { "" },
    ))
}

pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
}

/// Memory that passes for a disk: a sync costs nothing there.
pub fn shm() -> Option<&'static Path> {
    Some(Path::new("/dev/shm")).filter(|path| path.is_dir())
}

fn file_system(path: &Path) -> String {
    let text = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let path = path.canonicalize().unwrap_or_default();
    let mounts = text.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (at, kind) = (words.next()?, words.next()?);
        path.starts_with(at).then_some((at.len(), kind))
    });
    mounts.max_by_key(|(len, _)| *len).map_or("?", |(_, kind)| kind).to_owned()
}

/// The middle one. What is measured here has no lower half that lies.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

pub fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

pub fn ratio(ours: Duration, theirs: Duration) -> f64 {
    ours.as_secs_f64() / theirs.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_line_of_a_table() {
        let row = Row::new("a", "1 ms").against("2 ms").goal("under 2 ms", true);
        assert_eq!(row.to_string(), "| a | 1 ms | 2 ms | under 2 ms: met |");
        assert!(entry("### x", &[row, Row::new("b", "2")]).ends_with("met |\n| b | 2 |  |  |\n"));
    }

    #[test]
    fn the_median_is_the_middle_one() {
        let of = |list: &[u64]| median(list.iter().map(|&n| Duration::from_millis(n)).collect());
        assert_eq!(of(&[9, 1, 5]), Duration::from_millis(5));
        assert_eq!(of(&[4, 1]), Duration::from_millis(4));
        assert_eq!(of(&[]), Duration::ZERO);
        assert_eq!(ratio(Duration::from_millis(3), Duration::from_millis(2)), 1.5);
    }
}
