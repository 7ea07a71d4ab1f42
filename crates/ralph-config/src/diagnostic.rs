//! What is wrong with a definition, where, and what to write instead.

use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::source::{Layer, Place};

/// Lines longer than this are named by position only.
const MAX_SHOWN_LINE: usize = 2000;
/// More than this many problems at once help nobody.
pub const MAX_SHOWN: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Worth a look, but nothing that keeps anything from running.
    pub is_warning: bool,
    pub title: String,
    pub place: Option<Box<Place>>,
    pub notes: Vec<String>,
    pub help: Vec<String>,
}

impl Diagnostic {
    pub fn new(title: impl Into<String>) -> Self {
        Self { is_warning: false, title: title.into(), place: None, notes: Vec::new(), help: Vec::new() }
    }

    pub fn warning(title: impl Into<String>) -> Self {
        Self { is_warning: true, ..Self::new(title) }
    }

    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(Box::new(place));
        self
    }

    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    fn render(&self, renderer: &Renderer) -> String {
        let title = visible(&self.title);
        let level = if self.is_warning { Level::WARNING } else { Level::ERROR };
        let mut group = Group::with_title(level.primary_title(title));
        if let Some(place) = &self.place {
            group = match place.text.len() > MAX_SHOWN_LINE {
                true => {
                    let origin = Origin::path(visible(&place.name)).line(place.line);
                    group.element(origin.char_column(place.column))
                }
                false => group.element(snippet(place)),
            };
        }
        for note in &self.notes {
            group = group.element(Level::NOTE.message(visible(note)));
        }
        for help in &self.help {
            group = group.element(Level::HELP.message(visible(help)));
        }
        renderer.render(&[group])
    }
}

fn snippet(place: &Place) -> Snippet<'static, annotate_snippets::Annotation<'static>> {
    let mark = AnnotationKind::Primary.span(place.range.clone());
    let name = match place.layer {
        Layer::UserConfig | Layer::Preset | Layer::File => visible(&place.name),
        Layer::Set | Layer::Flag => "command line".to_owned(),
    };
    Snippet::source(place.text.clone()).line_start(place.line).path(name).annotation(mark)
}

/// A definition that cannot be used. Nothing was started: exit code 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    diagnostics: Vec<Diagnostic>,
}

impl ConfigError {
    pub const EXIT_CODE: u8 = 2;

    /// All problems, in the order they should be read.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The message, of several lines, without a newline at its end.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let mut parts: Vec<String> =
            self.diagnostics.iter().take(MAX_SHOWN).map(|one| one.render(&renderer)).collect();
        if self.diagnostics.len() > MAX_SHOWN {
            parts.push("and more like these".to_owned());
        }
        parts.join("\n\n")
    }
}

impl From<Diagnostic> for ConfigError {
    fn from(one: Diagnostic) -> Self {
        Self { diagnostics: vec![one] }
    }
}

impl ConfigError {
    /// `None` when there is nothing to complain about.
    pub fn from_all(diagnostics: Vec<Diagnostic>) -> Option<Self> {
        (!diagnostics.is_empty()).then_some(Self { diagnostics })
    }

    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for ConfigError {}

/// Text from a file, quoted for a message: short, on one line.
pub fn quote(text: &str) -> String {
    const MAX: usize = 40;
    let mut shown: String = text.chars().take(MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{}`", visible(&shown))
}

/// Control characters as escapes, so that a file cannot write to the terminal.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}
