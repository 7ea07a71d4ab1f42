//! What keys mean: a pure function of what the run does, what was pressed before, and the key.

use ralph_core::event::{DelayReason, Event, Guidance, LoopAnswer, StopHow, StopRequest};
use ralph_core::input::Command;
use ralph_core::stop::Interrupt;

/// More than this is not taken as guidance from a keyboard.
const MOST_TYPED: usize = 2000;
const ESCAPE: u8 = 0x1b;
const CTRL_C: u8 = 0x03;
const CTRL_U: u8 = 0x15;

pub const KEYS: &str = "keys: p pause, s stop after this iteration, k kill this iteration, r go on now, g guidance, v detail, d detach, ? keys";

/// What a key leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Ask the run for something.
    Ask(Command),
    /// Show this in the place of the live line; nothing: the live line again.
    Prompt(Option<String>),
    /// Print a line.
    Note(String),
    /// Show more, or less.
    Detail,
    /// Leave the screen; the run goes on.
    Leave,
}

/// Whose run it is that the person looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Seat {
    /// This process's, which needs the terminal.
    #[default]
    Bound,
    /// This process's, which can leave the terminal.
    InFront,
    /// Another process's.
    Watches,
}

/// What has to be confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Stop,
    EndIteration,
    Detach,
    /// Of a screen that only watches the run.
    Quit,
}

/// The person at the keyboard, and what the run does meanwhile.
#[derive(Debug, Clone, Default)]
pub struct Desk {
    seat: Seat,
    running: bool,
    waiting: Option<DelayReason>,
    /// Paused, or about to be.
    paused: bool,
    /// The run goes in circles and asks what to do.
    asking: bool,
    question: Option<Question>,
    typing: Option<String>,
}

impl Desk {
    pub fn new(seat: Seat) -> Self {
        Self { seat, ..Self::default() }
    }

    /// The run waits already.
    pub fn waits(&mut self, reason: DelayReason) {
        self.waiting = Some(reason);
    }

