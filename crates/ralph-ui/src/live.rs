//! The lines of the plain screen in colour, and below them one line that lives.
//!
//! It is drawn by hand rather than by a progress bar crate. Such a crate fills the line with spaces up to the last column,
//! so a window that is made narrower breaks it in two; and it trusts its own idea of how wide an emoji is. Here the
//! terminal is told not to wrap while the line is drawn, so no text can make two lines of it.

use std::io::Write;
use std::time::Duration;

use ralph_model::event::Event;
use ralph_model::record::Record;
use ralph_model::text::clean;
use ralph_model::time::Timestamp;
use ralph_model::{PhaseNow, RunSnapshot, Then};

use crate::format::{closeness, elapsed};
use crate::out::Out;
use crate::paint::Tone;
use crate::story::Story;
use crate::text::{COLUMNS, columns_of, fit, fit_end, fold};
use crate::words::stuck;
use crate::{Order, Screen, ScreenOptions, waits};

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
    /// What the person at the keyboard is asked, in the place of the live line.
    prompt: Option<String>,
    in_front: fn() -> bool,
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
        let (now, keys, in_front) = (Timestamp::default(), options.keys, options.in_front);
        LiveScreen {
            out: Out::new(out),
            story: Story::new(options),
            width: Box::new(width),
            now,
            keys,
            drawn: String::new(),
            prompt: None,
            in_front,
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
        // In the background the last line belongs to the shell.
        let line = if (self.in_front)() { self.live_line().unwrap_or_default() } else { String::new() };
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
        let run = self.story.fold.snapshot(self.now, true)?;
        // The last column stays free: writing into it moves the cursor on some terminals.
        let columns = (self.width)().unwrap_or(COLUMNS).saturating_sub(1);
        let paint = self.story.paint();
        if let Some(prompt) = &self.prompt {
            return Some(paint.paint(Tone::Notice, &fit_end(&clean(prompt), columns)));
        }
        let none = String::new;
        let (tone, head, tail) = match &run.phase {
            PhaseNow::Running { .. } => {
                let said = run.activity.as_ref().map(|now| format!("  {}", now.text));
                (Tone::Plain, self.running(&run), said.unwrap_or_default())
            }
            PhaseNow::Gates { iteration, since, open, .. } => {
                let (open, took) = (open.iter().map(|name| clean(name)), elapsed(self.now.since(*since)));
                let open = open.collect::<Vec<_>>().join(", ");
                (Tone::Plain, format!("{} #{iteration}  {took}  gates: {open}", self.frame()), none())
            }
            PhaseNow::Waiting { .. } => {
                let wait = run.wait()?;
                let words = waits::counting(&wait, self.now, &self.story.style);
                let key = if self.keys { "  (r: go on now)" } else { "" };
                let needs = run.needs_person.as_ref().map(|need| format!("  needs you: {}", need.sentence()));
                (Tone::Dim, format!("{} {words}{key}", self.frame()), needs.unwrap_or_default())
            }
            PhaseNow::Paused { asking: true } if self.keys => (Tone::Notice, stuck::KEYS.to_owned(), none()),
            PhaseNow::Paused { .. } if run.paused_for.is_some() => {
                let need = run.needs_person.as_ref().map(|need| need.sentence()).unwrap_or_default();
                (Tone::Notice, format!("paused; needs you: {need}"), none())
            }
            PhaseNow::Paused { .. } => {
                (Tone::Notice, format!("paused: ralph unpause {}", clean(&run.run.0)), none())
            }
            PhaseNow::Deciding | PhaseNow::Stopped => return None,
        };
        let head = fit(&head, columns);
        let tail = fit(&tail, columns.saturating_sub(columns_of(&head)));
        Some(format!("{}{}", paint.paint(tone, &head), paint.dim(&tail)))
    }

    fn running(&self, run: &RunSnapshot) -> String {
        let PhaseNow::Running { iteration, attempt, since, hat, ending } = &run.phase else {
            return String::new();
        };
        let of = run.max_iterations().map(|max| format!(" of {max}")).unwrap_or_default();
        let attempt = if *attempt > 1 { format!(" (attempt {attempt})") } else { String::new() };
        let took = elapsed(self.now.since(*since));
        let hat = hat.as_deref().map(|hat| format!(" {}", clean(hat))).unwrap_or_default();
        let mut head = format!("{} #{iteration}{of}{hat}{attempt}  {took}", self.frame());
        let near = run.nearest().filter(|near| near.fraction >= NEAR);
        if let Some(near) = near.filter(|near| near.key != "max_iterations") {
            head.push_str(&format!("  {}", closeness(near)));
        }
        head.push_str(match (ending, run.then) {
            (true, _) => "  ending the agent",
            (false, Some(Then::Stop)) => "  stops after this",
            (false, Some(Then::Pause)) => "  pauses after this",
            (false, None) => "",
        });
        if let Some(forecast) = crate::forecast::short(run) {
            head.push_str(&format!("  {forecast}"));
        }
        head
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

    fn order(&mut self, order: Order) {
        let lines = match order {
            Order::Detail => vec![self.story.paint().dim(self.story.toggle_detail())],
            Order::Note(text) => vec![self.story.paint().dim(&clean(&text))],
            Order::Header(title) => self.story.header(&title, self.now),
            Order::Leave => {
                self.story.leave();
                Vec::new()
            }
            Order::Prompt(prompt) => {
                self.prompt = prompt;
                Vec::new()
            }
        };
        self.print(lines);
    }

    fn moves(&self) -> bool {
        self.out.is_open() && (self.story.fold.is_at_work() || self.story.fold.is_waiting())
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
