//! Escapers: agents that leave something behind which wants to live, ended in every way there is. Two seconds later nothing may be
//! alive, and no agent may start beside one of an earlier session.

mod kinds;
mod ways;

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::Tally;
use super::world::wait_until;
use crate::Result;
use crate::lab::{Lab, empty, living};
use kinds::{KINDS, Kind};
use ways::{WAYS, Way};

/// Rounds at the same time: each mostly waits.
const AT_ONCE: u32 = 20;
/// How long a person may find anything alive after the end.
const MERCY: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(60);
const NOBODY: u32 = 65534;

/// The user that ralph runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Root,
    Ordinary,
}

#[derive(Default)]
struct Score {
    rounds: u32,
    survivors: usize,
    resumes: u32,
    second_agents: usize,
}

pub fn run(lab: &Lab, rounds: u32, contain: &str, user: Option<&str>, tally: &mut Tally) -> Result<()> {
    if rounds == 0 {
        return Ok(());
    }
    let mut scores: BTreeMap<(Who, &str), Score> = BTreeMap::new();
    let chosen = |who: &Who| user.is_none_or(|name| format!("{who:?}").eq_ignore_ascii_case(name));
    for who in users().into_iter().filter(chosen) {
        for kind in KINDS {
            for way in WAYS {
                let since = Instant::now();
                let mut done = 0;
                while done < rounds {
                    let many = AT_ONCE.min(rounds - done);
                    let found = batch(lab, who, kind, way, many, contain)?;
                    let score = scores.entry((who, way.name)).or_default();
                    add(score, &found);
                    if found.survivors + found.second_agents > 0 {
                        let (s, a) = (found.survivors, found.second_agents);
                        tally.wrong(format!(
                            "{who:?}, {}, {}: {s} survivors, {a} second agents",
                            kind.name, way.name
                        ));
                    }
                    done += many;
                }
                println!("{who:?}: {}: {}: {} s", kind.name, way.name, since.elapsed().as_secs());
            }
        }
    }
    for ((who, way), score) in &scores {
        let what = format!("escapers, {who:?}, {way}: rounds, survivors; resumes, second agents");
        let Score { rounds, survivors, resumes, second_agents } = score;
        tally.count(&what, format!("{rounds}, {survivors}; {resumes}, {second_agents}"));
    }
    Ok(())
}

fn add(score: &mut Score, found: &Score) {
    score.rounds += found.rounds;
    score.survivors += found.survivors;
    score.resumes += found.resumes;
    score.second_agents += found.second_agents;
}

/// Only root can be somebody else as well.
fn users() -> Vec<Who> {
    match rustix::process::geteuid().is_root() {
        true => vec![Who::Root, Who::Ordinary],
        false => vec![Who::Ordinary],
    }
}

struct Round {
    token: String,
    state: PathBuf,
    workspace: PathBuf,
    ralph: Child,
}

fn batch(lab: &Lab, who: Who, kind: &Kind, way: &Way, many: u32, contain: &str) -> Result<Score> {
    let mut score = Score { rounds: many, ..Score::default() };
    let mut rounds = Vec::new();
    for number in 0..many {
        rounds.push(start(lab, who, (kind, way), number, contain)?);
    }
    for round in &mut rounds {
        let up = round.workspace.join("up");
        let waited = wait_until(PATIENCE, || Ok((up.exists() || ended(&mut round.ralph)).then_some(())))?;
        waited.ok_or_else(|| format!("{} started no agent: {}", round.token, said(round)))?;
    }
    // A moment for what it started to change its session, its parent or its name.
    std::thread::sleep(Duration::from_millis(50));
    for round in &mut rounds {
        (way.end)(round.ralph.id());
        if way.kills_ralph {
            // Killed by now; a child that is not collected looks alive.
            let _ = round.ralph.wait();
        }
    }
    for round in &mut rounds {
        let waited = wait_until(PATIENCE, || Ok(ended(&mut round.ralph).then_some(())))?;
        waited.ok_or_else(|| format!("{} does not end", round.token))?;
    }
    let second = if way.kills_ralph { resume(lab, who, &mut rounds)? } else { Vec::new() };
    score.resumes = u32::try_from(second.len()).unwrap_or(u32::MAX);
    score.second_agents = second.iter().sum();
    std::thread::sleep(MERCY);
    for round in &rounds {
        let left = alive(&round.token);
        left.iter().for_each(|one| println!("survivor of {}: {one}", round.token));
        score.survivors += left.len();
        end(&round.token);
    }
    Ok(score)
}

