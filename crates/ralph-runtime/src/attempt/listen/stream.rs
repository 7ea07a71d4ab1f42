//! Listens to an agent whose output is a stream that ralph can read: what it does, what it costs, how it ended.

use std::collections::VecDeque;

use jiff::tz::TimeZone;
use ralph_agents::agent::ToolResults;
use ralph_agents::signal::AgentSignal;
use ralph_agents::{Exit, Outcome, Parser, RunSummary, agent, failure, price, verdict};
use ralph_core::failure::Failure;
use ralph_core::marker::{self, Rules, SpeechScanner};
use ralph_core::plan::{AgentPlan, Price};
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;

use super::{Heading, Heard, TEXT_BUDGET, TEXT_MAX};
use crate::drawing::{Drawing, kind_name, succeeded};
use crate::output_tail::OutputTail;
use crate::process::{Status, Stream};

/// Tool calls of one attempt that are told; the log has the others.
const MAX_CALLS: usize = 5000;
/// Calls whose command is remembered until they end.
const MAX_OPEN: usize = 64;
const MAX_COMMAND: usize = 2000;

/// The name of the only format that is no stream.
const TEXT: &str = "text";

pub(crate) struct StreamEars {
    parser: Box<dyn Parser>,
    summary: RunSummary,
    rules: Rules,
    speech: SpeechScanner,
    /// Whether it has said anything as a whole message.
    spoke: bool,
    /// The model that was asked for, where the stream does not say which one answers.
    model: Option<String>,
    prices: Vec<price::Price>,
    signals: Vec<AgentSignal>,
    told_text: usize,
    told_calls: usize,
    told_usage: (Usage, Option<f64>),
    open: VecDeque<(String, Option<String>)>,
    end: OutputTail,
    drawing: Drawing,
}

impl StreamEars {
    /// Nothing for an agent that prints plain text.
    pub(crate) fn of(plan: &AgentPlan, prices: &[Price], rules: &Rules, ignore: &[String]) -> Option<Self> {
        let def = agent::by_format(&plan.output).ok().filter(|def| def.stream.format != TEXT)?;
        let drawing = Drawing::new(ignore);
        Some(Self {
            drawing: match def.stream.tool_results {
                ToolResults::None => drawing,
                _ => drawing.naming_tools(),
            },
            parser: def.parser(),
            summary: RunSummary::default(),
            rules: rules.clone(),
            speech: SpeechScanner::new(rules.clone()),
            spoke: false,
            model: plan.model.clone(),
            prices: price::of_user(prices),
            signals: Vec::new(),
            told_text: 0,
            told_calls: 0,
            told_usage: (Usage::default(), None),
            open: VecDeque::new(),
            end: OutputTail::default(),
        })
    }

    pub(crate) fn take(&mut self, stream: Stream, bytes: &[u8], tell: &mut dyn FnMut(Heard)) {
        let stream = match stream {
            Stream::Stdout => ralph_agents::Stream::Stdout,
            Stream::Stderr => ralph_agents::Stream::Stderr,
        };
        let mut signals = std::mem::take(&mut self.signals);
        self.parser.push(stream, bytes, &mut signals);
        self.heed(&mut signals, tell);
        self.signals = signals;
    }

    fn heed(&mut self, signals: &mut Vec<AgentSignal>, tell: &mut dyn FnMut(Heard)) {
        for signal in signals.drain(..) {
            self.summary.observe(&signal);
            self.drawing.signal(&signal);
            if let AgentSignal::Text { text, delta: false } = &signal {
                self.spoke = true;
                self.speech.message(text);
                self.end.push(text.as_bytes());
                self.end.push(b"\n");
            }
            self.tell(signal, tell);
        }
        let used = self.used();
        // After its last word an agent's use is part of how it ended, and nothing is left that could be cut short.
        if used != self.told_usage && self.summary.result.is_none() {
            self.told_usage = used;
            tell(Heard::Used { usage: used.0, cost_usd: used.1 });
        }
    }

    fn tell(&mut self, signal: AgentSignal, tell: &mut dyn FnMut(Heard)) {
        match signal {
            AgentSignal::Text { text, delta: false }
                if self.told_text < TEXT_BUDGET && !text.trim().is_empty() =>
            {
                let (shown, truncated) = cut(&text, TEXT_MAX);
                self.told_text += shown.len();
                tell(Heard::Said { text: shown.trim_end().to_owned(), truncated });
            }
            AgentSignal::ToolCall { id, kind, name, command, path } if self.told_calls < MAX_CALLS => {
                self.told_calls += 1;
                let command = command.map(|command| cut(&command, MAX_COMMAND).0.to_owned());
                if self.open.len() == MAX_OPEN {
                    self.open.pop_front();
                }
                self.open.push_back((id.clone(), command.clone()));
                tell(Heard::ToolCalled { id, kind: kind_name(kind), name, command, path });
            }
            AgentSignal::ToolResult { id, status, exit_code, output } if self.told_calls < MAX_CALLS => {
                let at = self.open.iter().position(|(open, _)| *open == id);
                let command = at.and_then(|at| self.open.remove(at)).and_then(|(_, command)| command);
                tell(Heard::ToolFinished { id, ok: succeeded(status), command, exit_code, output });
            }
            AgentSignal::Retry { attempt, max, reason, .. } => {
                tell(Heard::Retrying { tried: attempt, of: max, reason: cut(&reason, 500).0.to_owned() });
            }
            _ => {}
        }
    }

