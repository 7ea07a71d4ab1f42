//! The sandbox of a run: what each of its programs may reach, as lists of paths that the keeper enforces.
//!
//! `places.rs` knows the machine; `process/confine/` enforces.

pub(crate) mod keys;
mod places;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use ralph_agents::agent;
use ralph_core::event::{ContainedBy, Containment, SandboxInForce};
use ralph_core::plan::{
    AgentPlan, Contain, EnvSource, Host, Limits, Plan, SandboxFallback, SandboxLevel, SandboxPlan, SecretPlan,
};
use ralph_store::{RunDir, short_folder};

use crate::process::cgroup::Ground;
use crate::process::confine::{Confine, Network, Reach, Usage, landlock_version};
use crate::proxy;

/// The versions of Landlock that know what the sandbox rests on: files that are cut short, signals, the network.
pub(crate) const LANDLOCK_NEEDED: u32 = 3;
const LANDLOCK_SIGNALS: u32 = 6;
const LANDLOCK_NETWORK: u32 = 4;

/// What of the settings is in force here, and with what it is enforced.
#[derive(Debug, Clone)]
pub(crate) struct Sandbox {
    plan: SandboxPlan,
    limits: Limits,
    /// Where programs can be held to limits together.
    ground: Option<Ground>,
    workspace: PathBuf,
    run: RunDir,
    is_namespace: bool,
    /// Nothing can be confined here, and the definition allows that.
    is_off: bool,
    /// Files that hold keys which nothing in a sandbox has.
    key_files: Vec<String>,
}

/// Why a run cannot begin: something that was asked for cannot be had here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}", .missing.join("\n"), if *.may_go_on { "\nset `sandbox_fallback: warn` to go on without it" } else { "" })]
pub struct Unenforceable {
    missing: Vec<String>,
    /// The definition could allow it.
    may_go_on: bool,
}

/// Everything that was asked for and cannot be had here, a sentence each.
fn missing(plan: &Plan, landlock: u32, is_namespace: bool) -> Vec<String> {
    let mut missing = Vec::new();
    let level = strongest(plan);
    if level.is_on() && landlock < LANDLOCK_NEEDED {
        missing.push(format!(
            "no sandbox: this kernel has {}, and Landlock {LANDLOCK_NEEDED} is needed (Linux 6.2)",
            if landlock == 0 { "no Landlock".to_owned() } else { format!("Landlock {landlock}") }
        ));
    } else if level.is_on() && !is_namespace {
        if landlock < LANDLOCK_SIGNALS {
            missing.push(
                "signals to processes outside of the sandbox are not held back (Linux 6.12)".to_owned(),
            );
        }
        missing.push(
            "without a pid namespace sockets outside of the sandbox can be reached, ralph's own too"
                .to_owned(),
        );
        if level == SandboxLevel::Strict && landlock < LANDLOCK_NETWORK {
            missing.push("the network cannot be closed: Linux 6.7 is needed".to_owned());
        } else if level == SandboxLevel::Strict {
            // Landlock knows ports and no addresses: a rule for the proxy's port would open that port of every host.
            missing.push(
                "without a pid namespace there is no proxy: a strict sandbox reaches no host at all"
                    .to_owned(),
            );
        }
    }
    missing
}

/// What of the limits cannot be had here; and what can be had for each process alone, or in a weaker way. A sentence each.
fn held(limits: &Limits, ground: Option<&Ground>, is_root: bool) -> (Vec<String>, Vec<String>) {
    let (mut missing, mut weaker) = (Vec::new(), Vec::new());
    let lacks = |has: fn(&Ground) -> bool| !ground.is_some_and(has);
    let why = "no cgroup can be had for it here (cgroup v2, delegated to this user)";
    if limits.cpus.is_some() && lacks(|ground| ground.cpus) {
        missing.push(format!("limits.cpus: {why}"));
    }
    if limits.processes.is_some() && lacks(|ground| ground.processes) {
        match is_root {
            true => missing.push(format!("limits.processes does not hold for root: {why}")),
            false => weaker.push(format!("limits.processes counts all processes of the user: {why}")),
        }
    }
    if limits.memory.is_some() && lacks(|ground| ground.memory) {
        weaker.push(format!("limits.memory holds for each process alone: {why}"));
    }
    if limits.disk.is_some() {
        weaker.push("limits.disk holds for each file alone".to_owned());
    }
    (missing, weaker)
}

