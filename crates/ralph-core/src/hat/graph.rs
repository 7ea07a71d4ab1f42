//! Who can hand what to whom: the hats as nodes, their topics as edges.

use crate::ids::HatKey;
use std::collections::VecDeque;

use super::plan::{COORDINATOR, HatsPlan};
use super::routes::Routes;
use super::topic::{Pattern, Topic};
use crate::event::TopicPublished;

#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// In the order of the file.
    pub hats: Vec<Node>,
    pub edges: Vec<Edge>,
    /// Whether how often is known: of a run.
    pub counted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub id: HatKey,
    pub max_activations: Option<u32>,
    pub completes: bool,
}

/// A topic that one may publish, and everybody who would get it.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    pub from: Source,
    pub topic: Pattern,
    pub kind: Kind,
    pub to: Vec<Target>,
    /// How often nobody got it.
    pub unheard: u64,
}

/// Who publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// ralph itself: the start, and the coordinator.
    Ralph,
    /// A hat by its place in the file.
    Hat(usize),
}

/// Why it is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Start,
    /// One of the hat's topics, by its place in `publishes`.
    Publishes(usize),
    Default,
    /// The completion promise: it ends the run, and nobody hears of it.
    Promise,
    /// The hat has used up its activations.
    Exhausted,
    /// The run goes in circles.
    Stuck,
    /// The coordinator did so in this run.
    Coordinated,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub hat: usize,
    pub count: u64,
}

impl Graph {
    pub fn of(plan: &HatsPlan) -> Self {
        let routes = Routes::new(plan.hats.iter().map(|hat| hat.triggers.as_slice()));
        let mut graph = Self { hats: Vec::new(), edges: Vec::new(), counted: false };
        graph.add(plan, &routes, Source::Ralph, Pattern::from(&plan.starting_event), Kind::Start);
        for (n, hat) in plan.hats.iter().enumerate() {
            graph.hats.push(Node {
                id: hat.id.clone(),
                max_activations: hat.max_activations,
                completes: hat.completes,
            });
            for (i, pattern) in hat.publishes.iter().enumerate() {
                let kind = match pattern.literal() {
                    Some(topic) if plan.completion_promise.as_ref() == Some(&topic) => Kind::Promise,
                    _ => Kind::Publishes(i),
                };
                graph.add(plan, &routes, Source::Hat(n), pattern.clone(), kind);
            }
            if let Some(topic) = &hat.default_publishes
                && !hat.publishes.iter().any(|pattern| pattern.as_str() == topic.as_str())
            {
                graph.add(plan, &routes, Source::Hat(n), Pattern::from(topic), Kind::Default);
            }
            if hat.max_activations.is_some() {
                let topic = Pattern::from(&Topic::exhausted(&hat.id));
                graph.add(plan, &routes, Source::Hat(n), topic, Kind::Exhausted);
            }
        }
        let stuck = Topic::loop_detected();
        if !routes.subscribers(&stuck).is_empty() {
            graph.add(plan, &routes, Source::Ralph, Pattern::from(&stuck), Kind::Stuck);
        }
        graph
    }

    fn add(&mut self, plan: &HatsPlan, routes: &Routes, from: Source, topic: Pattern, kind: Kind) {
        let all = 0..plan.hats.len();
        let hears = |n: &usize| plan.hats[*n].triggers.iter().any(|trigger| trigger.overlaps(&topic));
        let mut to: Vec<usize> = match topic.literal() {
            _ if kind == Kind::Promise => Vec::new(),
            Some(topic) => routes.subscribers(&topic),
            None => all.filter(hears).collect(),
        };
        // An exhausted hat cannot hear of its own exhaustion.
        to.retain(|n| kind != Kind::Exhausted || from != Source::Hat(*n));
        let to = to.into_iter().map(|hat| Target { hat, count: 0 }).collect();
        self.edges.push(Edge { from, topic, kind, to, unheard: 0 });
    }

    pub fn name(&self, source: Source) -> &str {
        match source {
            Source::Ralph => COORDINATOR,
            Source::Hat(n) => self.hats.get(n).map_or("?", |hat| hat.id.as_str()),
        }
    }

    /// All edges by who publishes: ralph, then each hat.
    pub fn by_source(&self) -> Vec<Vec<&Edge>> {
        let mut all = vec![Vec::new(); self.hats.len() + 1];
        for edge in &self.edges {
            all[slot(edge.from)].push(edge);
        }
        all
    }

