//! From the hats of a definition to those of the plan, and what is wrong with them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use ralph_core::hat::{
    Finding, FindingKind, FindingPlace, HatPlan, HatsPlan, Instructions, Pattern, Topic, analyse,
    default_start,
};
use ralph_core::plan::value::{PatternText, Text, TopicText};
use ralph_core::plan::{AgentPlan, Task};

use super::agent::{AgentDef, AgentSpec};
use super::definition::Definition;
use super::diagnostic::{Diagnostic, quote};
use super::hat_def::HatDef;
use super::nearest::{nearest, suggest};
use super::plan::keep;
use super::validate::Settings;
use super::yaml::Node;

/// Warnings about hats that are shown.
const MAX_FINDINGS: usize = 50;

/// Rules about hats that no single setting can check by itself.
pub fn check(settings: &Settings, definition: &Definition) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if definition.hats.0.is_empty() {
        let alone = ["starting_event", "required_events", "max_consecutive_blocked"];
        for key in alone.iter().map(|key| format!("event_loop.{key}")) {
            if settings.root.find(&key).is_some() {
                found.push(
                    settings
                        .at(&key, format!("`{key}` is about hats, and there are none"))
                        .help("add `hats`"),
                );
            }
        }
    }
    let entries = settings.root.entry("hats").map(|entry| entry.value.entries()).unwrap_or_default();
    let nodes: HashMap<&str, &Node> =
        entries.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect();
    let ids: HashSet<&str> = definition.hats.0.iter().map(|(id, _)| id.as_str()).collect();
    for (id, hat) in &definition.hats.0 {
        let node = nodes.get(id.as_str()).copied();
        check_hat(&HatPlace { settings, definition, ids: &ids, node }, id, hat, &mut found);
    }
    found
}

/// A hat among all of them.
struct HatPlace<'a> {
    settings: &'a Settings,
    definition: &'a Definition,
    ids: &'a HashSet<&'a str>,
    /// Where it stands in the definition.
    node: Option<&'a Node>,
}

fn check_hat(place: &HatPlace, id: &str, hat: &HatDef, found: &mut Vec<Diagnostic>) {
    let HatPlace { settings, definition, .. } = place;
    let path = |key: &str| format!("hats.{id}.{key}");
    let given = |key: &str| place.node.is_some_and(|node| node.entry(key).is_some());
    for [one, other] in
        [["instructions", "instructions_file"], ["agent", "backend"], ["args", "backend_args"]]
    {
        if given(one) && given(other) {
            let message = format!("`{}` and `{}` cannot both be given", path(one), path(other));
            found.push(settings.at(&path(other), message).help("keep one of them"));
        }
    }
    if hat.agent.as_ref().is_some_and(|agent| agent.resolve().is_none()) {
        found.push(settings.at(&path("agent"), format!("`{}`: the command is missing", path("agent"))));
    }
    for (i, gate) in hat.gates.iter().flatten().enumerate() {
        if !definition.gates.iter().any(|known| known.name == gate.0) {
            let message = format!("`{}`: there is no gate {}", path("gates"), quote(&gate.0));
            let known: Vec<&str> = definition.gates.iter().map(|gate| gate.name.as_str()).collect();
            let help =
                if known.is_empty() { "add it to `gates`".to_owned() } else { suggest(&gate.0, &known) };
            found.push(settings.at(&path(&format!("gates.{i}")), message).help(help));
        }
    }
    if let Some(TopicText(topic)) = &hat.default_publishes
        && !hat.publishes.iter().any(|pattern| pattern.0.matches(topic))
    {
        let message = format!("`{id}` may not publish `{topic}`, its own default");
        found.push(settings.at(&path("default_publishes"), message).help("add it to `publishes`"));
    }
    let promise = promise(definition);
    for (i, PatternText(pattern)) in hat.publishes.iter().enumerate() {
        let at = path(&format!("publishes.{i}"));
        if promise.is_some() && pattern.literal() == promise && hat.completes == Some(false) {
            let message =
                format!("`{pattern}` is the completion promise, and `{id}` may not complete the run");
            found.push(settings.at(&at, message).help("remove it here, or `completes: false`"));
        }
        let owner = pattern.as_str().strip_suffix(".exhausted");
        if owner.is_some_and(|owner| place.ids.contains(owner)) {
            let message = format!(
                "`{pattern}` is published by ralph itself, when that hat has used up its activations"
            );
            found.push(settings.at(&at, message).help("remove it here"));
        }
    }
}

