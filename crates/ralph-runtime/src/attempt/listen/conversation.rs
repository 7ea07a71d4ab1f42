//! Listens to an agent whose output ralph can read, and answers it where it is to be answered: what it does, what it
//! costs, how it ended.

use jiff::tz::TimeZone;
use ralph_agents::agent::{StreamFacts, Told, ToolResults};
use ralph_agents::{
    AgentSignal, Dialogue, Opening, Outcome, QuotaTold, Reply, RunSummary, agent, failure, price, verdict,
};
use ralph_core::event::{
    AgentExited, AgentRetrying, AgentStranded, Exit, QuotaSeen, ToolCall, ToolCalled, ToolFinished,
    ToolResult, UsageUpdated,
};
use ralph_core::failure::Failure;
use ralph_core::input::Report;
use ralph_core::marker::{self, Rules, SpeechScanner};
use ralph_core::plan::{AgentPlan, Plan};
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;
use ralph_evidence::check::CheckReader;
use ralph_evidence::detector::Sketch;

use super::sampler::{TEXT_BUDGET, TEXT_MAX};
use super::{Activity, AttemptKey, MakeDialogue};
use crate::drawing::Drawing;
use crate::output_tail::OutputTail;
use crate::process::{Input, Stream};

/// Tool calls of one attempt that are told; the log has the others.
const MAX_CALLS: usize = 5000;
const MAX_COMMAND: usize = 2000;
const MAX_NAME: usize = 200;

/// The name of the only format that is no stream.
const TEXT: &str = "text";

/// The error of an attempt whose agent left answers unread.
const NOT_READ: &str = "the agent did not read what it was answered";

pub(super) struct Conversation {
    of: AttemptKey,
    dialogue: Box<dyn Dialogue>,
    reply: Reply,
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
    tail: OutputTail,
    drawing: Drawing,
    /// Recognises the checks that its tools run.
    checks: CheckReader,
    answers_unread: bool,
    /// It tells of its tools when they have ended.
    calls_told_late: bool,
    /// What it was given up for.
    stranded: Option<Failure>,
}

impl Conversation {
    /// Nothing for an agent that prints plain text.
    pub(super) fn of(
        agent: &AgentPlan,
        plan: &Plan,
        of: AttemptKey,
        rules: &Rules,
        dialogue: Option<MakeDialogue>,
    ) -> Option<Self> {
        let (dialogue, names_tools, calls_told_late) = match dialogue {
            Some(make) => (make(), true, false),
            None => {
                let def = agent::by_format(&agent.output).ok().filter(|def| def.stream.format != TEXT)?;
                let StreamFacts { tool_results, calls, .. } = def.stream;
                (def.dialogue(), tool_results != ToolResults::None, calls == Told::AtEnd)
            }
        };
        let drawing = Drawing::new(&plan.stuck.ignore);
        Some(Self {
            of,
            dialogue,
            reply: Reply::default(),
            summary: RunSummary::default(),
            rules: rules.clone(),
            speech: SpeechScanner::new(rules.clone()),
            spoke: false,
            model: agent.model.clone(),
            prices: price::of_user(&plan.prices),
            signals: Vec::new(),
            told_text: 0,
            told_calls: 0,
            told_usage: (Usage::default(), None),
            tail: OutputTail::keeping(plan.kept_output()),
            drawing: if names_tools { drawing.naming_tools() } else { drawing },
            checks: CheckReader::new(&plan.workspace.to_string_lossy(), &plan.stop.extra_checks()),
            answers_unread: false,
            calls_told_late,
            stranded: None,
        })
    }

    pub(super) fn open(&mut self, opening: &Opening<'_>) {
        self.dialogue.open(opening, &mut self.reply);
    }

    pub(super) fn started(&mut self, input: &mut Input) {
        input.open(&std::mem::take(&mut self.reply.bytes));
        if self.reply.closes {
            input.close();
        }
    }

    pub(super) fn take(
        &mut self,
        stream: Stream,
        bytes: &[u8],
        input: &mut Input,
        tell: &mut dyn FnMut(Report),
    ) {
        let mut signals = std::mem::take(&mut self.signals);
        self.dialogue.take(stream, bytes, &mut signals);
        self.dialogue.answer(&mut self.reply);
        self.send(input);
        self.take_signals(&mut signals, tell);
        self.signals = signals;
    }

