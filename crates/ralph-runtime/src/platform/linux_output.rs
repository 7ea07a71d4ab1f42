//! The files that ralph's own output ends up in: a redirection, or whatever reads a pipe or a terminal of ralph and writes
//! files itself, such as `tee` and `script`. Found in `/proc`.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// `ralph run | ts | tee log`: each program of the pipe may write files.
const MAX_HOPS: usize = 8;
/// Descriptors of one process that are looked at.
const MAX_DESCRIPTORS: usize = 4096;

/// Finds these files again and again. Whoever reads ralph's output is looked up once.
#[derive(Debug, Default)]
pub struct OwnOutput {
    readers: Vec<u32>,
    fruitless: u32,
}

/// A reader that belongs to another user is never found: nobody searches for ever.
const MAX_FRUITLESS: u32 = 5;

/// Where a descriptor leads.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    File(PathBuf),
    /// By the number that the kernel gave the pipe.
    Pipe(u64),
    /// By the number of the terminal.
    Terminal(u32),
    Other,
}

impl OwnOutput {
    /// The files behind standard output and standard error, as far as they can be seen.
    pub fn files(&mut self) -> Vec<PathBuf> {
        let own: Vec<Target> = ["1", "2"].iter().map(|fd| target(Path::new("/proc/self/fd"), fd)).collect();
        let mut files: Vec<PathBuf> = own.iter().filter_map(Target::file).collect();
        if own.iter().any(Target::has_reader) {
            files.extend(self.readers_files(&own));
        }
        files.sort_unstable();
        files.dedup();
        files
    }

    fn readers_files(&mut self, own: &[Target]) -> Vec<PathBuf> {
        self.readers.retain(|pid| Path::new(&format!("/proc/{pid}/fd")).exists());
        if self.readers.is_empty() && self.fruitless < MAX_FRUITLESS {
            self.readers = readers_of(own);
            self.fruitless = if self.readers.is_empty() { self.fruitless.saturating_add(1) } else { 0 };
        }
        self.readers.iter().flat_map(|pid| written_files(*pid)).collect()
    }
}

impl Target {
    fn file(&self) -> Option<PathBuf> {
        match self {
            Target::File(path) => Some(path.clone()),
            _ => None,
        }
    }

    fn has_reader(&self) -> bool {
        matches!(self, Target::Pipe(_) | Target::Terminal(_))
    }
}

/// All processes that read what goes into these, and into what those write in turn.
fn readers_of(sources: &[Target]) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    let mut sources: Vec<Target> = sources.iter().filter(|target| target.has_reader()).cloned().collect();
    for _ in 0..MAX_HOPS {
        let new: Vec<u32> = processes()
            .filter(|pid| *pid != std::process::id() && !found.contains(pid) && reads_any(*pid, &sources))
            .collect();
        if new.is_empty() {
            break;
        }
        let next = new.iter().flat_map(|pid| descriptors(*pid)).filter(|one| one.writes);
        sources = next.map(|one| one.target).filter(|target| matches!(target, Target::Pipe(_))).collect();
        found.extend(new);
    }
    found
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn reads_any(pid: u32, sources: &[Target]) -> bool {
    descriptors(pid).any(|one| match &one.target {
        Target::Pipe(_) => one.reads && sources.contains(&one.target),
        // The other side of a terminal belongs to what shows it, not to the programs in it.
        Target::Terminal(_) => one.is_master && sources.contains(&one.target),
        _ => false,
    })
}

/// The plain files that a process has open to write.
fn written_files(pid: u32) -> Vec<PathBuf> {
    descriptors(pid).filter(|one| one.writes).filter_map(|one| one.target.file()).collect()
}

struct Descriptor {
    target: Target,
    reads: bool,
    writes: bool,
    /// The side of a terminal that shows it.
    is_master: bool,
}

fn descriptors(pid: u32) -> impl Iterator<Item = Descriptor> {
    let folder = PathBuf::from(format!("/proc/{pid}/fd"));
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten().take(MAX_DESCRIPTORS);
    entries.filter_map(move |entry| {
        let name = entry.file_name();
        let name = name.to_str()?;
        let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{name}")).ok()?;
        let field = |key: &str| info.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let flags = u32::from_str_radix(field("flags:")?, 8).ok()?;
        let (mode, shown) = (flags & 0o3, field("tty-index:").and_then(|number| number.parse().ok()));
        let target = shown.map_or_else(|| target(&folder, name), Target::Terminal);
        Some(Descriptor { target, reads: mode != 1, writes: mode != 0, is_master: shown.is_some() })
    })
}

fn target(folder: &Path, name: &str) -> Target {
    let link = folder.join(name);
    // The status behind the link, not a file that has the same name now.
    let (Ok(path), Ok(meta)) = (fs::read_link(&link), fs::metadata(&link)) else { return Target::Other };
    let kind = meta.file_type();
    if kind.is_fifo() {
        return Target::Pipe(meta.ino());
    }
    if kind.is_char_device() {
        let number = path.strip_prefix("/dev/pts").ok().and_then(|rest| rest.to_str()?.parse().ok());
        return number.map_or(Target::Other, Target::Terminal);
    }
    let same = |there: fs::Metadata| (there.dev(), there.ino()) == (meta.dev(), meta.ino());
    match kind.is_file() && fs::symlink_metadata(&path).is_ok_and(same) {
        true => Target::File(path),
        false => Target::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_chain_of_programs_behind_a_pipe_leads_to_their_files() {
        let dir = tempfile::tempdir().expect("a folder");
        let (first, second) = (dir.path().join("first.log"), dir.path().join("second.log"));
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut tee =
            Command::new("tee").arg(&first).stdin(reader).stdout(Stdio::piped()).spawn().expect("tee starts");
        let between = tee.stdout.take().expect("its output");
        let mut end = Command::new("tee")
            .arg(&second)
            .stdin(between)
            .stdout(Stdio::null())
            .spawn()
            .expect("tee starts");
        let number = rustix::fs::fstat(writer.as_fd()).expect("a status").st_ino;
        let both_open = || first.exists() && second.exists();
        while !both_open() {
            std::thread::yield_now();
        }
        let readers = readers_of(&[Target::Pipe(number)]);
        let mut files: Vec<PathBuf> = readers.iter().flat_map(|pid| written_files(*pid)).collect();
        // What stands behind the standard error of this test is none of it.
        files.retain(|file| file.starts_with(dir.path()));
        files.sort();
        drop(writer);
        let _ = (tee.wait(), end.wait());
        assert_eq!(files, [first, second]);
    }

    #[test]
    fn a_file_that_was_removed_is_nowhere() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("log");
        let file = fs::File::create(&path).expect("a file");
        let name = std::os::fd::AsRawFd::as_raw_fd(&file).to_string();
        assert_eq!(target(Path::new("/proc/self/fd"), &name), Target::File(path.clone()));
        fs::remove_file(&path).expect("gone");
        assert_eq!(target(Path::new("/proc/self/fd"), &name), Target::Other);
    }
}
