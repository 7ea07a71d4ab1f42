//! Trains the model of the detector that decides, and tells how right it is on repositories that it was not trained on:
//! `cargo xtask stuck train`.
//!
//! Cases are read from files, one JSON object a line; those of a file whose name begins with `made` are trained on with
//! little weight and not counted.

mod boost;
mod cases;
mod figures;

use std::collections::BTreeMap;
use std::process::ExitCode;

use boost::{Row, Settings};
use cases::Labelled;
use figures::{Figures, Fired, interval, sum};
use ralph_evidence::detector::model::{Evidence, Limits, Model, Node};
use ralph_evidence::detector::no_progress::{Sureness, alarms};

const FOLDS: usize = 10;

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Vec<String>) -> Result<(), String> {
    let (mut files, mut write, mut misses, mut settings) = (Vec::new(), None, false, Settings::default());
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        let number = |text: String| text.parse::<f64>().map_err(|_| format!("{text} is no number"));
        match arg.as_str() {
            "--write" => write = Some(value()?),
            "--misses" => misses = true,
            "--trees" => settings.trees = number(value()?)? as usize,
            "--depth" => settings.depth = number(value()?)? as usize,
            "--rate" => settings.rate = number(value()?)?,
            "--calm" => settings.calm = number(value()?)?,
            "--least" => settings.least = number(value()?)?,
            "--features" => settings.features = number(value()?)? as usize,
            _ => files.push(arg),
        }
    }
    let mut all = Vec::new();
    for file in &files {
        all.extend(cases::read(file)?);
    }
    let folds = folds(&all);
    let mut sums: Vec<Vec<Option<i64>>> = vec![Vec::new(); all.len()];
    for fold in 0..FOLDS {
        let trees =
            boost::train(&rows(all.iter().filter(|case| folds.get(&case.repo) != Some(&fold))), settings);
        let model = Model { trees, ..Model::default() };
        for (case, sums) in all.iter().zip(&mut sums).filter(|(case, _)| folds.get(&case.repo) == Some(&fold))
        {
            *sums = judge(&model, &case.seen);
        }
    }
    let mut model = Model { probabilities: calibrate(&all, &sums), ..Model::default() };
    model.trees = Vec::new();
    let sure = |sum: &Option<i64>, seen: &Option<Evidence>| {
        Some(Sureness::of(model.probability((*sum)?), seen.as_ref()?))
    };
    let probabilities: Vec<Vec<Option<Sureness>>> = all
        .iter()
        .zip(&sums)
        .map(|(case, sums)| sums.iter().zip(&case.seen).map(|(sum, seen)| sure(sum, seen)).collect())
        .collect();
    report(&all, &probabilities, &mut model, misses);
    if let Some(path) = write {
        model.trees = boost::train(&rows(all.iter()), settings);
        std::fs::write(&path, model.write()).map_err(|error| format!("{path}: {error}"))?;
        println!(
            "\nwritten: {path}, {} trees, {} questions",
            model.trees.len(),
            model.trees.iter().map(questions).sum::<usize>()
        );
    }
    Ok(())
}

fn questions(node: &Node) -> usize {
    match node {
        Node::Leaf { .. } => 0,
        Node::Split { yes, no, .. } => 1 + questions(yes) + questions(no),
    }
}

/// Repositories by fold, the largest first into the smallest fold. Made-up cases are in none.
fn folds(all: &[Labelled]) -> BTreeMap<String, usize> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter()
        .filter(|case| !is_made(case))
        .for_each(|case| *sizes.entry(&case.repo).or_default() += case.seen.len());
    let mut order: Vec<(&str, usize)> = sizes.into_iter().collect();
    order.sort_by_key(|(repo, size)| (usize::MAX - size, *repo));
    let mut filled = [0; FOLDS];
    let mut folds = BTreeMap::new();
    for (repo, size) in order {
        let least = (0..FOLDS).min_by_key(|fold| filled[*fold]).unwrap_or(0);
        filled[least] += size;
        folds.insert(repo.to_owned(), least);
    }
    folds
}

fn is_made(case: &Labelled) -> bool {
    case.set.starts_with("made")
}

/// What a case weighs: natural ones and whole iterations the most.
fn weight(case: &Labelled) -> f64 {
    match () {
        () if is_made(case) => 0.25,
        () if case.natural && case.kind == "iter" => 3.0,
        () if case.natural || case.class.starts_with("neg_real") || case.kind == "iter" => 1.5,
        () => 1.0,
    }
}

