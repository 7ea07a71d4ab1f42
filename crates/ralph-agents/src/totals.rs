//! Tokens and money of one run, from numbers that count different things.

use std::collections::BTreeMap;

use ralph_core::usage::Usage;

use crate::price::{Price, cost_usd, find};
use crate::signal::{AgentSignal, Scope};

/// Models that are told apart in one process.
const MODELS: usize = 32;

/// What one process of an agent used, so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    usage: Sum<Usage>,
    cost: Sum<f64>,
    /// The model that answers now, where the stream names it by the message.
    model: Option<String>,
    /// What each model used since the last total. A total does not say which model it was.
    steps: BTreeMap<Option<String>, Usage>,
}

/// Steps add up behind the last total that was reported.
#[derive(Debug, Clone, Default, PartialEq)]
struct Sum<T> {
    /// What the session had used before this process.
    before: T,
    /// The last total of the session, as reported.
    thread: Option<T>,
    base: Option<T>,
    steps: Option<T>,
}

trait Amount: Clone + Default {
    fn plus(&self, other: &Self) -> Self;
    fn minus(&self, other: &Self) -> Self;
}

impl Amount for Usage {
    fn plus(&self, other: &Self) -> Self {
        let mut sum = *self;
        sum.add(other);
        sum
    }

    fn minus(&self, other: &Self) -> Self {
        Usage {
            input: self.input.saturating_sub(other.input),
            cache_read: self.cache_read.saturating_sub(other.cache_read),
            cache_write: self.cache_write.saturating_sub(other.cache_write),
            output: self.output.saturating_sub(other.output),
            reasoning: self.reasoning.saturating_sub(other.reasoning),
        }
    }
}

impl Amount for f64 {
    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn minus(&self, other: &Self) -> Self {
        (self - other).max(0.0)
    }
}

impl<T: Amount> Sum<T> {
    fn add(&mut self, amount: &T, scope: Scope) {
        match scope {
            Scope::Step => {
                self.steps = Some(self.steps.as_ref().map_or(amount.clone(), |sum| sum.plus(amount)))
            }
            Scope::Run => {
                self.base = Some(amount.clone());
                self.steps = None;
            }
            Scope::Thread => {
                self.base = Some(amount.minus(&self.before));
                self.thread = Some(amount.clone());
                self.steps = None;
            }
        }
    }

    fn total(&self) -> Option<T> {
        match (&self.base, &self.steps) {
            (Some(base), Some(steps)) => Some(base.plus(steps)),
            (Some(one), None) | (None, Some(one)) => Some(one.clone()),
            (None, None) => None,
        }
    }
}

impl Totals {
    /// For a process that goes on with a session: `usage` is what [`Totals::thread_usage`] said of its last one.
    pub fn resumed(usage: Usage) -> Totals {
        Totals { usage: Sum { before: usage, ..Sum::default() }, ..Totals::default() }
    }

    pub fn observe(&mut self, signal: &AgentSignal) {
        match signal {
            AgentSignal::Model { name } => self.model = Some(name.clone()),
            AgentSignal::Usage { usage, scope } => {
                self.usage.add(usage, *scope);
                self.note_model(usage, *scope);
            }
            AgentSignal::Cost { usd, scope } if usd.is_finite() => self.cost.add(usd, *scope),
            _ => {}
        }
    }

    fn note_model(&mut self, usage: &Usage, scope: Scope) {
        if scope != Scope::Step {
            self.steps.clear();
            return;
        }
        // So many models are none of ours to count.
        if self.steps.len() < MODELS || self.steps.contains_key(&self.model) {
            self.steps.entry(self.model.clone()).or_default().add(usage);
        }
    }

    /// What it costs by price, each message at the price of the model that answered it; `model` answered where none is named.
    /// None: something of it has no price.
    pub fn cost_by_price(&self, model: Option<&str>, prices: &[Price]) -> Option<f64> {
        let cost = |name: Option<&str>, usage: &Usage| Some(cost_usd(usage, find(name.or(model)?, prices)?));
        let steps = || self.steps.iter().map(|(name, usage)| cost(name.as_deref(), usage));
        let counted = self.steps.values().fold(Usage::default(), |mut sum, usage| {
            sum.add(usage);
            sum
        });
        match self.usage.total()? {
            // Only where all of it is told by the message.
            total if total == counted => steps().sum(),
            total => cost(None, &total),
        }
    }

