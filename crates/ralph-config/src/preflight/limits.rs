//! Limits that cannot hold with these agents.

use ralph_core::plan::{AgentPlan, Plan};

use crate::agent_plan::{cost_is_known, tokens_are_known};

/// A limit that cannot hold is said at the start, not found out in the morning.
pub fn notes(plan: &Plan) -> Vec<String> {
    let hats = plan.hats.iter().flat_map(|hats| &hats.hats).filter_map(|hat| hat.agent.as_ref());
    let agents: Vec<&AgentPlan> = std::iter::once(&plan.agent).chain(&plan.fallback).chain(hats).collect();
    let names = |is_meant: &dyn Fn(&AgentPlan) -> bool| {
        let meant = agents.iter().filter(|agent| is_meant(agent));
        let mut names: Vec<&str> = meant.map(|agent| agent.called()).collect();
        names.dedup();
        names
    };
    let no_cost = |agent: &AgentPlan| !cost_is_known(agent, &plan.prices);
    let no_tokens = |agent: &AgentPlan| !tokens_are_known(agent);
    let mut notes = Vec::new();
    let (silent, unpriced) = (
        names(&|agent| no_cost(agent) && no_tokens(agent)),
        names(&|agent| no_cost(agent) && !no_tokens(agent)),
    );
    if plan.event_loop.max_cost_usd.is_some() && !silent.is_empty() {
        notes.push(unheard("max_cost", &silent, "a cost"));
    }
    if plan.event_loop.max_cost_usd.is_some() && !unpriced.is_empty() {
        let (who, whose) =
            (unpriced.join(", "), if unpriced.len() == 1 { "its model" } else { "their models" });
        notes.push(format!(
            "max_cost cannot be enforced: what {who} costs is not known, and ralph has no price for {whose}; \
             set `prices` and the model, or limit `event_loop.max_tokens`"
        ));
    }
    let silent = names(&no_tokens);
    if plan.event_loop.max_tokens.is_some() && !silent.is_empty() {
        notes.push(unheard("max_tokens", &silent, "tokens"));
    }
    notes
}

/// About agents that tell nothing a limit could count.
fn unheard(limit: &str, who: &[&str], what: &str) -> String {
    let (who, verb) = (who.join(", "), if who.len() == 1 { "does" } else { "do" });
    format!(
        "{limit} cannot be enforced: {who} {verb} not report {what}; limit `event_loop.max_iterations` or \
         `event_loop.max_runtime`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, output: &str) -> AgentPlan {
        AgentPlan { name: name.to_owned(), output: output.to_owned(), ..AgentPlan::command("./my-agent.sh") }
    }

    fn notes(agents: &[AgentPlan], cost: Option<f64>, tokens: Option<u64>) -> Vec<String> {
        let task = ralph_core::plan::Task::Text(String::new());
        let mut plan = Plan::new("r", "/work", task, agents[0].clone());
        plan.fallback = agents[1..].to_vec();
        (plan.event_loop.max_cost_usd, plan.event_loop.max_tokens) = (cost, tokens);
        super::notes(&plan)
    }

    #[test]
    fn a_limit_on_what_an_agent_does_not_report_is_noted_with_one_that_holds() {
        let plain = AgentPlan::command("./my-agent.sh");
        let codex = agent("codex", "codex-json");
        let claude = agent("claude", "claude-stream-json");
        let instead = "limit `event_loop.max_iterations` or `event_loop.max_runtime`";
        let cost = format!("max_cost cannot be enforced: ./my-agent.sh does not report a cost; {instead}");
        assert_eq!(notes(std::slice::from_ref(&plain), Some(1.0), None), [cost]);
        let tokens =
            format!("max_tokens cannot be enforced: ./my-agent.sh does not report tokens; {instead}");
        assert_eq!(notes(&[codex.clone(), plain.clone()], None, Some(9)), [tokens]);
        let unpriced = notes(std::slice::from_ref(&codex), Some(1.0), Some(9));
        assert_eq!(unpriced.len(), 1);
        assert!(
            unpriced[0].contains("what codex costs") && unpriced[0].contains("max_tokens"),
            "{unpriced:?}"
        );
        assert_eq!(notes(&[claude], Some(1.0), Some(9)), [] as [&str; 0]);
        assert_eq!(notes(&[plain], None, None), [] as [&str; 0]);
    }
}
