//! Groups of the kernel (cgroup v2): what a program and all that it starts may use together, what became of that, and one word that
//! kills all of it.
//!
//! ralph finds the folder in which groups can be made. A keeper makes one for its program and removes it: it goes in, starts the
//! program, which stays inside with all that it starts, and goes out again, so that no limit and no kill is its own.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ralph_core::failure::Breach;
use serde::{Deserialize, Serialize};

/// Files of a group are lines.
const MOST: u64 = 64 << 10;
/// From the end of a program's processes until the kernel lets go of their group.
const REMOVALS: usize = 20;

/// Where groups can be made, and with what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ground {
    /// Groups are made in here.
    folder: PathBuf,
    /// The group that a keeper comes from.
    own: PathBuf,
    pub memory: bool,
    pub processes: bool,
    pub cpus: bool,
}

/// What all of a group may use together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) memory: Option<u64>,
    pub(super) processes: Option<u64>,
    pub(super) cpus: Option<u64>,
}

const CONTROLLERS: [(&str, &str); 3] = [("memory", "memory.max"), ("pids", "pids.max"), ("cpu", "cpu.max")];

impl Ground {
    /// Found by trying: a group is made, gone into and removed. Nothing where none can be had.
    pub fn find() -> Option<Self> {
        let mounts = read(Path::new("/proc/self/mountinfo")).ok()?;
        let own = own_folder(&mounts, &read(Path::new("/proc/self/cgroup")).ok()?)?;
        let ground = Self::above(&own.folder, &own.mount)?;
        ground.remove_old();
        Some(ground)
    }

    /// Groups of keepers that were killed.
    fn remove_old(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("ralph-")?.parse::<u32>().ok());
            if number.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists()) {
                // Nothing happens to one that is still at work.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }

    /// The first folder from `own` up to the `mount` that has everything; else the one that has most.
    fn above(own: &Path, mount: &Path) -> Option<Self> {
        let mut best: Option<Self> = None;
        for folder in own.ancestors().take_while(|folder| folder.starts_with(mount)) {
            let Some(found) = Self::tried(folder, own) else { continue };
            if best.as_ref().is_none_or(|best| found.worth() > best.worth()) {
                best = Some(found);
            }
            if best.as_ref().is_some_and(|best| best.worth() == CONTROLLERS.len()) {
                break;
            }
        }
        best
    }

    fn worth(&self) -> usize {
        [self.memory, self.processes, self.cpus].into_iter().filter(|has| *has).count()
    }

    fn tried(folder: &Path, own: &Path) -> Option<Self> {
        let trial = folder.join(format!("ralph-{}-trial", std::process::id()));
        fs::create_dir(&trial).ok()?;
        for (controller, file) in CONTROLLERS {
            if !trial.join(file).exists() {
                // The kernel refuses it to a group that has processes of its own, and to who may not.
                let _ = write(&folder.join("cgroup.subtree_control"), &format!("+{controller}"));
            }
        }
        let [memory, processes, cpus] = CONTROLLERS.map(|(_, file)| trial.join(file).exists());
        let goes = enter(&trial).and_then(|()| enter(own)).is_ok();
        let _ = fs::remove_dir(&trial);
        let (folder, own) = (folder.to_owned(), own.to_owned());
        goes.then_some(Self { folder, own, memory, processes, cpus })
    }
}

/// A group of one program.
pub(super) struct Group {
    path: PathBuf,
    own: PathBuf,
}

impl Group {
    pub(super) fn make(ground: &Ground, number: u32, limits: Limits) -> Result<Self, String> {
        let path = ground.folder.join(format!("ralph-{number}"));
        let said = |what: &Path| {
            let what = what.display().to_string();
            move |error: io::Error| format!("the group {what}: {error}")
        };
        // One of a keeper that was killed, whose number was given out again.
        let _ = fs::remove_dir(&path);
        fs::create_dir(&path).map_err(said(&path))?;
        let group = Self { path, own: ground.own.clone() };
        for (file, text) in lines(ground, limits) {
            let path = group.path.join(file);
            let optional = matches!(file, "memory.swap.max" | "memory.oom.group");
            match write(&path, &text) {
                // Where there is no swap there is nothing to hold.
                Err(_) if optional => {}
                result => result.map_err(said(&path))?,
            }
        }
        Ok(group)
    }

