//! YAML as a tree whose every key and value knows where it was written.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, Tag};

use super::diagnostic::{Diagnostic, quote};
use super::source::{SourceMap, Span};

/// Deeper than any definition; keeps every walk over a tree within the stack.
const MAX_DEPTH: usize = 64;
/// What aliases may add in all, in bytes of text and nodes: no alias bombs.
const MAX_ALIASED: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub span: Span,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: String,
    pub key_span: Span,
    pub value: Node,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    pub text: String,
    /// Written without quotes, so that it may be a number, a boolean or nothing.
    pub plain: bool,
}

/// What a scalar means by the YAML 1.2 core schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meaning<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'a str),
}

impl Scalar {
    pub fn meaning(&self) -> Meaning<'_> {
        let text = self.text.as_str();
        if !self.plain {
            return Meaning::Text(text);
        }
        match text {
            "" | "~" | "null" | "Null" | "NULL" => Meaning::Null,
            "true" | "True" | "TRUE" => Meaning::Bool(true),
            "false" | "False" | "FALSE" => Meaning::Bool(false),
            ".nan" | ".NaN" | ".NAN" => Meaning::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Meaning::Float(f64::INFINITY),
            "-.inf" | "-.Inf" | "-.INF" => Meaning::Float(f64::NEG_INFINITY),
            _ => number(text).unwrap_or(Meaning::Text(text)),
        }
    }
}

fn number(text: &str) -> Option<Meaning<'static>> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return i64::from_str_radix(digits, radix)
                .ok()
                .filter(|_| !digits.starts_with(['+', '-']))
                .map(Meaning::Int);
        }
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let first = unsigned.strip_prefix('.').unwrap_or(unsigned);
    // Keeps out `inf`, `nan` and `infinity`, which Rust would read as numbers.
    if !first.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match text.parse::<i64>() {
        Ok(int) => Some(Meaning::Int(int)),
        Err(_) => text.parse::<f64>().ok().map(Meaning::Float),
    }
}

impl Node {
    pub fn map(entries: Vec<Entry>, span: Span) -> Self {
        Self { span, value: Value::Map(entries) }
    }

    pub fn scalar(text: impl Into<String>, plain: bool, span: Span) -> Self {
        Self { span, value: Value::Scalar(Scalar { text: text.into(), plain }) }
    }

    /// A tree for values that were not written anywhere.
    pub fn from_json(value: &serde_json::Value, span: Span) -> Self {
        use serde_json::Value as Json;
        let value = match value {
            Json::Object(fields) => Value::Map(
                fields
                    .iter()
                    .map(|(key, value)| Entry {
                        key: key.clone(),
                        key_span: span,
                        value: Self::from_json(value, span),
                    })
                    .collect(),
            ),
            Json::Array(items) => Value::List(items.iter().map(|item| Self::from_json(item, span)).collect()),
            Json::String(text) => Value::Scalar(Scalar { text: text.clone(), plain: false }),
            other => Value::Scalar(Scalar { text: other.to_string(), plain: true }),
        };
        Self { span, value }
    }

    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.meaning() == Meaning::Null)
    }

    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The entry at a dotted path.
    pub fn find(&self, path: &str) -> Option<&Entry> {
        match path.split_once('.') {
            Some((head, tail)) => self.entry(head)?.value.find(tail),
            None => self.entry(path),
        }
    }

    /// The value at a dotted path. Items of a list go by their number, from 0.
    pub fn at(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self, |node, key| match &node.value {
            Value::List(items) => items.get(key.parse::<usize>().ok()?),
            _ => node.entry(key).map(|entry| &entry.value),
        })
    }

    pub fn take(&mut self, key: &str) -> Option<Entry> {
        let Value::Map(entries) = &mut self.value else { return None };
        let at = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(at))
    }

    /// Sets a key, in place of one that is there.
    pub fn put(&mut self, entry: Entry) {
        if let Value::Map(entries) = &mut self.value {
            match entries.iter_mut().find(|old| old.key == entry.key) {
                Some(old) => *old = entry,
                None => entries.push(entry),
            }
        }
    }

    /// What it is, for a message: "the number `5`", "a list".
    pub fn describe(&self) -> String {
        match &self.value {
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
            Value::Scalar(scalar) => match scalar.meaning() {
                Meaning::Null => "nothing".to_owned(),
                Meaning::Bool(_) => format!("the boolean {}", quote(&scalar.text)),
                Meaning::Int(_) | Meaning::Float(_) => format!("the number {}", quote(&scalar.text)),
                Meaning::Text("") => "empty text".to_owned(),
                Meaning::Text(text) => format!("the text {}", quote(text)),
            },
        }
    }
}

