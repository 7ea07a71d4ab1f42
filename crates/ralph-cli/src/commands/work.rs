//! A run at work, in front of a person or in the background.

use ralph_core::event::RunStopped;
use ralph_core::input::Command;
use ralph_core::plan::SettingsChange;
use ralph_model::Fold;
use ralph_runtime::session::OpenRun;

use super::background::{Detached, is_detached};
use super::screen::{self, Person};
use crate::args::ScreenArgs;
use crate::error::CliError;

/// Works until the run stops. `fold` is what its screen knows already.
pub fn work(
    session: OpenRun,
    fold: Fold,
    change: SettingsChange,
    args: &ScreenArgs,
) -> Result<RunStopped, CliError> {
    ralph_runtime::process::become_reaper()?;
    if is_detached() {
        let mut detached = Detached::leave_terminal()?;
        let run = session.run_dir().id.clone();
        return Ok(session.work(crate::VERSION, change, &mut |record| detached.see(&run, record))?);
    }
    let ask = session.commander();
    let ask = move |command: Command| {
        ask(command);
        Ok(())
    };
    let screen = screen::open(args, fold, Person { ask: Box::new(ask), leave: None })?;
    let stopped = session.work(crate::VERSION, change, &mut |record| screen.send(record));
    let shown = screen.finish();
    let stopped = stopped?;
    shown.map(|()| stopped)
}
