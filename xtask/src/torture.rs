//! `cargo xtask torture [--kills N] [--signals N] [--starters N] [--escapers N] [--contain WAY] [--seed S]`: the real program, killed
//! at random moments with an agent that leaves behind what it can. Afterwards nothing may be alive, lost or done twice.

mod books;
mod escapers;
mod kills;
mod rng;
mod signals;
mod starters;
mod world;

use crate::Result;
use crate::lab::Lab;
use rng::Rng;
use std::time::Duration;

/// What was counted, and everything that was wrong.
#[derive(Default)]
pub struct Tally {
    rows: Vec<(String, String)>,
    wrong: Vec<String>,
}

impl Tally {
    fn count(&mut self, what: &str, figure: impl ToString) {
        self.rows.push((what.to_owned(), figure.to_string()));
    }

    fn wrong(&mut self, what: String) {
        println!("WRONG: {what}");
        self.wrong.push(what);
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Plan {
    kills: u32,
    signals: u32,
    starters: u32,
    /// Rounds of each kind of escaper and each way to end.
    escapers: u32,
    /// What the escapers are held by.
    contain: String,
    /// Only as this user: `root` or `ordinary`.
    user: Option<String>,
    seed: Option<u64>,
}

pub fn run(args: &[String]) -> Result<()> {
    let plan = plan(args)?;
    let seed = plan.seed.unwrap_or_else(|| u64::from(std::process::id()) ^ since_epoch());
    println!("torture: seed {seed}");
    let escapers_only = plan.kills + plan.signals + plan.starters == 0;
    let lab = if escapers_only { Lab::debug("torture")? } else { Lab::new("torture")? };
    let mut rng = Rng(seed);
    let mut tally = Tally::default();
    if plan.kills > 0 {
        kills::run(&lab, plan.kills, &mut rng, &mut tally)?;
    }
    if plan.signals > 0 {
        signals::run(&lab, plan.signals, &mut rng, &mut tally)?;
    }
    starters::run(&lab, plan.starters, &mut tally)?;
    escapers::run(&lab, plan.escapers, &plan.contain, plan.user.as_deref(), &mut tally)?;
    println!("\n| what | count |\n|---|---|");
    tally.rows.iter().for_each(|(what, figure)| println!("| {what} | {figure} |"));
    println!("| violations | {} |", tally.wrong.len());
    match tally.wrong.len() {
        0 => Ok(()),
        many => Err(format!("torture: {many} violations; the same seed again: --seed {seed}")),
    }
}

fn plan(args: &[String]) -> Result<Plan> {
    let contain = "auto".to_owned();
    let mut plan =
        Plan { kills: 200, signals: 20, starters: 5, escapers: 20, contain, user: None, seed: None };
    for pair in args.chunks(2) {
        let [key, value] = pair else { return Err(format!("`{}` needs a number", pair[0])) };
        match key.as_str() {
            "--contain" => plan.contain.clone_from(value),
            "--user" => plan.user = Some(value.clone()),
            _ => {}
        }
        if matches!(key.as_str(), "--contain" | "--user") {
            continue;
        }
        let number: u64 = value.parse().map_err(|_| format!("`{value}` is no number"))?;
        let small = || u32::try_from(number).map_err(|_| format!("{number} is too many"));
        match key.as_str() {
            "--kills" => plan.kills = small()?,
            "--signals" => plan.signals = small()?,
            "--starters" => plan.starters = small()?,
            "--escapers" => plan.escapers = small()?,
            "--seed" => plan.seed = Some(number),
            _ => {
                return Err(format!(
                    "unknown option `{key}`; there are --kills, --signals, --starters, --escapers, --contain, --user, --seed"
                ));
            }
        }
    }
    Ok(plan)
}

fn since_epoch() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos() & u128::from(u64::MAX)).unwrap_or_default()
}

fn ms(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_and_anything_else_is_refused() {
        let of = |words: &[&str]| plan(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
        let contain = "auto".to_owned();
        let default =
            Plan { kills: 200, signals: 20, starters: 5, escapers: 20, contain, user: None, seed: None };
        assert_eq!(of(&[]), Ok(default));
        let some = of(&["--kills", "3", "--seed", "9"]).unwrap();
        assert_eq!((some.kills, some.seed), (3, Some(9)));
        assert!(of(&["--kills"]).unwrap_err().contains("needs a number"));
        assert!(of(&["--kills", "x"]).unwrap_err().contains("no number"));
        assert!(of(&["--kils", "3"]).unwrap_err().contains("unknown option"));
    }
}
