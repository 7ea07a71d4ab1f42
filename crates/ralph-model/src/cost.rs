//! What was spent, attempt by attempt, as the records of a run tell it.

use std::collections::BTreeMap;

use ralph_core::event::Event;
use ralph_core::ids::{IterationNumber, RunId};
use ralph_core::plan::{Plan, Task};
use ralph_core::record::Record;
use ralph_core::time::Timestamp;
use ralph_core::usage::Usage;
use serde::{Deserialize, Serialize};

use crate::text::{clean, first_words};

/// What one attempt used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    pub run: RunId,
    pub at: Timestamp,
    /// The first words of the task.
    pub task: String,
    pub agent: String,
    /// As the agent said, or as it was asked for.
    pub model: Option<String>,
    pub hat: Option<String>,
    pub iteration: IterationNumber,
    /// Nothing: nobody knows, which is not zero.
    pub cost_usd: Option<f64>,
    pub tokens: u64,
    /// It has not ended.
    pub running: bool,
}

/// The event types that a [`CostFold`] needs; it can do without all others.
pub const TYPES: [&str; 6] = [
    "run.started",
    "iteration.started",
    "usage.updated",
    "agent.exited",
    "iteration.finished",
    "iteration.interrupted",
];

/// Follows the records of one run.
#[derive(Debug, Default)]
pub struct CostFold {
    run: Option<(RunId, Box<Plan>)>,
    open: Option<Spent>,
}

impl CostFold {
    /// Answers with what an attempt came to, when it is over.
    pub fn apply(&mut self, record: &Record) -> Option<Spent> {
        match &record.event {
            Event::RunStarted(started) => {
                self.run = Some((started.run.clone(), Box::new(started.plan.clone())))
            }
            Event::IterationStarted(started) => {
                let (run, plan) = self.run.as_ref()?;
                let hat = started.hat.as_ref().map(ToString::to_string);
                let of_hat = hat.as_deref().and_then(|hat| plan.hats.as_ref()?.hat(hat)?.agent.as_ref());
                let agent = of_hat.filter(|_| started.agent == 0).unwrap_or_else(|| started.agent_of(plan));
                self.open = Some(Spent {
                    run: run.clone(),
                    at: record.at,
                    task: task_words(plan),
                    agent: agent.called().to_owned(),
                    model: agent.model.clone(),
                    hat,
                    iteration: started.iteration,
                    cost_usd: None,
                    tokens: 0,
                    running: true,
                });
            }
            Event::UsageUpdated(update) => self.used(record.at, &update.usage, update.cost_usd),
            Event::AgentExited(exited) => {
                let open = self.open.as_mut()?;
                open.model = exited.model.clone().or(open.model.take());
            }
            Event::IterationFinished(end) => return self.ended(record.at, &end.usage, end.cost_usd),
            Event::IterationInterrupted(end) => return self.ended(record.at, &end.usage, end.cost_usd),
            _ => {}
        }
        None
    }

    /// The attempt that has not ended.
    pub fn open(&self) -> Option<&Spent> {
        self.open.as_ref()
    }

    fn used(&mut self, at: Timestamp, usage: &Usage, cost_usd: Option<f64>) {
        if let Some(open) = &mut self.open {
            (open.at, open.tokens) = (at, usage.total());
            open.cost_usd = cost_usd.or(open.cost_usd);
        }
    }

    fn ended(&mut self, at: Timestamp, usage: &Usage, cost_usd: Option<f64>) -> Option<Spent> {
        let open = self.open.take()?;
        Some(Spent { at, cost_usd, tokens: usage.total(), running: false, ..open })
    }
}

/// The first words of a task, or the name of its file.
fn task_words(plan: &Plan) -> String {
    match &plan.task {
        Task::Text(text) => first_words(text),
        Task::File(path) | Task::RalphMd(path) => {
            clean(&path.strip_prefix(&plan.workspace).unwrap_or(path).to_string_lossy())
        }
    }
}

/// What a row of the account stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Day,
    Run,
    Model,
    Hat,
    Agent,
    Task,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CostRow {
    pub key: String,
    pub attempts: u32,
    /// Nothing: nothing of it has a price.
    pub cost_usd: Option<f64>,
    pub tokens: u64,
    /// Tokens whose cost nobody knows.
    pub unpriced_tokens: u64,
    /// Attempts that told neither a cost nor tokens.
    pub silent: u32,
}

impl CostRow {
    pub fn add(&mut self, spent: &Spent) {
        self.attempts = self.attempts.saturating_add(1);
        self.tokens = self.tokens.saturating_add(spent.tokens);
        match spent.cost_usd.filter(|cost| cost.is_finite()) {
            Some(cost) => self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost),
            None if spent.tokens == 0 => self.silent = self.silent.saturating_add(1),
            None => self.unpriced_tokens = self.unpriced_tokens.saturating_add(spent.tokens),
        }
    }
}

/// An account: a row for each key, in the order of the keys, and the sum of all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CostTable {
    pub rows: Vec<CostRow>,
    pub total: CostRow,
}

/// Adds up attempts. Only the caller knows the time zone in which a day is meant.
#[derive(Debug)]
pub struct Account {
    by: By,
    rows: BTreeMap<String, CostRow>,
    total: CostRow,
}

impl Account {
    pub fn new(by: By) -> Account {
        Account { by, rows: BTreeMap::new(), total: CostRow::default() }
    }

    pub fn add(&mut self, spent: &Spent, day: &dyn Fn(Timestamp) -> String) {
        let none = || "-".to_owned();
        let key = match self.by {
            By::Day => day(spent.at),
            By::Run => spent.run.to_string(),
            By::Model => spent.model.clone().unwrap_or_else(none),
            By::Hat => spent.hat.clone().unwrap_or_else(none),
            By::Agent => spent.agent.clone(),
            By::Task => spent.task.clone(),
        };
        self.rows.entry(key.clone()).or_insert_with(|| CostRow { key, ..CostRow::default() }).add(spent);
        self.total.add(spent);
    }

    pub fn table(self) -> CostTable {
        let total = CostRow { key: "total".to_owned(), ..self.total };
        CostTable { rows: self.rows.into_values().collect(), total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(model: &str, cost_usd: Option<f64>, tokens: u64) -> Spent {
        let (run, at, none) = (RunId("r".to_owned()), Timestamp::default(), String::new);
        let (model, iteration) = (Some(model.to_owned()), IterationNumber(1));
        Spent {
            run,
            at,
            task: none(),
            agent: none(),
            model,
            hat: None,
            iteration,
            cost_usd,
            tokens,
            running: false,
        }
    }

    #[test]
    fn what_has_no_price_is_counted_apart_and_never_as_zero() {
        let mut account = Account::new(By::Model);
        for one in [spent("b", Some(0.5), 10), spent("a", None, 7), spent("b", None, 5), spent("a", None, 0)]
        {
            account.add(&one, &|_| String::new());
        }
        let table = account.table();
        let rows: Vec<(&str, Option<f64>, u64, u64, u32)> = table
            .rows
            .iter()
            .map(|row| (&*row.key, row.cost_usd, row.tokens, row.unpriced_tokens, row.silent))
            .collect();
        assert_eq!(rows, [("a", None, 7, 7, 1), ("b", Some(0.5), 15, 5, 0)]);
        assert_eq!((table.total.attempts, table.total.cost_usd), (4, Some(0.5)));
    }
}
