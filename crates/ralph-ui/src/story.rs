//! A run told in lines: the same ones on a pipe and on a terminal.

use ralph_model::event::{DelayReason, DelayStarted, DetectorKey, Event, GateFinished, JournalFailed};
use ralph_model::record::Record;
use ralph_model::text::clean;
use ralph_model::time::Timestamp;
use ralph_model::{Definition, Fold, IterationRow, PhaseNow, RowOutcome, RunSnapshot};

use crate::closing;
use crate::format::{closeness, count, limit};
use crate::live::NEAR;
use crate::paint::{Paint, Tone};
use crate::text::{COLUMNS, columns_of, fit, wrap, wrap_list};
use crate::waits;
use crate::words;
use crate::{ScreenOptions, Style, Verbosity};

pub(crate) struct Story {
    pub fold: Fold,
    pub style: Style,
    verbosity: Verbosity,
    /// Something was told since the last closing block.
    open: bool,
    suspicions: Suspicions,
    /// It was said that idle waits are as they are by default.
    told_idle: bool,
}

/// A detector that goes on about the same thing is shown once.
#[derive(Default)]
struct Suspicions {
    before: Vec<DetectorKey>,
    now: Vec<DetectorKey>,
}

impl Suspicions {
    /// Whether a record is worth a line as far as suspicions go.
    fn is_news(&mut self, event: &Event) -> bool {
        match event {
            Event::IterationFinished(_) => self.before = std::mem::take(&mut self.now),
            Event::LoopDetected(_) => *self = Self::default(),
            Event::LoopSuspected(e) => {
                self.now.push(e.detector.clone());
                return !self.before.contains(&e.detector);
            }
            _ => {}
        }
        true
    }
}

impl Story {
    pub fn new(options: ScreenOptions) -> Story {
        let ScreenOptions { verbosity, style, fold, .. } = options;
        Story { fold, style, verbosity, open: false, suspicions: Suspicions::default(), told_idle: false }
    }