/// The completion promise, where it can be a topic.
fn promise(definition: &Definition) -> Option<Topic> {
    definition.event_loop.completion_promise.as_ref().and_then(|text| text.trim().parse().ok())
}

impl HatDef {
    /// Its own agent, made of the run's where it only says what is different.
    fn agent(&self, run: &AgentSpec) -> Option<AgentSpec> {
        let own = self.agent.as_ref().and_then(AgentDef::resolve);
        let own = own.or_else(|| self.backend.as_ref().and_then(AgentSpec::of_line));
        let args: Vec<String> =
            self.args.iter().chain(&self.backend_args).map(|word| word.0.clone()).collect();
        if own.is_none() && self.model.is_none() && args.is_empty() {
            return None;
        }
        let mut spec = own.unwrap_or_else(|| run.clone());
        if let Some(model) = &self.model {
            spec.model = Some(model.0.clone());
        }
        spec.args.extend(args);
        Some(spec)
    }

    fn instructions(&self, folder: &Path) -> Option<Instructions> {
        if let Some(file) = &self.instructions_file {
            return Some(Instructions::File(folder.join(&file.0)));
        }
        self.instructions.as_ref().map(|text| Instructions::Text(text.0.trim().to_owned()))
    }

    fn extra_instructions(&self) -> Option<String> {
        let parts: Vec<&str> = self.extra_instructions.iter().map(|text| text.0.trim()).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }
}

/// What the hats of a definition come to.
pub struct HatsPlace<'a> {
    pub settings: &'a Settings,
    /// The run's own agent.
    pub agent: &'a AgentSpec,
    /// Where paths of the definition are meant from.
    pub folder: &'a Path,
    pub is_root: bool,
}

impl HatsPlace<'_> {
    /// Nothing for a definition without hats.
    pub fn plan(
        &self,
        definition: &Definition,
        task: &Task,
        found: &mut Vec<Diagnostic>,
    ) -> Option<Box<HatsPlan>> {
        if definition.hats.0.is_empty() {
            return None;
        }
        let hats = keep(definition.hats.0.iter().map(|(id, hat)| self.hat(id, hat)), found);
        let event_loop = &definition.event_loop;
        let start = event_loop.starting_event.as_ref();
        Some(Box::new(HatsPlan {
            starting_event: start.cloned().unwrap_or_else(default_start),
            task: text_of(task),
            required_events: event_loop.required_events.clone(),
            max_consecutive_blocked: event_loop.max_consecutive_blocked,
            completion_promise: promise(definition),
            hats,
        }))
    }

    fn hat(&self, id: &str, hat: &HatDef) -> Result<HatPlan, Diagnostic> {
        let text = |value: &Option<Text>| value.as_ref().map(|text| text.0.clone());
        let patterns = |all: &[PatternText]| all.iter().map(|pattern| pattern.0.clone()).collect();
        let agent = hat.agent(self.agent).map(|spec| self.agent_plan(id, &spec)).transpose()?;
        let instructions = hat.instructions(self.folder);
        if let Some(Instructions::File(path)) = &instructions
            && !path.is_file()
        {
            let at = format!("hats.{id}.instructions_file");
            let found = self.settings.at(&at, format!("`{at}`: there is no such file"));
            return Err(found.note(format!("looked for {}", path.display())));
        }
        Ok(HatPlan {
            name: text(&hat.name),
            description: text(&hat.description),
            default_publishes: hat.default_publishes.as_ref().map(|topic| topic.0.clone()),
            max_activations: hat.max_activations.map(|count| count.0),
            completes: hat.completes.unwrap_or(true),
            instructions,
            extra_instructions: hat.extra_instructions(),
            agent,
            iteration_timeout: hat.iteration_timeout.map(|time| time.0),
            gates: hat.gates.as_ref().map(|gates| gates.iter().map(|gate| gate.0.clone()).collect()),
            sandbox: hat.sandbox,
            scratchpad: hat.scratchpad.as_ref().map(|path| PathBuf::from(&path.0)),
            ..HatPlan::new(id, patterns(&hat.triggers), patterns(&hat.publishes))
        })
    }

    fn agent_plan(&self, id: &str, spec: &AgentSpec) -> Result<AgentPlan, Diagnostic> {
        spec.to_plan(self.is_root).map_err(|message| {
            let keys =
                ["agent", "backend", "model", "args", "backend_args"].map(|key| format!("hats.{id}.{key}"));
            let at = keys.iter().find(|key| self.settings.root.find(key).is_some());
            let at = at.map_or("hats", String::as_str);
            self.settings.at(at, format!("`{at}`: {message}"))
        })
    }
}

