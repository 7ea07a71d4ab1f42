//! The lines of the plain screen in colour, and below them one line that lives.
//!
//! It is drawn by hand rather than by a progress bar crate. Such a crate fills the line with spaces up to the last column,
//! so a window that is made narrower breaks it in two; and it trusts its own idea of how wide an emoji is. Here the
//! terminal is told not to wrap while the line is drawn, so no text can make two lines of it.

use std::io::Write;
use std::time::Duration;

use ralph_core::event::{DelayReason, Event};
use ralph_core::record::Record;
use ralph_core::state::{Checking, Running};
use ralph_core::time::Timestamp;
use ralph_core::view::{Wait, clean};

use crate::format::{closeness, elapsed};
use crate::out::Out;
use crate::paint::Tone;
use crate::story::Story;
use crate::text::{COLUMNS, columns_of, fit, fold};
use crate::words::stuck;
use crate::{Screen, ScreenOptions, waits};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME: i64 = 125;
/// From here on the line says how near the nearest limit is.
pub(crate) const NEAR: f64 = 0.8;

const NO_WRAP: &str = "\u{1b}[?7l";
const WRAP: &str = "\u{1b}[?7h";
/// To the start of the line, and clear from the cursor on.
const ERASE: &str = "\r\u{1b}[K";

pub struct LiveScreen {
    out: Out,
    story: Story,
    width: Box<dyn Fn() -> Option<usize> + Send>,
    now: Timestamp,
    /// Whether a person at the terminal can cut a wait short.
    keys: bool,
    /// What stands in the last line now; empty if nothing does.
    drawn: String,
}

/// The columns of the terminal that standard output is, if it is one.
pub fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0))
}

/// The same for standard error.
pub fn stderr_width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stderr()).map(|(width, _)| usize::from(width.0))
}

impl LiveScreen {
    /// `width` is asked at every redraw, so that a window may change its size.
    pub fn new(
        out: Box<dyn Write + Send>,
        options: ScreenOptions,
        width: impl Fn() -> Option<usize> + Send + 'static,
    ) -> LiveScreen {
        let (now, keys) = (Timestamp::default(), options.keys);
        LiveScreen {
            out: Out::new(out),
            story: Story::new(options),
            width: Box::new(width),
            now,
            keys,
            drawn: String::new(),
        }
    }

    fn print(&mut self, lines: Vec<String>) {
        let mut text = String::new();
        if !lines.is_empty() {
            if !self.drawn.is_empty() {
                text.push_str(ERASE);
                self.drawn.clear();
            }
            text.push_str(&self.folded(&lines));
        }
        self.redraw(text);
    }

    /// The lines as they fit between the edges of the terminal.
    fn folded(&self, lines: &[String]) -> String {
        let columns = (self.width)().filter(|columns| *columns > 0).unwrap_or(usize::MAX);
        lines.iter().map(|line| fold(line, columns) + "\n").collect()
    }

    /// Writes `text`, which ends at the start of a line, and the live line if it has changed.
    fn redraw(&mut self, mut text: String) {
        let line = self.live_line().unwrap_or_default();
        if line != self.drawn {
            match line.is_empty() {
                true => text.push_str(ERASE),
                // Cleared behind the text, not before it: a line that is erased first flickers. Then back to its start:
                // the terminal itself writes `^C` where the cursor is, and behind a full line that would begin another.
                false => text.push_str(&format!("\r{NO_WRAP}{line}\u{1b}[K{WRAP}\r")),
            }
            self.drawn = line;
        }
        if !text.is_empty() {
            self.out.write(&text);
        }
    }

