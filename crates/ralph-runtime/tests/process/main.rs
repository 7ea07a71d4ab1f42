//! The process layer with real processes, real signals and real kill -9.
//!
//! This binary is its own keeper executable, so it has its own `main`.

mod dialogue;
mod disk;
mod ending;
mod lifecycle;
mod lock;
mod output;
mod support;
mod survivors;

use std::process::ExitCode;

use libtest_mimic::Arguments;

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
        output::trials(),
        survivors::trials(),
    ];
    libtest_mimic::run(&Arguments::from_args(), modules.into_iter().flatten().collect()).exit_code()
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
