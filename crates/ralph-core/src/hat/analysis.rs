//! What can be known about hats before anything runs: what nobody hears, what never happens, what never ends.

use std::collections::{HashMap, HashSet};

use super::graph::{Edge, Graph, Kind, Source};
use super::plan::{HatPlan, HatsPlan};
use super::topic::Pattern;
use crate::ids::HatKey;

/// Something that will surprise, where it stands, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    pub place: FindingPlace,
    pub message: String,
    pub help: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    UnhandledTopic,
    UnpublishedTrigger,
    ShadowedTrigger,
    UnreachableHat,
    UnboundedCycle,
    CompletionUnreachable,
    /// A hat may end the run before another has looked at what it did.
    CompletionPast,
    DuplicateSubscribers,
}

/// Where in the definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingPlace {
    StartingEvent,
    RequiredEvent(usize),
    Hats,
    Hat(HatKey),
    Trigger(HatKey, usize),
    Publishes(HatKey, usize),
    Default(HatKey),
}

struct Analysis<'a> {
    plan: &'a HatsPlan,
    graph: Graph,
    reached: Vec<bool>,
    /// Somebody publishes a topic that the hat gets.
    heard: Vec<bool>,
    index: EdgeIndex,
    found: Vec<Finding>,
}

/// Edges by their topic, so that a trigger does not look at all of them.
#[derive(Default)]
struct EdgeIndex {
    literal: HashMap<String, Vec<usize>>,
    /// Those with a `*` in their topic.
    patterns: Vec<usize>,
}

impl EdgeIndex {
    fn of(graph: &Graph) -> Self {
        let mut index = Self::default();
        for (n, edge) in graph.edges.iter().enumerate() {
            match edge.topic.literal() {
                Some(topic) => index.literal.entry(topic.to_string()).or_default().push(n),
                None => index.patterns.push(n),
            }
        }
        index
    }

    /// Those that a trigger may fit, in their order.
    fn candidates(&self, trigger: &Pattern, all: usize) -> Vec<usize> {
        let Some(topic) = trigger.literal() else { return (0..all).collect() };
        let own = self.literal.get(topic.as_str()).into_iter().flatten();
        let mut found: Vec<usize> = own.chain(&self.patterns).copied().collect();
        found.sort_unstable();
        found
    }
}

/// Everything that is worth a warning, in the order of the file.
pub fn analyse(plan: &HatsPlan) -> Vec<Finding> {
    let graph = Graph::of(plan);
    let reached = graph.distances().iter().map(Option::is_some).collect();
    let mut heard = vec![false; plan.hats.len()];
    graph.edges.iter().flat_map(|edge| &edge.to).for_each(|target| heard[target.hat] = true);
    let index = EdgeIndex::of(&graph);
    let mut analysis = Analysis { plan, graph, reached, heard, index, found: Vec::new() };
    let lost = analysis.lost();
    analysis.start();
    for (n, hat) in plan.hats.iter().enumerate() {
        analysis.triggers(n, hat);
        analysis.reachable(n, hat);
        analysis.unhandled(hat, &lost[n]);
    }
    analysis.duplicates();
    analysis.cycles();
    analysis.completion();
    analysis.past_others();
    analysis.found
}

