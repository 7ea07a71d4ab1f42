//! The rules of hats, written a second time: who gets an event, who is put on, and when nobody can go on.
//!
//! Each event has one fate with each hat it is meant for: it waits, it was given, or it is withheld from a hat that is
//! exhausted. That it is given once, and never lost, is checked with every record.

mod checks;
mod choosing;
mod ends;
mod meant;
mod plans;
mod publishing;
mod voice;

use ralph_core::ids::HatKey;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ralph_core::event::{Event, HatActivated, IterationFinished};
use ralph_core::hat::{HatPlan, HatsPlan, Payload};

pub use plans::hats;
pub use voice::Voice;

use super::model::{Check, ensure};

const RALPH: &str = "ralph";
/// Turns of the coordinator in a row that come to nothing.
const TURNS: u32 = 3;
/// How often a silent hat is asked in all; and one that says the task is complete, and is not believed.
const ASKED: u32 = 2;
const CLAIMS: u32 = 4;
/// Refusals that are kept to be told.
const REFUSALS: usize = 20;

pub struct Hats {
    plan: HatsPlan,
    hats: BTreeMap<HatKey, Hat>,
    /// Everything published so far. The id is the place, counted from 1.
    events: Vec<Said>,
    /// By the attempt at work.
    staged: Vec<Said>,
    promised: bool,
    /// What of its text has still to be refused.
    forbidden: VecDeque<String>,
    refused: Vec<String>,
    due: VecDeque<Said>,
    worn: Option<Worn>,
    silent: Option<Silent>,
    coordinated: u32,
    /// What nobody got since a hat was put on, and the exhausted hats that it was for.
    unheard: Vec<(String, Vec<HatKey>)>,
    /// Of the last iteration that ended well.
    last: Option<HatKey>,
    /// Who claims while others have something to do.
    waiting_claim: Option<HatKey>,
    refused_claim: bool,
    /// The claim that is open is nobody's: the topics make it.
    by_topics: bool,
    /// The reason that a topic has told, and the exhausted hat that it is about.
    ends: Option<(&'static str, Option<HatKey>)>,
    /// Exhausted, and nobody hears of it.
    stuck: Option<HatKey>,
    tree: Option<String>,
    tree_told: Option<String>,
    since_change: BTreeSet<String>,
}

#[derive(Default)]
struct Hat {
    activations: u32,
    exhausted: bool,
    pending: Vec<u64>,
    given: BTreeSet<u64>,
    withheld: Vec<u64>,
    /// What it had been given and was silent about when it was exhausted.
    unanswered: Vec<u64>,
    /// By what it says that it is blocked, and how often in a row.
    blocked: Option<(String, u32)>,
}

#[derive(Debug, Clone, PartialEq)]
struct Said {
    topic: String,
    payload: Payload,
    from: HatKey,
    iteration: Option<u32>,
    by_default: bool,
}

struct Worn {
    hat: HatKey,
    /// What is new, and what it was given before and said nothing about.
    fresh: Vec<u64>,
    again: Vec<u64>,
    told: usize,
}

#[derive(Debug)]
struct Silent {
    hat: HatKey,
    messages: Vec<u64>,
    times: u32,
    claimed: bool,
}

#[derive(Debug, PartialEq)]
enum Next {
    Publish(Said),
    Exhaust(HatKey),
    Wear(HatKey, bool),
    Stop(&'static str),
}

/// What a hat's claim has to stand besides everything else.
pub struct Terms<'a> {
    pub missing: Option<&'static str>,
    pub gates: Option<&'a [String]>,
}

impl Hats {
    pub fn new(plan: &HatsPlan, task: &str) -> Self {
        let start = Said {
            topic: plan.starting_event.to_string(),
            payload: Payload::Text(task.to_owned()),
            from: RALPH.into(),
            iteration: None,
            by_default: false,
        };
        Self {
            plan: plan.clone(),
            hats: plan.hats.iter().map(|hat| (hat.id.clone(), Hat::default())).collect(),
            events: Vec::new(),
            staged: Vec::new(),
            promised: false,
            forbidden: VecDeque::new(),
            refused: Vec::new(),
            due: VecDeque::from([start]),
            worn: None,
            silent: None,
            coordinated: 0,
            unheard: Vec::new(),
            last: None,
            waiting_claim: None,
            refused_claim: false,
            by_topics: false,
            ends: None,
            stuck: None,
            tree: None,
            tree_told: None,
            since_change: BTreeSet::new(),
        }
    }