/// Reads the YAML in `text[range]` of a source. An empty document is an empty mapping.
pub fn parse(map: &SourceMap, source: usize, range: std::ops::Range<usize>) -> Result<Node, Diagnostic> {
    let text = map.get(source).text.get(range.clone()).unwrap_or_default();
    let mut builder = Builder { source, offset: range.start, ..Builder::default() };
    for event in Parser::new_from_str(text) {
        let outcome = match event {
            Ok((event, span)) => {
                let from = span.start.byte_offset().unwrap_or(0);
                let to = span.end.byte_offset().unwrap_or(from);
                builder.event(event, builder.span(from, to))
            }
            Err(error) => {
                let at = error.marker().byte_offset().unwrap_or(text.len());
                Err(Problem::new(format!("invalid YAML: {}", error.info()), builder.span(at, at)))
            }
        };
        if let Err(problem) = outcome {
            let place = map.place(problem.span);
            let help = help(&problem.title, &place.text).map(str::to_owned);
            let mut found = Diagnostic::new(problem.title).at(place);
            found.help.extend(help);
            if let Some(first) = problem.first {
                found = found.note(format!("first written at {}", map.place(first).short()));
            }
            return Err(found);
        }
    }
    let empty = Node::map(Vec::new(), builder.span(0, 0));
    Ok(builder.root.unwrap_or(empty))
}

/// What is usually behind an error that YAML has its own words for.
fn help(title: &str, line: &str) -> Option<&'static str> {
    if line.contains("{{") {
        Some("put a value with a placeholder in quotes: \"… {{ args.x }} …\"")
    } else if title.contains("quoted scalar") {
        Some("is there a quote that is not closed?")
    } else {
        None
    }
}

struct Problem {
    title: String,
    span: Span,
    first: Option<Span>,
}

impl Problem {
    fn new(title: impl Into<String>, span: Span) -> Self {
        Self { title: title.into(), span, first: None }
    }
}

enum Frame {
    List {
        span: Span,
        anchor: usize,
        items: Vec<Node>,
    },
    Map {
        span: Span,
        anchor: usize,
        entries: Vec<Entry>,
        key: Option<(String, Span)>,
        seen: HashMap<String, Span>,
    },
}

struct Anchored {
    node: Node,
    depth: usize,
    weight: usize,
}

#[derive(Default)]
struct Builder {
    source: usize,
    offset: usize,
    frames: Vec<Frame>,
    anchors: HashMap<usize, Anchored>,
    aliased: usize,
    documents: usize,
    root: Option<Node>,
}

