//! A run told in lines: the same ones on a pipe and on a terminal.

use ralph_core::event::JournalFailed;
use ralph_core::event::{DelayStarted, Event, GateFinished};
use ralph_core::guard::Asked;
use ralph_core::plan::Plan;
use ralph_core::record::Record;
use ralph_core::state::RunState;
use ralph_core::view::{Ended, GuardReading, View, Wait, clean};

use crate::closing;
use crate::format::{closeness, count, limit};
use crate::live::NEAR;
use crate::paint::{Paint, Tone};
use crate::text::{COLUMNS, columns_of, fit, wrap_list};
use crate::waits;
use crate::words;
use crate::{ScreenOptions, Style, Verbosity};

pub(crate) struct Story {
    pub view: View,
    pub style: Style,
    verbosity: Verbosity,
    /// Something was told since the last closing block.
    open: bool,
    suspicions: Suspicions,
}

/// A detector that goes on about the same thing is shown once.
#[derive(Default)]
struct Suspicions {
    before: Vec<String>,
    now: Vec<String>,
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
        let ScreenOptions { verbosity, style, view, .. } = options;
        Story { view, style, verbosity, open: false, suspicions: Suspicions::default() }
    }

    pub fn paint(&self) -> Paint {
        Paint { color: self.style.color }
    }

    /// What there is to say about a record: no line, or some.
    pub fn tell(&mut self, record: &Record) -> Vec<String> {
        self.view.apply(record);
        if let Event::RunStopped(stopped) = &record.event {
            self.open = false;
            return closing::block(&self.view, stopped, record.at, &self.style);
        }
        // Guidance can still be given to a run that has stopped.
        self.open = self.view.stopped().is_none();
        let news = self.suspicions.is_news(&record.event);
        match self.verbosity {
            Verbosity::Quiet => Vec::new(),
            Verbosity::Normal if !news => Vec::new(),
            Verbosity::Normal | Verbosity::Verbose => self.lines(record),
        }
    }

    /// The records are over. Says so if the run is not.
    pub fn end(&mut self) -> Vec<String> {
        match std::mem::take(&mut self.open) {
            true => closing::unfinished(&self.view, &self.style),
            false => Vec::new(),
        }
    }

    fn lines(&self, record: &Record) -> Vec<String> {
        let paint = self.paint();
        let running = self.view.is_at_work();
        let notice = |text: &str| vec![paint.paint(Tone::Notice, text)];
        match &record.event {
            Event::RunStarted(_) => self.opening("run", record),
            Event::RunResumed(_) => self.resumed(record),
            Event::StopRequested(request) => notice(&words::stop_request(request, running)),
            Event::PauseRequested {} if running => notice("will pause after this iteration"),
            Event::AgentSwitched(switched) => notice(&format!("{} takes over", clean(&switched.name))),
            Event::LimitHit(limit) => notice(&format!("usage limit: {}", words::foreign(&limit.message))),
            Event::UnpauseRequested { .. } if running => notice("will not pause after this iteration"),
            Event::RunPaused {} => notice(&format!("paused; go on with: ralph unpause{}", self.run_arg())),
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
            Event::AgentExited(exited) => {
                words::leftovers(exited).map(|text| paint.dim(&text)).into_iter().collect()
            }
            Event::TopicRejected(_) | Event::HatExhausted(_) | Event::HatReset(_) => {
                notice(&crate::topics::notice(&record.event))
            }
            Event::JournalFailed(JournalFailed { message }) => {
                let text = words::foreign(message);
                vec![paint.paint(Tone::Bad, &text)]
            }
            Event::IterationFinished(_) | Event::IterationInterrupted(_) => self.ended(record),
            Event::GatesStarted(started) => words::gates::again(started)
                .map(|text| paint.paint(Tone::Notice, &text))
                .into_iter()
                .collect(),
            Event::GateFinished(gate) => vec![self.gate(gate)],
            Event::CompletionRejected(claim) => notice(&words::gates::rejected(claim)),
            Event::LoopSuspected(e) => {
                vec![paint.dim(&words::stuck::suspicion(e))]
            }
            Event::LoopDetected(e) => words::stuck::report(e, paint),
            Event::LoopReviewed {} => {
                let last = self.view.state().and_then(|state| state.stuck.last.as_ref());
                last.map(|last| words::stuck::report(last, paint)).unwrap_or_default()
            }
            Event::DelayStarted(delay) => {
                vec![paint.dim(&waits::line(delay, self.view.state(), record.at, &self.style))]
            }
            Event::WakeTriggered(woken) => vec![paint.dim(&waits::woken(woken, self.view.state()))],
            Event::WaitSkipped {} => {
                vec![paint.dim("going on")]
            }
            _ => Vec::new(),
        }
    }

    fn ended(&self, record: &Record) -> Vec<String> {
        let Some(ended) = self.view.last() else { return Vec::new() };
        let mut line = words::ended(ended, self.paint());
        // A single pass is close to nothing, and an interrupted one says itself what it ran into.
        let counts =
            matches!(ended, Ended::Finished(_)) && self.view.state().is_some_and(|state| !state.plan.once);
        if let Some(near) = self.view.nearest(record.at).filter(|_| counts) {
            let words = format!("  ({})", closeness(near.def, &near.reading));
            // Where a hat's topics fill the line, a limit that is far away can be left out.
            let has_hats = self.view.state().is_some_and(|state| state.bus.is_some());
            let used = columns_of(&words::ended(ended, Paint { color: false })) + columns_of(&words);
            if !has_hats || used <= COLUMNS || near.reading.fraction() >= NEAR {
                line.push_str(&self.paint().dim(&words));
            }
        }
        vec![line]
    }

    fn gate(&self, gate: &GateFinished) -> String {
        let plan = self.view.state().map(|state| &state.plan.proof);
        let known = plan.and_then(|proof| proof.gates.iter().find(|known| known.name == gate.name));
        let required = known.is_none_or(|known| known.required);
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
        if let Some(state) = self.view.state() {
            let done = count(state.iterations_finished, "iteration", "iterations");
            lines.push(format!("  {} {done}, goes on with #{}", self.label("done"), state.next_iteration()));
        }
        // What is left of a wait is a wait too.
        if let Some(Wait { reason, until, .. }) = self.view.wait() {
            let rest = DelayStarted { reason, until, wait: until.since(record.at) };
            lines.push(self.paint().dim(&waits::line(&rest, self.view.state(), record.at, &self.style)));
        }
        lines
    }

    fn opening(&self, what: &str, record: &Record) -> Vec<String> {
        let Some(state) = self.view.state() else { return vec![what.to_owned()] };
        let plan = &state.plan;
        let run = self.paint().strong(&clean(&state.run.0));
        let agent = words::agent_command(&plan.agent, COLUMNS - 10);
        let mut lines = vec![
            format!("{what} {run} in {}", clean(&plan.workspace.to_string_lossy())),
            format!("  {} {agent}", self.label("agent")),
        ];
        if !plan.agent.bypass.is_empty() {
            // Shown because it lets the agent do anything; `autonomous: false` leaves it out.
            let bypass = words::foreign(&plan.agent.bypass.join(" "));
            lines.push(format!("  {} no permission questions: {bypass}", self.label("")));
        }
        if !plan.fallback.is_empty() {
            let names: Vec<String> = plan.fallback.iter().map(|agent| clean(&agent.name)).collect();
            lines.push(format!("  {} at limits and outages: {}", self.label(""), names.join(", ")));
        }
        if let Some(from) = settings_from(plan) {
            lines.push(format!("  {} {}", self.label("config"), fit(&from, COLUMNS - 10)));
        }
        let mut label = self.label("limits");
        for part in wrap_list(&self.limits(state, record), COLUMNS - 10) {
            lines.push(format!("  {label} {part}"));
            label = self.label("");
        }
        lines
    }

    fn limits(&self, state: &RunState, record: &Record) -> Vec<String> {
        if state.plan.once {
            return vec!["a single pass".to_owned()];
        }
        // How many alarms are too many says little to who does not know what raises one.
        let counts = |guard: &&GuardReading| guard.def.asked != [Asked::WhenStuck];
        let readings = self.view.readings(record.at);
        readings.iter().filter(counts).map(|guard| limit(guard.def, &guard.reading)).collect()
    }

    fn label(&self, label: &str) -> String {
        self.paint().dim(&format!("{label:<7}"))
    }

    fn run_arg(&self) -> String {
        self.view.run().map(|run| format!(" {}", clean(&run.0))).unwrap_or_default()
    }
}

/// `ralph.yml + preset quick`: where the settings come from, beside flags and defaults.
fn settings_from(plan: &Plan) -> Option<String> {
    let file = plan.source.as_ref().map(|path| {
        let below = path.strip_prefix(&plan.workspace).unwrap_or(path);
        clean(&below.to_string_lossy())
    });
    let preset = plan.preset.as_ref().map(|name| format!("preset {}", clean(name)));
    let parts: Vec<String> = file.into_iter().chain(preset).collect();
    (!parts.is_empty()).then(|| parts.join(" + "))
}