    fn send(&mut self, input: &mut Input) {
        if !self.reply.bytes.is_empty() {
            input.write(&self.reply.bytes);
            self.reply.bytes.clear();
            self.answers_unread = input.was_not_read();
        }
        if self.reply.closes {
            input.close();
        }
    }

    fn take_signals(&mut self, signals: &mut Vec<AgentSignal>, tell: &mut dyn FnMut(Report)) {
        // Only these can tell that nothing comes of it any more.
        let trouble =
            |signal: &AgentSignal| matches!(signal, AgentSignal::Retry { .. } | AgentSignal::Error { .. });
        let in_trouble = signals.iter().any(trouble);
        for signal in signals.drain(..) {
            let over = self.summary.observe(&signal);
            match signal {
                AgentSignal::Text { text, delta: false } => self.said(&text, tell),
                AgentSignal::ToolCall(call) => {
                    over.iter().for_each(|forgotten| self.drawing.tool(forgotten, None));
                    self.tool_called(call, tell);
                }
                AgentSignal::ToolResult(result) => {
                    over.iter().for_each(|call| self.drawing.tool(call, Some(&result)));
                    self.tool_finished(over, result, tell);
                }
                AgentSignal::Retry { attempt: tried, max: of, reason, .. } => {
                    let AttemptKey { iteration, attempt } = self.of;
                    let reason = cut(&reason, 500).0.to_owned();
                    tell(Report::AgentRetrying(AgentRetrying { iteration, attempt, tried, of, reason }));
                }
                _ => {}
            }
        }
        let used = self.used();
        // After its last word an agent's use is part of how it ended, and nothing is left that could be cut short.
        if used != self.told_usage && self.summary.result.is_none() {
            self.told_usage = used;
            let AttemptKey { iteration, attempt } = self.of;
            let (usage, cost_usd) = used;
            tell(Report::UsageUpdated(UsageUpdated { iteration, attempt, usage, cost_usd }));
        }
        if in_trouble && self.stranded.is_none() {
            self.look_whether_stranded(tell);
        }
    }

    fn look_whether_stranded(&mut self, tell: &mut dyn FnMut(Report)) {
        let AttemptKey { iteration, attempt } = self.of;
        self.stranded = failure::stranded(&self.summary, jiff::Timestamp::now(), &TimeZone::system());
        if let Some(failure) = &mut self.stranded {
            shorten(&mut failure.message, MAX_COMMAND);
            let failure = failure.clone();
            tell(Report::AgentStranded(AgentStranded { iteration, attempt, failure }));
        }
    }

    fn said(&mut self, text: &str, tell: &mut dyn FnMut(Report)) {
        self.spoke = true;
        self.drawing.message(text);
        self.speech.message(text);
        self.tail.push(text.as_bytes());
        self.tail.push(b"\n");
        if self.told_text < TEXT_BUDGET && !text.trim().is_empty() {
            let (shown, truncated) = cut(text, TEXT_MAX);
            self.told_text += shown.len();
            tell(self.of.said(shown.trim_end().to_owned(), truncated));
        }
    }

    fn tool_called(&mut self, mut call: ToolCall, tell: &mut dyn FnMut(Report)) {
        if self.told_calls >= MAX_CALLS {
            return;
        }
        self.told_calls += 1;
        shorten(&mut call.name, MAX_NAME);
        [&mut call.command, &mut call.path].into_iter().flatten().for_each(|text| shorten(text, MAX_COMMAND));
        let AttemptKey { iteration, attempt } = self.of;
        let mut called = ToolCalled::new(iteration, attempt, call);
        self.checks.called(&mut called);
        tell(Report::ToolCalled(called));
    }

    fn tool_finished(&mut self, call: Option<ToolCall>, result: ToolResult, tell: &mut dyn FnMut(Report)) {
        if self.told_calls >= MAX_CALLS {
            return;
        }
        let AttemptKey { iteration, attempt } = self.of;
        let mut finished = ToolFinished::new(iteration, attempt, result, call);
        finished.command.iter_mut().for_each(|command| shorten(command, MAX_COMMAND));
        self.checks.finished(&mut finished);
        tell(Report::ToolFinished(finished));
    }

