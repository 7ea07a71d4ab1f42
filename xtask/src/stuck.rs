//! `cargo xtask stuck [FILE] [--detector NAME] [--seed N] [--by-class] [--write-cases OUT]`: how often stuck detection is
//! right. FILE holds labelled cases, one JSON object a line; without it cases are made up, of the same kinds but with texts of
//! their own. The detectors are asked through `ralph detect`, which sees nothing of the labels. `cargo xtask stuck train` trains the one that decides.

mod cases;
mod score;
mod texts;
mod train;

use crate::lab::Lab;
use crate::{Result, repo};
use score::{Case, Score};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const SEED: u64 = 1;
const CASES_PER_CLASS: usize = 40;

pub fn run(args: &[String]) -> Result<()> {
    if let Some((first, rest)) = args.split_first()
        && first == "train"
    {
        return train::run(rest);
    }
    let options = Options::of(args)?;
    let lab = Lab::new("stuck")?;
    let text = match &options.file {
        Some(path) => {
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?
        }
        None => cases::made(options.seed, CASES_PER_CLASS),
    };
    if let Some(path) = &options.write {
        std::fs::write(path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let cases =
        text.lines().filter(|line| !line.trim().is_empty()).map(Case::of).collect::<Result<Vec<_>>>()?;
    let blind = lab.file("cases.jsonl", &blind(&text)?)?;
    println!(
        "{} cases, {} of them stuck\n",
        cases.len(),
        cases.iter().filter(|case| case.stuck.is_some()).count()
    );
    println!("{}", Score::HEAD);
    for detector in &options.detectors {
        let predictions = predict(&lab, &blind, detector)?;
        let score = Score::of(&cases, &predictions);
        println!("{}", score.row(detector));
        if options.by_class {
            score.classes().for_each(|line| println!("    {line}"));
        }
    }
    Ok(())
}

struct Options {
    file: Option<PathBuf>,
    detectors: Vec<String>,
    seed: u64,
    by_class: bool,
    write: Option<PathBuf>,
}

impl Options {
    fn of(args: &[String]) -> Result<Options> {
        let all = ["no_progress", "similarity", "signature"];
        let mut options = Options {
            file: None,
            detectors: all.map(str::to_owned).into(),
            seed: SEED,
            by_class: false,
            write: None,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--detector" => options.detectors = vec![value()?.clone()],
                "--seed" => {
                    options.seed = value()?.parse().map_err(|_| "--seed needs a number".to_owned())?
                }
                "--write-cases" => options.write = Some(value()?.into()),
                "--by-class" => options.by_class = true,
                flag if flag.starts_with('-') => return Err(format!("unknown option {flag}")),
                file => options.file = Some(repo::root().join(file)),
            }
        }
        Ok(options)
    }
}

/// The cases without their labels.
fn blind(text: &str) -> Result<String> {
    let mut out = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).map_err(|error| format!("not a case: {error}"))?;
        out.push_str(&json!({ "id": case["id"], "iterations": case["iterations"] }).to_string());
        out.push('\n');
    }
    Ok(out)
}

fn predict(lab: &Lab, cases: &Path, detector: &str) -> Result<BTreeMap<String, usize>> {
    let state = lab.folder("state")?;
    let mut ralph = lab.ralph(&state);
    ralph.args(["detect", "--predictions", "--detector", detector, "--cases"]).arg(cases);
    let output = ralph.output().map_err(|error| format!("cannot start ralph: {error}"))?;
    if !output.status.success() {
        return Err(format!("ralph detect: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let mut fired = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let line: Value = serde_json::from_str(line).map_err(|error| format!("ralph detect: {error}"))?;
        if let (Some(id), Some(at)) = (line["id"].as_str(), line["fired_at"].as_u64()) {
            fired.insert(id.to_owned(), at as usize);
        }
    }
    Ok(fired)
}