    /// What is started in `start` is in the group.
    pub(super) fn start<T>(&self, start: impl FnOnce() -> T) -> Result<T, String> {
        let said = |error| format!("the group {} cannot be entered: {error}", self.path.display());
        enter(&self.path).map_err(said)?;
        let started = start();
        enter(&self.own).map_err(said)?;
        Ok(started)
    }

    /// The limit that was gone past, if one was.
    pub(super) fn breach(&self) -> Option<Breach> {
        let count = |file: &str, key: &str| {
            read(&self.path.join(file)).ok().and_then(|text| count_of(&text, key)).unwrap_or(0)
        };
        if count("memory.events", "oom_kill") > 0 {
            return Some(Breach::Memory);
        }
        (count("pids.events", "max") > 0).then_some(Breach::Processes)
    }

    /// Everything in it at once. Nothing in it can outrun that.
    pub(super) fn kill(&self) {
        let _ = write(&self.path.join("cgroup.kill"), "1");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..REMOVALS {
            match fs::remove_dir(&self.path) {
                // What was killed is on its way out.
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                _ => return,
            }
        }
    }
}

/// What is written into a new group.
fn lines(ground: &Ground, limits: Limits) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(bytes) = limits.memory.filter(|_| ground.memory) {
        lines.push(("memory.max", bytes.to_string()));
        lines.push(("memory.swap.max", "0".to_owned()));
        // A program without one of its processes would go on in ways that nobody knows.
        lines.push(("memory.oom.group", "1".to_owned()));
    }
    if let Some(most) = limits.processes.filter(|_| ground.processes) {
        lines.push(("pids.max", most.to_string()));
    }
    if let Some(most) = limits.cpus.filter(|_| ground.cpus) {
        const PERIOD: u64 = 100_000;
        lines.push(("cpu.max", format!("{} {PERIOD}", most.saturating_mul(PERIOD))));
    }
    lines
}

struct Own {
    folder: PathBuf,
    mount: PathBuf,
}

/// The folder of the group that this process is in. `mounts` is `/proc/self/mountinfo`, `groups` `/proc/self/cgroup`.
fn own_folder(mounts: &str, groups: &str) -> Option<Own> {
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        kind.starts_with("cgroup2 ").then_some(())?;
        let mut fields = fields.split(' ').skip(3);
        let (root, mount) = (fields.next()?, PathBuf::from(unescaped(fields.next()?)));
        let inside = Path::new(path).strip_prefix(unescaped(root)).ok()?;
        // A group around the namespace that this is in: out of reach.
        let is_plain = inside.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        is_plain.then(|| Own { folder: mount.join(inside), mount })
    })
}

/// Spaces and the like stand as three octal digits in there.
fn unescaped(field: &str) -> String {
    let mut out = String::new();
    let mut rest = field;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let digits = after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match digits.filter(u8::is_ascii) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                out.push('\\');
                rest = after;
            }
        }
    }
    out + rest
}

