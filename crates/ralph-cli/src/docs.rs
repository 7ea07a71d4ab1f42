//! Help and documentation that are derived from what the parts declare, so that they cannot go stale.

use std::fmt::Write as _;

use ralph_agents::AGENTS;
use ralph_agents::agent::{PromptInput, Told, ToolResults, Turn};
use ralph_agents::price::{self, Price};
use ralph_core::guard::GUARDS;
use ralph_core::plan::{StuckPlan, Use};
use ralph_evidence::detector::DETECTORS;

/// A generated text by its name. `cargo xtask gen` puts them into the documents.
pub fn table(name: &str) -> Option<String> {
    match name {
        "agents" => Some(agents_table()),
        "agent-lines" => Some(agent_lines()),
        "prices" => Some(prices_table()),
        "guards" => Some(guards_table()),
        "detectors" => Some(detectors_table()),
        "settings" => Some(settings_table()),
        "commands" => Some(commands_table()),
        _ => None,
    }
}

const EXAMPLES: &str = "\
Examples:
  ralph run -p \"fix the failing tests\" -a ./my-agent.sh
  ralph run -f PROMPT.md -a 'agent --flag \"a b\"' -n 20
  ralph run my.yml --max-runtime 6h
  ralph run path/to/folder       # a folder with a RALPH.md

Settings come from flags, then --set, then TARGET, then --preset, then the
user's own config.yml. `ralph check --show` says which came from where.
The agent is any command. It gets the prompt on standard input. It says that
the task is complete with the line <ralph>COMPLETE</ralph>, or that it needs a
person with <ralph>BLOCKED: reason</ralph>.";
/// The columns of a terminal that nobody has made wider.
const COLUMNS: usize = 80;

/// What stands below the options of `ralph run --help`.
pub fn run_help() -> String {
    let mut out = String::from("What ends a run, beside the agent's word and yours:\n");
    let width = GUARDS.iter().map(|def| def.stop.key.len()).max().unwrap_or(0);
    for def in GUARDS {
        let mut key = def.stop.key;
        for line in ralph_ui::wrap(def.stop.summary, COLUMNS - width - 4) {
            let _ = writeln!(out, "  {key:width$}  {line}");
            key = "";
        }
    }
    out.push('\n');
    out.push_str(EXAMPLES);
    out
}

fn detectors_table() -> String {
    let mut out = String::from("| detector | | by default |\n|---|---|---|\n");
    for def in DETECTORS {
        let role = match (def.role)(&StuckPlan::default()) {
            Use::Decide => "decides",
            Use::Evidence => "evidence",
            Use::Stop => "ends the run",
            Use::Ask => "asks a person",
            Use::Off => "off",
        };
        let _ = writeln!(out, "| `{}` | {} | {role} |", def.key, def.summary);
    }
    out
}

fn agents_table() -> String {
    let mut out = String::from("| agent | | tokens | cost | tool results |\n|---|---|---|---|---|\n");
    for def in AGENTS {
        let yes = |is: bool| if is { "yes" } else { "-" };
        let tools = match def.stream.tool_results {
            ToolResults::ExitCodes => "with exit codes",
            ToolResults::Unsure => "unsure",
            ToolResults::None => "-",
        };
        let (name, about) = (def.name, def.summary);
        let tokens = match def.stream.tokens {
            Told::AsItGoes => "as it goes",
            Told::AtEnd => "at its end",
            Told::Never => "-",
        };
        let cost = yes(def.stream.cost);
        let _ = writeln!(out, "| `{name}` | {about} | {tokens} | {cost} | {tools} |");
    }
    out
}

/// How each agent is called by its name alone.
fn agent_lines() -> String {
    let mut out = String::from(
        "| agent | command line | for working without questions | environment | format |\n|---|---|---|---|---|\n",
    );
    for def in AGENTS {
        let line = |autonomous| {
            def.command(&Turn { autonomous, ..Turn::default() }).map(|spec| {
                let words = spec.argv("PROMPT", "FILE").join(" ");
                let input = if spec.prompt == PromptInput::Stdin { " < PROMPT" } else { "" };
                (format!("{} {words}{input}", spec.program), spec.bypass, spec.env)
            })
        };
        // A plain command has no line of its own.
        let (Ok((careful, _, env)), Ok((_, bypass, _))) = (line(false), line(true)) else { continue };
        let listed = |words: Vec<String>| match words.is_empty() {
            true => "-".to_owned(),
            false => format!("`{}`", words.join(" ")),
        };
        let own = env.into_iter().filter(|(name, _)| !COMMON.contains(&name.as_str()));
        let env = listed(own.map(|(name, value)| format!("{name}={value}")).collect());
        let (name, format, bypass) = (def.name, def.stream.format, listed(bypass));
        let _ = writeln!(out, "| `{name}` | `{careful}` | {bypass} | {env} | `{format}` |");
    }
    out
}

/// Variables that every agent gets.
const COMMON: [&str; 3] = ["TERM", "NO_COLOR", "DO_NOT_TRACK"];

fn prices_table() -> String {
    let mut out = String::from(
        "| model | input | cached | cache write | output | as of | |\n|---|---|---|---|---|---|---|\n",
    );
    for price in price::built_in() {
        let Price { model, input, cache_read, cache_write, output, date, source } = price;
        let write = if *cache_write > 0.0 { cache_write.to_string() } else { "-".to_owned() };
        let _ = writeln!(
            out,
            "| `{model}` | {input} | {cache_read} | {write} | {output} | {date} | [source]({source}) |"
        );
    }
    out
}

fn guards_table() -> String {
    let mut out = String::from("| reason | setting | kind | |\n|---|---|---|---|\n");
    for def in GUARDS {
        let _ = writeln!(
            out,
            "| `{}` | `{}` | {} | {} |",
            def.stop.key,
            def.setting,
            def.stop.kind.as_str(),
            def.stop.summary
        );
    }
    out
}

fn commands_table() -> String {
    let command = crate::command();
    let mut out = String::from("| command | |\n|---|---|\n");
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(out, "| `ralph {}` | {about} |", sub.get_name());
    }
    out
}

/// Every setting of the schema with its default and the first line of what it is.
fn settings_table() -> String {
    let mut out = String::from("| setting | default | |\n|---|---|---|\n");
    rows("", ralph_config::schema(), &mut out);
    out
}

fn rows(prefix: &str, schema: &serde_json::Value, out: &mut String) {
    let Some(fields) = schema.get("properties").and_then(|fields| fields.as_object()) else { return };
    for (key, field) in fields {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        if field.get("properties").is_some() {
            rows(&path, field, out);
            continue;
        }
        let default = match field.get("default") {
            None | Some(serde_json::Value::Null) => String::new(),
            Some(serde_json::Value::String(text)) => format!("`{text}`"),
            Some(value) => format!("`{value}`"),
        };
        let about = field.get("description").and_then(|text| text.as_str()).unwrap_or_default();
        let about = about.split("\n\n").next().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(out, "| `{path}` | {default} | {about} |");
    }
}
