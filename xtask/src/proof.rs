//! `cargo xtask proof [--project NAME] [--case NAME] [--mechanism NAME] [--ralph FILE] [--jobs N]`: is "done" proved?
//!
//! The corpus beside the tests of `ralph-evidence` has small projects with a bug, cheats that make their checks pass, and
//! honest changes to sound projects. A scripted agent does each of them and claims completion to the real `ralph run`, with
//! the project's own tests as gate. Counted is who is refused, by which mechanism.

#[path = "../../crates/ralph-evidence/tests/proof/corpus.rs"]
mod corpus;
mod stage;
mod tools;

use crate::lab::Lab;
use crate::{Result, repo};
use corpus::{Case, Project};
use stage::{Outcome, Stage};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const PROJECTS: &[&str] = &["rust", "pytest", "unittest", "node", "go", "shell"];

/// What refuses a claim. Each is there in addition to the gates, which alone are the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mechanism {
    Gates,
    Protection,
    Tampering,
    All,
}

impl Mechanism {
    const EVERY: [Mechanism; 4] =
        [Mechanism::Gates, Mechanism::Protection, Mechanism::Tampering, Mechanism::All];

    fn name(self) -> &'static str {
        match self {
            Mechanism::Gates => "gates",
            Mechanism::Protection => "protection",
            Mechanism::Tampering => "tampering",
            Mechanism::All => "all",
        }
    }

    fn said(self) -> &'static str {
        match self {
            Mechanism::Gates => "gates alone",
            Mechanism::Protection => "gates and protected files",
            Mechanism::Tampering => "gates and tampering",
            Mechanism::All => "all of them",
        }
    }
}

pub fn run(args: &[String]) -> Result<()> {
    let options = Options::of(args)?;
    let mut lab = Lab::debug("proof")?;
    if let Some(ralph) = &options.ralph {
        let copy = lab.path("other-ralph");
        std::fs::copy(ralph, &copy).map_err(|error| format!("{}: {error}", ralph.display()))?;
        lab.ralph = copy;
    }
    let projects = read(&options)?;
    let tools = tools::Tools::get(&projects)?;
    let stage = Stage::new(&lab, &tools)?;
    let jobs = jobs(&projects, &options, &tools);
    let done = play(&stage, &jobs, options.jobs)?;
    report(&done)
}

struct Options {
    project: Option<String>,
    case: Option<String>,
    mechanism: Option<Mechanism>,
    ralph: Option<PathBuf>,
    jobs: usize,
}

impl Options {
    fn of(args: &[String]) -> Result<Options> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Options { project: None, case: None, mechanism: None, ralph: None, jobs: cores };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
            match arg.as_str() {
                "--project" if PROJECTS.contains(&value.as_str()) => options.project = Some(value.clone()),
                "--project" => {
                    return Err(format!("no project {value}; there are: {}", PROJECTS.join(", ")));
                }
                "--case" => options.case = Some(value.clone()),
                "--mechanism" => {
                    let known = || Mechanism::EVERY.map(Mechanism::name).join(", ");
                    let found = Mechanism::EVERY.into_iter().find(|one| one.name() == value);
                    options.mechanism =
                        Some(found.ok_or_else(|| format!("no mechanism {value}; there are: {}", known()))?);
                }
                "--ralph" => options.ralph = Some(value.into()),
                "--jobs" => options.jobs = value.parse().map_err(|_| "--jobs needs a number".to_owned())?,
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(options)
    }
}

fn read(options: &Options) -> Result<Vec<Project>> {
    let folder = repo::root().join("crates/ralph-evidence/tests/proof");
    let wanted = PROJECTS.iter().filter(|name| options.project.as_deref().is_none_or(|one| one == **name));
    wanted
        .map(|name| {
            let path = folder.join(format!("{name}.txt"));
            let text =
                std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            Project::read(name, &text)
        })
        .collect()
}

pub struct Job<'a> {
    pub project: &'a Project,
    pub case: &'a Case,
    pub mechanism: Mechanism,
}

/// Cheats are tried against each mechanism. What all together let pass, each alone lets pass: honest changes are tried once.
fn jobs<'a>(projects: &'a [Project], options: &Options, tools: &tools::Tools) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    for project in projects {
        if let Some(missing) = tools.missing(&project.gate) {
            println!("left out: {}, for there is no {missing} here", project.name);
            continue;
        }
        for case in
            project.cases.iter().filter(|case| options.case.as_deref().is_none_or(|name| name == case.name))
        {
            let fits = |mechanism: &Mechanism| {
                let asked = options.mechanism.is_none_or(|one| one == *mechanism);
                asked && (case.cheat || *mechanism == Mechanism::All || options.mechanism.is_some())
            };
            let all = Mechanism::EVERY.into_iter().filter(fits);
            jobs.extend(all.map(|mechanism| Job { project, case, mechanism }));
        }
    }
    jobs
}

type Done<'a> = Vec<(&'a Job<'a>, Outcome)>;

fn play<'a>(stage: &Stage, jobs: &'a [Job<'a>], threads: usize) -> Result<Done<'a>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    let outcome = stage.play(job, at);
                    done.lock().unwrap_or_else(|error| error.into_inner()).push((at, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|error| error.into_inner());
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(at, outcome)| Ok((&jobs[at], outcome?))).collect()
}

fn report(done: &Done) -> Result<()> {
    let mut wrong = Vec::new();
    let mut refused: BTreeMap<Mechanism, (usize, usize)> = BTreeMap::new();
    let mut late: BTreeMap<bool, (usize, usize)> = BTreeMap::new();
    let (mut honest, mut hindered, mut accused, mut allowed) = (0, 0, 0, 0);
    for (job, outcome) in done {
        let label = format!("{}/{}", job.project.name, job.case.name);
        if job.case.cheat {
            let count = refused.entry(job.mechanism).or_default();
            *count = (count.0 + usize::from(outcome.refused), count.1 + 1);
            if job.mechanism == Mechanism::All {
                let count = late.entry(job.case.late).or_default();
                *count = (count.0 + usize::from(outcome.refused), count.1 + 1);
                if !outcome.refused {
                    wrong.push(format!("{label}: believed, though it is {}", job.case.kinds.join(" or ")));
                }
            }
        } else {
            honest += 1;
            hindered += usize::from(outcome.refused);
            accused += usize::from(!outcome.findings.is_empty());
            allowed += usize::from(outcome.allowed);
            if outcome.refused || !outcome.findings.is_empty() {
                let why = if outcome.findings.is_empty() { &outcome.why } else { &outcome.findings };
                wrong.push(format!("{label}: honest, and {}", why.join("; ")));
            }
        }
    }
    for (mechanism, (count, of)) in &refused {
        println!("cheats refused by {:<26} {count:>3} of {of}", mechanism.said());
    }
    if let Some((count, of)) = late.get(&true) {
        println!("of the cheats that were written when the rules stood: {count} of {of}");
    }
    println!("honest changes refused {hindered} of {honest}, accused {accused} of {honest}");
    println!("honest changes whose task says that it changes what a gate runs (protect.allow): {allowed}");
    wrong.iter().for_each(|line| println!("  {line}"));
    match wrong.len() {
        0 => Ok(()),
        count => Err(format!("{count} of {} went wrong", done.len())),
    }
}
