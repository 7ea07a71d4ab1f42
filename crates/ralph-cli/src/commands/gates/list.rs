//! `ralph gates list`

use ralph_config::gates::Listed;
use ralph_core::duration;
use ralph_core::plan::GateWhen;
use ralph_model::GateListing;

use super::{load, none};
use crate::args::GatesListArgs;
use crate::error::CliError;

pub fn list(args: GatesListArgs) -> Result<u8, CliError> {
    let (_, gates) = load(args.target, &args.definition)?;
    match (args.definition.json, gates.gates.is_empty()) {
        (true, _) => crate::io::print_json(&gates.gates.iter().map(listing).collect::<Vec<_>>())?,
        (_, true) => crate::io::show(&none(&gates))?,
        (_, false) => crate::io::print(&told(&gates.gates, ralph_ui::terminal_width()))?,
    }
    Ok(0)
}

fn listing(Listed { gate, from }: &Listed) -> GateListing {
    GateListing {
        name: gate.name.clone(),
        run: gate.run.clone(),
        kind: gate.kind.map(|kind| kind.noun().to_owned()),
        required: gate.required,
        when: when(gate.when).to_owned(),
        timeout_ms: u64::try_from(gate.timeout.as_millis()).unwrap_or(u64::MAX),
        from: from.clone(),
    }
}

fn when(when: GateWhen) -> &'static str {
    match when {
        GateWhen::Completion => "completion",
        GateWhen::Iteration => "iteration",
    }
}

fn row(Listed { gate, from }: &Listed) -> [String; 7] {
    [
        gate.name.clone(),
        shell_words::join(&gate.run),
        gate.kind.map_or("-", |kind| kind.noun()).to_owned(),
        if gate.required { "required" } else { "reports only" }.to_owned(),
        format!("at every {}", when(gate.when)),
        duration::format(gate.timeout),
        from.clone(),
    ]
}

/// One line a gate; on a terminal that is too narrow for that, its command on one and the rest below.
fn told(gates: &[Listed], columns: Option<usize>) -> String {
    let rows: Vec<[String; 7]> = gates.iter().map(row).collect();
    let wide = table(&rows);
    let Some(columns) = columns.filter(|columns| ralph_ui::fold(&wide, *columns) != wide) else {
        return wide;
    };
    let names = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    let narrow = |[name, run, rest @ ..]: &[String; 7]| {
        let rest: Vec<&str> = rest.iter().map(String::as_str).filter(|word| *word != "-").collect();
        let all = format!("{name:names$}  {run}\n{:names$}  {}", "", rest.join(", "));
        ralph_ui::fold(&all, columns)
    };
    rows.iter().map(narrow).collect::<Vec<_>>().join("\n")
}

fn table(rows: &[[String; 7]]) -> String {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..7).map(width).collect();
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}", width = *width));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