    /// Tokens and money so far. The agent's own account comes before a price list.
    fn used(&self) -> (Usage, Option<f64>) {
        let usage = self.summary.totals.usage();
        let by_price = || {
            let model = self.summary.model.as_deref().or(self.model.as_deref())?;
            Some(price::cost_usd(&usage?, price::find(model, &self.prices)?))
        };
        (usage.unwrap_or_default(), self.summary.totals.cost_usd().or_else(by_price))
    }

    pub(crate) fn activity(&self) -> (bool, bool) {
        (!self.summary.open_tools.is_empty(), self.summary.result.is_some())
    }

    pub(crate) fn finish(mut self, exit: &Status, now: Timestamp, tell: &mut dyn FnMut(Heard)) -> Heading {
        let mut signals = Vec::new();
        self.parser.finish(&mut signals);
        self.heed(&mut signals, tell);
        let exit = match exit {
            Status::Code(code) => Exit::Code(*code),
            Status::Signal(signal) => Exit::Signal(*signal),
            // Nothing ran, or nobody knows how it ended: what the stream said explains nothing.
            Status::SpawnFailed { .. } | Status::KeeperLost => return Heading::default(),
        };
        let error = match verdict(&self.summary, exit, false) {
            Outcome::Ok => None,
            Outcome::Failed { why } => Some(cut(&why.to_string(), MAX_COMMAND).0.to_owned()),
        };
        // Some streams have their one answer only in their result.
        if let Some(text) = self.summary.final_text().filter(|_| !self.spoke) {
            self.speech.message(text);
            self.drawing.message(text);
        }
        let found = self.summary.final_text().map(|text| marker::scan(text, &self.rules)).unwrap_or_default();
        let (usage, cost_usd) = self.used();
        let failure = error.as_ref().and_then(|_| self.failure(now));
        if let Some(text) = self.summary.final_text() {
            self.end = OutputTail::default();
            self.end.push(text.as_bytes());
        }
        let (said, tail) = (self.speech.finish(), self.end.text());
        let sketch = Some(self.drawing.finish());
        Heading { found, said, tail, sketch, usage, cost_usd, error, failure, ..Heading::default() }
    }

    fn failure(&self, now: Timestamp) -> Option<Failure> {
        let at = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?;
        let found = failure::failure(&self.summary, at, &TimeZone::system())?;
        let resets_at = found.resets_at.map(|at| Timestamp::from_millis(at.as_millisecond()));
        Some(Failure {
            class: found.class,
            message: cut(&found.message, MAX_COMMAND).0.to_owned(),
            resets_at,
        })
    }
}

/// At most so many bytes of a text, whole characters only; and whether something is missing.
fn cut(text: &str, most: usize) -> (&str, bool) {
    if text.len() <= most {
        return (text, false);
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    (&text[..end], true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::marker::{AgentState, Said};
    use ralph_core::plan::SignalPlan;

    /// What a claude that printed these lines has said.
    fn said(lines: &[&str], prompt: &str) -> Said {
        let plan = AgentPlan { output: "claude-stream-json".to_owned(), ..AgentPlan::command("claude") };
        let rules = Rules::new(&SignalPlan::default(), prompt);
        let mut ears = StreamEars::of(&plan, &[], &rules, &[]).expect("a stream");
        for line in lines {
            ears.take(Stream::Stdout, format!("{line}\n").as_bytes(), &mut |_| {});
        }
        ears.finish(&Status::Code(0), Timestamp::from_millis(0), &mut |_| {}).said
    }

    fn assistant(text: &str) -> String {
        let text = serde_json::Value::from(text);
        format!(
            r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":{text}}}]}}}}"#
        )
    }

    fn result(text: &str) -> String {
        let text = serde_json::Value::from(text);
        format!(r#"{{"type":"result","subtype":"success","is_error":false,"result":{text}}}"#)
    }

    const IDLE: &str = "<!-- ralph:state idle -->";

    #[test]
    fn an_idle_marker_counts_in_a_whole_message_and_not_in_a_tool_result() {
        let (early, end) = (assistant(&format!("Looking.\n{IDLE}\n")), result("Nothing to do."));
        let last = assistant("Nothing to do.");
        assert_eq!(said(&[&early, &last, &end], "").state, Some(AgentState::Idle));
        let tool = format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"{IDLE}"}}]}}}}"#
        );
        let delta = format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","delta":{{"type":"text_delta","text":"{IDLE}"}}}}}}"#
        );
        let sentence = assistant(&format!("I do not print {IDLE} yet."));
        let echo = assistant(&format!("Print:\n{IDLE}"));
        assert_eq!(said(&[&tool, &delta, &sentence, &end], ""), Said::default());
        assert_eq!(said(&[&echo, &end], &format!("Print:\n\n{IDLE}\n")), Said::default());
    }

    #[test]
    fn what_is_said_twice_by_a_stream_counts_once() {
        let text = "<event topic=\"done\">\nit\n</event>";
        let published = |lines: &[&str]| said(lines, "").published.len();
        assert_eq!(published(&[&assistant(text), &result(text)]), 1);
        assert_eq!(published(&[&result(text)]), 1, "an answer that is only in the result");
    }
}
