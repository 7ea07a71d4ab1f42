//! What a run knows to be secret, and what becomes of it: found in the environment and in the plan, kept out of everything that is
//! written, and given to the agent alone.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};

use ralph_core::event::Event;
use ralph_core::input::{Command, Input};
use ralph_core::plan::{AgentPlan, EnvValue, Plan};
use ralph_evidence::redact::{Redactor, is_secret_name, is_secret_value};
use ralph_store::plain::{self, Links};
use serde_json::Value;

use crate::lock;

/// Beside the journal: the texts of the plan that hold secrets, for the executor and for a resume.
const FILE: &str = "secrets.json";
/// A listed value may be short, but one of few letters stands everywhere.
const LEAST_LISTED: usize = 4;
/// Texts of a plan that say where things are, or how they are called.
const PLACES: [&str; 12] = [
    "workspace",
    "source",
    "log_dir",
    "name",
    "cwd",
    "files",
    "program",
    "preset",
    "id",
    "redact",
    "redact_env",
    "scratchpad",
];

#[derive(Debug)]
pub struct Secrets {
    values: Mutex<BTreeSet<String>>,
    rules: Vec<String>,
    redactor: RwLock<Arc<Redactor>>,
}

impl Secrets {
    /// Those of this plan in this environment. An error names a rule that cannot be read.
    pub fn of(plan: &Plan) -> Result<Self, String> {
        Self::among(
            plan,
            std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    fn among(plan: &Plan, environment: impl Iterator<Item = (String, String)>) -> Result<Self, String> {
        let listed = |name: &str| plan.redact_env.iter().any(|one| one == name);
        let of_environment = environment.filter(|(name, value)| match listed(name) {
            true => value.trim().len() >= LEAST_LISTED,
            false => is_secret_name(name) && is_secret_value(value),
        });
        let mut values: BTreeSet<String> = of_environment.map(|(_, value)| value).collect();
        for agent in agents(plan) {
            let texts = agent.env.values().filter_map(EnvValue::text);
            values.extend(texts.filter(|text| is_secret_value(text)).map(str::to_owned));
        }
        let rules = plan.redact.iter().map(|rule| rule.0.clone()).collect::<Vec<_>>();
        let redactor = RwLock::new(Arc::new(redactor(&values, &rules)?));
        Ok(Self { values: Mutex::new(values), rules, redactor })
    }

    pub fn redactor(&self) -> Arc<Redactor> {
        let read = self.redactor.read();
        Arc::clone(&read.unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// A value that was found only now. A short one cannot be told from other text.
    pub(crate) fn learn(&self, value: &str) {
        let mut values = lock(&self.values);
        if value.trim().len() < LEAST_LISTED || !values.insert(value.to_owned()) {
            return;
        }
        if let Ok(new) = redactor(&values, &self.rules) {
            *self.redactor.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(new);
        }
    }

    /// What comes in from outside, as it may be recorded.
    pub(crate) fn cleaned(&self, input: Input) -> Input {
        let redactor = self.redactor();
        let event = match input {
            Input::Command(Command::AddGuidance(mut guidance)) => {
                guidance.text = redactor.text(&guidance.text).into_owned();
                return Input::Command(Command::AddGuidance(guidance));
            }
            Input::Command(command) => return Input::Command(command),
            Input::Report(ref report) => Event::from(report.clone()),
        };
        let Ok(mut json) = event.to_value() else { return input };
        let mut changed = false;
        each_text(&mut json, "", &mut |_, text| {
            if let std::borrow::Cow::Owned(clean) = redactor.text(text) {
                (*text, changed) = (clean, true);
            }
        });
        let again = || Event::from_value(json).ok()?.input();
        if changed { again().unwrap_or(input) } else { input }
    }

    /// The plan as it may be recorded. What it leaves out is kept beside the journal, for nobody else to read.
    pub(crate) fn hide(&self, plan: &Plan, run: &Path) -> io::Result<Plan> {
        let redactor = self.redactor();
        let mut json = plan.to_value()?;
        let mut kept = BTreeMap::new();
        each_text(&mut json, "", &mut |pointer, text| {
            let is_place = pointer.rsplit('/').find(|key| key.parse::<usize>().is_err());
            if is_place.is_some_and(|key| PLACES.contains(&key)) {
                return;
            }
            if let std::borrow::Cow::Owned(clean) = redactor.text(text) {
                kept.insert(pointer.to_owned(), std::mem::replace(text, clean));
            }
        });
        if kept.is_empty() {
            return Ok(plan.clone());
        }
        plain::create(&run.join(FILE))?.write_all(&serde_json::to_vec(&kept)?)?;
        Ok(Plan::from_value(&json)?)
    }

    /// The plan as it is to be carried out. A text that was changed since stays as it is.
    pub(crate) fn reveal(plan: &Plan, run: &Path) -> io::Result<Plan> {
        let kept = match plain::read(&run.join(FILE), Links::Refuse, plain::TEXT) {
            Ok(bytes) => serde_json::from_slice::<BTreeMap<String, String>>(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(plan.clone()),
            Err(error) => return Err(error),
        };
        let mut json = plan.to_value()?;
        for (pointer, secret) in kept {
            if let Some(Value::String(text)) = json.pointer_mut(&pointer)
                && text.contains(ralph_evidence::redact::REDACTED)
            {
                *text = secret;
            }
        }
        Ok(Plan::from_value(&json)?)
    }
}

fn redactor(values: &BTreeSet<String>, rules: &[String]) -> Result<Redactor, String> {
    let values = values.iter().flat_map(|value| {
        // A key in several lines is printed line by line, too.
        let lines = value.lines().map(str::trim).filter(|line| line.len() >= 16 && line.len() < value.len());
        std::iter::once(value.trim()).chain(lines)
    });
    Redactor::new(values, rules.iter().map(String::as_str))
}

fn agents(plan: &Plan) -> impl Iterator<Item = &AgentPlan> {
    let of_hats = plan.hats.iter().flat_map(|hats| &hats.hats).filter_map(|hat| hat.agent.as_ref());
    std::iter::once(&plan.agent).chain(&plan.fallback).chain(of_hats)
}

/// Gives every text to `visit`, with its place as a JSON pointer.
fn each_text(value: &mut Value, at: &str, visit: &mut dyn FnMut(&str, &mut String)) {
    match value {
        Value::String(text) => visit(at, text),
        Value::Array(all) => {
            all.iter_mut().enumerate().for_each(|(n, one)| each_text(one, &format!("{at}/{n}"), visit));
        }
        Value::Object(fields) => fields.iter_mut().for_each(|(key, one)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            each_text(one, &format!("{at}/{key}"), visit);
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ralph_core::event::{AgentText, CommandFinished};
    use ralph_core::ids::IterationNumber;
    use ralph_core::input::Report;
    use ralph_core::plan::Task;

    use super::*;

    const SECRET: &str = "correct-horse-battery";

    fn plan() -> Plan {
        let mut agent = AgentPlan::command("agent");
        agent.args = vec![format!("--token={SECRET}"), "--fast".to_owned()];
        agent.env.insert("A/B".to_owned(), SECRET.into());
        Plan::new("x", "/w", Task::Text(format!("use {SECRET}")), agent)
    }

    #[test]
    fn a_plan_is_recorded_without_its_secrets_and_carried_out_with_them() {
        let run = tempfile::tempdir().expect("a folder");
        let plan = plan();
        let secrets = Secrets::among(&plan, std::iter::empty()).expect("rules");
        let recorded = secrets.hide(&plan, run.path()).expect("hidden");
        assert!(!serde_json::to_string(&recorded).expect("JSON").contains("horse"));
        assert_eq!(recorded.agent.args, ["--token=[redacted]", "--fast"]);
        assert_eq!(Secrets::reveal(&recorded, run.path()).expect("revealed"), plan);
        let mut changed = recorded;
        changed.agent.args[0] = "--token=other".to_owned();
        let revealed = Secrets::reveal(&changed, run.path()).expect("revealed");
        assert_eq!(revealed.agent.args[0], "--token=other", "what a person changed stays");
    }

    #[test]
    fn secrets_come_from_the_environment_by_name_or_by_list() {
        let mut plan = Plan::new("x", "/w", Task::Text(String::new()), AgentPlan::command("a"));
        plan.redact_env = vec!["PLAIN".to_owned()];
        let vars =
            [("API_KEY", "abcd-1234"), ("PLAIN", "xyzzy"), ("HOME", "/srv/someone"), ("TOKEN", "none")];
        let vars = vars.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let secrets = Secrets::among(&plan, vars).expect("rules");
        let text = "abcd-1234 xyzzy /srv/someone none";
        assert_eq!(secrets.redactor().text(text), "[redacted] [redacted] /srv/someone none");
        secrets.learn("/srv/someone");
        assert_eq!(secrets.redactor().text("/srv/someone"), "[redacted]");
    }

    #[test]
    fn reports_and_guidance_are_cleaned_and_stay_what_they_are() {
        let secrets = Secrets::among(&plan(), std::iter::empty()).expect("rules");
        let (iteration, attempt) = (IterationNumber(1), 1);
        let said = |text: &str| {
            Input::Report(Report::AgentText(AgentText {
                iteration,
                attempt,
                text: text.to_owned(),
                truncated: false,
            }))
        };
        assert_eq!(secrets.cleaned(said(&format!("a {SECRET} b"))), said("a [redacted] b"));
        assert_eq!(secrets.cleaned(said("plain")), said("plain"));
        let finished = CommandFinished {
            iteration,
            attempt,
            name: "c".to_owned(),
            exit_code: Some(0),
            duration: Duration::from_millis(5),
            timed_out: false,
            output_bytes: 3,
            tail: SECRET.to_owned(),
        };
        let clean = CommandFinished { tail: "[redacted]".to_owned(), ..finished.clone() };
        let report = |it| Input::Report(Report::CommandFinished(it));
        assert_eq!(secrets.cleaned(report(finished)), report(clean));
    }
}
