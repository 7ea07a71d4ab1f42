//! Helpers of ralph itself (git), which are no agent's business and need no keeper: they end with ralph, however it ends.
//!
//! The kernel sends a signal to a process whose parent is gone, if that process has asked for it. git does not ask; so this very
//! program is started first, asks, and becomes git. The wish is kept, and so are number, pipes and group.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use super::keeper::KEEPER_ARG;
use super::platform;

const LEASH_ARG: &str = "leash";
/// Of the arguments before those of the program: two words, ralph's process id, and the program.
const OWN_ARGS: usize = 4;

/// Whether the program that is running can become a leashed one: its `main` has looked.
static POSSIBLE: AtomicBool = AtomicBool::new(false);

/// A program that ends with this process. The thread that starts it has to wait for its end, too.
pub(crate) fn leashed(program: &Path) -> Command {
    let exe = platform::keeper_exe().ok().filter(|_| POSSIBLE.load(Ordering::Relaxed));
    let Some(exe) = exe else { return Command::new(program) };
    let mut command = Command::new(exe);
    command
        .arg0("agent-keeper")
        .args([KEEPER_ARG, LEASH_ARG])
        .arg(std::process::id().to_string())
        .arg(program);
    command
}

/// The arguments that the program itself gets.
pub(crate) fn own_args(command: &Command) -> impl Iterator<Item = &std::ffi::OsStr> {
    let is_leashed = command.get_args().nth(1).is_some_and(|arg| arg == LEASH_ARG);
    command.get_args().skip(if is_leashed { OWN_ARGS } else { 0 })
}

/// Becomes the program that was to be started, if this process is there for that.
pub(super) fn become_if_asked() {
    POSSIBLE.store(true, Ordering::Relaxed);
    let mut args = env::args_os().skip(1);
    if args.next().is_some_and(|arg| arg == KEEPER_ARG) && args.next().is_some_and(|arg| arg == LEASH_ARG) {
        become_program(args);
    }
}

fn become_program(mut args: impl Iterator<Item = OsString>) -> ! {
    let parent = args.next().and_then(|pid| pid.to_str()?.parse::<u32>().ok());
    let Some(program) = args.next() else { std::process::exit(1) };
    platform::end_with_parent();
    // It may have gone before the wish was heard.
    if parent != Some(std::os::unix::process::parent_id()) {
        std::process::exit(1);
    }
    let error = Command::new(&program).args(args).exec();
    eprintln!("{}: {error}", Path::new(&program).display());
    std::process::exit(127)
}
