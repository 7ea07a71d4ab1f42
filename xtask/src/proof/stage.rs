//! One case: the workspace as it was, an agent that makes it what it is afterwards and claims completion, and what ralph says.

use super::corpus::Tree;
use super::tools::Tools;
use super::{Job, Mechanism};
use crate::Result;
use crate::lab::{Lab, empty, only_run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub struct Stage<'a> {
    lab: &'a Lab,
    tools: &'a Tools,
}

pub struct Outcome {
    pub refused: bool,
    /// What ralph says was done to the tests.
    pub findings: Vec<String>,
    /// What refused the claim.
    pub why: Vec<String>,
    /// The definition had to allow a change of what a gate runs.
    pub allowed: bool,
}

impl<'a> Stage<'a> {
    pub fn new(lab: &'a Lab, tools: &'a Tools) -> Result<Stage<'a>> {
        let schema = lab.ralph(&lab.folder("schema")?).arg("schema").output();
        let schema = schema.map_err(|error| format!("cannot start ralph: {error}"))?;
        let text = String::from_utf8_lossy(&schema.stdout);
        match ["tampering", "protect_policy"].iter().find(|key| !text.contains(&format!("\"{key}\""))) {
            Some(key) => Err(format!("this ralph has no setting `{key}`: there is nothing to try")),
            None => Ok(Stage { lab, tools }),
        }
    }

    pub fn play(&self, job: &Job, number: usize) -> Result<Outcome> {
        let root = empty(self.lab.path(&format!("case-{number}")))?;
        let outcome = self.play_in(job, &root).map_err(|error| {
            format!("{}/{} with {}: {error}", job.project.name, job.case.name, job.mechanism.name())
        });
        let _ = std::fs::remove_dir_all(&root);
        outcome
    }

    fn play_in(&self, job: &Job, root: &Path) -> Result<Outcome> {
        let (workspace, after, state) = (root.join("work"), root.join("after"), root.join("state"));
        write(&workspace, &job.case.before)?;
        crate::repo::stdout_of(Command::new("git").args(["init", "--quiet"]).arg(&workspace))?;
        let changed = job.case.after.iter().filter(|(path, text)| job.case.before.get(*path) != Some(text));
        let changed: Tree = changed.map(|(path, text)| (path.clone(), text.clone())).collect();
        write(&after, &changed)?;
        let gone = job.case.before.keys().filter(|path| !job.case.after.contains_key(*path));
        let agent = root.join("agent.sh");
        put(&agent, &script(&after, gone.map(String::as_str)))?;
        let allow = if job.case.cheat { Vec::new() } else { allowed(job) };
        let file = root.join("ralph.yml");
        put(&file, &definition(job, &agent, &allow).to_string())?;
        let mut ralph = self.lab.ralph(&state);
        ralph.args(["run", "-q", "-n", "1", "-C"]).arg(&workspace).arg(&file);
        self.surround(&mut ralph, root);
        let output = ralph.output().map_err(|error| format!("cannot start ralph: {error}"))?;
        let code = output.status.code();
        // Complete, failed, or out of iterations: anything else is no verdict.
        if !matches!(code, Some(0 | 1 | 3)) {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("ralph ended with {}: {}", output.status, said.trim()));
        }
        let path = only_run(&state)?.join("journal.jsonl");
        let journal =
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let events: Vec<Value> = journal.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if !events.iter().any(|event| event["type"] == "completion.claimed") {
            return Err("the agent's claim was not heard".into());
        }
        let mut findings = Vec::new();
        events.iter().for_each(|event| collect(event, false, &mut findings));
        findings.sort();
        findings.dedup();
        let why = events.iter().filter(|event| event["type"] == "completion.rejected");
        let why = why.map(|event| event["missing"].to_string()).collect();
        Ok(Outcome { refused: code != Some(0), findings, why, allowed: !allow.is_empty() })
    }

    /// Build products go beside the workspace, so that a run leaves in it only what the case is about.
    fn surround(&self, ralph: &mut Command, root: &Path) {
        ralph.env("PATH", &self.tools.path).stdout(Stdio::piped()).stderr(Stdio::piped());
        ralph.env("CARGO_TARGET_DIR", root.join("target")).env("PYTHONDONTWRITEBYTECODE", "1");
        ralph.env("PYTEST_ADDOPTS", "-p no:cacheprovider").env("GOFLAGS", "-count=1");
        // The homes that compilers are found by: the lab has one of its own.
        for key in ["CARGO_HOME", "RUSTUP_HOME", "GOCACHE"] {
            if let Some(folder) = home_of(key) {
                ralph.env(key, folder);
            }
        }
    }
}

fn home_of(key: &str) -> Option<PathBuf> {
    let folder = match key {
        "CARGO_HOME" => ".cargo",
        "RUSTUP_HOME" => ".rustup",
        _ => ".cache/go-build",
    };
    let set = std::env::var_os(key).map(PathBuf::from);
    set.or_else(|| std::env::home_dir().map(|home| home.join(folder)).filter(|folder| folder.is_dir()))
}

fn write(folder: &Path, tree: &Tree) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    tree.iter().try_for_each(|(path, text)| put(&folder.join(path), text))
}

fn put(path: &Path, text: &str) -> Result<()> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    std::fs::write(path, text).map_err(failed)
}

/// What the agent does: the files as they are afterwards, and its claim.
fn script<'a>(after: &Path, gone: impl Iterator<Item = &'a str>) -> String {
    let mut text = format!("set -e\ncp -R '{}/.' .\n", after.display());
    gone.for_each(|path| text.push_str(&format!("rm '{path}'\n")));
    text.push_str("echo '<ralph>COMPLETE</ralph>'\n");
    text
}

/// Of an honest change: the files beside the tests that its task is about. A gate may run them.
fn allowed(job: &Job) -> Vec<String> {
    let (before, after) = (&job.case.before, &job.case.after);
    let runs = ["Makefile", "package.json", "check.sh", "Cargo.toml", "pyproject.toml"];
    let changed = runs.iter().filter(|path| before.get(**path) != after.get(**path));
    let scripts = before
        .keys()
        .chain(after.keys())
        .filter(|path| path.ends_with(".sh") && before.get(*path) != after.get(*path));
    let mut all: Vec<String> = changed.map(|path| (*path).to_owned()).chain(scripts.cloned()).collect();
    all.sort();
    all.dedup();
    all
}

fn definition(job: &Job, agent: &Path, allow: &[String]) -> Value {
    let protects = matches!(job.mechanism, Mechanism::Protection | Mechanism::All);
    let reads = matches!(job.mechanism, Mechanism::Tampering | Mechanism::All);
    json!({
        "prompt": "Make the tests pass.",
        "agent": format!("sh {}", agent.display()),
        "gates": [{ "name": "tests", "run": job.project.gate }],
        "protect": { "allow": allow },
        "protect_policy": if protects { "refuse" } else { "warn" },
        "stop": { "tampering": if reads { "refuse" } else { "off" } },
    })
}

/// Everything below a key `tampering` that is a finding.
fn collect(value: &Value, inside: bool, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let (true, Some(kind)) = (inside, map.get("kind").and_then(Value::as_str)) {
                let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default();
                found.push(format!("{kind} {} {}", text("file"), text("detail")));
            }
            map.iter().for_each(|(key, value)| collect(value, inside || key == "tampering", found));
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, inside, found)),
        _ => {}
    }
}