fn rows<'a>(cases: impl Iterator<Item = &'a Labelled>) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in cases {
        let all = weight(case);
        let views = [(&case.seen, 1.0), (&case.text, if case.seen == case.text { 0.0 } else { 0.5 })];
        for (seen, part) in views.into_iter().filter(|(_, part)| *part > 0.0) {
            for (at, evidence) in seen.iter().enumerate() {
                let Some(evidence) = evidence else { continue };
                // From the first repetition until the third time around nobody can be sure.
                let (stuck, sure) = match case.stuck {
                    Some(stuck) => (at >= stuck.due(), at < stuck.seen_at() || at >= stuck.due()),
                    None => (false, true),
                };
                let weight = all * part * if stuck { 1.5 } else { 1.0 };
                let weight = if sure { weight } else { 0.1 * weight };
                rows.push(Row { values: evidence.values(), stuck, weight });
            }
        }
    }
    rows
}

fn judge(model: &Model, seen: &[Option<Evidence>]) -> Vec<Option<i64>> {
    seen.iter().map(|evidence| evidence.as_ref().map(|evidence| model.judge(evidence).sum)).collect()
}

/// What a sum means: the logistic curve that fits best to how often iterations with that sum were those of a loop, as a table.
fn calibrate(all: &[Labelled], sums: &[Vec<Option<i64>>]) -> Vec<(i64, i64)> {
    let mut seen: Vec<(f64, f64)> = Vec::new();
    for (case, sums) in all.iter().zip(sums).filter(|(case, _)| !is_made(case)) {
        for (at, sum) in sums.iter().enumerate() {
            let Some(sum) = sum else { continue };
            let stuck = case.stuck.is_some_and(|stuck| at >= stuck.seen_at());
            seen.push((*sum as f64 / boost::UNIT, f64::from(u8::from(stuck))));
        }
    }
    let (mut slope, mut lift) = (0.3, -0.3);
    for _ in 0..60 {
        let (mut g, mut h) = ([0.0; 2], [[1e-6, 0.0], [0.0, 1e-6]]);
        for (sum, stuck) in &seen {
            let p = 1.0 / (1.0 + f64::exp(-(slope * sum + lift)));
            let (wrong, spread) = (stuck - p, p * (1.0 - p));
            (g[0], g[1]) = (g[0] + wrong * sum, g[1] + wrong);
            (h[0][0], h[0][1], h[1][1]) =
                (h[0][0] + spread * sum * sum, h[0][1] + spread * sum, h[1][1] + spread);
        }
        let det = h[0][0] * h[1][1] - h[0][1] * h[0][1];
        slope += (0.5 * (g[0] * h[1][1] - g[1] * h[0][1]) / det).clamp(-0.1, 0.1);
        lift += (0.5 * (g[1] * h[0][0] - g[0] * h[0][1]) / det).clamp(-0.1, 0.1);
    }
    println!("calibrated: logit = {slope:.3} x sum {lift:+.3}, of {} iterations", seen.len());
    let at = |sum: i64| 1000.0 / (1.0 + f64::exp(-(slope * sum as f64 / boost::UNIT + lift)));
    let mut table: Vec<(i64, i64)> =
        (-32..=48).map(|step| (250 * step, at(250 * step).round() as i64)).collect();
    table.dedup_by(|b, a| b.1 <= a.1);
    table
}

fn fire(run: &[Option<Sureness>], limits: Limits) -> Fired {
    let alarms = alarms(run, limits);
    let stop = alarms.iter().find(|(_, again)| *again).map(|(at, _)| *at);
    Fired { first: alarms.first().map(|(at, _)| *at), stop }
}

/// The points on the curve that are used: low, normal, high.
const LIMITS: [(i64, i64); 3] = [(930, 960), (850, 900), (700, 800)];

type Run = Vec<Option<Sureness>>;

const COUNTED: [i64; 9] = [300, 500, 600, 700, 800, 850, 900, 930, 950];
const TOLD: [i64; 9] = [700, 800, 850, 900, 920, 940, 960, 975, 1001];

