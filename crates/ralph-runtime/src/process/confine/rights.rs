//! What root may do in a sandbox: to files and users what it always may, and to the machine nothing. Some of its rights go around
//! Landlock: who may watch performance may read the memory of any process, its keeper's too.

use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::thread::{
    CapabilitySet, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set,
};

/// What is left to root: what installing and running programs needs.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::AUDIT_WRITE);
/// The kernel knows no more of them than this.
const MOST: u32 = 64;

/// For what this thread starts. Who is not root has nothing to drop, and gets nothing by a program.
pub(super) fn drop() -> Result<(), String> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let said = |error: Errno| format!("rights of root cannot be dropped: {error}");
    clear_ambient_capability_set().map_err(said)?;
    for number in 0..MOST {
        let right = CapabilitySet::from_bits_retain(1 << number);
        if KEPT.contains(right) {
            continue;
        }
        match capability_is_in_bounding_set(right) {
            Ok(true) => remove_capability_from_bounding_set(right).map_err(said)?,
            Ok(false) => {}
            // There is none of this number, nor of a higher one.
            Err(Errno::INVAL) => break,
            Err(error) => return Err(said(error)),
        }
    }
    Ok(())
}
