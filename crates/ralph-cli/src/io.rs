//! Standard output as commands use it: colour when it is wanted, and a closed pipe is no error.

use std::io::{self, IsTerminal, Write};

use ralph_ui::Style;
use serde::Serialize;

/// Colour on a terminal, unless NO_COLOR or a dumb terminal says otherwise.
pub fn color(is_terminal: bool) -> bool {
    ralph_ui::color_wanted(is_terminal, |name| std::env::var_os(name))
}

pub fn style() -> Style {
    Style::system(color(io::stdout().is_terminal()))
}

/// Prints a text, with one newline at its end. A reader that went away has seen enough.
pub fn print(text: &str) -> io::Result<()> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let mut out = io::stdout().lock();
    quiet(out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

/// Prints a text to be read: on a terminal no line is broken inside a word.
pub fn show(text: &str) -> io::Result<()> {
    print(&folded(text, ralph_ui::terminal_width()))
}

/// The same on standard error.
pub fn complain(text: &str) {
    let text = folded(text, ralph_ui::stderr_width());
    // Where nobody can read it, nothing can be said.
    let _ = writeln!(ralph_runtime::Noted(io::stderr().lock()), "{text}");
}

fn folded(text: &str, columns: Option<usize>) -> String {
    match columns.filter(|columns| *columns > 0) {
        Some(columns) => ralph_ui::fold(text, columns),
        None => text.to_owned(),
    }
}

/// Prints what serialises as JSON for people and programs, over several lines.
pub fn print_json(value: &impl Serialize) -> io::Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}

/// A closed pipe ends the printing, not the command.
pub fn quiet(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
