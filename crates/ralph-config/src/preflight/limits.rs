//! Limits that cannot hold with these agents: found at the start, not in the morning.

use ralph_core::plan::{AgentPlan, Plan};

use super::Found;
use crate::agent_plan::{cost_is_known, tokens_are_known, use_is_told_at_end};
use crate::source::Layer;
use crate::validate::Settings;
use crate::{Diagnostic, Loaded};

/// The settings that set them.
const COST: &str = "event_loop.max_cost_usd";
const TOKENS: &str = "event_loop.max_tokens";

/// A limit that a person set and that cannot hold is an error. One that only came with a preset is not set then, and a note
/// says so.
pub fn check(loaded: &Loaded, plan: &mut Plan, found: &mut Found) {
    if let Some(why) = unenforceable_cost(plan) {
        if plan.event_loop.max_cost_usd.is_some() && judge(loaded, COST, "max_cost", &why, found) {
            plan.event_loop.max_cost_usd = None;
        }
        for path in ["budget.day", "budget.week"] {
            let set = if path.ends_with("day") { &mut plan.budget.day } else { &mut plan.budget.week };
            if set.is_some() && judge(loaded, path, path, &why, found) {
                *set = None;
            }
        }
    }
    let silent = names(plan, &|agent| !tokens_are_known(agent));
    if plan.event_loop.max_tokens.is_some() && !silent.is_empty() {
        let why = unheard(&silent, "tokens");
        if judge(loaded, TOKENS, "max_tokens", &why, found) {
            plan.event_loop.max_tokens = None;
        }
    }
    found.notes.extend(held_late(plan));
}

/// Limits that hold only when an iteration is over, with these agents.
fn held_late(plan: &Plan) -> Option<String> {
    let limits = [
        ("max_cost", plan.event_loop.max_cost_usd.is_some()),
        ("max_tokens", plan.event_loop.max_tokens.is_some()),
        ("budget", plan.budget.day.is_some() || plan.budget.week.is_some()),
    ];
    let set: Vec<&str> = limits.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| *name).collect();
    let late = names(plan, &|agent| use_is_told_at_end(agent));
    if set.is_empty() || late.is_empty() {
        return None;
    }
    let (hold, tell) =
        (if set.len() == 1 { "holds" } else { "hold" }, if late.len() == 1 { "tells" } else { "tell" });
    let (set, late) = (set.join(" and "), late.join(", "));
    Some(format!(
        "{set} {hold} between iterations only: {late} {tell} tokens when an iteration ends, which may use more; \
         `event_loop.iteration_timeout` bounds it"
    ))
}

/// The same for a limit that a resume sets.
pub fn resumed(settings: &Settings, plan: &Plan) -> Option<Diagnostic> {
    let is_given = |path: &str| settings.root.at(path).is_some();
    let cost = plan.event_loop.max_cost_usd.filter(|_| is_given(COST));
    if let Some(why) = cost.and_then(|_| unenforceable_cost(plan)) {
        return Some(error(settings, COST, "max_cost", &why));
    }
    let silent = names(plan, &|agent| !tokens_are_known(agent));
    let tokens = plan.event_loop.max_tokens.filter(|_| is_given(TOKENS) && !silent.is_empty());
    tokens.map(|_| error(settings, TOKENS, "max_tokens", &unheard(&silent, "tokens")))
}

/// Why a limit cannot hold, and what would make it.
struct Why {
    reason: String,
    cure: String,
}

/// Whether the limit has to go.
fn judge(loaded: &Loaded, path: &str, name: &str, why: &Why, found: &mut Found) -> bool {
    let settings = &loaded.settings;
    let layer = settings.root.find(path).map(|entry| settings.map.get(entry.key_span.source).layer);
    if layer == Some(Layer::Preset) {
        found.notes.push(format!("the preset's {name} is left out: {}", why.reason));
        return true;
    }
    if layer == Some(Layer::UserConfig) && path.starts_with("budget") {
        found.notes.push(format!("{name} does not hold here: {}", why.reason));
        return true;
    }
    found.errors.push(error(settings, path, name, why));
    false
}