    /// More of what the agent does, or less; says which.
    pub fn toggle_detail(&mut self) -> &'static str {
        let (verbosity, said) = match self.verbosity {
            Verbosity::Verbose => (Verbosity::Normal, "less detail (v: more)"),
            Verbosity::Normal | Verbosity::Quiet => {
                (Verbosity::Verbose, "what the agent says is shown (v: less)")
            }
        };
        self.verbosity = verbosity;
        said
    }

    pub fn paint(&self) -> Paint {
        Paint { color: self.style.color }
    }

    /// What there is to say about a record: no line, or some.
    pub fn tell(&mut self, record: &Record) -> Vec<String> {
        self.fold.apply(record);
        // Guidance can still be given to a run that has stopped.
        self.open = !self.fold.is_stopped();
        if let Event::RunStopped(_) = &record.event {
            let run = self.fold.snapshot(record.at, true);
            return run.map(|run| closing::block(&run, &self.style)).unwrap_or_default();
        }
        let news = self.suspicions.is_news(&record.event) && record.event.has_line();
        match self.verbosity {
            Verbosity::Quiet => Vec::new(),
            Verbosity::Normal if !news => Vec::new(),
            Verbosity::Verbose if !record.event.has_line() => Vec::new(),
            Verbosity::Normal | Verbosity::Verbose => self.lines(record),
        }
    }

    /// The records are over. Says so if the run is not.
    pub fn end(&mut self) -> Vec<String> {
        match std::mem::take(&mut self.open) {
            true => self.seen(None).map(|run| closing::unfinished(&run, &self.style)).unwrap_or_default(),
            false => Vec::new(),
        }
    }

    /// The run as of a record; without one, as of the last that there is.
    fn seen(&self, record: Option<&Record>) -> Option<RunSnapshot> {
        match record {
            Some(record) => self.fold.snapshot(record.at, true),
            None => self.fold.snapshot(Timestamp::default(), false),
        }
    }

    fn lines(&mut self, record: &Record) -> Vec<String> {
        let paint = self.paint();
        let running = self.fold.is_at_work();
        let notice = |text: &str| vec![paint.paint(Tone::Notice, text)];
        match &record.event {
            Event::RunStarted(_) => self.opening("run", record),
            Event::RunResumed(_) => self.resumed(record),
            Event::StopRequested(request) => notice(&words::stop_request(request, running)),
            Event::PauseRequested {} if running => notice("will pause after this iteration"),
            Event::IterationEndRequested {} => notice("a person ends this iteration; the run goes on"),
            Event::AgentSwitched(switched) => notice(&format!("{} takes over", clean(&switched.name))),
            Event::LimitHit(limit) => notice(&format!("usage limit: {}", words::foreign(&limit.message))),
            Event::UnpauseRequested { .. } if running => notice("will not pause after this iteration"),
            Event::RunPaused {} => notice(&self.paused(record)),
            Event::RunUnpaused {} => notice("unpaused"),
            Event::GuidanceAdded(guidance) => {
                vec![format!("guidance for the next iteration: {}", words::guidance(&guidance.text))]
            }
            Event::GuidanceDelivered { iteration, count: n } => {
                let what = count(*n, "message", "messages");
                vec![paint.dim(&format!("guidance goes into the prompt of #{iteration}: {what}"))]
            }
            Event::CommandFinished(e) if e.timed_out => {
                notice(&format!("command {}", words::command_finished(e)))
            }
            Event::CommandFinished(e) if self.verbosity == Verbosity::Verbose => {
                vec![paint.dim(&format!("command {}", words::command_finished(e)))]
            }
            Event::AgentText(said) if self.verbosity == Verbosity::Verbose => self.said(&said.text),
            Event::AgentExited(exited) => words::trust::after_attempt(exited, paint),
            Event::TopicRejected(_) | Event::HatExhausted(_) | Event::HatReset(_) => {
                notice(&crate::topics::notice(&record.event))
            }
            Event::JournalFailed(JournalFailed { message }) => {
                let text = words::foreign(message);
                vec![paint.paint(Tone::Bad, &text)]
            }
            Event::IterationFinished(finished) => self.ended(&finished.into(), record),
            Event::IterationInterrupted(cut) => self.ended(&cut.into(), record),
            Event::GatesStarted(started) => words::gates::again(started)
                .map(|text| paint.paint(Tone::Notice, &text))
                .into_iter()
                .collect(),
            Event::GateFinished(gate) => vec![self.gate(gate, record)],
            Event::CompletionRejected(claim) => notice(&words::gates::rejected(claim)),
            Event::LoopSuspected(e) => {
                vec![paint.dim(&words::stuck::suspicion(e))]
            }
            Event::LoopDetected(e) => words::stuck::report(e, paint),
            Event::LoopReviewed {} => {
                let last = self.seen(Some(record)).and_then(|run| run.stuck.last);
                last.map(|last| words::stuck::report(&last, paint)).unwrap_or_default()
            }
            Event::DelayStarted(delay) => self.wait(delay, record),
            Event::WakeTriggered(woken) => {
                vec![paint.dim(&waits::woken(woken, self.seen(Some(record)).as_ref()))]
            }
            Event::WaitSkipped {} => {
                vec![paint.dim("going on")]
            }
            other => words::others(other, paint),
        }
    }

    fn wait(&mut self, delay: &DelayStarted, record: &Record) -> Vec<String> {
        let (run, paint) = (self.seen(Some(record)), self.paint());
        let mut lines = vec![paint.dim(&waits::line(delay, run.as_ref(), record.at, &self.style))];
        if delay.reason == DelayReason::Idle && !std::mem::replace(&mut self.told_idle, true) {
            lines.extend(run.as_ref().and_then(waits::by_default).map(|text| paint.dim(&text)));
        }
        let needs = self.needs(record);
        lines.extend(needs.map(|need| paint.paint(Tone::Notice, &format!("needs you: {need}"))));
        lines
    }

    fn paused(&self, record: &Record) -> String {
        match self.needs(record) {
            Some(need) => format!("paused; needs you: {need}"),
            None => format!("paused; go on with: ralph unpause{}", self.run_arg(record)),
        }
    }

    /// What a person has to do now, with the command.
    fn needs(&self, record: &Record) -> Option<String> {
        self.seen(Some(record))?.needs_person.map(|need| need.sentence())
    }

    fn ended(&self, row: &IterationRow, record: &Record) -> Vec<String> {
        let mut line = words::row(row, self.paint());
        let Some(run) = self.seen(Some(record)) else { return vec![line] };
        // A single pass is close to nothing, and an interrupted one says itself what it ran into.
        let counts = row.outcome != RowOutcome::Interrupted && !run.definition.once;
        if let Some(near) = run.nearest().filter(|_| counts) {
            let words = format!("  ({})", closeness(near));
            // Where a hat's topics fill the line, a limit that is far away can be left out.
            let used = columns_of(&words::row(row, Paint { color: false })) + columns_of(&words);
            if run.hats.is_empty() || used <= COLUMNS || near.fraction >= NEAR {
                line.push_str(&self.paint().dim(&words));
            }
        }
        vec![line]
    }

    fn gate(&self, gate: &GateFinished, record: &Record) -> String {
        let gates = self.seen(Some(record)).map(|run| run.gates).unwrap_or_default();
        let required = gates.iter().find(|known| known.name == gate.name).is_none_or(|known| known.required);
        let phrase = words::gates::finished(gate, required);
        format!("  gate {} {}", clean(&gate.name), phrase.paint(self.paint()))
    }

    fn said(&self, text: &str) -> Vec<String> {
        let paint = self.paint();
        let lines = text.lines().map(clean).filter(|line| !line.is_empty());
        lines.map(|line| format!("{} {line}", paint.dim("  |"))).collect()
    }

    fn resumed(&self, record: &Record) -> Vec<String> {
        let mut lines = self.opening("resumed run", record);
        let Some(run) = self.seen(Some(record)) else { return lines };
        let done = count(run.totals.iterations, "iteration", "iterations");
        lines.push(format!("  {} {done}, goes on with #{}", self.label("done"), run.next_iteration()));
        // What is left of a wait is a wait too.
        if let PhaseNow::Waiting { reason, until, .. } = run.phase {
            let rest = DelayStarted { reason, until, wait: until.since(record.at) };
            lines.push(self.paint().dim(&waits::line(&rest, Some(&run), record.at, &self.style)));
        }
        lines
    }

    fn opening(&self, what: &str, record: &Record) -> Vec<String> {
        let Some(run) = self.seen(Some(record)) else { return vec![what.to_owned()] };
        let title = format!("{what} {}", self.paint().strong(&clean(&run.run.0)));
        self.about(&title, &run)
    }

    /// What the run is, for a screen that did not see it begin.
    pub fn header(&self, title: &str, now: Timestamp) -> Vec<String> {
        match self.fold.snapshot(now, true) {
            Some(run) => self.about(&clean(title), &run),
            None => vec![clean(title)],
        }
    }

    /// Nobody looks any more.
    pub fn leave(&mut self) {
        self.open = false;
    }

    fn about(&self, title: &str, run: &RunSnapshot) -> Vec<String> {
        let agent = words::agent_command(&run.agent.command, COLUMNS - 10);
        let mut lines = vec![
            format!("{title} in {}", clean(&run.workspace)),
            format!("  {} {agent}", self.label("agent")),
        ];
        if !run.agent.bypass.is_empty() {
            // Shown because it lets the agent do anything; `autonomous: false` leaves it out.
            let bypass = words::foreign(&run.agent.bypass.join(" "));
            lines.push(format!("  {} no permission questions: {bypass}", self.label("")));
        }
        if !run.agent.fallback.is_empty() {
            let names: Vec<String> = run.agent.fallback.iter().map(|name| clean(name)).collect();
            lines.push(format!("  {} at limits and outages: {}", self.label(""), names.join(", ")));
        }
        if let Some(from) = settings_from(&run.definition) {
            lines.push(format!("  {} {}", self.label("config"), fit(&from, COLUMNS - 10)));
        }
        let contained = run.containment.iter().flat_map(words::contain::lines);
        let contained = contained.flat_map(|text| wrap(&text, COLUMNS - 10));
        let labels = std::iter::once(self.label("sandbox")).chain(std::iter::repeat(self.label("")));
        lines.extend(contained.zip(labels).map(|(text, label)| format!("  {label} {text}")));
        lines.extend(self.gates(run));
        let mut label = self.label("limits");
        for part in wrap_list(&limits(run), COLUMNS - 10) {
            lines.push(format!("  {label} {part}"));
            label = self.label("");
        }
        lines
    }

    /// What a claim will have to stand, or that it will have to stand nothing.
    fn gates(&self, run: &RunSnapshot) -> Vec<String> {
        let names = run.gates.iter().map(|gate| match gate.required {
            true if gate.hidden => format!("{} (hidden)", clean(&gate.name)),
            true => clean(&gate.name),
            false => format!("{} (only reported)", clean(&gate.name)),
        });
        let names: Vec<String> = names.collect();
        if run.gates.iter().any(|gate| gate.required) {
            let parts = wrap_list(&names, COLUMNS - 10).into_iter();
            let labels = std::iter::once(self.label("gates")).chain(std::iter::repeat(self.label("")));
            return parts.zip(labels).map(|(part, label)| format!("  {label} {part}")).collect();
        }
        let none = match names.is_empty() {
            true => "none: \"complete\" will be the agent's word alone, unproved".to_owned(),
            false => format!("{}: \"complete\" will be the agent's word alone, unproved", names.join(", ")),
        };
        let none = none.as_str();
        let cure = "add one: --set 'gates=[{name: tests, run: YOUR TEST COMMAND}]'";
        vec![
            format!("  {} {}", self.label("gates"), self.paint().paint(Tone::Notice, none)),
            format!("  {} {}", self.label(""), self.paint().dim(cure)),
        ]
    }

    fn label(&self, label: &str) -> String {
        self.paint().dim(&format!("{label:<7}"))
    }

    fn run_arg(&self, record: &Record) -> String {
        self.seen(Some(record)).map(|run| format!(" {}", clean(&run.run.0))).unwrap_or_default()
    }
}

fn limits(run: &RunSnapshot) -> Vec<String> {
    if run.definition.once {
        return vec!["a single pass".to_owned()];
    }
    // How many alarms are too many says little to who does not know what raises one.
    let mut limits: Vec<String> =
        run.limits.iter().filter(|reading| !reading.counts_alarms).map(limit).collect();
    if run.limit("max_cost").is_none() {
        limits.push("no cost limit".to_owned());
    }
    limits
}

/// `ralph.yml + preset quick`: where the settings come from, beside flags and defaults.
fn settings_from(definition: &Definition) -> Option<String> {
    let preset = definition.preset.as_ref().map(|name| format!("preset {}", clean(name)));
    let parts: Vec<String> = definition.file.as_deref().map(clean).into_iter().chain(preset).collect();
    (!parts.is_empty()).then(|| parts.join(" + "))
}
