//! What holds the `limits` here.

use ralph_runtime::process::cgroup::Ground;

use super::Finding;

pub fn check() -> Finding {
    let ground = Ground::find();
    let has = |of: fn(&Ground) -> bool| ground.as_ref().is_some_and(of);
    let held = [
        ("memory", has(|ground| ground.memory)),
        ("processes", has(|ground| ground.processes)),
        ("cpus", has(|ground| ground.cpus)),
    ];
    let names = |wanted: bool| {
        let names = held.iter().filter(|(_, has)| *has == wanted).map(|(name, _)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    let found = match (ground.is_some(), names(true)) {
        (true, names) if names.is_empty() => {
            "a cgroup can be made, but none of its limits is to be had".to_owned()
        }
        (true, names) => format!("a cgroup holds {names} for all processes of a program together"),
        (false, _) => "no cgroup (v2) can be made here".to_owned(),
    };
    if names(false).is_empty() {
        return Finding::good(found).and("`limits.disk` holds for each file alone");
    }
    let mut finding = Finding::weak(found);
    if !has(|ground| ground.memory) {
        finding = finding.and("`limits.memory` holds for each process alone");
    }
    if !has(|ground| ground.processes) {
        finding = finding.and(match rustix::process::geteuid().is_root() {
            true => "`limits.processes` does not hold for root",
            false => "`limits.processes` counts all processes of this user",
        });
    }
    if !has(|ground| ground.cpus) {
        finding = finding.and("`limits.cpus` cannot be had");
    }
    finding
        .and("`limits.disk` holds for each file alone")
        .and("where systemd is: `systemd-run --user --scope -p Delegate=yes ralph run ...` offers cgroups")
}
