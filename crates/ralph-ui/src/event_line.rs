//! One record as one line, for `ralph events`.

use ralph_model::record::Record;

use crate::Style;
use crate::format::clock_millis;
use crate::paint::Paint;
use crate::words::{details, iteration_of};

/// `10:00:41.123  #3    iteration.finished     ok 41s, 2 files changed`
pub fn render(record: &Record, style: &Style) -> String {
    let paint = Paint { color: style.color };
    let time = paint.dim(&clock_millis(record.at, &style.zone()));
    let iteration = iteration_of(&record.event).map(|n| format!("#{n}")).unwrap_or_default();
    let details = details(&record.event, record.at, style);
    let line = format!("{time}  {iteration:<5} {:<21}  {details}", record.event.name());
    line.trim_end().to_owned()
}
