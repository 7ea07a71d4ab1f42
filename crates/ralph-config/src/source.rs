//! Texts that settings come from, and places in them.

use std::ops::Range;

/// Where a setting comes from. Later ones win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    UserConfig,
    Preset,
    File,
    Set,
    Flag,
}

/// One text: a file, or one argument of the command line.
#[derive(Debug, Clone)]
pub struct Source {
    pub layer: Layer,
    /// A path as it should be shown, or the option's name.
    pub name: String,
    /// Without byte order mark.
    pub text: String,
}

/// A range of bytes in one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub source: usize,
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }
}

#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    sources: Vec<Source>,
}

impl SourceMap {
    pub fn add(&mut self, layer: Layer, name: impl Into<String>, text: impl Into<String>) -> usize {
        self.sources.push(Source { layer, name: name.into(), text: text.into() });
        self.sources.len() - 1
    }

    pub fn get(&self, id: usize) -> &Source {
        &self.sources[id]
    }

    /// The line that a span starts in. The span is cut to that line and to whole characters.
    pub fn place(&self, span: Span) -> Place {
        let source = self.get(span.source);
        let text = source.text.as_str();
        let start = floor_boundary(text, span.start);
        let end = floor_boundary(text, span.end.max(start));
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let line = text[line_start..line_end].trim_end_matches('\r');
        let cut = |at: usize| at.clamp(line_start, line_start + line.len()) - line_start;
        Place {
            layer: source.layer,
            name: source.name.clone(),
            line: text[..line_start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            range: cut(start)..cut(end),
            text: line.to_owned(),
        }
    }
}

/// A place to show: one line and the range in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub layer: Layer,
    pub name: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub range: Range<usize>,
    pub text: String,
}

impl Place {
    /// `ralph.yml:4:3` for a file, the option for an argument.
    pub fn short(&self) -> String {
        match self.layer {
            Layer::UserConfig | Layer::Preset | Layer::File => {
                format!("{}:{}:{}", self.name, self.line, self.column)
            }
            Layer::Set | Layer::Flag => self.name.clone(),
        }
    }
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
