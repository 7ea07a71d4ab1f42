//! `ralph cost`: what was spent, and what of it has no price.

use ralph_model::cost::{CostRow, CostTable};
use ralph_model::text::clean;
use unicode_width::UnicodeWidthStr;

use crate::Style;
use crate::format::{count, money, thousands};
use crate::paint::Paint;
use crate::text::{COLUMNS, fit, wrap};

/// Columns that a key may take.
const KEY: usize = 40;

/// `title`: what a row stands for.
pub fn render(table: &CostTable, title: &str, style: &Style) -> String {
    if table.total.attempts == 0 {
        return "nothing was spent\n".to_owned();
    }
    let paint = Paint { color: style.color };
    let head = [title.to_uppercase(), "COST".into(), "TOKENS".into(), "ITERATIONS".into()];
    let mut rows: Vec<[String; 4]> = table.rows.iter().map(cells).collect();
    rows.push(cells(&table.total));
    let width =
        |column: usize| rows.iter().chain([&head]).map(|row| row[column].width()).max().unwrap_or_default();
    let widths = [width(0), width(1), width(2), width(3)];
    let line = |row: &[String; 4]| {
        let pad = |column: usize| " ".repeat(widths[column].saturating_sub(row[column].width()));
        let [key, cost, tokens, attempts] = row;
        format!("{key}{}  {}{cost}  {}{tokens}  {}{attempts}", pad(0), pad(1), pad(2), pad(3))
    };
    let mut out = format!("{}\n", paint.dim(&line(&head)));
    for row in &rows {
        out.push_str(&line(row));
        out.push('\n');
    }
    for line in unknown(&table.total).iter().flat_map(|text| wrap(text, COLUMNS)) {
        out.push_str(&format!("{line}\n"));
    }
    out
}

fn cells(row: &CostRow) -> [String; 4] {
    let cost = match (row.cost_usd, row.unpriced_tokens + u64::from(row.silent)) {
        (Some(cost), 0) => money(cost),
        // More than that: not all of it is known.
        (Some(cost), _) => format!("{}+", money(cost)),
        (None, _) => "?".to_owned(),
    };
    [fit(&clean(&row.key), KEY), cost, thousands(row.tokens), row.attempts.to_string()]
}

/// What the sum leaves out, said plainly.
fn unknown(total: &CostRow) -> Vec<String> {
    let mut out = Vec::new();
    if total.unpriced_tokens > 0 {
        let tokens = thousands(total.unpriced_tokens);
        out.push(format!("{tokens} tokens have no price and are not in the sum; `prices` can set one"));
    }
    if total.silent > 0 {
        let attempts = count(total.silent, "iteration", "iterations");
        out.push(format!("{attempts} told neither a cost nor tokens: what they cost is not known"));
    }
    out
}
