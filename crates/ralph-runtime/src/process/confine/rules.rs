//! Landlock: which files a thread, and everything it starts, may read and write; no signals and no debugging across its border.
//! And seccomp for what Landlock does not know.

use std::collections::BTreeMap;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::{Reach, network};

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

pub(super) fn restrict(reach: &Reach, inside: bool) -> Result<(), String> {
    if !reach.network && inside {
        network::leave()?;
    }
    landlock(reach, inside).map_err(|error| format!("Landlock: {error}"))?;
    seccomp(!reach.network && !inside)
}

fn landlock(reach: &Reach, inside: bool) -> Result<(), Box<dyn std::error::Error>> {
    let all = AccessFs::from_all(NEWEST);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(all)?;
    if !reach.network && !inside {
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
const PERMISSION_DENIED: u32 = 1;
const UNIX: u64 = 1;

/// `no_sockets`: none but those between processes.
fn seccomp(no_sockets: bool) -> Result<(), String> {
    if REFUSED.is_empty() {
        return match no_sockets {
            true => Err("seccomp: this processor is not known".to_owned()),
            false => Ok(()),
        };
    }
    let filter = || -> Result<BpfProgram, seccompiler::BackendError> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            REFUSED.iter().map(|call| (*call, Vec::new())).collect();
        if no_sockets {
            let family = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, UNIX)?;
            rules.insert(SOCKET, vec![SeccompRule::new(vec![family])?]);
        }
        let refuse = SeccompAction::Errno(PERMISSION_DENIED);
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, std::env::consts::ARCH.try_into()?)?
            .try_into()
    };
    let filter = filter().map_err(|error| format!("seccomp: {error}"))?;
    seccompiler::apply_filter(&filter).map_err(|error| format!("seccomp: {error}"))
}
