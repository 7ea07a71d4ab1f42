//! How a run ends.

use rustix::process::{Pid, Signal, kill_process};

pub struct Way {
    pub name: &'static str,
    /// The agent ends by itself.
    pub agent_ends: bool,
    pub timeout: &'static str,
    /// Nothing that ralph could do happens afterwards.
    pub kills_ralph: bool,
    /// Of this ralph.
    pub end: fn(u32),
}

const QUIET: Way = Way { name: "", agent_ends: false, timeout: "1h", kills_ralph: false, end: |_| {} };

pub const WAYS: &[Way] = &[
    Way { name: "agent ends", agent_ends: true, ..QUIET },
    Way { name: "timeout", timeout: "300ms", ..QUIET },
    Way { name: "SIGTERM", end: terminate, ..QUIET },
    Way { name: "kill -9 of ralph", kills_ralph: true, end: |ralph| kill(&[ralph]), ..QUIET },
    Way { name: "kill -9 of the keepers", end: |ralph| kill(&keepers(ralph)), ..QUIET },
    Way {
        name: "kill -9 of both",
        kills_ralph: true,
        end: |ralph| kill(&[keepers(ralph), vec![ralph]].concat()),
        ..QUIET
    },
    Way {
        name: "keepers stopped, then kill -9 of ralph",
        kills_ralph: true,
        end: |ralph| {
            send(&keepers(ralph), Signal::STOP);
            kill(&[ralph]);
        },
        ..QUIET
    },
];

pub fn terminate(ralph: u32) {
    send(&[ralph], Signal::TERM);
}

fn kill(pids: &[u32]) {
    send(pids, Signal::KILL);
}

fn send(pids: &[u32], signal: Signal) {
    for pid in pids.iter().filter_map(|pid| i32::try_from(*pid).ok()).filter_map(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Every keeper below this ralph, those at work, those that wait, and the first processes of namespaces.
fn keepers(ralph: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut above = vec![ralph];
    while let Some(parent) = above.pop() {
        let children = children(parent).into_iter().filter(|(_, name)| name == "agent-keeper");
        let children: Vec<u32> = children.map(|(pid, _)| pid).collect();
        above.extend(&children);
        found.extend(children);
    }
    found
}

fn children(parent: u32) -> Vec<(u32, String)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let stat = |pid: u32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (open, close) = (line.find('(')?, line.rfind(')')?);
        let of: u32 = line[close + 1..].split_ascii_whitespace().nth(1)?.parse().ok()?;
        (of == parent).then(|| (pid, line[open + 1..close].to_owned()))
    };
    pids.filter_map(stat).collect()
}
