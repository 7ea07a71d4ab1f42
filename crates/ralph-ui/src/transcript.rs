//! What an agent printed, in lines for a person. All of it is text from outside.

use ralph_model::text::{clean, scrub};
use ralph_model::{ToolEnd, ToolEntry, TranscriptEntry};

use crate::Style;
use crate::paint::{Paint, Tone};
use crate::text::fit;

/// A command is cut to this many columns.
const OBJECT: usize = 160;
/// Of what a failed tool gave back, the last lines are shown.
const FAILED_LINES: usize = 10;

/// The lines of one entry. What an agent says stands out; what its tools did is quiet, unless it failed.
pub fn lines(entry: &TranscriptEntry, style: &Style) -> Vec<String> {
    let paint = Paint { color: style.color };
    match entry {
        TranscriptEntry::Said { text } => text.trim_end().lines().map(scrub).collect(),
        TranscriptEntry::Tool(tool) => tool_lines(tool, paint),
        TranscriptEntry::Trouble { text } => vec![paint.paint(Tone::Notice, &format!("! {}", clean(text)))],
        TranscriptEntry::Line { text } => vec![scrub(text)],
    }
}

fn tool_lines(tool: &ToolEntry, paint: Paint) -> Vec<String> {
    let object = tool.object.as_deref().map(|object| format!(" {}", fit(&clean(object), OBJECT)));
    let (tone, end) = match (tool.end, tool.exit_code) {
        (ToolEnd::Failed, Some(code)) => (Tone::Bad, format!(" → exit {code}")),
        (ToolEnd::Failed, None) => (Tone::Bad, " → failed".to_owned()),
        (ToolEnd::Ok, _) => (Tone::Dim, String::new()),
        (ToolEnd::Unknown, _) => (Tone::Dim, " → ended".to_owned()),
        (ToolEnd::Open, _) => (Tone::Notice, " → no end was seen".to_owned()),
    };
    let head = format!("  {}{}{end}", clean(&tool.name), object.unwrap_or_default());
    let mut lines = vec![paint.paint(tone, &head)];
    if tool.end == ToolEnd::Failed {
        lines.extend(
            tail(&tool.output, FAILED_LINES).into_iter().map(|line| paint.dim(&format!("    {line}"))),
        );
    }
    lines
}

/// The last lines of a text from outside that say something.
pub fn tail(text: &str, most: usize) -> Vec<String> {
    let said: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let left_out = said.len().saturating_sub(most);
    let more = (left_out > 0).then(|| "…".to_owned());
    more.into_iter().chain(said[left_out..].iter().map(|line| scrub(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(end: ToolEnd, exit_code: Option<i64>, output: &str) -> TranscriptEntry {
        TranscriptEntry::Tool(ToolEntry {
            name: "Bash".to_owned(),
            object: Some("cargo\u{1b}[2J test\nrm".to_owned()),
            end,
            exit_code,
            output: output.to_owned(),
        })
    }

    #[test]
    fn nothing_but_text_gets_through() {
        let style = Style::plain();
        let nasty = "\u{1b}]52;c;aGk=\u{7}red\u{202e}\u{9b}31mx";
        for entry in [
            TranscriptEntry::Said { text: nasty.to_owned() },
            TranscriptEntry::Line { text: nasty.to_owned() },
            TranscriptEntry::Trouble { text: nasty.to_owned() },
        ] {
            let shown = lines(&entry, &style).join("\n");
            assert!(shown.ends_with("redx") && !shown.chars().any(char::is_control), "{shown:?}");
        }
    }

    #[test]
    fn a_failed_tool_shows_the_end_of_its_output_and_any_other_only_its_line() {
        let style = Style::plain();
        assert_eq!(lines(&tool(ToolEnd::Ok, Some(0), "a\nb"), &style), ["  Bash cargo test rm"]);
        assert_eq!(lines(&tool(ToolEnd::Open, None, ""), &style), ["  Bash cargo test rm → no end was seen"]);
        let output = (1..=12).map(|n| format!("line {n}\n\n")).collect::<String>();
        let shown = lines(&tool(ToolEnd::Failed, Some(101), &output), &style);
        assert_eq!(shown[..3], ["  Bash cargo test rm → exit 101", "    …", "    line 3"]);
        assert_eq!(shown.last().map(String::as_str), Some("    line 12"));
    }

    #[test]
    fn what_is_said_keeps_its_lines() {
        let said = TranscriptEntry::Said { text: "# Title\n\n\tcode\n\n".to_owned() };
        assert_eq!(lines(&said, &Style::plain()), ["# Title", "", "\tcode"]);
    }
}