    /// What the run does now.
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::IterationStarted(_) => self.running = true,
            Event::IterationFinished(_) | Event::IterationInterrupted(_) => self.running = false,
            Event::DelayStarted(delay) => self.waiting = Some(delay.reason),
            Event::DelayEnded { .. } => self.waiting = None,
            Event::PauseRequested {} | Event::RunPaused {} => self.paused = true,
            Event::LoopDetected(detected) if detected.action == LoopAnswer::Ask => self.asking = true,
            Event::UnpauseRequested { .. } | Event::RunUnpaused {} => {
                (self.paused, self.asking) = (false, false);
            }
            Event::RunStopped(_) => *self = Self::new(self.seat),
            _ => {}
        }
    }

    /// What was read from the keyboard at once.
    pub fn press(&mut self, keys: &[u8]) -> Vec<Act> {
        // An arrow or a function key sends an escape and more in one piece.
        if keys.len() > 1 && keys[0] == ESCAPE {
            return Vec::new();
        }
        if self.typing.is_some() {
            return self.write(keys);
        }
        let mut acts = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            acts.extend(self.key(*key));
            if self.typing.is_some() {
                acts.extend(self.write(&keys[at + 1..]));
                break;
            }
        }
        acts
    }

    fn key(&mut self, key: u8) -> Vec<Act> {
        if let Some(question) = self.question.take() {
            return self.answer(question, key);
        }
        match key.to_ascii_lowercase() {
            b'c' if self.asking => vec![Act::Ask(Command::UnpauseRun { now: false })],
            b'v' if self.asking => vec![Act::Ask(Command::ReviewLoop)],
            b'q' if self.asking => vec![Act::Ask(stop())],
            b'p' if self.paused => vec![Act::Ask(Command::UnpauseRun { now: false })],
            b'p' => vec![Act::Ask(Command::PauseRun)],
            b's' => self.ask(Question::Stop, "stop the run after this iteration?"),
            b'k' if self.running => {
                self.ask(Question::EndIteration, "kill this iteration and go on with the next?")
            }
            b'r' => match self.waiting {
                Some(DelayReason::Limit) => vec![Act::Ask(Command::UnpauseRun { now: true })],
                Some(_) => vec![Act::Ask(Command::SkipWait)],
                None => Vec::new(),
            },
            b'g' => {
                self.typing = Some(String::new());
                vec![Act::Prompt(Some(typed("")))]
            }
            b'v' => vec![Act::Detail],
            b'd' if self.seat == Seat::Watches => vec![Act::Leave],
            // A word that was meant for the shell must not make the terminal the shell's in its middle.
            b'd' if self.seat == Seat::InFront => {
                self.ask(Question::Detach, "let the run go on in the background?")
            }
            b'd' => vec![Act::Note(
                "this run lives in this terminal; `ralph run --detach` starts one that does not".to_owned(),
            )],
            b'?' => vec![Act::Note(KEYS.to_owned())],
            b'q' | CTRL_C if self.seat == Seat::Watches => {
                self.question = Some(Question::Quit);
                let text = "the run goes on: d leaves this screen, y stops the run after its iteration, any other key stays";
                vec![Act::Prompt(Some(text.to_owned()))]
            }
            _ => Vec::new(),
        }
    }

    fn ask(&mut self, question: Question, text: &str) -> Vec<Act> {
        self.question = Some(question);
        vec![Act::Prompt(Some(format!("{text} y: yes, any other key: no")))]
    }

    fn answer(&mut self, question: Question, key: u8) -> Vec<Act> {
        let yes = key.eq_ignore_ascii_case(&b'y');
        let leaves = question == Question::Quit && [b'd', b'q', CTRL_C].contains(&key.to_ascii_lowercase());
        let act = match question {
            _ if leaves => Some(Act::Leave),
            Question::Detach if yes => Some(Act::Leave),
            Question::Stop | Question::Quit if yes => Some(Act::Ask(stop())),
            Question::EndIteration if yes && self.running => Some(Act::Ask(Command::EndIteration)),
            _ => None,
        };
        std::iter::once(Act::Prompt(None)).chain(act).collect()
    }

    /// Text for the next prompt, key by key.
    fn write(&mut self, keys: &[u8]) -> Vec<Act> {
        let Some(mut text) = self.typing.take() else { return Vec::new() };
        for part in String::from_utf8_lossy(keys).chars() {
            match part {
                '\r' | '\n' if text.trim().is_empty() => return vec![Act::Prompt(None)],
                '\r' | '\n' => {
                    let said = Command::AddGuidance(Guidance { text: text.trim().to_owned() });
                    return vec![Act::Prompt(None), Act::Ask(said)];
                }
                '\u{1b}' | '\u{3}' => return vec![Act::Prompt(None)],
                '\u{7f}' | '\u{8}' => drop(text.pop()),
                part if u32::from(part) == u32::from(CTRL_U) => text.clear(),
                part if part.is_control() || text.len() >= MOST_TYPED => {}
                part => text.push(part),
            }
        }
        let shown = typed(&text);
        self.typing = Some(text);
        vec![Act::Prompt(Some(shown))]
    }
}

fn typed(text: &str) -> String {
    format!("guidance (Enter sends, Esc drops): {text}")
}

