//! The process layer with real processes, real signals and real kill -9.
//!
//! This binary is its own keeper executable, so it has its own `main`.

mod dialogue;
mod disk;
mod ending;
mod lifecycle;
mod lock;
mod namespace;
mod output;
mod support;
mod survivors;
mod vigil;

use std::process::{Command, ExitCode};

use libtest_mimic::Arguments;
use ralph_core::plan::Contain;
use ralph_runtime::process::{Supervisor, keeper_exe};

fn main() -> ExitCode {
    ralph_runtime::process::run_keeper_if_asked();
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|arg| arg == survivors::HELPER_ARG) {
        let dir = args.next().expect("a directory").into();
        survivors::helper_main(dir);
    }
    let modules = [
        dialogue::trials(),
        disk::trials(),
        ending::trials(),
        lifecycle::trials(),
        lock::trials(),
        namespace::trials(),
        output::trials(),
        survivors::trials(),
        vigil::trials(),
    ];
    let arguments = Arguments::from_args();
    let ended = libtest_mimic::run(&arguments, modules.into_iter().flatten().collect());
    if arguments.list || ended.has_failed() || support::contain() == Contain::Namespace {
        return ended.exit_code();
    }
    everything_again_in_a_namespace()
}

/// A keeper alone, and one with a namespace below it, keep the same promises.
fn everything_again_in_a_namespace() -> ExitCode {
    let trial = Supervisor::new(keeper_exe().expect("a keeper"), 0, Contain::Auto).containment();
    if let Some(why) = trial.expect("a keeper starts").why {
        println!("not tested in a namespace: {why}");
        return ExitCode::SUCCESS;
    }
    println!("\nthe same in a namespace:");
    let mut again = Command::new(keeper_exe().expect("a program"));
    let status = again.args(std::env::args_os().skip(1)).env(support::CONTAIN_KEY, "1").status();
    if status.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Names a list of test functions.
#[macro_export]
macro_rules! trials {
    ($($name:ident),* $(,)?) => {
        pub fn trials() -> Vec<libtest_mimic::Trial> {
            vec![$(libtest_mimic::Trial::test(
                concat!(module_path!(), "::", stringify!($name)),
                || { $name(); Ok(()) },
            )),*]
        }
    };
}