/// `oom_kill 3` in a file of events.
fn count_of(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Zero stands for who writes it.
fn enter(group: &Path) -> io::Result<()> {
    write(&group.join("cgroup.procs"), "0")
}

/// Into what is there: no file comes to be.
fn write(path: &Path, text: &str) -> io::Result<()> {
    io::Write::write_all(&mut fs::OpenOptions::new().write(true).open(path)?, text.as_bytes())
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(MOST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { memory: Some(1 << 30), processes: Some(64), cpus: Some(2) };

    fn ground(folder: &Path, memory: bool, processes: bool, cpus: bool) -> Ground {
        Ground { folder: folder.to_owned(), own: folder.to_owned(), memory, processes, cpus }
    }

    #[test]
    fn the_own_group_is_found_where_it_is_mounted() {
        let mounts = "24 1 0:21 / /proc rw - proc proc rw\n\
             30 1 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n\
             35 30 0:31 / /sys/fs/my\\040cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
        let own = own_folder(mounts, "5:pids:/x\n0::/user.slice/run.scope\n").unwrap();
        assert_eq!(own.folder, Path::new("/sys/fs/my cgroup/user.slice/run.scope"));
        assert_eq!(own.mount, Path::new("/sys/fs/my cgroup"));
        // In a container the group of the container is mounted as the root.
        let mounts = "35 30 0:31 /box /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(own_folder(mounts, "0::/box/a").unwrap().folder, Path::new("/sys/fs/cgroup/a"));
        for (mounts, groups) in
            [(mounts, "0::/other"), (mounts, "5:pids:/box"), ("", "0::/"), (mounts, "0::/box/..")]
        {
            assert!(own_folder(mounts, groups).is_none(), "{mounts} {groups}");
        }
    }

    #[test]
    fn a_folder_higher_up_is_taken_if_it_offers_more() {
        let tree = tempfile::tempdir().unwrap();
        let own = tree.path().join("slice/scope");
        fs::create_dir_all(&own).unwrap();
        // No group can be entered here: there are no files of the kernel.
        assert_eq!(Ground::above(&own, tree.path()), None);
        let parts = ground(&own, true, true, false);
        assert_eq!(parts.worth(), 2);
        assert!(fs::read_dir(&own).unwrap().next().is_none(), "nothing of a trial is left");
    }

    #[test]
    fn only_what_the_ground_offers_is_written() {
        let folder = Path::new("/x");
        let all = lines(&ground(folder, true, true, true), LIMITS);
        let expected = [
            ("memory.max", "1073741824"),
            ("memory.swap.max", "0"),
            ("memory.oom.group", "1"),
            ("pids.max", "64"),
            ("cpu.max", "200000 100000"),
        ];
        assert_eq!(all, expected.map(|(file, text)| (file, text.to_owned())));
        assert!(lines(&ground(folder, false, false, false), LIMITS).is_empty());
        assert!(lines(&ground(folder, true, true, true), Limits::default()).is_empty());
    }

    #[test]
    fn a_breach_is_read_from_the_events() {
        let tree = tempfile::tempdir().unwrap();
        let (path, own) = (tree.path().to_owned(), tree.path().to_owned());
        let group = Group { path: path.clone(), own };
        let breach = |memory: &str, pids: &str| {
            fs::write(path.join("memory.events"), memory).unwrap();
            fs::write(path.join("pids.events"), pids).unwrap();
            group.breach()
        };
        assert_eq!(group.breach(), None, "no controller");
        assert_eq!(
            breach("low 0\nmax 9\noom 1\noom_kill 0\n", "max 0\n"),
            None,
            "it got by with what it had"
        );
        assert_eq!(breach("oom_kill 2\noom_group_kill 1\n", "max 3\n"), Some(Breach::Memory));
        assert_eq!(breach("oom_kill 0\n", "max 3\n"), Some(Breach::Processes));
        assert_eq!(breach("\u{0}nonsense", "max many\n"), None);
    }

    #[test]
    fn a_limit_that_cannot_be_written_is_no_limit_and_said() {
        let tree = tempfile::tempdir().unwrap();
        let made = Group::make(&ground(tree.path(), false, true, false), 1, LIMITS);
        assert!(made.is_err_and(|why| why.contains("pids.max")));
        assert!(fs::read_dir(tree.path()).unwrap().next().is_none(), "and no group is left");
    }

    /// Where this machine has groups: what is in one dies of one word, and the group goes.
    #[test]
    fn a_real_group_is_killed_as_a_whole() {
        let Some(ground) = Ground::find() else { return };
        let group = Group::make(&ground, std::process::id(), Limits::default()).unwrap();
        let start =
            || std::process::Command::new("setsid").args(["sh", "-c", "sleep 1000 & sleep 1000"]).spawn();
        let mut child = group.start(start).unwrap().unwrap();
        let path = group.path.clone();
        assert!(read(&path.join("cgroup.procs")).unwrap().contains(&child.id().to_string()));
        let own = read(&ground.own.join("cgroup.procs")).unwrap();
        assert!(own.lines().any(|line| line == std::process::id().to_string()), "this process is out again");
        group.kill();
        assert!(!child.wait().unwrap().success());
        drop(group);
        assert!(!path.exists());
    }
}