fn report(all: &[Labelled], runs: &[Run], model: &mut Model, misses: bool) {
    let counted: Vec<(&Labelled, &Run)> = all.iter().zip(runs).filter(|(case, _)| !is_made(case)).collect();
    println!("counted told   first: P R F/1000 wasted   stop: P R F/1000   natural iter: P R");
    for limits in COUNTED.iter().flat_map(|counted| TOLD.map(|told| Limits { counted: *counted, told })) {
        let fired: Vec<(&Labelled, Fired)> =
            counted.iter().map(|(case, run)| (*case, fire(run, limits))).collect();
        let first = sum(fired.iter().map(|(case, fired)| (*case, fired.first)));
        let stop = sum(fired.iter().map(|(case, fired)| (*case, fired.stop)));
        let natural = fired.iter().filter(|(case, _)| case.natural && case.kind == "iter");
        let natural = sum(natural.map(|(case, fired)| (*case, fired.first)));
        println!(
            "{:4} {:4}  {:.3} {:.3} {:.2} {:.1}   {:.3} {:.3} {:.2}   {:.3} {:.3}",
            limits.counted,
            limits.told,
            first.precision(),
            first.recall(),
            first.false_per_thousand(),
            first.wasted / first.stuck,
            stop.precision(),
            stop.recall(),
            stop.false_per_thousand(),
            natural.precision(),
            natural.recall()
        );
    }
    model.limits = LIMITS.map(|(counted, told)| Limits { counted, told });
    let normal = model.limits[1];
    println!("\nat the limits of `normal`, {} and {}:", normal.counted, normal.told);
    let fired: Vec<(&Labelled, Fired)> =
        counted.iter().map(|(case, run)| (*case, fire(run, normal))).collect();
    table(&fired);
    if misses {
        for (n, (case, fired)) in fired.iter().enumerate() {
            let figures = Figures::of(case, fired.first);
            if figures.wrong > 0.0 || figures.right < figures.stuck {
                let stuck = case.stuck.map(|stuck| (stuck.onset, stuck.period));
                let run = counted[n].1.iter().map(|it| {
                    it.map_or(-1, |it| if it.counted { 10_000 + it.probability } else { it.probability })
                });
                println!(
                    "{} {} {} {} {stuck:?} fired {:?} {:?}",
                    case.id,
                    case.class,
                    case.kind,
                    case.repo,
                    fired.first,
                    run.collect::<Vec<_>>()
                );
            }
        }
    }
}

fn table(fired: &[(&Labelled, Fired)]) {
    let show = |name: &str, of: &dyn Fn(&Labelled) -> bool| {
        for (what, which) in [("first", 0), ("stop", 1)] {
            let cases: Vec<(&Labelled, Option<usize>)> = fired
                .iter()
                .filter(|(case, _)| of(case))
                .map(|(case, fired)| (*case, if which == 0 { fired.first } else { fired.stop }))
                .collect();
            let all = sum(cases.iter().copied());
            let (p, r, f) = (
                interval(&cases, Figures::precision),
                interval(&cases, Figures::recall),
                interval(&cases, Figures::false_per_thousand),
            );
            println!(
                "{name:14} {what:5} P {:.3} [{:.3} {:.3}] {}/{}  R {:.3} [{:.3} {:.3}] {}/{}  F {:.2} [{:.2} {:.2}] {} in {}",
                all.precision(),
                p.0,
                p.1,
                all.right,
                all.right + all.wrong,
                all.recall(),
                r.0,
                r.1,
                all.right,
                all.stuck,
                all.false_per_thousand(),
                f.0,
                f.1,
                all.wrong,
                all.watched
            );
        }
    };
    show("all", &|_| true);
    for set in ["dev", "second", "natural"] {
        show(set, &|case| case.set == set);
    }
    show("natural iter", &|case| case.natural && case.kind == "iter");
    for kind in ["iter", "turn", "step"] {
        show(kind, &|case| case.kind == kind);
    }
    let mut classes: BTreeMap<(bool, &str), (usize, usize)> = BTreeMap::new();
    for (case, fired) in fired {
        let figures = Figures::of(case, fired.first);
        let class = classes.entry((case.stuck.is_some(), &case.class)).or_default();
        class.0 += usize::from(figures.wrong == 0.0 && figures.right == figures.stuck);
        class.1 += 1;
    }
    for ((stuck, class), (right, all)) in classes {
        println!("  {} {class:16} {right}/{all}", if stuck { "stuck   " } else { "progress" });
    }
}