    /// What is worth counting: a simulation that never meets it proves nothing about it.
    pub fn met(&self, event: &Event) -> Option<&'static str> {
        Some(match event {
            Event::TopicPublished(e) if e.by_default => "topics by default",
            Event::TopicPublished(e) if !e.dropped.is_empty() => "topics dropped for an exhausted hat",
            Event::TopicPublished(e) if e.to.len() > 1 => "topics for several hats",
            Event::TopicPublished(_) => "topics published",
            Event::TopicRejected(_) => "topics refused",
            Event::HatActivated(e) if e.hat == RALPH => "turns of the coordinator",
            Event::HatActivated(e) if e.again => "hats asked once more",
            Event::HatActivated(e) if e.events.len() > 1 => "hats with several events at once",
            Event::HatExhausted(_) => "hats exhausted",
            Event::HatReset(_) => "hats reset",
            Event::RunResumed(_) if !self.due.is_empty() => "crashes between an iteration and its topics",
            Event::RunResumed(_) if !self.staged.is_empty() => "crashes with staged topics",
            _ => return None,
        })
    }

    pub fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// The hat that is worn, and the time it has of its own.
    pub fn timeout(&self) -> Option<std::time::Duration> {
        self.of(&self.worn.as_ref()?.hat)?.iteration_timeout
    }

    fn of(&self, hat: &str) -> Option<&HatPlan> {
        self.plan.hats.iter().find(|plan| plan.id == hat)
    }

    fn hat(&mut self, id: &str) -> Result<&mut Hat, String> {
        self.hats.get_mut(id).ok_or_else(|| format!("there is no hat {id}"))
    }

    pub fn reset(&mut self, id: &str) -> Check {
        let hat = self.hat(id)?;
        (hat.activations, hat.exhausted, hat.blocked) = (0, false, None);
        // What it said nothing about is given to it again.
        hat.given.retain(|id| !hat.unanswered.contains(id));
        hat.pending.append(&mut hat.withheld);
        hat.pending.append(&mut hat.unanswered);
        hat.pending.sort_unstable();
        self.stuck.take_if(|stuck| stuck == id);
        self.unheard.retain(|(_, dropped)| !dropped.iter().any(|hat| hat == id));
        self.ends.take_if(|(_, hat)| hat.as_deref() == Some(id));
        Ok(())
    }

    /// A person wants a stopped run to go on.
    pub fn resumed_after_stop(&mut self) {
        self.coordinated = 0;
        self.unheard.retain(|(_, dropped)| !dropped.is_empty());
        self.ends.take_if(|(_, hat)| hat.is_none());
        self.hats.values_mut().for_each(|hat| hat.blocked = None);
    }

    pub fn started(&mut self, hat: Option<&str>) -> Check {
        let next = self.next();
        let Next::Wear(wanted, _) = &next else { return Err(format!("a hat is put on, but {next:?}")) };
        ensure!(hat == Some(wanted), "{hat:?} is put on instead of {wanted}");
        let fresh = self.hats.get(wanted).map(|hat| hat.pending.clone()).unwrap_or_default();
        let silent = self.silent.as_ref().filter(|silent| silent.hat == *wanted || wanted == RALPH);
        let again = silent.map(|silent| silent.messages.clone()).unwrap_or_default();
        self.forget();
        self.unheard.clear();
        self.worn = Some(Worn { hat: wanted.clone(), fresh, again, told: self.refused.len() });
        Ok(())
    }

    fn forget(&mut self) {
        self.staged.clear();
        self.forbidden.clear();
        self.promised = false;
    }

    fn messages(worn: &Worn) -> Vec<u64> {
        worn.again.iter().chain(&worn.fresh).copied().collect()
    }

    pub fn activated(&self, e: &HatActivated) -> Check {
        let worn = self.worn.as_ref().ok_or("nobody is put on")?;
        ensure!(e.hat == worn.hat, "{} instead of {}", e.hat, worn.hat);
        ensure!(e.events == Self::messages(worn), "{} gets {:?}", e.hat, e.events);
        let before = self.hats.get(&e.hat).map_or(self.coordinated, |hat| hat.activations);
        ensure!(e.activation == before + 1, "activation {} after {before}", e.activation);
        let most = self.of(&e.hat).and_then(|hat| hat.max_activations);
        ensure!(e.of == most, "of {:?} instead of {most:?}", e.of);
        ensure!(most.is_none_or(|most| e.activation <= most), "put on once more than it may");
        let again = self.silent.as_ref().is_some_and(|silent| silent.hat == e.hat);
        ensure!(e.again == again, "{} again: {}", e.hat, e.again);
        Ok(())
    }

    pub fn interrupted(&mut self) {
        self.forget();
        self.worn = None;
    }

    pub fn has_promised(&self) -> bool {
        self.promised
    }