fn key_file(secret: &SecretPlan) -> Option<String> {
    match &secret.from {
        EnvSource::File(path) => Some(path.clone()),
        _ => None,
    }
}

fn no_namespace(containment: &Containment) -> String {
    match &containment.why {
        Some(why) => format!("contain: there is no pid namespace to be had: {why}"),
        None => "contain: with kill_leftovers: false there can be no pid namespace, which ends as a whole"
            .to_owned(),
    }
}

/// The hosts that this agent may speak to: those that its program needs, and those that the definition names.
fn hosts_of(agent: &AgentPlan, plan: &SandboxPlan) -> Vec<Host> {
    let needed = agent::by_name(&agent.name).map(|def| def.hosts).unwrap_or_default();
    let needed = needed.iter().filter_map(|host| host.parse().ok());
    plan.access.hosts.iter().cloned().chain(needed).collect()
}

/// The most that any program of a run is held to.
fn strongest(plan: &Plan) -> SandboxLevel {
    let hats = plan.hats.iter().flat_map(|hats| &hats.hats).filter_map(|hat| hat.sandbox);
    hats.fold(plan.sandbox.strongest(), SandboxLevel::max)
}

impl Sandbox {
    /// Adds what is in force to the containment, or says what cannot be had.
    pub(crate) fn open(
        plan: &Plan,
        run: &RunDir,
        containment: &mut Containment,
    ) -> Result<Self, Unenforceable> {
        let level = strongest(plan);
        let landlock = if level.is_on() { landlock_version() } else { 0 };
        let is_namespace = containment.by == ContainedBy::Namespace;
        let ground = if plan.limits.is_any() { Ground::find() } else { None };
        let is_root = rustix::process::geteuid().is_root();
        let (unheld, weaker) = held(&plan.limits, ground.as_ref(), is_root);
        let missing = [missing(plan, landlock, is_namespace), unheld].concat();
        if plan.contain == Contain::Namespace && !is_namespace {
            return Err(Unenforceable { missing: vec![no_namespace(containment)], may_go_on: true });
        }
        if !missing.is_empty() && plan.sandbox.fallback == SandboxFallback::Refuse {
            return Err(Unenforceable { missing, may_go_on: true });
        }
        let is_off = landlock < LANDLOCK_NEEDED;
        let unsafe_keys = keys::problems(plan, is_namespace, is_off);
        if !unsafe_keys.is_empty() {
            return Err(Unenforceable { missing: unsafe_keys, may_go_on: false });
        }
        if level.is_on() && !is_off {
            let SandboxPlan { agent, gates, .. } = plan.sandbox;
            let strict = |level: SandboxLevel, hosts: Vec<Host>| match level {
                SandboxLevel::Strict if is_namespace => hosts.iter().map(Host::to_string).collect(),
                _ => Vec::new(),
            };
            let hosts = strict(agent, hosts_of(&plan.agent, &plan.sandbox));
            let gates_hosts = strict(gates, plan.sandbox.access.gates_hosts.clone());
            containment.sandbox = Some(SandboxInForce { agent, gates, landlock, hosts, gates_hosts });
        }
        containment.missing = [missing, weaker].concat();
        Ok(Self {
            plan: plan.sandbox.clone(),
            limits: plan.limits.clone(),
            ground,
            workspace: plan.workspace.clone(),
            run: run.clone(),
            is_namespace,
            is_off,
            key_files: plan.secrets.iter().filter_map(key_file).collect(),
        })
    }

    /// The level that an agent with this hat's setting is held to.
    pub(crate) fn of_agent(&self, hat: Option<SandboxLevel>) -> SandboxLevel {
        if self.is_off { SandboxLevel::Off } else { hat.unwrap_or(self.plan.agent) }
    }

    pub(crate) fn of_gates(&self) -> SandboxLevel {
        if self.is_off { SandboxLevel::Off } else { self.plan.gates }
    }

