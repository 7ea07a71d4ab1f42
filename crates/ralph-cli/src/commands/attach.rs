//! `ralph attach`: the live screen of a run that works in another process, with its keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ralph_core::ids::Seq;
use ralph_core::input::Command;
use ralph_model::Fold;
use ralph_store::{AskError, ReadError, RunDir, Subscription};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::keyboard::Seat;
use super::screen::{self, Person, RunScreen};
use super::{control, each_record, keyboard, pick};
use crate::args::{AttachArgs, ScreenArgs};
use crate::error::CliError;

/// Iterations that are shown again, and how many records they may have.
const SHOWN: u32 = 10;
const MOST_RECORDS: u64 = 2000;
/// A run that has just begun listens within this time.
const PATIENCE: Duration = Duration::from_secs(5);

pub fn attach(args: AttachArgs) -> Result<u8, CliError> {
    keyboard::repair();
    let (_, run) = pick(&args.pick)?;
    if !run.is_live() {
        return show_end(&run, &args.screen);
    }
    let from = run.newest_range(SHOWN, MOST_RECORDS)?.start;
    let mut fold = Fold::default();
    run.each_record::<ReadError>(Seq(0)..from, &mut |record| {
        fold.apply(&record);
        Ok(())
    })?;
    let mut subscription = match subscribe(&run, from) {
        Ok(subscription) => subscription,
        Err(_) if !run.is_live() => return show_end(&run, &args.screen),
        Err(error) => return Err(CliError::Failed(format!("run {} {error}", run.id))),
    };
    let left = Arc::new(AtomicBool::new(false));
    let person = person(&run, &left, &subscription)?;
    leave_on_signals(&left, &subscription)?;
    let is_known = fold.observe().is_some();
    let screen = screen::open(&args.screen, fold, person)?;
    if is_known {
        screen.header(format!("attached to run {}", run.id));
    }
    let next = follow(&mut subscription, &screen, from)?;
    if left.load(Ordering::Relaxed) {
        screen.drop_quietly();
        crate::io::print(&format!("left run {0}; it goes on: ralph attach {0}", run.id))?;
        return Ok(0);
    }
    // What the run wrote at its very end may not have come over the socket.
    run.each_record::<ReadError>(next..Seq(u64::MAX), &mut |record| {
        screen.send(&record);
        Ok(())
    })?;
    screen.finish()?;
    ended(&run)
}

/// The number of the record that comes next.
fn follow(subscription: &mut Subscription, screen: &RunScreen, from: Seq) -> Result<Seq, CliError> {
    let mut next = from;
    loop {
        match subscription.next_record() {
            Ok(Some(record)) => {
                next = record.seq.next();
                screen.send(&record);
            }
            Ok(None) | Err(ReadError::Io(_)) => return Ok(next),
            Err(error) => return Err(error.into()),
        }
    }
}

fn subscribe(run: &RunDir, from: Seq) -> Result<Subscription, AskError> {
    let start = Instant::now();
    loop {
        match Subscription::open(&run.socket(), from) {
            Err(AskError::Io(_)) if run.is_live() && start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return other,
        }
    }
}

fn person(run: &RunDir, left: &Arc<AtomicBool>, subscription: &Subscription) -> Result<Person, CliError> {
    let (asked, left, hang_up) = (run.clone(), Arc::clone(left), subscription.hang_up()?);
    let ask = move |command: Command| {
        control::ask_live(&asked, command).map(drop).map_err(|error| error.to_string())
    };
    let leave = move || {
        left.store(true, Ordering::Relaxed);
        hang_up();
    };
    Ok(Person { ask: Box::new(ask), seat: Seat::Watches, leave: Some(Box::new(leave)) })
}

/// A screen that is ended from outside leaves the terminal as it was.
fn leave_on_signals(left: &Arc<AtomicBool>, subscription: &Subscription) -> Result<(), CliError> {
    let (left, hang_up) = (Arc::clone(left), subscription.hang_up()?);
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            left.store(true, Ordering::Relaxed);
            hang_up();
        }
    })?;
    Ok(())
}

/// How a run ended that nobody works on any more.
fn show_end(run: &RunDir, args: &ScreenArgs) -> Result<u8, CliError> {
    let quiet = ScreenArgs { json: args.json, quiet: !args.json, verbose: false };
    let mut screen = screen::replay(&quiet);
    each_record(run, &mut |record| {
        screen.event(&record);
        Ok(())
    })?;
    screen.finish();
    ended(run)
}

/// The exit code of the run. One that was cut off says what to do.
pub fn ended(run: &RunDir) -> Result<u8, CliError> {
    match run.summary().and_then(|summary| summary.stopped) {
        Some(stopped) => Ok(stopped.exit_code),
        None => {
            crate::io::complain(&format!(
                "run {0} was cut off: no process works on it; `ralph resume {0}` goes on",
                run.id
            ));
            Ok(1)
        }
    }
}
