//! What keeps the processes of a run together, and what they may reach, in words.

use ralph_model::event::{ContainedBy, Containment, SandboxInForce};
use ralph_model::plan::SandboxLevel;
use ralph_model::text::clean;

/// Sentences for the header and for `ralph status`. Nothing where everything is as it should be and nobody asked for more.
pub(crate) fn lines(containment: &Containment) -> Vec<String> {
    let sandbox = containment.sandbox.as_ref().map(sandbox);
    let missing = containment.missing.iter().map(|text| clean(text));
    let awake = containment.kept_awake_by.as_ref();
    let awake = awake.map(|program| format!("kept awake by {}", clean(&program.to_string_lossy())));
    sandbox.into_iter().chain(keeper_alone(containment)).chain(awake).chain(missing).collect()
}

/// `sandbox: workspace; gates: off`
fn sandbox(sandbox: &SandboxInForce) -> String {
    let level = |level: SandboxLevel| level.as_str();
    let levels = match sandbox.agent == sandbox.gates {
        true => format!("{}, agent and gates", level(sandbox.agent)),
        false => format!("agent {}, gates {}", level(sandbox.agent), level(sandbox.gates)),
    };
    let network = [("agent", sandbox.agent, &sandbox.hosts), ("gates", sandbox.gates, &sandbox.gates_hosts)];
    let network = network.into_iter().filter(|(_, level, _)| *level == SandboxLevel::Strict);
    let network: Vec<String> =
        network.map(|(who, _, hosts)| format!("network of {who}: {}", named(hosts))).collect();
    [vec![levels], network].concat().join("; ")
}

fn named(hosts: &[String]) -> String {
    let hosts: Vec<String> = hosts.iter().map(|host| clean(host)).collect();
    if hosts.is_empty() { "none".to_owned() } else { hosts.join(", ") }
}

fn keeper_alone(containment: &Containment) -> Option<String> {
    let why = containment.why.as_ref().filter(|_| containment.by == ContainedBy::Keeper)?;
    let text = "no pid namespace here, so an agent that kills its keeper may leave processes behind";
    Some(format!("{text} ({})", clean(why)))
}