fn start(lab: &Lab, who: Who, (kind, way): (&Kind, &Way), number: u32, contain: &str) -> Result<Round> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let token = format!("esc{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let name = |what: &str| format!("escaper-{number}-{what}");
    let (state, workspace) = (empty(lab.path(&name("state")))?, empty(lab.path(&name("work")))?);
    let home = empty(lab.path(&name("home")))?;
    let agent = workspace.join("agent.sh");
    let failed = |error: std::io::Error| format!("{}: {error}", agent.display());
    std::fs::write(&agent, kinds::script(kind, way.agent_ends)).map_err(failed)?;
    if who == Who::Ordinary {
        for path in [&state, &workspace, &home, &agent] {
            chown(path, Some(NOBODY), Some(NOBODY)).map_err(failed)?;
        }
    }
    let mut ralph = ralph(lab, who, &state, &token);
    ralph.args(["run", "--once", "-p", "task", "-a"]).arg(format!("sh {}", agent.display()));
    ralph.args(["--set", &format!("contain={contain}"), "-t", way.timeout, "-C"]).arg(&workspace);
    let log = File::create(state.join("said")).map_err(failed)?;
    let child = ralph.env("HOME", home).stdout(Stdio::null()).stderr(log).spawn().map_err(failed)?;
    Ok(Round { token, state, workspace, ralph: child })
}

/// `ralph`, as this user.
fn ralph(lab: &Lab, who: Who, state: &std::path::Path, token: &str) -> Command {
    let own = lab.ralph(state);
    let mut command = match who {
        Who::Root => Command::new(&lab.ralph),
        Who::Ordinary => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&lab.ralph);
            command
        }
    };
    for (key, value) in own.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    command.env("ESCAPER", token).stdin(Stdio::null());
    command
}

/// Resumes all of them. For each how many processes of its first session were alive when its next agent had started.
fn resume(lab: &Lab, who: Who, rounds: &mut [Round]) -> Result<Vec<usize>> {
    let mut second = Vec::new();
    for round in rounds.iter_mut() {
        let _ = std::fs::remove_file(round.workspace.join("up"));
        let token = format!("{}r", round.token);
        let mut ralph = ralph(lab, who, &round.state, &token);
        ralph.args(["resume", "-C"]).arg(&round.workspace);
        let log = File::create(round.state.join("resumed")).map_err(|error| error.to_string())?;
        round.ralph = ralph.stdout(Stdio::null()).stderr(log).spawn().map_err(|error| error.to_string())?;
    }
    for round in rounds.iter_mut() {
        let up = round.workspace.join("up");
        let waited = wait_until(PATIENCE, || Ok((up.exists() || ended(&mut round.ralph)).then_some(())))?;
        waited.ok_or_else(|| format!("{}: the resume started no agent", round.token))?;
        let beside = alive(&round.token);
        beside.iter().for_each(|one| println!("beside the resumed {}: {one}", round.token));
        second.push(beside.len());
    }
    for round in rounds.iter_mut() {
        ways::terminate(round.ralph.id());
        let _ = wait_until(PATIENCE, || Ok(ended(&mut round.ralph).then_some(())))?;
        end(&format!("{}r", round.token));
    }
    Ok(second)
}

fn ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

fn said(round: &Round) -> String {
    std::fs::read_to_string(round.state.join("said")).unwrap_or_default().trim().to_owned()
}

/// By what they inherited, or by what they are called where they have thrown that away. The dead are not counted.
fn alive(token: &str) -> Vec<String> {
    let (variable, argument) = (format!("ESCAPER={token}"), format!("100000.{}", digits(token)));
    living(|process| {
        let has = |file: &str, text: &str| {
            let bytes = std::fs::read(process.join(file)).unwrap_or_default();
            bytes.split(|byte| *byte == 0).any(|part| part == text.as_bytes())
        };
        has("environ", &variable) || has("cmdline", &argument)
    })
}

/// What makes the argument of a `sleep` its own.
fn digits(token: &str) -> String {
    token.chars().map(|c| if c.is_ascii_digit() { c } else { '0' }).collect()
}

/// So that one failure is not counted again.
fn end(token: &str) {
    for one in alive(token) {
        let pid =
            one.split(' ').next().and_then(|pid| pid.parse().ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}
