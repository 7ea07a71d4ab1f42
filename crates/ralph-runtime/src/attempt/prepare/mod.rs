//! Before an agent starts: the text of its task, its hat, its memory, its prompt, and how its program is called.

mod env;
pub(crate) mod hat;
mod keys;
pub(crate) mod memory;
pub mod task;

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use ralph_agents::Opening;
use ralph_core::marker::Rules;
use ralph_core::plan::{AgentPlan, PromptVia, SandboxLevel};
use ralph_core::prompt;
use ralph_store::plain;

use self::task::TaskError;
use super::Attempt;
use super::listen::{AttemptKey, Listener, Log, create_copy};
use crate::executor::RunContext;
use crate::lock;
use crate::process::{Spec, Stdin, resolve_program};
use crate::proxy::Proxy;
use crate::spool::Spool;
use crate::standing;
use crate::workspace::scan;

/// One argument may not be longer on Linux.
const MAX_ARGUMENT: usize = 128 * 1024 - 1;

impl Attempt {
    pub(super) fn prepare(&self) -> Result<Ready, NotPrepared> {
        let RunContext { plan, run, .. } = &*self.shared;
        let (iteration, attempt) = (self.spawn.iteration, self.spawn.attempt);
        self.offer_ralph()?;
        let level = self.shared.sandbox.of_agent(hat::sandbox(plan, &self.spawn.prompt));
        let path = self.shared.path_variable(level);
        let begun = standing::now();
        self.wait_before_commands();
        let task = task::text(self);
        let _ = self.before.set(standing::since(begun));
        let task = task.map_err(|error| match error {
            TaskError::Killed => NotPrepared::Killed,
            TaskError::Empty(message) => NotPrepared::NoPrompt(message),
            TaskError::Failed(message) => NotPrepared::Other(message),
        })?;
        let draft = hat::complete(plan, &self.spawn.prompt).map_err(NotPrepared::Other)?;
        // Before anything of this attempt is written: what is found here is secret from now on.
        let agent = self.agent();
        let own_env = env::resolve(self, agent).map_err(NotPrepared::Other)?;
        let (keys, keys_env) = keys::find(self, agent).map_err(NotPrepared::Other)?;
        let redactor = self.shared.secrets.redactor();
        memory::save(plan, &draft, &task, &redactor);
        let prompt = redactor.text(&prompt::render(plan, &draft, &task)).into_owned();
        let prompt_path = run.prompt(iteration, attempt);
        write_private(&prompt_path, &prompt)?;

        let _ = self.token.set(self.shared.tokens.issue(iteration, attempt));
        let pinned = self.shared.pins.get(&agent.program).map(Path::to_owned);
        let found = pinned.map_or_else(|| resolve_program(&agent.program, &plan.workspace, Some(&path)), Ok);
        let program =
            found.map_err(|error| NotPrepared::Missing(format!("cannot start the agent: {error}")))?;
        let sandbox = &self.shared.sandbox;
        let given = [prompt_path.clone()];
        let confine = sandbox.confine_agent(level, agent, &program, &given);
        let mut spec = Spec { confine, ..Spec::new(program, &plan.workspace) };
        spec.args = agent.args.iter().map(OsString::from).collect();
        let proxy =
            Proxy::of(sandbox.rules_of_agent(level, agent, keys), &mut spec).map_err(NotPrepared::Other)?;
        spec.kill_leftovers = plan.event_loop.kill_leftovers;
        give_prompt(&mut spec, agent, &prompt, prompt_path)?;
        spec.env = self.agents_environment(path, level);
        // What ralph itself told the agent of a sandbox holds only where there is one.
        let untrue = |key: &std::ffi::OsStr| {
            key == "IS_SANDBOX" && !level.is_on() && agent.bypass.iter().any(|told| told == "IS_SANDBOX=1")
        };
        spec.env.extend(own_env.into_iter().filter(|(key, _)| !untrue(key)));
        spec.env.extend(keys_env);

        let spool = Spool::create(&run.log(iteration, attempt)).map_err(|error| {
            NotPrepared::Other(format!("cannot create the log of the iteration: {error}"))
        })?;
        let copy = match &plan.log_dir {
            Some(dir) => Some(create_copy(dir, iteration, crate::clock::now()).map_err(|error| {
                NotPrepared::Other(format!("cannot write to the log folder {}: {error}", dir.display()))
            })?),
            None => None,
        };
        let rules = Rules::new(&plan.signals(), &prompt);
        self.look_before();
        let of = AttemptKey { iteration, attempt };
        let log = Log::new(spool, copy, redactor);
        let mut listener = Listener::new(log, of, &rules, agent, plan, self.shared.dialogue);
        if spec.stdin == Stdin::Pipe {
            listener.open(&Opening { prompt: &prompt, workspace: &plan.workspace.to_string_lossy() });
        }
        Ok(Ready { spec, listener, proxy })
    }