impl Analysis<'_> {
    fn add(&mut self, kind: FindingKind, place: FindingPlace, message: String, help: impl Into<String>) {
        self.found.push(Finding { kind, place, message, help: help.into() });
    }

    fn id(&self, n: usize) -> HatKey {
        self.plan.hats[n].id.clone()
    }

    fn start(&mut self) {
        let starts = |edge: &&Edge| edge.kind == Kind::Start;
        if self.graph.edges_from(Source::Ralph).filter(starts).all(|edge| edge.to.is_empty()) {
            let topic = &self.plan.starting_event;
            let message = format!("no hat is triggered by `{topic}`, with which the run starts");
            let help =
                format!("add `{topic}` to the triggers of the first hat, or set `event_loop.starting_event`");
            self.add(FindingKind::UnhandledTopic, FindingPlace::StartingEvent, message, help);
        }
    }

    fn triggers(&mut self, n: usize, hat: &HatPlan) {
        for (i, trigger) in hat.triggers.iter().enumerate() {
            let place = FindingPlace::Trigger(hat.id.clone(), i);
            let fitting: Vec<&Edge> = self.fitting(n, trigger).collect();
            if fitting.is_empty() {
                let message = format!("nobody can publish `{trigger}`");
                let help = match trigger.as_str().ends_with("exhausted") {
                    true => "set `max_activations` on a hat: only such a hat is ever exhausted",
                    false => "add it to the `publishes` of a hat, or remove the trigger",
                };
                self.add(FindingKind::UnpublishedTrigger, place, message, help);
            } else if let Some((topic, winner)) = self.always_lost(n, &fitting) {
                let message = format!(
                    "`{}` never gets `{topic}` by `{trigger}`: the trigger of `{winner}` is closer",
                    hat.id
                );
                let help =
                    format!("write `{topic}` into the triggers of `{}` too, or remove `{trigger}`", hat.id);
                self.add(FindingKind::ShadowedTrigger, place, message, help);
            }
        }
    }

    /// The edges whose topic a trigger would take.
    fn fitting(&self, n: usize, trigger: &Pattern) -> impl Iterator<Item = &Edge> {
        let own = move |edge: &Edge| edge.kind == Kind::Exhausted && edge.from == Source::Hat(n);
        let heard = move |edge: &Edge| edge.kind != Kind::Promise && !own(edge);
        let candidates = self.index.candidates(trigger, self.graph.edges.len()).into_iter();
        let edges = candidates.map(|n| &self.graph.edges[n]);
        edges.filter(move |edge| trigger.overlaps(&edge.topic) && heard(edge))
    }

    /// A topic that this hat never gets, and who gets it instead, if that is so for all of them.
    fn always_lost(&self, n: usize, fitting: &[&Edge]) -> Option<(String, HatKey)> {
        let lost =
            |edge: &&Edge| edge.topic.literal().is_some() && edge.to.iter().all(|target| target.hat != n);
        let first = fitting.first().filter(|_| fitting.iter().all(lost))?;
        Some((first.topic.to_string(), self.id(first.to.first()?.hat)))
    }

    fn reachable(&mut self, n: usize, hat: &HatPlan) {
        let place = FindingPlace::Hat(hat.id.clone());
        if hat.triggers.is_empty() {
            let message = format!("`{}` has no triggers and is never put on", hat.id);
            return self.add(
                FindingKind::UnreachableHat,
                place,
                message,
                "add `triggers`, or remove the hat",
            );
        }
        // A hat whose triggers nobody publishes, or that are closer elsewhere, has been named already.
        if !self.reached[n] && self.heard[n] {
            let message = format!("`{}` can never be reached from `{}`", hat.id, self.plan.starting_event);
            let help = "the hats that publish its triggers are never put on themselves";
            self.add(FindingKind::UnreachableHat, place, message, help);
        }
    }

    /// What each hat publishes and nobody gets.
    fn lost(&self) -> Vec<Vec<(Kind, String)>> {
        let required = |topic: &Pattern| self.plan.required_events.iter().any(|one| one.overlaps(topic));
        let meant = |edge: &Edge| !matches!(edge.kind, Kind::Exhausted | Kind::Promise);
        let lost = |edge: &&Edge| edge.to.is_empty() && meant(edge) && !required(&edge.topic);
        let told = |edge: &Edge| (edge.kind, edge.topic.to_string());
        let of = |edges: Vec<&Edge>| edges.into_iter().filter(lost).map(told).collect();
        self.graph.by_source().into_iter().skip(1).map(of).collect()
    }

    fn unhandled(&mut self, hat: &HatPlan, lost: &[(Kind, String)]) {
        for (kind, topic) in lost {
            let place = match *kind {
                Kind::Publishes(i) => FindingPlace::Publishes(hat.id.clone(), i),
                _ => FindingPlace::Default(hat.id.clone()),
            };
            let message =
                format!("no hat handles `{topic}`: with nothing else pending, it ends the run as blocked");
            let help = "add it to the triggers of a hat; or, if it says that the task is done, to `event_loop.required_events`";
            self.add(FindingKind::UnhandledTopic, place, message, help);
        }
    }

    fn duplicates(&mut self) {
        let mut seen: HashSet<String> = HashSet::new();
        let shared: Vec<(String, Vec<usize>)> = self
            .graph
            .edges
            .iter()
            .filter(|edge| edge.to.len() > 1 && edge.topic.literal().is_some())
            .map(|edge| (edge.topic.to_string(), edge.to.iter().map(|target| target.hat).collect()))
            .collect();
        for (topic, hats) in shared {
            if !seen.insert(topic.clone()) {
                continue;
            }
            let names: Vec<String> = hats.iter().map(|n| format!("`{}`", self.id(*n))).collect();
            let all = match &names[..] {
                [one, other] => format!("{one} and {other} both"),
                _ => format!("{} all", names.join(", ")),
            };
            let message = format!("{all} get `{topic}`, each in an iteration of its own");
            let last = &self.plan.hats[hats[hats.len() - 1]];
            let fits = |one: &Pattern| one.literal().is_some_and(|literal| literal.as_str() == topic);
            let at = last.triggers.iter().position(fits).unwrap_or(0);
            let place = FindingPlace::Trigger(last.id.clone(), at);
            let help = "give the trigger to one hat, or publish a topic of its own for each";
            self.add(FindingKind::DuplicateSubscribers, place, message, help);
        }
    }

    /// A cycle is bounded by itself if one of its hats is.
    fn cycles(&mut self) {
        let graph = self.graph.clone();
        let by_source = graph.by_source();
        let mut named = vec![false; self.plan.hats.len()];
        for n in 0..self.plan.hats.len() {
            let unlimited = |n: usize| self.plan.hats[n].max_activations.is_none();
            if named[n] || !unlimited(n) {
                continue;
            }
            let Some(path) = graph.cycle(&by_source, n, &unlimited) else { continue };
            if path.iter().any(|(hat, _)| named[*hat]) {
                continue;
            }
            path.iter().for_each(|(hat, _)| named[*hat] = true);
            let steps: Vec<String> =
                path.iter().map(|(hat, topic)| format!("{} → {topic} → ", self.id(*hat))).collect();
            let message = format!(
                "nothing ends this cycle but the limits of the run: {}{}",
                steps.concat(),
                self.id(n)
            );
            let last = path.last().map_or(n, |(hat, _)| *hat);
            let help = format!("set `max_activations` on one of its hats, such as `{}`", self.id(last));
            self.add(FindingKind::UnboundedCycle, FindingPlace::Hat(self.id(last)), message, help);
        }
    }

    fn completion(&mut self) {
        let able = self.plan.hats.iter().zip(&self.reached).any(|(hat, reached)| hat.completes && *reached);
        // What is required makes the claim by itself.
        if !able && self.plan.required_events.is_empty() && self.reached.contains(&true) {
            let message = "no hat that can be reached may complete the run".to_owned();
            let help = "remove `completes: false` from the hat that knows when the task is done, or name in \
                        `event_loop.required_events` what it then publishes";
            self.add(FindingKind::CompletionUnreachable, FindingPlace::Hats, message, help);
        }
        for (i, wanted) in self.plan.required_events.iter().enumerate() {
            let heard = self.graph.edges.iter().any(|edge| {
                let reached = match edge.from {
                    Source::Ralph => true,
                    Source::Hat(n) => self.reached[n],
                };
                reached && edge.topic.overlaps(wanted)
            });
            if !heard {
                let message =
                    format!("the run can never be complete: no hat that can be reached publishes `{wanted}`");
                let help = "add it to the `publishes` of a hat, or remove it here";
                self.add(FindingKind::CompletionUnreachable, FindingPlace::RequiredEvent(i), message, help);
            }
        }
    }

    /// A claim waits for whoever was published to, but a hat may say nothing but that. Hats later on the way that can answer
    /// have then seen nothing. Required topics that the hat cannot publish itself keep it from that. Where it alone may
    /// complete the run, somebody has decided that it should.
    fn past_others(&mut self) {
        let distances = self.graph.distances();
        let able = |n: usize| self.plan.hats[n].completes && self.reached[n];
        let all_able = (0..self.plan.hats.len()).filter(|n| able(*n)).count();
        let graph = self.graph.clone();
        let by_source = graph.by_source();
        let able: Vec<bool> = (0..self.plan.hats.len()).map(able).collect();
        for (n, hat) in self.plan.hats.iter().enumerate() {
            let own = |wanted: &Pattern| hat.publishes.iter().any(|topic| topic.overlaps(wanted));
            let alone = all_able == usize::from(able[n]);
            if alone
                || !hat.completes
                || !self.reached[n]
                || self.plan.required_events.iter().any(|one| !own(one))
            {
                continue;
            }
            let later = |at: usize| distances[at] > distances[n] && !self.plan.hats[at].publishes.is_empty();
            let meant = by_source[n + 1].iter().filter(|edge| edge.kind != Kind::Exhausted);
            let next = meant.flat_map(|edge| edge.to.iter().map(|target| target.hat)).find(|at| later(*at));
            let Some(reviewer) = next.map(|at| self.id(at)) else { continue };
            let message = format!("`{}` may complete the run before `{reviewer}` has seen its work", hat.id);
            let help = format!(
                "set `completes: false` on `{}`, or name in `event_loop.required_events` what `{reviewer}` publishes when the \
                 work is good",
                hat.id
            );
            self.add(FindingKind::CompletionPast, FindingPlace::Hat(hat.id.clone()), message, help);
        }
    }
}