    fn live_line(&self) -> Option<String> {
        let view = &self.story.view;
        // The last column stays free: writing into it moves the cursor on some terminals.
        let columns = (self.width)().unwrap_or(COLUMNS).saturating_sub(1);
        let paint = self.story.paint();
        let (tone, head, tail) = if let Some(running) = view.running() {
            let (head, tail) = self.running(running);
            (Tone::Plain, head, tail)
        } else if let Some(checking) = view.checking() {
            (Tone::Plain, self.checking(checking), String::new())
        } else if let Some(wait) = view.wait() {
            (Tone::Dim, self.waiting(wait), String::new())
        } else if view.is_asking() && self.keys {
            (Tone::Notice, stuck::KEYS.to_owned(), String::new())
        } else if view.is_paused() {
            let run = view.run().map(|run| clean(&run.0)).unwrap_or_default();
            (Tone::Notice, format!("paused: ralph unpause {run}"), String::new())
        } else {
            return None;
        };
        let head = fit(&head, columns);
        let tail = fit(&tail, columns.saturating_sub(columns_of(&head)));
        Some(format!("{}{}", paint.paint(tone, &head), paint.dim(&tail)))
    }

    fn running(&self, running: &Running) -> (String, String) {
        let view = &self.story.view;
        let max = view.state().filter(|state| !state.plan.once).and_then(|s| s.plan.limits.max_iterations);
        let of = max.map(|max| format!(" of {max}")).unwrap_or_default();
        let attempt =
            if running.attempt > 1 { format!(" (attempt {})", running.attempt) } else { String::new() };
        let took = elapsed(self.now.since(running.started_at));
        let hat = view.state().and_then(|state| state.bus.as_ref()?.wearing());
        let hat = hat.map(|hat| format!(" {}", clean(hat))).unwrap_or_default();
        let mut head = format!("{} #{}{of}{hat}{attempt}  {took}", self.frame(), running.iteration);
        let near = view.nearest(self.now).filter(|near| near.reading.fraction() >= NEAR);
        if let Some(near) = near.filter(|near| near.def.stop.key != "max_iterations") {
            head.push_str(&format!("  {}", closeness(near.def, &near.reading)));
        }
        if running.killed.is_some() {
            head.push_str("  ending the agent");
        } else if view.state().is_some_and(|state| state.stop_request.is_some()) {
            head.push_str("  stops after this");
        } else if view.state().is_some_and(|state| state.pause_requested) {
            head.push_str("  pauses after this");
        }
        (head, view.said().map(|said| format!("  {said}")).unwrap_or_default())
    }

    fn checking(&self, checking: &Checking) -> String {
        let open: Vec<String> = self.story.view.open_gates().map(clean).collect();
        let took = elapsed(self.now.since(checking.started_at));
        format!("{} #{}  {took}  gates: {}", self.frame(), checking.iteration, open.join(", "))
    }

    fn waiting(&self, wait: Wait) -> String {
        let view = &self.story.view;
        let words = waits::counting(wait, view.state(), self.now, &self.story.style);
        let key = if self.keys && wait.reason != DelayReason::Limit { "  (r: go on now)" } else { "" };
        format!("{} {words}{key}", self.frame())
    }

    fn frame(&self) -> &'static str {
        let frame = self.now.as_millis().div_euclid(FRAME).rem_euclid(FRAMES.len() as i64);
        FRAMES[usize::try_from(frame).unwrap_or(0)]
    }
}

impl Screen for LiveScreen {
    fn event(&mut self, record: &Record) {
        self.now = self.now.max(record.at);
        let lines = self.story.tell(record);
        // An agent that talks fast is drawn with the ticks, not with every word.
        let only_talk = matches!(
            record.event,
            Event::AgentText(_) | Event::UsageUpdated(_) | Event::ToolCalled(_) | Event::ToolFinished(_)
        );
        if !lines.is_empty() || !only_talk {
            self.print(lines);
        }
    }

    fn tick(&mut self, now: Timestamp) {
        // A clock that was set back by a little must not make times jump; by a lot, it is right.
        let back = self.now.since(now);
        if back.is_zero() || back > Duration::from_secs(60) {
            self.now = now;
        }
        self.redraw(String::new());
    }

    fn moves(&self) -> bool {
        self.out.is_open() && (self.story.view.is_at_work() || self.story.view.wait().is_some())
    }

    fn finish(&mut self) {
        let mut text = String::new();
        if !self.drawn.is_empty() {
            text.push_str(ERASE);
            self.drawn.clear();
        }
        let lines = self.story.end();
        text.push_str(&self.folded(&lines));
        if !text.is_empty() {
            self.out.write(&text);
        }
    }
}
