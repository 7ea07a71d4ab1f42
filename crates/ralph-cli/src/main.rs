//! The binary. The keeper comes first: it is started for every agent and has to be quick.

use std::process::ExitCode;

fn main() -> ExitCode {
    ralph_runtime::process::run_keeper_if_asked();
    ralph_cli::main()
}