    /// Makes the folders that a confined program has for itself, and the way to `ralph` in there.
    pub(crate) fn make_room(&self) -> io::Result<()> {
        let room = self.run.room();
        for folder in [room.clone(), room.join("bin"), self.temp()] {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let (link, program) = (room.join("bin/ralph"), std::env::current_exe()?);
        if !fs::read_link(&link).is_ok_and(|target| target == program) {
            let _ = fs::remove_file(&link);
            symlink(program, &link)?;
        }
        Ok(())
    }

    fn temp(&self) -> PathBuf {
        self.run.room().join("tmp")
    }

    /// What is different in the environment of a confined program.
    pub(crate) fn environment(&self, level: SandboxLevel) -> Vec<(OsString, Option<OsString>)> {
        if !level.is_on() {
            return Vec::new();
        }
        let temp = self.temp().into_os_string();
        let names = ["TMPDIR", "TMP", "TEMP"].map(|name| (name.into(), Some(temp.clone())));
        let proxy = if level == SandboxLevel::Strict { proxy::environment() } else { Vec::new() };
        names.into_iter().chain([("SSH_AUTH_SOCK".into(), None)]).chain(proxy).collect()
    }

    /// What an agent may ask of its proxy. Nothing: it has none.
    pub(crate) fn rules_of_agent(
        &self,
        level: SandboxLevel,
        agent: &AgentPlan,
        keys: Vec<proxy::Key>,
    ) -> Option<proxy::Rules> {
        self.rules(level, hosts_of(agent, &self.plan), keys)
    }

    /// What a gate, or a command of the prompt, may ask of its proxy.
    pub(crate) fn rules_of_jobs(&self, level: SandboxLevel) -> Option<proxy::Rules> {
        self.rules(level, self.plan.access.gates_hosts.clone(), Vec::new())
    }

    fn rules(&self, level: SandboxLevel, hosts: Vec<Host>, keys: Vec<proxy::Key>) -> Option<proxy::Rules> {
        let has_way = level == SandboxLevel::Strict && self.is_namespace;
        (has_way && !(hosts.is_empty() && keys.is_empty())).then_some(proxy::Rules { hosts, keys })
    }

    /// For the agent.
    pub(crate) fn confine_agent(
        &self,
        level: SandboxLevel,
        agent: &AgentPlan,
        program: &Path,
        kept: &[PathBuf],
    ) -> Confine {
        let folders = agent::by_name(&agent.name).map(|def| def.folders).unwrap_or_default();
        let folders = folders.iter().filter_map(|path| places::make(path, &self.workspace)).collect();
        self.confine(level, folders, &[program.to_owned()], kept)
    }

    /// For a gate or a command that works in this folder.
    pub(crate) fn confine_job(&self, level: SandboxLevel, cwd: &Path, program: PathBuf) -> Confine {
        self.confine(level, vec![cwd.to_owned()], &[program], &[])
    }

    fn confine(
        &self,
        level: SandboxLevel,
        mut write: Vec<PathBuf>,
        programs: &[PathBuf],
        kept: &[PathBuf],
    ) -> Confine {
        let usage = Usage {
            memory: self.limits.memory,
            processes: self.limits.processes.map(u64::from),
            disk: self.limits.disk,
            cpus: self.limits.cpus.map(u64::from),
            ground: self.ground.clone(),
        };
        if !level.is_on() {
            return Confine { reach: None, usage };
        }
        let access = &self.plan.access;
        let find = |paths: &[String]| -> Vec<PathBuf> {
            let found = paths.iter().filter_map(|path| places::find(path, &self.workspace));
            found.filter(|path| !places::is_shallow(path)).collect()
        };
        write.push(self.workspace.clone());
        write.extend(places::git_folders(&self.workspace));
        write.push(self.temp());
        write.extend(find(&access.write));
        let mut hide = find(&access.hide);
        hide.extend(find(&self.key_files));
        hide.extend(self.state_folders());
        if level == SandboxLevel::Strict {
            hide.extend(places::not_the_system(&self.workspace));
        }
        let more = find(&access.read);
        let (read, list) = self.readable(level, &hide, &more, programs, kept);
        let mut keep = [&write, kept, programs, &more].into_iter().flatten().cloned().collect::<Vec<_>>();
        keep.extend(std::env::current_exe());
        keep.extend(places::on_path());
        if level == SandboxLevel::Strict {
            keep.extend(places::system());
        }
        keep.push(self.run.room());
        write.extend(places::devices());
        let (hide, temp) =
            if self.is_namespace { (hide, vec![self.temp()]) } else { (Vec::new(), Vec::new()) };
        let network = if level == SandboxLevel::Strict { Network::Closed } else { Network::Open };
        Confine { reach: Some(Reach { read, list, write, hide, keep, temp, network }), usage }
    }

    /// ralph's own: other runs, this one's journal, and the sockets that lead to them.
    fn state_folders(&self) -> Vec<PathBuf> {
        let state = self.run.path.parent().and_then(Path::parent).unwrap_or(&self.run.path);
        [state.to_owned(), short_folder()].into_iter().filter_map(|path| path.canonicalize().ok()).collect()
    }

    fn readable(
        &self,
        level: SandboxLevel,
        hide: &[PathBuf],
        more: &[PathBuf],
        programs: &[PathBuf],
        kept: &[PathBuf],
    ) -> (Vec<PathBuf>, Vec<PathBuf>) {
        // A device could be a way to a whole disk; those that are not are granted by name.
        let mut out = vec![PathBuf::from("/dev")];
        // In a namespace the secrets are not there, and what comes to be later can be read.
        if !self.is_namespace {
            out.extend(hide.iter().cloned());
        }
        let roots = match level {
            SandboxLevel::Strict => [places::system(), more.to_vec()].concat(),
            _ => vec![PathBuf::from("/")],
        };
        let (mut read, list) = places::carve(&roots, &out);
        // By name, whatever is around them: they are what runs, and what it was given.
        read.extend(programs.iter().filter_map(|path| path.canonicalize().ok()));
        read.extend(std::env::current_exe());
        read.extend(kept.iter().cloned());
        read.push(self.run.room());
        (read, list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::plan::Task;

    fn plan(level: SandboxLevel) -> Plan {
        let mut plan = Plan::new("x", "/w", Task::Text(String::new()), AgentPlan::command("true"));
        plan.sandbox.agent = level;
        plan
    }

    #[test]
    fn what_cannot_be_had_is_named_and_nothing_else() {
        let count = |level, landlock, namespace| missing(&plan(level), landlock, namespace).len();
        assert_eq!(count(SandboxLevel::Off, 0, false), 0);
        assert_eq!(count(SandboxLevel::Workspace, 7, true), 0);
        assert_eq!(count(SandboxLevel::Workspace, 7, false), 1);
        assert_eq!(count(SandboxLevel::Workspace, 5, false), 2);
        assert_eq!(count(SandboxLevel::Strict, 3, false), 3);
        assert_eq!(count(SandboxLevel::Strict, 7, false), 2);
        assert_eq!(count(SandboxLevel::Strict, 7, true), 0);
        assert!(missing(&plan(SandboxLevel::Strict), 0, true)[0].contains("no Landlock"));
    }

    #[test]
    fn limits_that_cannot_be_had_are_missing_and_weaker_ones_are_told() {
        let all = Limits { memory: Some(1), cpus: Some(2), processes: Some(3), disk: Some(4) };
        let count = |ground: Option<&Ground>, is_root| {
            let (missing, weaker) = held(&all, ground, is_root);
            (missing.len(), weaker.len())
        };
        assert_eq!(count(None, false), (1, 3));
        assert_eq!(count(None, true), (2, 2), "the kernel counts no processes of root");
        let mut ground = Ground::default();
        (ground.memory, ground.processes) = (true, true);
        assert_eq!(count(Some(&ground), true), (1, 1));
        ground.cpus = true;
        assert_eq!(count(Some(&ground), false), (0, 1), "files have no group");
        assert_eq!(held(&Limits::default(), None, true), (Vec::new(), Vec::new()));
    }
}
