//! From the agent as a person writes it to the command line that is run.

use ralph_agents::agent::{self, AgentDef, PromptInput, Told, Turn};
use ralph_agents::price;
use ralph_core::plan::value::CommandLine;
use ralph_core::plan::{AgentPlan, EnvValue, Price, PromptVia};

use super::agent::AgentSpec;

const COMMAND: &str = "command";

impl AgentSpec {
    /// The agent of a fallback, which is a command line.
    pub fn of_line(line: &CommandLine) -> Option<Self> {
        let (program, args) = line.words().split_first()?;
        Some(Self { program: program.clone(), args: args.to_vec(), ..Self::default() })
    }

    /// What ralph knows of this agent: by its name, else by its program; any other program is a plain command.
    pub fn known(&self) -> Result<&'static AgentDef, String> {
        if let Some(name) = &self.name {
            return agent::by_name(name).map_err(|error| error.to_string());
        }
        let by_name = agent::by_name(&self.program).ok().filter(|def| def.name != COMMAND);
        Ok(by_name.or_else(|| agent::by_program(&self.program)).unwrap_or_else(any_command))
    }

    /// A known agent that a misspelt program may mean.
    pub fn meant(&self) -> Option<&'static str> {
        agent::by_name(&self.program).err()?.nearest
    }

    /// Whether a cost limit can be enforced.
    pub fn cost_enforceable(&self, prices: &[Price]) -> bool {
        self.to_plan(false).is_ok_and(|plan| cost_is_known(&plan, prices))
    }

    /// The model, from its own key or from the agent's own flag.
    fn model_asked(&self) -> Option<String> {
        let in_args = || self.known().ok()?.model_in(&self.args);
        self.model.clone().or_else(in_args)
    }

    /// Whether the output tells how commands that the agent ran have ended.
    pub fn tells_of_tools(&self) -> bool {
        self.reads_like().is_ok_and(|def| def.stream.tool_results == agent::ToolResults::ExitCodes)
    }

    /// The agent whose output this one's is like.
    fn reads_like(&self) -> Result<&'static AgentDef, String> {
        match &self.output {
            Some(format) => agent::by_format(format).map_err(|error| error.to_string()),
            None => self.known(),
        }
    }

    pub fn to_plan(&self, is_root: bool) -> Result<AgentPlan, String> {
        let def = self.known()?;
        let agent::StreamFacts { format: output, answered, .. } = self.reads_like()?.stream;
        if def.name == COMMAND {
            if self.model.is_some() {
                return Err("a plain command has no option for a model; write it into the command".to_owned());
            }
            let prompt = match (&self.prompt, answered) {
                (Some(_), true) => {
                    return Err(format!("an agent with `output: {output}` is talked to; leave `prompt` out"));
                }
                (None, true) => PromptVia::Dialogue,
                (prompt, false) => prompt.clone().unwrap_or(PromptVia::Stdin),
            };
            let (args, env) = (self.args.clone(), self.env.clone());
            let output = output.to_owned();
            return Ok(AgentPlan { args, env, prompt, output, ..AgentPlan::command(&self.program) });
        }
        if self.prompt.is_some() {
            return Err(format!("ralph knows how {} takes its prompt; leave `prompt` out", def.name));
        }
        let turn = Turn {
            program: Some(self.program.clone()).filter(|program| program != def.name),
            args: self.args.clone(),
            model: self.model.clone(),
            autonomous: self.autonomous,
            is_root,
        };
        let spec = def.command(&turn).map_err(|error| error.to_string())?;
        // The prompt is always the last argument, where it is one.
        let args = spec.args.iter().filter_map(|arg| match arg {
            agent::Arg::Text(text) => Some(text.clone()),
            agent::Arg::Prompt | agent::Arg::PromptFile => None,
        });
        let mut env: std::collections::BTreeMap<String, EnvValue> =
            spec.env.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        env.extend(self.env.clone());
        Ok(AgentPlan {
            name: def.name.to_owned(),
            program: spec.program.clone(),
            args: args.collect(),
            prompt: match spec.prompt {
                PromptInput::Stdin => PromptVia::Stdin,
                PromptInput::Arg => PromptVia::Arg { flag: None },
                PromptInput::File => PromptVia::File { flag: None },
                PromptInput::Dialogue => PromptVia::Dialogue,
            },
            env,
            output: output.to_owned(),
            bypass: spec.bypass.clone(),
            model: self.model_asked(),
        })
    }
}

/// Whether the cost of an agent is known while it works: it says so, or it says its tokens and they have a price.
pub fn cost_is_known(agent: &AgentPlan, prices: &[Price]) -> bool {
    let Ok(def) = agent::by_format(&agent.output) else { return false };
    let priced = |model: &str| price::find(model, &price::of_user(prices)).is_some();
    def.stream.cost || (def.stream.tokens != Told::Never && agent.model.as_deref().is_some_and(priced))
}

/// Whether an agent tells how many tokens it uses.
pub fn tokens_are_known(agent: &AgentPlan) -> bool {
    agent::by_format(&agent.output).is_ok_and(|def| def.stream.tokens != Told::Never)
}

/// Whether an agent tells what it uses only when it ends, so that no limit can act before.
pub fn use_is_told_at_end(agent: &AgentPlan) -> bool {
    agent::by_format(&agent.output).is_ok_and(|def| def.stream.tokens == Told::AtEnd && !def.stream.cost)
}

fn any_command() -> &'static AgentDef {
    // The list always has it; the first one only satisfies the types.
    agent::by_name(COMMAND).unwrap_or(&agent::AGENTS[0])
}
