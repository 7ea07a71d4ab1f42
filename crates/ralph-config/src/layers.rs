//! Layers of settings: reading `--set` and flags, and laying one tree over another.

use super::diagnostic::Diagnostic;
use super::schema::ALIASES;
use super::source::{Layer, SourceMap, Span};
use super::yaml::{self, Entry, Meaning, Node, Value};

/// What was given on the command line, as it was typed. Checked here, so that the errors are those of a file.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `-p`
    pub prompt: Option<String>,
    /// `-f`
    pub prompt_file: Option<String>,
    /// `-a`
    pub agent: Option<String>,
    /// `-n`
    pub max_iterations: Option<String>,
    /// `--max-runtime`
    pub max_runtime: Option<String>,
    /// `--max-cost`
    pub max_cost: Option<String>,
    /// `-t`
    pub iteration_timeout: Option<String>,
    /// `-d`
    pub delay: Option<String>,
    /// `-s`
    pub stop_on_error: bool,
    /// `--once`
    pub once: bool,
}

impl Flags {
    /// Name, path, value, and whether the value is plain text rather than YAML.
    fn given(&self) -> Vec<(&'static str, &'static str, &str, bool)> {
        let values = [
            ("-p", "prompt", &self.prompt, true),
            ("-f", "prompt_file", &self.prompt_file, true),
            ("-a", "agent", &self.agent, true),
            ("-n", "event_loop.max_iterations", &self.max_iterations, false),
            ("--max-runtime", "event_loop.max_runtime", &self.max_runtime, false),
            ("--max-cost", "event_loop.max_cost_usd", &self.max_cost, false),
            ("-t", "event_loop.iteration_timeout", &self.iteration_timeout, false),
            ("-d", "event_loop.delay", &self.delay, false),
        ];
        let switches = [
            ("-s", "event_loop.stop_on_error", self.stop_on_error, "true"),
            ("--once", "enabled", self.once, "false"),
        ];
        let values = values.into_iter().filter_map(|(n, p, v, text)| Some((n, p, v.as_deref()?, text)));
        let switches = switches.into_iter().filter(|switch| switch.2).map(|(n, p, _, v)| (n, p, v, false));
        values.chain(switches).collect()
    }

    /// One tree for each flag that was given.
    pub fn read(&self, map: &mut SourceMap) -> Vec<Node> {
        let mut out = Vec::new();
        for (name, path, value, text) in self.given() {
            let shown = format!("{name} {value}");
            let end = shown.len();
            let source = map.add(Layer::Flag, name, shown);
            let span = Span { source, start: name.len() + 1, end };
            let node = match text {
                true => Node::scalar(value, false, span),
                false => Node::scalar(value.trim(), true, span),
            };
            out.push(nest(path, |_| Span { start: 0, end: name.len(), ..span }, node));
        }
        out
    }
}

/// Reads one `--set a.b.c=VALUE`. The value is YAML; what is not valid YAML is text.
pub fn read_set(map: &mut SourceMap, item: &str) -> Result<Node, Diagnostic> {
    const NAME: &str = "--set ";
    let source = map.add(Layer::Set, NAME.trim_end(), format!("{NAME}{item}"));
    let whole = Span { source, start: NAME.len(), end: NAME.len() + item.len() };
    let wrong = |title: &str| {
        Diagnostic::new(title)
            .at(map.place(whole))
            .help("write the path of a setting, `=` and its value: --set event_loop.max_iterations=5")
    };
    let Some((path, value)) = item.split_once('=') else {
        return Err(wrong("`--set` needs a value"));
    };
    let path = path.trim();
    if path.split('.').any(str::is_empty) {
        return Err(wrong("`--set` needs the path of a setting"));
    }
    if path.split('.').count() > 16 {
        return Err(wrong("this path is too long to be one of a setting"));
    }
    let start = whole.end - value.len();
    let span = Span { start, ..whole };
    let node = match yaml::parse(map, source, start..whole.end) {
        // A comment sign is text here: there are no comments on a command line.
        Ok(node) if is_plain_text(&node) => Node::scalar(value.trim(), is_old_boolean(value.trim()), span),
        // No value at all, rather than a mapping that is empty.
        Ok(node) if node.span.is_empty() => Node::scalar("", true, span),
        Ok(node) => node,
        Err(_) => Node::scalar(value, false, span),
    };
    let mut from = whole.start + (item.len() - item.trim_start().len());
    let spans: Vec<Span> = path
        .split('.')
        .map(|part| {
            let span = Span { source, start: from, end: from + part.len() };
            from = span.end + 1;
            span
        })
        .collect();
    Ok(nest(path, |depth| spans[depth], node))
}