fn error(settings: &Settings, path: &str, name: &str, why: &Why) -> Diagnostic {
    let found = settings.at(path, format!("{name} cannot be enforced: {}", why.reason));
    let others = "`event_loop.max_iterations` and `event_loop.max_runtime`";
    found.help(format!("leave {name} out, and let {others} hold")).help(why.cure.clone())
}

fn unenforceable_cost(plan: &Plan) -> Option<Why> {
    let no_cost = |agent: &AgentPlan| !cost_is_known(agent, &plan.prices);
    let no_tokens = |agent: &AgentPlan| !tokens_are_known(agent);
    let silent = names(plan, &|agent| no_cost(agent) && no_tokens(agent));
    if !silent.is_empty() {
        return Some(unheard(&silent, "a cost"));
    }
    let unpriced = names(plan, &|agent| no_cost(agent) && !no_tokens(agent));
    let whose = if unpriced.len() == 1 { "its model" } else { "their models" };
    let reason =
        format!("what {} costs is not known, and ralph has no price for {whose}", unpriced.join(", "));
    let cure = "or set `prices` and the model, or limit `event_loop.max_tokens` instead".to_owned();
    (!unpriced.is_empty()).then_some(Why { reason, cure })
}

/// The agents of a plan that are meant.
fn names<'a>(plan: &'a Plan, is_meant: &dyn Fn(&AgentPlan) -> bool) -> Vec<&'a str> {
    let hats = plan.hats.iter().flat_map(|hats| &hats.hats).filter_map(|hat| hat.agent.as_ref());
    let agents = std::iter::once(&plan.agent).chain(&plan.fallback).chain(hats);
    let mut names: Vec<&str> = agents.filter(|agent| is_meant(agent)).map(AgentPlan::called).collect();
    names.dedup();
    names
}

/// About agents that tell nothing a limit could count.
fn unheard(who: &[&str], what: &str) -> Why {
    let verb = if who.len() == 1 { "does" } else { "do" };
    let reason = format!("{} {verb} not report {what}", who.join(", "));
    let cure = "or run an agent that reports it; for a script around one, `agent.output` names its format";
    Why { reason, cure: cure.to_owned() }
}

#[cfg(test)]
mod tests {
    use ralph_core::plan::Price;

    use super::*;

    fn agent(name: &str, output: &str) -> AgentPlan {
        AgentPlan { name: name.to_owned(), output: output.to_owned(), ..AgentPlan::command("./my-agent.sh") }
    }

    fn reason(agents: &[AgentPlan], prices: &[Price]) -> Option<String> {
        let task = ralph_core::plan::Task::Text(String::new());
        let mut plan = Plan::new("r", "/work", task, agents[0].clone());
        plan.fallback = agents[1..].to_vec();
        plan.prices = prices.to_vec();
        unenforceable_cost(&plan).map(|why| why.reason)
    }

    #[test]
    fn a_limit_that_no_iteration_feels_is_told_at_the_start() {
        let told = |format: &str, max_tokens| {
            let task = ralph_core::plan::Task::Text(String::new());
            let mut plan = Plan::new("r", "/work", task, agent("one", format));
            plan.event_loop.max_tokens = max_tokens;
            held_late(&plan)
        };
        for late in ["codex-json", "gemini-stream-json", "goose-stream-json"] {
            let note = told(late, Some(5)).unwrap_or_default();
            assert!(
                note.starts_with("max_tokens holds between iterations only: one tells"),
                "{late}: {note}"
            );
            assert_eq!(told(late, None), None);
        }
        for as_it_goes in ["claude-stream-json", "opencode-json", "qwen-stream-json", "pi-json"] {
            assert_eq!(told(as_it_goes, Some(5)), None, "{as_it_goes}");
        }
    }

    #[test]
    fn a_cost_is_enforceable_where_every_agent_tells_it_or_has_a_price() {
        let plain = AgentPlan::command("./my-agent.sh");
        let codex = agent("codex", "codex-json");
        let claude = agent("claude", "claude-stream-json");
        assert_eq!(reason(std::slice::from_ref(&claude), &[]), None);
        let silent = Some("./my-agent.sh does not report a cost".to_owned());
        assert_eq!(reason(&[claude.clone(), plain.clone()], &[]), silent);
        let unpriced = reason(&[claude, codex], &[]).unwrap_or_default();
        assert!(unpriced.contains("what codex costs is not known"), "{unpriced}");
    }
}