    /// Commands may change files: what was there has to be safe before they run.
    fn wait_before_commands(&self) {
        if !self.shared.plan.commands.is_empty() {
            self.shared.checkpoints.wait();
        }
    }

    /// The folder on the agent's PATH holds `ralph`, and nothing else.
    fn offer_ralph(&self) -> Result<(), NotPrepared> {
        let bin = self.shared.run.bin();
        let wrong = |error| format!("cannot offer `ralph` to the agent in {}: {error}", bin.display());
        self.shared.clean_bin().map_err(|error| NotPrepared::Other(wrong(error)))
    }

    /// The agent whose turn it is: the run's, the hat's own, or a fallback.
    fn agent(&self) -> &AgentPlan {
        let plan = &self.shared.plan;
        let fallback = self.spawn.agent.checked_sub(1).and_then(|n| plan.fallback.get(n));
        fallback.or_else(|| hat::agent(plan, &self.spawn.prompt)).unwrap_or(&plan.agent)
    }

    fn look_before(&self) {
        let mut snapshot = lock(&self.shared.snapshot);
        if snapshot.is_none() {
            let own = lock(&self.shared.footprints).paths();
            *snapshot = scan(&self.shared.plan.workspace, &own, None).map(|looked| looked.snapshot);
        }
        lock(&self.shared.known_files).agent_starts(&self.shared.plan);
    }

    /// What agents and the commands before them find in their environment besides what all others do.
    pub(crate) fn environment(&self) -> Vec<(OsString, Option<OsString>)> {
        let own = [("RALPH_ITERATION", self.spawn.iteration.0), ("RALPH_ATTEMPT", self.spawn.attempt)];
        own.map(|(key, value)| (OsString::from(key), Some(value.to_string().into()))).to_vec()
    }

    fn socket(&self, level: SandboxLevel) -> PathBuf {
        if level.is_on() { self.shared.run.emit_socket() } else { self.shared.run.socket() }
    }

    /// What only the agent finds there: its hat, and the way to publish.
    fn agents_environment(&self, path: OsString, level: SandboxLevel) -> Vec<(OsString, Option<OsString>)> {
        let hat = self.spawn.prompt.hat.as_ref().map(|turn| OsString::from(turn.hat.as_str()));
        let own: [(&str, Option<OsString>); 3] = [
            ("RALPH_HAT", hat),
            ("RALPH_SOCKET", Some(self.socket(level).into_os_string())),
            ("RALPH_TOKEN", self.token.get().map(OsString::from)),
        ];
        let mut all = self.shared.environment(path, level);
        all.extend(self.environment());
        all.extend(own.map(|(key, value)| (OsString::from(key), value)));
        all
    }
}

/// The way that this agent takes its prompt.
fn give_prompt(spec: &mut Spec, agent: &AgentPlan, prompt: &str, path: PathBuf) -> Result<(), NotPrepared> {
    match &agent.prompt {
        PromptVia::Stdin => spec.stdin = Stdin::File(path),
        PromptVia::Dialogue => spec.stdin = Stdin::Pipe,
        PromptVia::File { flag } => {
            spec.args.extend(flag.iter().map(OsString::from));
            spec.args.push(path.into_os_string());
        }
        PromptVia::Arg { flag } => {
            if prompt.len() > MAX_ARGUMENT {
                return Err(NotPrepared::Other(format!(
                    "the prompt of {} bytes does not fit into an argument; use `prompt: stdin` or `prompt: file`",
                    prompt.len()
                )));
            }
            spec.args.extend(flag.iter().map(OsString::from));
            spec.args.push(OsString::from(prompt));
        }
    }
    Ok(())
}

/// What there is to start, and who listens to it.
pub(super) struct Ready {
    pub(super) spec: Spec,
    pub(super) listener: Listener,
    pub(super) proxy: Option<Proxy>,
}

pub(super) enum NotPrepared {
    Missing(String),
    NoPrompt(String),
    Other(String),
    /// The run was told to end before there was an agent.
    Killed,
}

fn write_private(path: &Path, text: &str) -> Result<(), NotPrepared> {
    plain::create(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| NotPrepared::Other(format!("cannot store the prompt {}: {error}", path.display())))
}
