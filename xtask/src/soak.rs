//! `cargo xtask soak [--minutes N] [--seed S]`: a run with a quick agent, killed every few seconds and resumed, for a long time. Its
//! memory and its descriptors stay flat, nobody becomes a zombie, nothing is left, and the journal has every iteration once.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::lab::{Lab, living, only_run, proc_status};
use crate::repo;

const MINUTES: u64 = 20;
/// An iteration of a tenth of a second, with a child that it leaves behind.
const AGENT: &str = "#!/bin/sh\n(sleep 300 &)\necho \"working on $RALPH_ITERATION\"\nsleep 0.1\n";
/// The environment of everything below a soak has this.
const TOKEN: &str = "RALPH_SOAK";
/// What later sessions may take more than the first ones: the journal that they open is longer.
const MORE_KIB: u64 = 6 << 10;
const MORE_FILES: u64 = 4;

/// What one process of ralph took while it lived.
#[derive(Debug, Clone, Copy, Default)]
struct Took {
    kib: u64,
    files: u64,
    zombies: u64,
}

pub fn run(args: &[String]) -> Result<()> {
    let (minutes, seed) = options(args)?;
    let lab = Lab::new("soak")?;
    let (state, workspace) = (lab.folder("state")?, lab.folder("workspace")?);
    let agent = lab.file("agent", AGENT)?;
    let deadline = Instant::now() + Duration::from_secs(minutes * 60);
    let (mut chance, mut all) = (seed, Vec::new());
    let mut run: Option<String> = None;
    while Instant::now() < deadline {
        let mut child = start(&lab, &state, &workspace, &agent, run.as_deref())?;
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = Duration::from_millis(2_000 + (chance >> 33) % 4_000);
        all.push(watch(&mut child, length.min(deadline.saturating_duration_since(Instant::now())))?);
        child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
        run = run.or(Some(name(&only_run(&state)?)));
    }
    let run = run.ok_or("not even one session")?;
    judge(&all)?;
    let left = left_behind()?;
    let told = repo::stdout_of(lab.ralph(&state).args(["replay", "--verify", &run, "-C"]).arg(&workspace))?;
    println!("{} sessions in {minutes} minutes, {left} left alive; {}", all.len(), told.trim());
    match left {
        0 => Ok(()),
        _ => Err("something is left alive".into()),
    }
}

fn options(args: &[String]) -> Result<(u64, u64)> {
    let (mut minutes, mut seed) = (MINUTES, 1);
    for pair in args.chunks(2) {
        let number = pair.get(1).and_then(|text| text.parse().ok());
        match (pair[0].as_str(), number) {
            ("--minutes", Some(number)) => minutes = number,
            ("--seed", Some(number)) => seed = number,
            _ => return Err("soak takes --minutes N and --seed S".into()),
        }
    }
    Ok((minutes.max(1), seed))
}

fn start(lab: &Lab, state: &Path, workspace: &Path, agent: &Path, run: Option<&str>) -> Result<Child> {
    let mut ralph = lab.ralph(state);
    match run {
        Some(run) => ralph.args(["resume", run]),
        None => {
            let agent = format!("sh {}", agent.display());
            ralph.args(["run", "-p", "task", "-a", &agent, "-n", "none", "--max-runtime", "24h"]).args([
                "--set",
                "loop_detection.action=warn",
                "--set",
                "event_loop.max_attempts=1000000",
            ])
        }
    };
    ralph.arg("-C").arg(workspace).env(TOKEN, std::process::id().to_string());
    let child = ralph.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    child.map_err(|error| format!("{ralph:?}: {error}"))
}

/// Looks at a process for a while. It must not end by itself.
fn watch(child: &mut Child, length: Duration) -> Result<Took> {
    let (end, mut took) = (Instant::now() + length, Took::default());
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(200));
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Err(format!("ralph ended by itself: {status}"));
        }
        took.kib = took.kib.max(proc_status(child.id(), "VmRSS").unwrap_or(0));
        let files = std::fs::read_dir(format!("/proc/{}/fd", child.id())).map_or(0, Iterator::count);
        took.files = took.files.max(files as u64);
        took.zombies = zombies_of(child.id());
    }
    Ok(took)
}

/// Children that have ended and that nobody has asked about. One that has just ended is none yet the next time.
fn zombies_of(parent: u32) -> u64 {
    let stats = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let of = stats.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let is_one = |stat: &String| {
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut words = rest.split_whitespace();
        words.next() == Some("Z") && words.next() == Some(parent.to_string().as_str())
    };
    of.filter(is_one).count() as u64
}

/// The last quarter of the sessions against the first one.
fn judge(all: &[Took]) -> Result<()> {
    let quarter = (all.len() / 4).max(1);
    let middle = |part: &[Took], of: fn(&Took) -> u64| {
        let mut sorted: Vec<u64> = part.iter().map(of).collect();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    };
    let (first, last) = (&all[..quarter], &all[all.len() - quarter..]);
    let (kib, files, zombies) = (|it: &Took| it.kib, |it: &Took| it.files, |it: &Took| it.zombies);
    println!("memory:      {} KiB at first, {} KiB at last", middle(first, kib), middle(last, kib));
    println!("descriptors: {} at first, {} at last", middle(first, files), middle(last, files));
    println!(
        "zombies:     {} in the middle, {} at most",
        middle(all, zombies),
        all.iter().map(zombies).max().unwrap_or(0)
    );
    if middle(last, kib) > middle(first, kib) + MORE_KIB {
        return Err("memory grows".into());
    }
    if middle(last, files) > middle(first, files) + MORE_FILES {
        return Err("descriptors leak".into());
    }
    match middle(all, zombies) {
        0 => Ok(()),
        n => Err(format!("{n} zombies")),
    }
}

/// How many processes of this soak are alive two seconds after the last kill.
fn left_behind() -> Result<usize> {
    let mine = format!("{TOKEN}={}", std::process::id());
    let alive = || {
        living(|process| {
            let environ = std::fs::read(process.join("environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|pair| pair == mine.as_bytes())
        })
    };
    let deadline = Instant::now() + Duration::from_secs(2);
    while !alive().is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    let left = alive();
    left.iter().for_each(|one| println!("alive: {one}"));
    Ok(left.len())
}

fn name(run: &Path) -> String {
    run.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_is_told() {
        let took = |kib, files, zombies| Took { kib, files, zombies };
        let flat = vec![took(9000, 20, 0); 8];
        assert_eq!(judge(&flat), Ok(()));
        let grown = |last: Took| [flat.clone(), vec![last; 8]].concat();
        assert!(judge(&grown(took(30_000, 20, 0))).unwrap_err().contains("memory"));
        assert!(judge(&grown(took(9000, 90, 0))).unwrap_err().contains("descriptors"));
        assert!(judge(&grown(took(9000, 20, 3))).unwrap_err().contains("zombies"));
    }

    #[test]
    fn options_are_numbers() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(options(&words("--minutes 3 --seed 9")), Ok((3, 9)));
        assert!(options(&words("--minutes x")).is_err() && options(&words("--hours 3")).is_err());
    }
}