impl Builder {
    fn span(&self, from: usize, to: usize) -> Span {
        Span { source: self.source, start: self.offset + from, end: self.offset + to.max(from) }
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(Problem::new("there is more than one YAML document", span));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let text_tag = check_tag(tag.as_deref(), span)?;
                let plain = style == ScalarStyle::Plain && !text_tag;
                // A missing value is reported as `~` of no width.
                let text = if span.is_empty() && plain { String::new() } else { text.into_owned() };
                self.push(Node::scalar(text, plain, span), anchor)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                check_tag(tag.as_deref(), span)?;
                self.open(Frame::List { span, anchor, items: Vec::new() }, span)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                check_tag(tag.as_deref(), span)?;
                let seen = HashMap::new();
                self.open(Frame::Map { span, anchor, entries: Vec::new(), key: None, seen }, span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span)?,
            Event::Alias(id) => self.alias(id, span)?,
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, frame: Frame, span: Span) -> Result<(), Problem> {
        if self.frames.len() >= MAX_DEPTH {
            return Err(too_deep(span));
        }
        self.frames.push(frame);
        Ok(())
    }

    fn close(&mut self, end: Span) -> Result<(), Problem> {
        match self.frames.pop() {
            Some(Frame::List { span, anchor, items }) => {
                let span = Span { end: end.end.max(span.end), ..span };
                self.push(Node { span, value: Value::List(items) }, anchor)
            }
            Some(Frame::Map { span, anchor, entries, .. }) => {
                let span = Span { end: end.end.max(span.end), ..span };
                self.push(Node { span, value: Value::Map(entries) }, anchor)
            }
            None => Ok(()),
        }
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Problem> {
        let Some(anchored) = self.anchors.get(&id) else {
            return Err(Problem::new("an alias cannot stand inside what it names", span));
        };
        if self.frames.len() + anchored.depth > MAX_DEPTH {
            return Err(too_deep(span));
        }
        self.aliased = self.aliased.saturating_add(anchored.weight);
        if self.aliased > MAX_ALIASED {
            return Err(Problem::new("aliases expand to more than 1 MiB", span));
        }
        let node = Node { span, value: anchored.node.value.clone() };
        self.push(node, 0)
    }

    fn push(&mut self, mut node: Node, anchor: usize) -> Result<(), Problem> {
        if anchor != 0 {
            let (depth, weight) = measure(&node);
            self.anchors.insert(anchor, Anchored { node: node.clone(), depth, weight });
            self.aliased = self.aliased.saturating_add(weight);
        }
        match self.frames.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { entries, key, seen, .. }) => match key.take() {
                Some((key, key_span)) => {
                    if node.span.is_empty() {
                        node.span = key_span;
                    }
                    entries.push(Entry { key, key_span, value: node });
                }
                None => {
                    let Value::Scalar(scalar) = node.value else {
                        return Err(Problem::new("a key must be a single word", node.span));
                    };
                    if let Some(first) = seen.insert(scalar.text.clone(), node.span) {
                        let title = format!("{} is set twice", quote(&scalar.text));
                        return Err(Problem { title, span: node.span, first: Some(first) });
                    }
                    *key = Some((scalar.text, node.span));
                }
            },
        }
        Ok(())
    }
}

fn too_deep(span: Span) -> Problem {
    Problem::new(format!("nested more than {MAX_DEPTH} levels deep"), span)
}

/// Whether the tag says "text". Tags with any other effect are refused.
fn check_tag(tag: Option<&Tag>, span: Span) -> Result<bool, Problem> {
    let Some(tag) = tag else { return Ok(false) };
    if tag.is_yaml_core_schema_tag("str") {
        return Ok(true);
    }
    Err(Problem::new(format!("the YAML tag {} has no meaning here", quote(&tag.original())), span))
}

/// Depth, and size in bytes of text and nodes.
fn measure(node: &Node) -> (usize, usize) {
    let join = |(depth, weight): (usize, usize), child: &Node, extra: usize| {
        let (d, w) = measure(child);
        (depth.max(d + 1), weight + w + extra)
    };
    match &node.value {
        Value::Scalar(scalar) => (0, scalar.text.len() + 64),
        Value::List(items) => items.iter().fold((1, 64), |all, item| join(all, item, 0)),
        Value::Map(entries) => {
            entries.iter().fold((1, 64), |all, entry| join(all, &entry.value, entry.key.len() + 64))
        }
    }
}
