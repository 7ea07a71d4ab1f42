//! Reads YAML into a tree whose every key and value knows where it was written.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, Tag};

use super::diagnostic::{Diagnostic, quote};
use super::source::{SourceMap, Span};
pub use super::tree::{Entry, Meaning, Node, Scalar, Value};

/// Deeper than any definition; keeps every walk over a tree within the stack.
const MAX_DEPTH: usize = 64;
/// What aliases may add in all, in bytes of text and nodes: no alias bombs.
const MAX_ALIASED: usize = 1 << 20;

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
