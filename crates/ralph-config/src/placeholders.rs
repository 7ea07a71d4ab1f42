//! Placeholders that stand for nothing: a misspelt one leaves a hole in every prompt of a night.

use std::collections::BTreeSet;
use std::path::Path;

use ralph_core::plan::Task;
use ralph_core::ralph_md::{Placeholder, placeholders, placeholders_of_body};

use crate::Loaded;
use crate::diagnostic::Diagnostic;
use crate::nearest::suggest;
use crate::ralph_md::decode;
use crate::reader::read_file;
use crate::source::{Layer, SourceMap, Span};

/// What `{{ ralph.NAME }}` knows.
const OWN: [&str; 3] = ["name", "iteration", "max_iterations"];

/// One warning for each name that is neither declared nor given.
pub fn findings(loaded: &Loaded) -> Vec<Diagnostic> {
    let mut found = in_commands(loaded);
    // Without either, a prompt is text in which braces mean nothing.
    let is_template = matches!(loaded.task, Task::RalphMd(_))
        || !loaded.definition.commands.is_empty()
        || !loaded.definition.args.is_empty();
    if is_template {
        found.extend(in_prompt(loaded));
    }
    found
}

fn in_prompt(loaded: &Loaded) -> Vec<Diagnostic> {
    match &loaded.task {
        Task::Text(text) => unknown(loaded, placeholders(text))
            .into_iter()
            .map(|(_, found)| Diagnostic { place: loaded.settings.at("prompt", "").place, ..found })
            .collect(),
        Task::File(path) => in_file(loaded, path, false),
        Task::RalphMd(path) => in_file(loaded, path, true),
    }
}

/// A file that cannot be read has no place to show; that is told elsewhere.
fn in_file(loaded: &Loaded, path: &Path, is_md: bool) -> Vec<Diagnostic> {
    let shown = path.strip_prefix(&loaded.workspace).unwrap_or(path).display().to_string();
    let Some(text) = read_file(path).ok().and_then(|bytes| decode(&bytes, &shown).ok()) else {
        return Vec::new();
    };
    let all = if is_md { placeholders_of_body(&text) } else { placeholders(&text) };
    let unknown = unknown(loaded, all);
    let mut map = SourceMap::default();
    let source = map.add(Layer::File, shown, text);
    let at = |one: &Placeholder| map.place(Span { source, start: one.at.start, end: one.at.end });
    unknown.into_iter().map(|(one, found)| found.at(at(&one))).collect()
}

/// In a command line only arguments are resolved.
fn in_commands(loaded: &Loaded) -> Vec<Diagnostic> {
    let commands = loaded.definition.commands.iter().enumerate();
    let found = commands.flat_map(|(i, command)| {
        let args = placeholders(&command.run.0).into_iter().filter(|one| one.space == "args");
        let place = loaded.settings.at(&format!("commands.{i}.run"), "").place;
        let found = unknown(loaded, args.collect()).into_iter();
        found.map(move |(_, found)| Diagnostic { place: place.clone(), ..found })
    });
    found.collect()
}

/// Each name once, where it first stands.
fn unknown(loaded: &Loaded, all: Vec<Placeholder>) -> Vec<(Placeholder, Diagnostic)> {
    let definition = &loaded.definition;
    let commands: Vec<&str> = definition.commands.iter().map(|one| one.name.0.as_str()).collect();
    let given = loaded.args.iter().flat_map(|args| args.keys().map(String::as_str));
    let args: Vec<&str> = definition.args.iter().map(|one| one.0.as_str()).chain(given).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for one in all {
        let (known, what) = match &*one.space {
            "commands" => (&commands[..], "command"),
            "args" => (&args[..], "argument"),
            _ => (&OWN[..], "value"),
        };
        if known.contains(&&*one.name) || !seen.insert((one.space.clone(), one.name.clone())) {
            continue;
        }
        let message =
            format!("`{{{{ {}.{} }}}}` stands for nothing: there is no such {what}", one.space, one.name);
        let help = match known {
            [] => format!("declare it in `{}`, or take it out", one.space),
            _ => suggest(&one.name, known),
        };
        found.push((one, Diagnostic::warning(message).note("it becomes empty text").help(help)));
    }
    found
}