    pub fn finished(&mut self, f: &IterationFinished) -> Check {
        let ok = !f.outcome.is_failure();
        self.by_topics = false;
        let seen = self.tree_told.take();
        let changed = if seen.is_some() { seen != self.tree } else { f.files_changed != Some(0) };
        self.tree = seen.or(self.tree.take());
        if changed {
            self.since_change.clear();
        }
        let hat = self.worn.as_ref().map(|worn| worn.hat.clone());
        ensure!(f.hat == hat, "{:?} has finished, not {hat:?}", f.hat);
        let Some(worn) = self.worn.take().filter(|_| ok) else {
            self.interrupted();
            ensure!(f.publishes.is_empty() && f.activation.is_none(), "a failed one publishes: {f:?}");
            return Ok(());
        };
        ensure!(self.forbidden.is_empty(), "not refused: {:?}", self.forbidden);
        let topics: Vec<&str> = self.staged.iter().map(|said| said.topic.as_str()).collect();
        let theirs: Vec<&str> = f.publishes.iter().map(|topic| topic.as_str()).collect();
        ensure!(theirs == topics, "publishes {theirs:?} instead of {topics:?}");
        let number = f.activation.map(|one| one.number);
        self.refused.drain(..worn.told.min(self.refused.len()));
        self.promised = false;
        if let Some(hat) = self.hats.get_mut(&worn.hat) {
            hat.activations += 1;
            ensure!(number == Some(hat.activations), "activation {number:?}, not {}", hat.activations);
            ensure!(hat.pending.starts_with(&worn.fresh), "{} had other events", worn.hat);
            hat.pending.drain(..worn.fresh.len());
            let twice = worn.fresh.iter().find(|id| !hat.given.insert(**id));
            ensure!(twice.is_none(), "event {twice:?} is delivered to {} twice", worn.hat);
            let known = worn.again.iter().all(|id| hat.given.contains(id));
            ensure!(known, "{} is asked once more about what it never got", worn.hat);
        }
        self.hand_over(worn, f.claims_complete);
        let asked = self.silent.as_ref().map_or(0, |silent| silent.times);
        ensure!(asked <= CLAIMS, "{:?} is asked {asked} times", self.silent);
        Ok(())
    }

    /// What it published is due, or it has said nothing.
    fn hand_over(&mut self, worn: Worn, claimed: bool) {
        self.last = Some(worn.hat.clone());
        if !self.staged.is_empty() {
            let topics: Vec<String> = self.staged.iter().map(|said| said.topic.clone()).collect();
            self.spoke(&topics);
            (self.silent, self.coordinated) = (None, 0);
            self.due.extend(self.staged.drain(..));
            return;
        }
        if worn.hat == RALPH {
            self.coordinated += 1;
            return;
        }
        let messages = Self::messages(&worn);
        let mute = self.of(&worn.hat).is_some_and(|hat| hat.publishes.is_empty());
        let before = self.silent.take().filter(|silent| silent.hat == worn.hat);
        let times = before.as_ref().map_or(0, |silent| silent.times) + 1;
        let end = self.told_end(&messages);
        let is_over = !claimed && ((mute && before.is_none()) || (end.is_some() && times >= ASKED));
        match is_over {
            true if end.is_some() => (self.ends, self.waiting_claim) = (end, None),
            true => {}
            false => self.silent = Some(Silent { hat: worn.hat, messages, times, claimed }),
        }
    }

    /// Whether another hat than this one has something to do.
    pub fn another_waits(&self, last: &IterationFinished) -> bool {
        let mut hats = self.hats.iter();
        hats.any(|(id, hat)| !hat.exhausted && !hat.pending.is_empty() && Some(id) != last.hat.as_ref())
    }

    pub fn terms(&self, last: &IterationFinished) -> Terms<'_> {
        let hat = last.hat.as_deref().and_then(|hat| self.of(hat));
        let lacks = self.lacks_required();
        let missing = match hat {
            _ if last.hat.is_none() && !self.by_topics => None,
            Some(hat) if !hat.completes && !self.by_topics => Some("completes"),
            _ => lacks.then_some("required_events"),
        };
        Terms { missing, gates: hat.and_then(|hat| hat.gates.as_deref()) }
    }
}

impl Hat {
    fn says(&mut self, said: &Said) {
        if !said.topic.ends_with("blocked") {
            self.blocked = None;
            return;
        }
        let about = match said.payload.as_str() {
            voice::TASK => "T-1",
            text => text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(&said.topic),
        };
        let times = self.blocked.take().filter(|(before, _)| before == about).map_or(0, |(_, times)| times);
        self.blocked = Some((about.to_owned(), times + 1));
    }
}
