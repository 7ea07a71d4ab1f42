//! A tree of settings whose every key and value knows where it was written.

use super::diagnostic::quote;
use super::source::Span;

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
