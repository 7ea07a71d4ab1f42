//! Whether tools of an agent work, where its stream does not say that one runs: processes below its keeper that compute, read or
//! write, or that were not there before. An idle daemon is no life, nor is what the agent itself does while it waits.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// Less than this share of a CPU is what timers of an idle process take.
const CPU_SHARE: u32 = 500;
/// Less than this, read and written, are wake-ups.
const BYTES: u64 = 4096;

/// A process as the system shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// When it was started, so that a number that is given anew is another process.
    pub(crate) started: u64,
    pub(crate) cpu: Duration,
    /// Bytes that it read and wrote, wherever.
    pub(crate) bytes: u64,
    /// Its program, where it can be told.
    pub(crate) program: Option<u64>,
}

/// All that is below the keeper of an agent and does not belong to the agent itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Look(HashMap<(u32, u64), (Duration, u64)>);

impl Look {
    pub(crate) fn of(agent: u32, all: &[Process]) -> Look {
        let by_pid: HashMap<u32, &Process> = all.iter().map(|one| (one.pid, one)).collect();
        let Some(it) = by_pid.get(&agent) else { return Look::default() };
        // What was left by its parent goes to the keeper, which is the agent's parent.
        let below = descendants(it.parent, all, |_, _| true);
        let is_agents =
            |parent: &Process, child: &Process| parent.program.is_some() && parent.program == child.program;
        // A launcher and the agent that it launched are one program; a tool is started by a shell.
        let mut own = descendants(agent, all, |parent, child| {
            by_pid.get(&parent).is_some_and(|parent| is_agents(parent, child))
        });
        own.insert(agent);
        let tools = all.iter().filter(|one| below.contains(&one.pid) && !own.contains(&one.pid));
        Look(tools.map(|one| ((one.pid, one.started), (one.cpu, one.bytes))).collect())
    }

    /// Whether something worked between an earlier look and this one.
    pub(crate) fn shows_work_since(&self, before: &Look, time: Duration) -> bool {
        self.0.iter().any(|(process, (cpu, bytes))| match before.0.get(process) {
            None => true,
            Some((cpu_before, bytes_before)) => {
                cpu.saturating_sub(*cpu_before) > time / CPU_SHARE
                    || bytes.saturating_sub(*bytes_before) >= BYTES
            }
        })
    }
}

/// What was started by a process, by what that started, and so on, as long as `follows` goes from a parent to a child.
fn descendants(root: u32, all: &[Process], follows: impl Fn(u32, &Process) -> bool) -> HashSet<u32> {
    let mut children: HashMap<u32, Vec<&Process>> = HashMap::new();
    all.iter().for_each(|one| children.entry(one.parent).or_default().push(one));
    let (mut found, mut open) = (HashSet::new(), vec![root]);
    while let Some(parent) = open.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            if child.pid != root && follows(parent, child) && found.insert(child.pid) {
                open.push(child.pid);
            }
        }
    }
    found
}

/// Looks twice, and compares.
pub(crate) struct Life<F> {
    look: F,
    first: Option<(Instant, Look)>,
}

impl<F: FnMut() -> Option<Look>> Life<F> {
    pub(crate) fn new(look: F) -> Self {
        Life { look, first: None }
    }

    pub(crate) fn begin(&mut self) {
        self.first = (self.look)().map(|look| (Instant::now(), look));
    }

    pub(crate) fn was_there(&mut self) -> bool {
        let Some((at, before)) = self.first.take() else { return false };
        (self.look)().is_some_and(|look| look.shows_work_since(&before, at.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(300);

    /// A keeper 1, an agent 2, a process 3 that the agent launched from the same program, a shell 4 with a tool 5, and a daemon 6
    /// that was left to the keeper. A stranger 9 is not below the keeper.
    fn world() -> Vec<Process> {
        let process = |pid, parent, program| Process {
            pid,
            parent,
            started: 7,
            cpu: Duration::from_secs(1),
            bytes: 100,
            program: Some(program),
        };
        vec![
            process(1, 0, 10),
            process(2, 1, 20),
            process(3, 2, 20),
            process(4, 3, 30),
            // A tool may well be the same program as the agent.
            process(5, 4, 20),
            process(6, 1, 40),
            process(9, 0, 50),
        ]
    }

    /// Whether it is life if this process did so much more.
    fn works(pid: u32, cpu: Duration, bytes: u64) -> bool {
        let (before, mut after) = (world(), world());
        for one in after.iter_mut().filter(|one| one.pid == pid) {
            one.cpu += cpu;
            one.bytes += bytes;
        }
        Look::of(2, &after).shows_work_since(&Look::of(2, &before), WINDOW)
    }

    #[test]
    fn tools_that_compute_read_or_write_are_life_and_the_agent_itself_is_none() {
        let long = Duration::from_secs(5);
        for tool in [4, 5, 6] {
            assert!(works(tool, long, 0) && works(tool, Duration::ZERO, BYTES), "{tool}");
            assert!(!works(tool, WINDOW / CPU_SHARE, BYTES - 1), "{tool}: timers and wake-ups");
        }
        for other in [1, 2, 3, 9] {
            assert!(!works(other, long, 1 << 20), "{other}");
        }
        assert!(!works(5, Duration::ZERO, 0), "an idle tool, an idle daemon");
    }

    #[test]
    fn a_process_that_was_not_there_is_life_and_one_that_is_gone_is_none() {
        let look = |all: &[Process]| Look::of(2, all);
        let before = look(&world());
        let mut new = world();
        new.push(Process { pid: 8, parent: 5, ..new[4].clone() });
        assert!(look(&new).shows_work_since(&before, WINDOW));
        let mut again = world();
        again[4].started = 8;
        assert!(look(&again).shows_work_since(&before, WINDOW), "its number is another's");
        let gone: Vec<Process> = world().into_iter().filter(|one| one.pid != 5).collect();
        assert!(!look(&gone).shows_work_since(&before, WINDOW));
        assert_eq!(look(&[]), Look::default(), "the agent is gone");
    }

    #[test]
    fn processes_that_call_each_other_parents_end_the_search() {
        let mut all = world();
        all[3].parent = 5;
        assert!(!Look::of(2, &all).shows_work_since(&Look::of(2, &all), WINDOW));
    }

    #[test]
    fn without_two_looks_there_is_no_life() {
        let mut looks = vec![None, Some(Look::default())];
        let mut life = Life::new(move || looks.pop().flatten());
        assert!(!life.was_there());
        life.begin();
        assert!(!life.was_there());
    }
}
