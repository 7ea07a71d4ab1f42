//! The command line of ralph: arguments, subcommands, exit codes.

mod args;
mod commands;
mod docs;
mod error;
mod io;
mod run_args;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;

pub use args::command;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn main() -> ExitCode {
    if is_version_asked(std::env::args_os().skip(1)) {
        return io::print(&format!("ralph {VERSION}")).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let mut command = command();
    let run_args::Split { own, given, options } = run_args::split(&mut command, std::env::args_os());
    let args = match parse(command, own) {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match commands::dispatch(args.with_given(given, options)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            error.print();
            ExitCode::from(error.exit_code())
        }
    }
}

/// As `Args::try_parse_from`, with a parser that has been built already.
fn parse(mut command: clap::Command, words: Vec<OsString>) -> Result<args::Args, clap::Error> {
    let matches = command.try_get_matches_from_mut(words)?;
    args::Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Scripts ask for nothing more often, so it is answered before all the arguments there are have been built.
fn is_version_asked(mut args: impl Iterator<Item = OsString>) -> bool {
    args.next().is_some_and(|first| first == "--version" || first == "-V") && args.next().is_none()
}
