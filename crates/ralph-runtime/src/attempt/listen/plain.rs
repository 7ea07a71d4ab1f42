//! Listens to an agent that prints plain text.

use ralph_core::event::{AgentExited, AgentText, Exit};
use ralph_core::input::Report;
use ralph_core::marker::{Glance, Rules, SpeechScanner, TailScanner};

use ralph_evidence::detector::Sketch;

use super::AttemptKey;
use super::sampler::Sampler;
use crate::drawing::Drawing;
use crate::output_tail::OutputTail;
use crate::process::Stream;

pub(super) struct PlainListener {
    of: AttemptKey,
    scanner: TailScanner,
    speech: SpeechScanner,
    sampler: Sampler,
    tail: OutputTail,
    errors: OutputTail,
    drawing: Drawing,
}

impl PlainListener {
    pub(super) fn new(of: AttemptKey, rules: &Rules, ignore: &[String], kept: usize) -> Self {
        Self {
            of,
            scanner: TailScanner::new(rules.clone()),
            speech: SpeechScanner::new(rules.clone()),
            sampler: Sampler::default(),
            tail: OutputTail::keeping(kept),
            errors: OutputTail::default(),
            drawing: Drawing::new(ignore),
        }
    }

    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8], tell: &mut dyn FnMut(Report)) {
        self.drawing.text(stream, bytes);
        match stream {
            // Only what it prints on stdout are the agent's own words.
            Stream::Stdout => {
                let seen = Glance::at(bytes);
                self.scanner.push_seen(bytes, seen);
                self.speech.push_seen(bytes, seen);
                self.tail.push(bytes);
                let of = self.of;
                self.sampler.push(bytes, &mut |text, truncated| tell(of.said(text, truncated)));
            }
            Stream::Stderr => self.errors.push(bytes),
        }
    }

    pub(super) fn drawing(&mut self) -> &mut Drawing {
        &mut self.drawing
    }

    pub(super) fn finish(mut self, exited: &mut AgentExited, tell: &mut dyn FnMut(Report)) -> Box<Sketch> {
        let of = self.of;
        self.sampler.finish(&mut |text, truncated| tell(of.said(text, truncated)));
        exited.record_signals(self.scanner.finish(), self.speech.finish());
        exited.tail = self.tail.text();
        exited.stderr = self.errors.last_line().filter(|_| exited.exit != Exit::Code(0));
        self.drawing.finish()
    }
}

impl AttemptKey {
    pub(super) fn said(self, text: String, truncated: bool) -> Report {
        let AttemptKey { iteration, attempt } = self;
        Report::AgentText(AgentText { iteration, attempt, text, truncated })
    }
}
