//! Colours, few and quiet. Without them every text stays complete.

use std::ffi::OsString;

use anstyle::{AnsiColor, Style};
use ralph_model::RowOutcome;
use ralph_model::stop::StopKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Strong,
    Dim,
    Good,
    Bad,
    Notice,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub color: bool,
}

impl Paint {
    pub fn paint(self, tone: Tone, text: &str) -> String {
        let style = tone.style();
        match self.color && !text.is_empty() && style != Style::new() {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }

    pub fn dim(self, text: &str) -> String {
        self.paint(Tone::Dim, text)
    }

    pub fn strong(self, text: &str) -> String {
        self.paint(Tone::Strong, text)
    }
}

impl Tone {
    fn style(self) -> Style {
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        match self {
            Tone::Plain => Style::new(),
            Tone::Strong => Style::new().bold(),
            Tone::Dim => Style::new().dimmed(),
            Tone::Good => color(AnsiColor::Green),
            Tone::Bad => color(AnsiColor::Red),
            Tone::Notice => color(AnsiColor::Yellow),
        }
    }

    pub fn of_stop(kind: StopKind) -> Tone {
        match kind {
            StopKind::Done => Tone::Good,
            StopKind::Failed => Tone::Bad,
            StopKind::Limit | StopKind::Blocked | StopKind::Interrupted => Tone::Notice,
        }
    }

    pub fn of_outcome(outcome: RowOutcome) -> Tone {
        if outcome.is_failure() { Tone::Bad } else { Tone::Good }
    }
}

/// Whether to colour: on a terminal that can, unless NO_COLOR is set to anything. `env` looks up a variable.
pub fn color_wanted(is_terminal: bool, env: impl Fn(&str) -> Option<OsString>) -> bool {
    let no_color = env("NO_COLOR").is_some_and(|value| !value.is_empty());
    !no_color && terminal_can_redraw(is_terminal, env)
}

/// Whether a line on this output can be drawn again and again.
pub fn terminal_can_redraw(is_terminal: bool, env: impl Fn(&str) -> Option<OsString>) -> bool {
    is_terminal && env("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_needs_a_terminal_that_can_and_nobody_against_it() {
        let with = |is_terminal, set: &[(&str, &str)]| {
            color_wanted(is_terminal, |key| {
                set.iter().find(|(name, _)| *name == key).map(|(_, value)| OsString::from(value))
            })
        };
        assert!(with(true, &[("TERM", "xterm")]));
        assert!(!with(false, &[("TERM", "xterm")]));
        assert!(!with(true, &[("TERM", "dumb")]));
        assert!(!with(true, &[]));
        assert!(!with(true, &[("TERM", "xterm"), ("NO_COLOR", "1")]));
        assert!(with(true, &[("TERM", "xterm"), ("NO_COLOR", "")]));
    }

    #[test]
    fn without_colour_there_are_no_escapes() {
        assert_eq!(Paint { color: false }.paint(Tone::Bad, "x"), "x");
        assert_eq!(Paint { color: true }.paint(Tone::Bad, "x"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(Paint { color: true }.paint(Tone::Plain, "x"), "x");
    }
}