/// Whether this is a boolean where one is expected: not to be taken for quoted text.
fn is_old_boolean(text: &str) -> bool {
    ["yes", "no", "on", "off"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn is_plain_text(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar(scalar) if scalar.plain && matches!(scalar.meaning(), Meaning::Text(_)))
}

/// A value at a dotted path, as a tree of its own.
fn nest(path: &str, key_span: impl Fn(usize) -> Span, value: Node) -> Node {
    let span = value.span;
    path.split('.').enumerate().collect::<Vec<_>>().into_iter().rev().fold(value, |value, (depth, key)| {
        Node::map(vec![Entry { key: key.to_owned(), key_span: key_span(depth), value }], span)
    })
}

/// Moves aliases to the path they stand for, and a command line to `agent.command`. Two names of one thing in one
/// layer are an error.
pub fn normalize(map: &SourceMap, root: &mut Node) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (alias, target) in ALIASES {
        let Some(entry) = take_at(root, alias) else { continue };
        if let Some(other) = root.find(target) {
            found.push(
                Diagnostic::new(format!("`{alias}` and `{target}` are the same setting"))
                    .at(map.place(entry.key_span))
                    .note(format!("`{target}` is set at {}", map.place(other.key_span).short()))
                    .help("keep one of them"),
            );
            continue;
        }
        put_at(root, target, entry);
    }
    for [one, other] in EXCLUSIVE {
        if let (Some(first), Some(second)) = (root.entry(one), root.entry(other)) {
            found.push(not_both(map, first, second));
        }
    }
    spell_out_agent(root);
    if let Value::Map(entries) = &mut root.value
        && let Some(hats) = entries.iter_mut().find(|entry| entry.key == "hats")
        && let Value::Map(hats) = &mut hats.value.value
    {
        hats.iter_mut().for_each(|hat| spell_out_agent(&mut hat.value));
    }
    found
}

/// A command line alone is `agent.command`.
fn spell_out_agent(section: &mut Node) {
    let Value::Map(entries) = &mut section.value else { return };
    let Some(agent) = entries.iter_mut().find(|entry| entry.key == "agent") else { return };
    if matches!(&agent.value.value, Value::Scalar(scalar) if is_command(scalar.meaning())) {
        let span = agent.value.span;
        let value = std::mem::replace(&mut agent.value, Node::map(Vec::new(), span));
        let command = Entry { key: "command".to_owned(), key_span: agent.key_span, value };
        agent.value = Node::map(vec![command], span);
    }
}

fn is_command(meaning: Meaning<'_>) -> bool {
    matches!(meaning, Meaning::Text(text) if !text.trim().is_empty())
}

/// Settings of which a definition has at most one.
const EXCLUSIVE: [[&str; 2]; 2] = [["prompt", "prompt_file"], ["agent", "cli"]];

fn not_both(map: &SourceMap, first: &Entry, second: &Entry) -> Diagnostic {
    let (first, second) = match first.key_span.start <= second.key_span.start {
        true => (first, second),
        false => (second, first),
    };
    Diagnostic::new(format!("`{}` and `{}` cannot both be given", first.key, second.key))
        .at(map.place(second.key_span))
        .note(format!("`{}` is set at {}", first.key, map.place(first.key_span).short()))
        .help("keep one of them")
}

/// What is left of two exclusive settings after all layers.
pub fn still_exclusive(map: &SourceMap, root: &Node) -> Vec<Diagnostic> {
    EXCLUSIVE
        .iter()
        .filter_map(|[one, other]| Some(not_both(map, root.entry(one)?, root.entry(other)?)))
        .collect()
}

/// Lays `over` on top of `base`: mappings key by key, everything else as a whole.
pub fn overlay(base: &mut Node, over: Node) {
    for [one, other] in EXCLUSIVE {
        for (upper, lower) in [(one, other), (other, one)] {
            if over.entry(upper).is_some_and(|entry| is_whole(upper, &entry.value)) {
                base.take(lower);
            }
        }
    }
    // A new command does not get the old one's arguments.
    if over.entry("agent").is_some_and(|entry| is_whole("agent", &entry.value)) {
        base.take("agent");
    }
    merge(base, over);
}

/// Whether a section stands alone, rather than adding to one of a lower layer.
fn is_whole(key: &str, value: &Node) -> bool {
    match key {
        "agent" => value.entry("command").is_some() || !matches!(value.value, Value::Map(_)),
        "cli" => value.entry("backend").is_some() || value.entry("command").is_some(),
        _ => true,
    }
}

fn merge(base: &mut Node, over: Node) {
    let Value::Map(entries) = over.value else { return };
    for entry in entries {
        let Value::Map(old) = &mut base.value else { return };
        match old.iter_mut().find(|old| old.key == entry.key) {
            Some(old) if matches!(old.value.value, Value::Map(_)) => match entry.value.value {
                Value::Map(_) => merge(&mut old.value, entry.value),
                // An empty section takes nothing away.
                _ if entry.value.is_null() => {}
                _ => *old = entry,
            },
            Some(old) => *old = entry,
            None => old.push(entry),
        }
    }
}

pub fn take_at(root: &mut Node, path: &str) -> Option<Entry> {
    match path.split_once('.') {
        None => root.take(path),
        Some((head, tail)) => {
            let Value::Map(entries) = &mut root.value else { return None };
            let below = entries.iter_mut().find(|entry| entry.key == head)?;
            take_at(&mut below.value, tail)
        }
    }
}

/// Puts an entry at a path; a section that is not there is made.
fn put_at(root: &mut Node, path: &str, mut entry: Entry) {
    match path.split_once('.') {
        None => {
            entry.key = path.to_owned();
            root.put(entry);
        }
        Some((head, tail)) => {
            let Value::Map(entries) = &mut root.value else { return };
            let below = entries.iter().position(|entry| entry.key == head).unwrap_or_else(|| {
                let (key_span, value) = (entry.key_span, Node::map(Vec::new(), entry.value.span));
                entries.push(Entry { key: head.to_owned(), key_span, value });
                entries.len() - 1
            });
            let below = &mut entries[below].value;
            if below.is_null() {
                *below = Node::map(Vec::new(), below.span);
            }
            put_at(below, tail, entry);
        }
    }
}