/// A task that is a file, as it is now: the starting event carries it. What cannot be read is found out later.
fn text_of(task: &Task) -> Option<String> {
    let text = match task {
        Task::Text(_) => return None,
        Task::File(path) => super::reader::read_file(path).ok()?,
        Task::RalphMd(path) => {
            ralph_core::ralph_md::body(&String::from_utf8_lossy(&super::reader::read_file(path).ok()?)).into()
        }
    };
    Some(String::from_utf8_lossy(&text).trim().to_owned())
}

/// What the analysis of the hats finds, each with its place.
pub fn findings(settings: &Settings, plan: &HatsPlan) -> Vec<Diagnostic> {
    let found = analyse(plan).into_iter().filter(|finding| !is_fatal(finding));
    // Of more than this nobody reads the end, and each looks for what may have been meant among all topics.
    found.take(MAX_FINDINGS).map(|finding| diagnostic(Diagnostic::warning, settings, plan, finding)).collect()
}

/// What leaves nothing to run.
pub fn fatal(settings: &Settings, plan: &HatsPlan) -> Vec<Diagnostic> {
    let found = analyse(plan).into_iter().filter(is_fatal);
    found.map(|finding| diagnostic(Diagnostic::new, settings, plan, finding)).collect()
}

/// The run would end before its first iteration, and a resume cannot change the hats.
fn is_fatal(finding: &Finding) -> bool {
    finding.place == FindingPlace::StartingEvent
}

fn diagnostic(
    new: fn(String) -> Diagnostic,
    settings: &Settings,
    plan: &HatsPlan,
    finding: Finding,
) -> Diagnostic {
    let (path, meant) = match &finding.place {
        FindingPlace::StartingEvent => ("event_loop.starting_event".to_owned(), None),
        FindingPlace::RequiredEvent(n) => {
            let topics = plan.hats.iter().flat_map(|hat| &hat.publishes).map(Pattern::as_str);
            let wanted = plan.required_events.get(*n).and_then(|wanted| nearest(wanted.as_str(), topics));
            (format!("event_loop.required_events.{n}"), wanted)
        }
        FindingPlace::Hats => ("hats".to_owned(), None),
        FindingPlace::Hat(id) => (format!("hats.{id}"), None),
        FindingPlace::Trigger(id, n) => {
            let trigger = plan.hat(id).and_then(|hat| hat.triggers.get(*n));
            let topics = plan.hats.iter().flat_map(|hat| &hat.publishes).map(Pattern::as_str);
            (format!("hats.{id}.triggers.{n}"), trigger.and_then(|trigger| nearest(trigger.as_str(), topics)))
        }
        FindingPlace::Publishes(id, n) => {
            let topic = plan.hat(id).and_then(|hat| hat.publishes.get(*n));
            let triggers = plan.hats.iter().flat_map(|hat| &hat.triggers).map(Pattern::as_str);
            (format!("hats.{id}.publishes.{n}"), topic.and_then(|topic| nearest(topic.as_str(), triggers)))
        }
        FindingPlace::Default(id) => (format!("hats.{id}.default_publishes"), None),
    };
    // The hat as a whole is its name; a starting event that is not set stands nowhere, so the hats do.
    let as_key = matches!(finding.place, FindingPlace::Hat(_) | FindingPlace::Hats);
    let value = settings.root.at(&path).filter(|_| !as_key).map(|value| value.span);
    let key =
        || settings.root.find(&path).or_else(|| settings.root.entry("hats")).map(|entry| entry.key_span);
    let found = new(finding.message);
    let found = match value.or_else(key) {
        Some(span) => found.at(settings.map.place(span)),
        None => found,
    };
    let of_a_word = matches!(
        finding.kind,
        FindingKind::UnhandledTopic | FindingKind::UnpublishedTrigger | FindingKind::CompletionUnreachable
    );
    match meant.filter(|_| of_a_word) {
        Some(name) => found.help(format!("did you mean `{name}`?")).help(finding.help),
        None => found.help(finding.help),
    }
}
