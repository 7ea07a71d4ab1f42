//! Landlock: which files a thread, and everything it starts, may read and write; no signals and no debugging across its border.
//! And seccomp for what Landlock does not know.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::super::door;
use super::{Network, Reach, network, rights};

/// The newest version whose rights are asked for. An older kernel has fewer of them.
const NEWEST: ABI = ABI::V7;

/// The version that the kernel has; 0 if it has none. Found by trying, with a thread that then ends.
pub fn landlock_version() -> u32 {
    let trial = || -> Option<LandlockStatus> {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
        let rules = ruleset.handle_access(AccessFs::Execute).ok()?.create().ok()?;
        Some(rules.restrict_self().ok()?.landlock)
    };
    match std::thread::spawn(trial).join() {
        Ok(Some(LandlockStatus::Available { effective_abi, kernel_abi })) => {
            kernel_abi.unwrap_or(effective_abi as i32).unsigned_abs()
        }
        _ => 0,
    }
}

pub(super) fn restrict(reach: &Reach, inside: bool, way_out: Option<OwnedFd>) -> Result<(), String> {
    if reach.network != Network::Open && inside {
        network::leave()?;
    }
    if let (Network::Proxy, true, Some(way_out)) = (reach.network, inside, way_out) {
        door::open(way_out.as_fd()).map_err(|error| format!("no way to ralph's proxy: {error}"))?;
    }
    landlock(reach, inside).map_err(|error| format!("Landlock: {error}"))?;
    rights::drop()?;
    seccomp(match (reach.network, inside) {
        (Network::Open, _) => Sockets::All,
        (_, true) => Sockets::OwnNetwork,
        (_, false) => Sockets::BetweenProcesses,
    })
}

fn landlock(reach: &Reach, inside: bool) -> Result<(), Box<dyn std::error::Error>> {
    let all = AccessFs::from_all(NEWEST);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(all)?;
    if reach.network != Network::Open && !inside {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = ruleset.scope(Scope::from_all(NEWEST))?.create()?;
    let read = AccessFs::from_read(NEWEST);
    // A device file could be a way to a whole disk.
    let write = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for (paths, access) in
        [(&reach.read, read), (&reach.list, AccessFs::ReadDir.into()), (&reach.write, write)]
    {
        for path in paths {
            rules = allow(rules, path, access)?;
        }
    }
    let status = rules.restrict_self()?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("it is not enforced".into()),
        _ => Ok(()),
    }
}

fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    // What went away since it was found cannot be reached.
    let (Ok(held), Ok(meta)) = (PathFd::new(path), path.metadata()) else { return Ok(rules) };
    let access = if meta.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    match access.is_empty() {
        true => Ok(rules),
        false => Ok(rules.add_rule(PathBeneath::new(held, access))?),
    }
}

/// Calls that are refused to everyone: the keyrings of the session, and the doors into the kernel that only root has.
#[cfg(target_arch = "x86_64")]
const REFUSED: &[i64] = &[
    248, 249, 250, // add_key, request_key, keyctl
    175, 313, 176, // init_module, finit_module, delete_module
    246, 320, // kexec_load, kexec_file_load
    321, 298, // bpf, perf_event_open
    304, // open_by_handle_at: around the folders it may enter
];
#[cfg(target_arch = "aarch64")]
const REFUSED: &[i64] = &[217, 218, 219, 105, 273, 106, 104, 294, 280, 241, 265];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const REFUSED: &[i64] = &[];

#[cfg(target_arch = "x86_64")]
const SOCKET: i64 = 41;
#[cfg(not(target_arch = "x86_64"))]
const SOCKET: i64 = 198;
/// io_uring makes sockets too, and no rule sees it. The same numbers everywhere.
const IO_URING: [i64; 3] = [425, 426, 427];
/// The second set of numbers that a program on this processor may call by.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const OTHER_NUMBERS: Option<i64> = None;
const PERMISSION_DENIED: u32 = 1;
const UNIX: u64 = 1;
/// IPv4, IPv6, and what tells of interfaces: each only within the own network. Others, such as the one to the host of a
/// virtual machine, know no such border.
const WITHIN_A_NETWORK: [u64; 3] = [2, 10, 16];

/// The sockets that a program may make.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sockets {
    All,
    /// Those that a network namespace keeps in.
    OwnNetwork,
    BetweenProcesses,
}

impl Sockets {
    /// The rule that matches every other one.
    fn refused(self) -> Result<Option<SeccompRule>, seccompiler::BackendError> {
        let allowed: &[u64] = match self {
            Sockets::All => return Ok(None),
            Sockets::OwnNetwork => &WITHIN_A_NETWORK,
            Sockets::BetweenProcesses => &[],
        };
        let is_not = |family| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family);
        let conditions = [UNIX].iter().chain(allowed).map(|family| is_not(*family));
        Ok(Some(SeccompRule::new(conditions.collect::<Result<_, _>>()?)?))
    }
}

fn seccomp(sockets: Sockets) -> Result<(), String> {
    if REFUSED.is_empty() {
        return match sockets {
            Sockets::All => Ok(()),
            _ => Err("seccomp: this processor is not known".to_owned()),
        };
    }
    let filter = || -> Result<BpfProgram, seccompiler::BackendError> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            REFUSED.iter().map(|call| (*call, Vec::new())).collect();
        if let Some(refused) = sockets.refused()? {
            rules.insert(SOCKET, vec![refused]);
            rules.extend(IO_URING.map(|call| (call, Vec::new())));
        }
        if let Some(offset) = OTHER_NUMBERS {
            let again: Vec<_> = rules.iter().map(|(call, rules)| (call + offset, rules.clone())).collect();
            rules.extend(again);
        }
        let refuse = SeccompAction::Errno(PERMISSION_DENIED);
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, std::env::consts::ARCH.try_into()?)?
            .try_into()
    };
    let filter = filter().map_err(|error| format!("seccomp: {error}"))?;
    seccompiler::apply_filter(&filter).map_err(|error| format!("seccomp: {error}"))
}