    /// Tokens and money so far. The agent's own account comes before a price list.
    fn used(&self) -> (Usage, Option<f64>) {
        let usage = self.summary.totals.usage();
        let by_price = || {
            let model = self.summary.model.as_deref().or(self.model.as_deref());
            self.summary.totals.cost_by_price(model, &self.prices)
        };
        (usage.unwrap_or_default(), self.summary.totals.cost_usd().or_else(by_price))
    }

    pub(super) fn activity(&self) -> Activity {
        let (tool_runs, ended) = (!self.summary.open.is_empty(), self.summary.result.is_some());
        Activity { tool_runs, ended, may_run_a_tool: self.calls_told_late }
    }

    pub(super) fn drawing(&mut self) -> &mut Drawing {
        &mut self.drawing
    }

    pub(super) fn finish(
        mut self,
        exited: &mut AgentExited,
        now: Timestamp,
        tell: &mut dyn FnMut(Report),
    ) -> Option<Box<Sketch>> {
        let mut signals = Vec::new();
        self.dialogue.finish(&mut signals);
        self.take_signals(&mut signals, tell);
        // Nothing ran, or nobody knows how it ended: what the stream said explains nothing.
        if !matches!(exited.exit, Exit::Code(_) | Exit::Signal(_)) {
            return None;
        }
        exited.error = match verdict(&self.summary, &exited.exit) {
            Outcome::Ok => self.answers_unread.then(|| NOT_READ.to_owned()),
            Outcome::Failed { why } => Some(cut(&why.to_string(), MAX_COMMAND).0.to_owned()),
        };
        // It may end well after it was given up; what it was given up for is not cured by that.
        if let Some(failure) = &self.stranded {
            exited.error = Some(failure.message.clone());
        }
        exited.failure =
            exited.error.as_ref().and_then(|_| self.stranded.take().or_else(|| self.failure(now)));
        (exited.usage, exited.cost_usd) = self.used();
        exited.model = self.summary.model.clone();
        exited.quotas = self.summary.quotas.iter().map(quota).collect();
        // Some streams have their one answer only in their result.
        if let Some(text) = self.summary.final_text().filter(|_| !self.spoke) {
            self.speech.message(text);
            self.drawing.message(text);
        }
        let found = self.summary.final_text().map(|text| marker::scan(text, &self.rules)).unwrap_or_default();
        if let Some(text) = self.summary.final_text() {
            self.tail = self.tail.emptied();
            self.tail.push(text.as_bytes());
        }
        self.summary.open.iter().for_each(|call| self.drawing.tool(call, None));
        exited.record_signals(found, self.speech.finish());
        exited.tail = self.tail.text();
        Some(self.drawing.finish())
    }

    fn failure(&self, now: Timestamp) -> Option<Failure> {
        let at = jiff::Timestamp::from_millisecond(now.as_millis()).ok()?;
        let mut found = failure::failure(&self.summary, at, &TimeZone::system())?;
        shorten(&mut found.message, MAX_COMMAND);
        Some(found)
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

fn shorten(text: &mut String, most: usize) {
    text.truncate(cut(text, most).0.len());
}

fn quota(told: &QuotaTold) -> QuotaSeen {
    let at = |seconds: i64| Timestamp::from_millis(seconds.saturating_mul(1000));
    QuotaSeen { window: told.window.clone(), used: told.used, resets_at: told.resets_at.map(at) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::ids::IterationNumber;
    use ralph_core::marker::{AgentState, Said};
    use ralph_core::plan::{SignalPlan, Task};

    /// What a claude that printed these lines has said.
    fn said(lines: &[&str], prompt: &str) -> Said {
        let claude = AgentPlan { output: "claude-stream-json".to_owned(), ..AgentPlan::command("claude") };
        let rules = Rules::new(&SignalPlan::default(), prompt);
        let of = AttemptKey { iteration: IterationNumber(1), attempt: 1 };
        let plan = Plan::new("x", "/w", Task::Text(prompt.to_owned()), claude.clone());
        let mut conversation = Conversation::of(&claude, &plan, of, &rules, None).expect("a stream");
        let input = &mut Input::default();
        for line in lines {
            conversation.take(Stream::Stdout, format!("{line}\n").as_bytes(), input, &mut |_| {});
        }
        let mut exited = AgentExited::new(of.iteration, of.attempt, Exit::Code(0));
        conversation.finish(&mut exited, Timestamp::from_millis(0), &mut |_| {});
        let AgentExited { state, delay, published, unpublished, .. } = exited;
        Said { state, delay, published, unpublished, misheard: None }
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
