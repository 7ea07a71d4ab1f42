//! Definitions that come with ralph. Each is a file of its own in `presets/`; a line here makes it known.

use super::diagnostic::{ConfigError, Diagnostic, quote};
use super::nearest::suggest;

/// A definition to start from.
pub struct Preset {
    pub name: &'static str,
    pub yaml: &'static str,
}

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        &[$(Preset { name: $name, yaml: include_str!(concat!("../../../presets/", $name, ".yml")) }),+]
    };
}

pub const PRESETS: &[Preset] =
    presets!["review-loop", "spec-driven", "tdd", "debug", "research", "docs", "strict", "quick"];

impl Preset {
    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// What it is, in a sentence: its first line.
    pub fn summary(&self) -> &'static str {
        self.yaml.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
    }
}

pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// An error that names the presets there are.
pub fn unknown_preset(name: &str) -> ConfigError {
    let found = Diagnostic::new(format!("there is no preset {}", quote(name)));
    let known: Vec<&str> = names().collect();
    found.help(suggest(name, &known)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_preset_completes_on_the_word_of_an_agent() {
        for preset in PRESETS {
            assert!(preset.yaml.lines().any(|line| line == "gates: auto"), "{}", preset.name);
        }
    }
}
