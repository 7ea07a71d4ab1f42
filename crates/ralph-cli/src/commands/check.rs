//! `ralph check`

use std::io::IsTerminal;

use ralph_core::plan::{Plan, Task};
use ralph_runtime::secrets::Secrets;

use super::{machine, workspace};
use crate::args::CheckArgs;
use crate::error::CliError;
use ralph_config::{ConfigError, Env, Loaded, Ready, Setting, Sources};

pub fn check(args: CheckArgs) -> Result<u8, CliError> {
    let mut sources = Sources::new(workspace(&args.at.workspace)?);
    sources.target = args.target;
    sources.sets = args.sets;
    sources.preset = args.preset;
    sources.needs_task = false;
    sources.env = Env::from_process();
    let Ready { loaded, plan, warnings, notes, .. } = machine::preflight(&sources, None)?;
    notes.iter().for_each(|note| crate::io::complain(&format!("note: {note}")));
    let found = warnings.len();
    if let Some(warnings) = ConfigError::from_all(warnings) {
        eprintln!("{}\n", warnings.render(crate::io::color(std::io::stderr().is_terminal())));
    }
    match (args.json, args.show) {
        (true, _) => crate::io::print_json(&settings(&loaded, &plan)?)?,
        (_, true) => crate::io::print(&table(&settings(&loaded, &plan)?))?,
        _ => crate::io::print(&verdict(&loaded, found))?,
    }
    Ok(0)
}

fn verdict(loaded: &Loaded, warnings: usize) -> String {
    let name = name(loaded);
    let verdict = match warnings {
        0 => format!("{name} is fine; `--show` prints every setting"),
        1 => format!("{name} can be run, with a warning"),
        n => format!("{name} can be run, with {n} warnings"),
    };
    match &loaded.task {
        Task::Text(text) if text.is_empty() => {
            let is_md =
                loaded.file.as_ref().is_some_and(|path| path.extension().is_some_and(|end| end == "md"));
            let place = if is_md { "below its settings" } else { "into PROMPT.md" };
            format!(
                "{verdict}\nit has no prompt: write one {place}, or give it with `-p` or `-f` when it runs"
            )
        }
        _ => verdict,
    }
}

fn name(loaded: &Loaded) -> String {
    match &loaded.file {
        Some(path) => path.strip_prefix(&loaded.workspace).unwrap_or(path).display().to_string(),
        None => "the definition".to_owned(),
    }
}

/// All settings, without the secrets in them.
fn settings(loaded: &Loaded, plan: &Plan) -> Result<Vec<Setting>, CliError> {
    let redactor = Secrets::of(plan).map_err(CliError::Usage)?.redactor();
    let clean = |text: String| redactor.text(&text).into_owned();
    let all = loaded.settings().into_iter();
    Ok(all.map(|one| Setting { value: one.value.map(clean), ..one }).collect())
}

/// One line a setting: path, value, where it came from.
fn table(settings: &[Setting]) -> String {
    let rows: Vec<(&str, String, &str)> = settings
        .iter()
        .map(|one| (one.path.as_str(), one_line(one.value.as_deref().unwrap_or("-")), one.from.as_str()))
        .collect();
    let wide = |of: fn(&(&str, String, &str)) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let (path_width, value_width) = (wide(|row| row.0.len()), wide(|row| row.1.chars().count()));
    let lines: Vec<String> = rows
        .iter()
        .map(|(path, value, from)| format!("{path:path_width$}  {value:value_width$}  {from}"))
        .collect();
    lines.join("\n")
}

fn one_line(value: &str) -> String {
    let mut shown: String = value.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if value.chars().count() > 40 {
        shown.push('…');
    }
    shown
}
