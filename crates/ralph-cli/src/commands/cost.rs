//! `ralph cost`

use std::time::Duration;

use jiff::tz::TimeZone;
use ralph_core::time::Timestamp;
use ralph_model::cost::{Account, By};
use ralph_store::Store;
use ralph_ui::cost;

use crate::args::{CostArgs, CostBy};
use crate::error::CliError;

pub fn cost(args: CostArgs) -> Result<u8, CliError> {
    let store = Store::from_env()?;
    let now = ralph_runtime::clock::now();
    let zone = TimeZone::system();
    let since = args.since.as_deref().map(|text| since(text, now, &zone)).transpose()?;
    let (by, title) = match args.by {
        CostBy::Day => (By::Day, "day"),
        CostBy::Run => (By::Run, "run"),
        CostBy::Model => (By::Model, "model"),
        CostBy::Hat => (By::Hat, "hat"),
        CostBy::Agent => (By::Agent, "agent"),
        CostBy::Task => (By::Task, "task"),
    };
    let mut account = Account::new(by);
    let day = |at: Timestamp| ralph_ui::format::date(at, &zone);
    let damaged = store.each_spent(since, &mut |spent| account.add(&spent, &day));
    for run in damaged {
        eprintln!(
            "note: the journal of run {} cannot be read to its end; what it tells up to there is counted",
            run.id
        );
    }
    let table = account.table();
    match args.json {
        true => crate::io::print_json(&table)?,
        false => crate::io::print(&cost::render(&table, title, &crate::io::style()))?,
    }
    Ok(0)
}

/// `7d`, `12h`, or a date.
fn since(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, CliError> {
    if let Ok(date) = text.parse::<jiff::civil::Date>()
        && let Ok(start) = date.to_zoned(zone.clone())
    {
        return Ok(Timestamp::from_millis(start.timestamp().as_millisecond()));
    }
    let wrong = || {
        CliError::Usage(format!(
            "`--since {text}` is neither a time back, such as 7d, nor a date, such as 2026-01-31"
        ))
    };
    let back: Duration = ralph_core::duration::parse(text).map_err(|_| wrong())?;
    let millis = i64::try_from(back.as_millis()).map_err(|_| wrong())?;
    Ok(Timestamp::from_millis(now.as_millis().saturating_sub(millis)))
}