    /// Tokens of this process. None: it did not say.
    pub fn usage(&self) -> Option<Usage> {
        self.usage.total()
    }

    /// Dollars of this process. None: it did not say, which is not zero.
    pub fn cost_usd(&self) -> Option<f64> {
        // Adding binary fractions leaves dust behind the ninth digit.
        self.cost.total().map(|usd| (usd * 1e9).round() / 1e9)
    }

    /// Tokens of the whole session, where the agent counts so.
    pub fn thread_usage(&self) -> Option<Usage> {
        self.usage.thread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input, output, ..Usage::default() }
    }

    fn fold(totals: &mut Totals, signals: &[(Usage, Scope)]) {
        for (usage, scope) in signals {
            totals.observe(&AgentSignal::Usage { usage: *usage, scope: *scope });
        }
    }

    #[test]
    fn steps_add_and_a_run_total_replaces() {
        let mut totals = Totals::default();
        assert_eq!(totals.usage(), None);
        fold(&mut totals, &[(usage(10, 1), Scope::Step), (usage(20, 2), Scope::Step)]);
        assert_eq!(totals.usage(), Some(usage(30, 3)));
        fold(&mut totals, &[(usage(31, 3), Scope::Run)]);
        assert_eq!(totals.usage(), Some(usage(31, 3)));
        fold(&mut totals, &[(usage(40, 4), Scope::Run), (usage(5, 1), Scope::Step)]);
        assert_eq!(totals.usage(), Some(usage(45, 5)));
    }

    #[test]
    fn a_thread_total_counts_from_where_the_last_process_ended() {
        let mut first = Totals::default();
        fold(&mut first, &[(usage(100, 10), Scope::Thread)]);
        assert_eq!(first.usage(), Some(usage(100, 10)));
        let mut second = Totals::resumed(first.thread_usage().unwrap());
        fold(&mut second, &[(usage(150, 12), Scope::Thread)]);
        assert_eq!(second.usage(), Some(usage(50, 2)));
        assert_eq!(second.thread_usage(), Some(usage(150, 12)));
        // A session that turns out to be a new one counts less than before; it is not negative.
        let mut third = Totals::resumed(usage(1000, 1000));
        fold(&mut third, &[(usage(5, 5), Scope::Thread)]);
        assert_eq!(third.usage(), Some(usage(0, 0)));
    }

    #[test]
    fn a_message_costs_what_its_own_model_costs() {
        let price = |model: &str, input: f64| Price {
            model: model.to_owned(),
            input,
            cache_read: 0.0,
            cache_write: 0.0,
            output: 0.0,
            date: String::new(),
            source: String::new(),
        };
        let prices = [price("big", 10.0), price("small", 1.0)];
        let mut totals = Totals::default();
        let model = |name: &str| AgentSignal::Model { name: name.to_owned() };
        let step = AgentSignal::Usage { usage: usage(1_000_000, 0), scope: Scope::Step };
        for signal in [step.clone(), model("small"), step.clone(), step.clone()] {
            totals.observe(&signal);
        }
        assert_eq!(totals.cost_by_price(Some("big"), &prices), Some(12.0));
        assert_eq!(totals.cost_by_price(None, &prices), None, "the first message has no model");
        totals.observe(&model("unknown"));
        totals.observe(&step);
        assert_eq!(totals.cost_by_price(Some("big"), &prices), None);
        // A total says nothing about models.
        totals.observe(&AgentSignal::Usage { usage: usage(1_000_000, 0), scope: Scope::Run });
        assert_eq!(totals.cost_by_price(Some("big"), &prices), Some(10.0));
    }

    #[test]
    fn no_cost_is_not_zero_and_sums_are_clean() {
        let mut totals = Totals::default();
        assert_eq!(totals.cost_usd(), None);
        for usd in [0.1, 0.2, f64::NAN, f64::INFINITY] {
            totals.observe(&AgentSignal::Cost { usd, scope: Scope::Step });
        }
        assert_eq!(totals.cost_usd(), Some(0.3));
        totals.observe(&AgentSignal::Cost { usd: 0.0, scope: Scope::Run });
        assert_eq!(totals.cost_usd(), Some(0.0));
    }
}
