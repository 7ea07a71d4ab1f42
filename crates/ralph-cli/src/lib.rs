//! The command line of ralph: arguments, subcommands, exit codes.

mod args;
mod commands;
mod docs;
mod error;
mod io;
mod run_args;

use std::process::ExitCode;

use clap::Parser;

pub use args::command;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn main() -> ExitCode {
    if is_version_asked(std::env::args_os().skip(1)) {
        return io::print(&format!("ralph {VERSION}")).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let run_args::Split { own, given } = run_args::split(std::env::args_os());
    let args = match args::Args::try_parse_from(own) {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match commands::dispatch(args.with_given(given)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error.print();
            ExitCode::from(error.exit_code())
        }
    }
}

/// Scripts ask for nothing more often, so it is answered before all the arguments there are have been built.
fn is_version_asked(mut args: impl Iterator<Item = std::ffi::OsString>) -> bool {
    args.next().is_some_and(|first| first == "--version" || first == "-V") && args.next().is_none()
}