fn stop() -> Command {
    Command::StopRun(StopRequest { how: StopHow::AfterIteration, by: Interrupt::Int })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(acts: &[Act]) -> Vec<&Command> {
        acts.iter()
            .filter_map(|act| match act {
                Act::Ask(command) => Some(command),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_command_that_is_typed_for_the_shell_asks_for_nothing_that_cannot_be_taken_back() {
        for typed in ["touch /tmp/x\n", "mkdir -p a/b\n", "exit\n", "ls -la\n", "cd ..\n", "find . -delete\n"]
        {
            let mut desk = Desk::new(Seat::InFront);
            desk.running = true;
            let acts: Vec<Act> = typed.bytes().flat_map(|key| desk.press(&[key])).collect();
            let harmless =
                |command: &&Command| matches!(command, Command::PauseRun | Command::UnpauseRun { .. });
            assert!(asks(&acts).iter().all(harmless), "{typed}: {acts:?}");
            assert!(!acts.contains(&Act::Leave), "{typed}");
        }
    }

    #[test]
    fn what_ends_something_is_asked_about_once_more() {
        let mut desk = Desk { running: true, ..Desk::new(Seat::Bound) };
        assert_eq!(asks(&desk.press(b"k")), [&Command::EndIteration; 0]);
        assert_eq!(asks(&desk.press(b"n")), [&Command::EndIteration; 0]);
        assert_eq!(asks(&desk.press(b"ky")), [&Command::EndIteration]);
        assert_eq!(asks(&desk.press(b"sy")), [&stop()]);
        desk.running = false;
        assert_eq!(desk.press(b"k"), [], "there is nothing to kill");
    }

    #[test]
    fn a_screen_that_watches_never_stops_the_run_without_asking() {
        let mut desk = Desk::new(Seat::Watches);
        for keys in [&b"q"[..], b"\x03"] {
            assert!(asks(&desk.press(keys)).is_empty());
            assert_eq!(desk.press(keys), [Act::Prompt(None), Act::Leave]);
        }
        assert_eq!(desk.press(b"d"), [Act::Leave]);
        desk.press(b"q");
        assert_eq!(asks(&desk.press(b"y")), [&stop()]);
        assert!(matches!(Desk::new(Seat::Bound).press(b"d")[..], [Act::Note(_)]));
    }

    #[test]
    fn a_run_in_front_is_detached_once_that_is_confirmed() {
        let mut desk = Desk::new(Seat::InFront);
        assert!(matches!(desk.press(b"d")[..], [Act::Prompt(Some(_))]));
        assert_eq!(desk.press(b"d"), [Act::Prompt(None)], "anything but yes is no");
        desk.press(b"d");
        assert_eq!(desk.press(b"y"), [Act::Prompt(None), Act::Leave]);
        assert_eq!(desk.press(b"q"), [], "Ctrl-C stops it, as ever");
    }

    #[test]
    fn r_ends_the_wait_that_there_is() {
        let mut desk = Desk::new(Seat::Bound);
        assert_eq!(desk.press(b"r"), []);
        desk.waiting = Some(DelayReason::Limit);
        assert_eq!(desk.press(b"r"), [Act::Ask(Command::UnpauseRun { now: true })]);
        desk.waiting = Some(DelayReason::Idle);
        assert_eq!(desk.press(b"R"), [Act::Ask(Command::SkipWait)]);
    }

    #[test]
    fn guidance_is_typed_changed_sent_or_dropped() {
        let mut desk = Desk::new(Seat::Bound);
        assert!(
            matches!(&desk.press(b"guse \xc3\xa4")[..], [_, Act::Prompt(Some(text))] if text.ends_with("use ä"))
        );
        assert_eq!(desk.press(b"\x1b[A"), [], "an arrow is no text");
        desk.press(b"\x7f\x7f\x7f\x7f\x7f\x7f\x7f");
        let sent = desk.press(b"read it\r");
        let said = Command::AddGuidance(Guidance { text: "read it".to_owned() });
        assert_eq!(asks(&sent), [&said]);
        desk.press(b"gwrong");
        assert_eq!(desk.press(b"\x1b"), [Act::Prompt(None)]);
        assert_eq!(desk.press(b"v"), [Act::Detail], "keys are keys again");
        desk.press(b"g");
        assert_eq!(desk.press(b"\r"), [Act::Prompt(None)], "nothing was said");
    }

    #[test]
    fn arrows_and_unknown_keys_do_nothing() {
        let mut desk = Desk { running: true, waiting: Some(DelayReason::Idle), ..Desk::new(Seat::Watches) };
        for keys in [&b"\x1b[A"[..], b"\x1bOP", b"\x1b[3~", b"x", b"\n", b"\t", b"\x1a"] {
            assert_eq!(desk.press(keys), [], "{keys:?}");
        }
    }

    #[test]
    fn a_run_that_asks_is_answered() {
        let mut desk = Desk { asking: true, paused: true, ..Desk::new(Seat::Bound) };
        assert_eq!(desk.press(b"v"), [Act::Ask(Command::ReviewLoop)]);
        assert_eq!(desk.press(b"c"), [Act::Ask(Command::UnpauseRun { now: false })]);
        assert_eq!(desk.press(b"q"), [Act::Ask(stop())]);
    }
}