    pub fn edges_from(&self, source: Source) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.from == source)
    }

    /// Counts an event of a run.
    pub fn count(&mut self, event: &TopicPublished) {
        self.counted = true;
        let at = self.edge_of(event).unwrap_or_else(|| {
            let topic = Pattern::from(&event.topic);
            let (from, kind) = (self.source(&event.from), Kind::Coordinated);
            self.edges.push(Edge { from, topic, kind, to: Vec::new(), unheard: 0 });
            self.edges.len() - 1
        });
        let to: Vec<usize> = event.to.iter().filter_map(|id| self.index(id)).collect();
        let edge = &mut self.edges[at];
        if to.is_empty() {
            edge.unheard = edge.unheard.saturating_add(1);
        }
        for hat in to {
            match edge.to.iter_mut().find(|target| target.hat == hat) {
                Some(target) => target.count = target.count.saturating_add(1),
                None => edge.to.push(Target { hat, count: 1 }),
            }
        }
    }

    fn edge_of(&self, event: &TopicPublished) -> Option<usize> {
        let exhausted = event.topic.as_str().strip_suffix(".exhausted").and_then(|id| self.index(id));
        let exhausted = exhausted.filter(|_| event.from == COORDINATOR);
        let fits = |edge: &&Edge| match (edge.kind, exhausted) {
            (Kind::Exhausted, Some(hat)) => edge.from == Source::Hat(hat),
            (Kind::Exhausted, None) | (_, Some(_)) => false,
            _ => edge.from == self.source(&event.from) && edge.topic.matches(&event.topic),
        };
        // The edge of this very topic comes before one with a `*`.
        let best = self.edges.iter().filter(fits).max_by_key(|edge| edge.topic.specificity())?;
        self.edges.iter().position(|edge| std::ptr::eq(edge, best))
    }

    fn source(&self, id: &str) -> Source {
        self.index(id).map_or(Source::Ralph, Source::Hat)
    }

    fn index(&self, id: &str) -> Option<usize> {
        self.hats.iter().position(|hat| hat.id == id)
    }

    /// How far each hat is from the start, in hand-overs. Nothing for one that is never reached.
    pub fn distances(&self) -> Vec<Option<usize>> {
        let by_source = self.by_source();
        let mut found: Vec<Option<usize>> = vec![None; self.hats.len()];
        let mut queue = VecDeque::from([(Source::Ralph, 0)]);
        while let Some((source, distance)) = queue.pop_front() {
            for target in by_source[slot(source)].iter().flat_map(|edge| &edge.to) {
                if found[target.hat].is_none() {
                    found[target.hat] = Some(distance);
                    queue.push_back((Source::Hat(target.hat), distance + 1));
                }
            }
        }
        found
    }

    /// The shortest way from a hat back to itself over hats for which `may` holds: each hat with the topic it publishes.
    /// `by_source` is [`Graph::by_source`].
    pub fn cycle<'a>(
        &self,
        by_source: &[Vec<&'a Edge>],
        start: usize,
        may: &dyn Fn(usize) -> bool,
    ) -> Option<Vec<(usize, &'a Pattern)>> {
        let mut ways: Vec<Option<(usize, &'a Pattern)>> = vec![None; self.hats.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(at) = queue.pop_front() {
            for edge in &by_source[slot(Source::Hat(at))] {
                for target in edge.to.iter().filter(|target| may(target.hat)) {
                    if ways[target.hat].is_some() {
                        continue;
                    }
                    ways[target.hat] = Some((at, &edge.topic));
                    if target.hat == start {
                        return Some(way_back(start, &ways));
                    }
                    queue.push_back(target.hat);
                }
            }
        }
        None
    }
}

/// The place of a source among all.
pub fn slot(source: Source) -> usize {
    match source {
        Source::Ralph => 0,
        Source::Hat(n) => n + 1,
    }
}

fn way_back<'a>(start: usize, ways: &[Option<(usize, &'a Pattern)>]) -> Vec<(usize, &'a Pattern)> {
    let mut path = Vec::new();
    let mut at = start;
    while let Some((from, topic)) = ways[at] {
        path.push((from, topic));
        at = from;
        if at == start {
            break;
        }
    }
    path.reverse();
    path
}
