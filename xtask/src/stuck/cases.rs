//! Labelled cases that are made up: loops of several kinds, and work that looks like a loop and is none.

mod hard;
mod variants;

use super::texts::{self, Dice, FRAMES, Project};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Iterations of a loop.
const LOOP: usize = 8;

/// All classes, each so many times, one JSON object a line.
pub fn made(seed: u64, each: usize) -> String {
    of(CLASSES.iter().chain(variants::VARIANTS), seed, each)
}

/// The same, and kinds that are only trained on.
pub fn to_train_on(seed: u64, each: usize) -> String {
    of(CLASSES.iter().chain(variants::VARIANTS).chain(hard::HARD), seed, each)
}

fn of<'a>(classes: impl Iterator<Item = &'a (&'a str, Make)>, seed: u64, each: usize) -> String {
    let mut out = String::new();
    for (number, (class, make)) in classes.enumerate() {
        for at in 0..each {
            let mut dice = Dice(seed << 32 ^ (number as u64) << 16 ^ at as u64);
            dice.roll(2);
            let mut case = Case::new(&mut dice);
            make(&mut case, &mut dice);
            let _ = writeln!(out, "{}", case.json(&format!("{class}-{at}"), class));
        }
    }
    out
}

type Make = fn(&mut Case, &mut Dice);

const CLASSES: &[(&str, Make)] = &[
    ("loop_exact", |case, dice| case.circle(dice, 1, |_, text| text.to_owned())),
    ("loop_volatile", |case, dice| case.circle(dice, 1, texts::filled)),
    ("loop_words", |case, dice| case.circle(dice, 1, paraphrased)),
    ("loop_order", |case, dice| case.circle(dice, 1, shuffled)),
    ("loop_cut", |case, dice| case.circle(dice, 1, cut)),
    ("loop_two", |case, dice| case.circle(dice, 2, texts::filled)),
    ("loop_three", |case, dice| case.circle(dice, 3, paraphrased)),
    ("loop_five", |case, dice| case.circle(dice, 5, texts::filled)),
    ("loop_error", Case::same_error),
    ("loop_idle", Case::idle),
    ("work", |case, dice| case.prelude(dice, 12)),
    ("work_alike", Case::alike),
    ("work_retry", Case::retry),
    ("work_return", Case::returns),
    ("work_countdown", Case::countdown),
    ("work_shorter", Case::shorter),
    ("work_checklist", Case::checklist),
    ("work_batch", Case::batch),
    ("work_numbered", Case::numbered),
    ("work_header", Case::header),
    ("work_poll", Case::poll),
];

struct Case {
    project: Project,
    frame: usize,
    /// Whether tools and the state of the tree are known.
    tools: bool,
    iterations: Vec<Value>,
    /// Onset and period.
    stuck: Option<(usize, usize)>,
}

impl Case {
    fn new(dice: &mut Dice) -> Self {
        let project = Project::new(dice);
        Self {
            project,
            frame: dice.roll(FRAMES),
            tools: dice.chance(70),
            iterations: Vec::new(),
            stuck: None,
        }
    }

    fn json(&self, id: &str, class: &str) -> Value {
        let mut case = json!({ "id": id, "class": class, "iterations": self.iterations });
        match self.stuck {
            Some((onset, period)) => {
                case["label"] = "stuck".into();
                case["onset"] = onset.into();
                case["period"] = period.into();
                case["stuck_at"] = (onset + 2 * period).into();
            }
            None => case["label"] = "progress".into(),
        }
        case
    }

    /// Adds an iteration. `calls` tell one use of a tool from another; a call with `!` changes something.
    fn push(&mut self, dice: &mut Dice, text: &str, calls: &[String], state: &str, failed: bool) {
        let framed = texts::framed(dice, self.frame, self.iterations.len() + 1, text);
        let output = texts::filled(dice, &framed);
        let mut iteration = json!({ "output": output });
        if self.tools {
            let tool = |call: &String| json!({ "name": "tool", "args": call, "error": failed, "mut": call.starts_with('!') });
            iteration["tools"] = calls.iter().map(tool).collect();
            iteration["failed"] = failed.into();
            iteration["state"] = state.into();
        }
        self.iterations.push(iteration);
    }

    /// Iterations that get on.
    fn prelude(&mut self, dice: &mut Dice, count: usize) {
        for _ in 0..count {
            let text = texts::work(dice, &self.project);
            let (call, state) = (format!("!{}", dice.roll(1 << 30)), dice.roll(1 << 30).to_string());
            self.push(dice, &text, &[call], &state, false);
        }
    }

    fn circle(&mut self, dice: &mut Dice, period: usize, again: fn(&mut Dice, &str) -> String) {
        let before = dice.roll(7);
        self.prelude(dice, before);
        self.stuck = Some((before, period));
        let failed = dice.chance(40);
        let texts: Vec<String> = (0..period)
            .map(
                |_| if failed { texts::error(dice, &self.project) } else { texts::work(dice, &self.project) },
            )
            .collect();
        // The tree stays as it is, or goes back and forth with the loop.
        let moves = dice.chance(50);
        for n in 0..LOOP.max(4 * period) {
            let text = again(dice, &texts[n % period]);
            let state = if moves { format!("s{}", n % period) } else { "s".to_owned() };
            // Now and then something volatile stands in the arguments.
            let call =
                if dice.chance(15) { dice.roll(1 << 30).to_string() } else { format!("c{}", n % period) };
            self.push(dice, &text, &[call, format!("d{}", n % period)], &state, failed);
        }
    }

    fn same_error(&mut self, dice: &mut Dice) {
        let before = dice.roll(7);
        self.prelude(dice, before);
        self.stuck = Some((before, 1));
        let error = texts::error(dice, &self.project);
        for n in 0..LOOP {
            let text = paraphrased(dice, &error);
            let state = if dice.chance(50) { format!("s{n}") } else { "s".to_owned() };
            self.push(dice, &text, &[format!("!{n}"), "check".to_owned()], &state, true);
        }
    }

    fn idle(&mut self, dice: &mut Dice) {
        let before = dice.roll(7);
        self.prelude(dice, before);
        self.stuck = Some((before, 1));
        for _ in 0..LOOP {
            let text = texts::idle(dice);
            self.push(dice, &text, &[], "s", false);
        }
    }

    /// The same edit in many places.
    fn alike(&mut self, dice: &mut Dice) {
        let (before, file) = (dice.roll(4), self.project.file(dice));
        self.prelude(dice, before);
        let (old, new) = (self.project.name(dice), self.project.name(dice));
        for n in 0..8 {
            let place = self.project.name(dice);
            let text = format!(
                "[edit] {file}\n-    {place}({old}, options)\n+    {place}({new}, options)\nThe file has been updated.\n"
            );
            self.push(dice, &text, &[format!("!{n}")], &format!("t{n}"), false);
        }
    }

    fn retry(&mut self, dice: &mut Dice) {
        let before = 2 + dice.roll(5);
        self.prelude(dice, before);
        let error = texts::error(dice, &self.project);
        for _ in 0..2 {
            self.push(dice, &error, &["check".to_owned()], "r", true);
        }
        self.prelude(dice, 4);
    }

    /// Comes back to the same thing, with work in between.
    fn returns(&mut self, dice: &mut Dice) {
        let error = texts::error(dice, &self.project);
        for n in 0..4 {
            self.push(dice, &error, &["check".to_owned()], &format!("r{n}"), true);
            let between = 1 + dice.roll(3);
            self.prelude(dice, between);
        }
    }

    fn countdown(&mut self, dice: &mut Dice) {
        let (error, form, total) = (texts::error(dice, &self.project), dice.roll(6), 40 + dice.roll(60));
        let mut left = 20 + dice.roll(12);
        for n in 0..9 {
            let good = total - left.min(total);
            let line = match form {
                0 => format!("{left} failed, {good} passed, {total} total"),
                1 => format!("Tests run: {total}, Failures: {left}, Errors: 0"),
                2 => format!("Found {left} errors in 4 files."),
                3 => format!("✖ {left} problems ({left} errors, 0 warnings)"),
                4 => format!("{good}/{total} scenarios green"),
                _ => format!("Still red: {left}"),
            };
            let text = format!("{error}{line}\n");
            self.push(dice, &text, &[format!("!{n}"), "check".to_owned()], &format!("t{n}"), true);
            left = left.saturating_sub(1 + dice.roll(2));
        }
    }

    /// A list of what fails, without a count.
    fn shorter(&mut self, dice: &mut Dice) {
        let names: Vec<String> = (0..14).map(|_| self.project.name(dice)).collect();
        let form = dice.roll(3);
        for n in 0..9 {
            let line = |name: &String| match form {
                0 => format!("FAILED tests/{name}\n"),
                1 => format!("not ok - {name}\n"),
                _ => format!("✗ {name}\n"),
            };
            let text: String = names.iter().skip(n).map(line).collect();
            self.push(dice, &text, &[format!("!{n}"), "check".to_owned()], &format!("t{n}"), true);
        }
    }

    fn checklist(&mut self, dice: &mut Dice) {
        let items: Vec<String> =
            (0..12).map(|_| format!("{} in {}", self.project.name(dice), self.project.file(dice))).collect();
        let form = dice.roll(3);
        for n in 1..10 {
            let line = |(at, item): (usize, &String)| match (form, at < n) {
                (0, true) => format!("* [x] {item}\n"),
                (0, false) => format!("* [ ] {item}\n"),
                (1, true) => format!("✅ {item}\n"),
                (1, false) => format!("⬜ {item}\n"),
                (_, true) => format!("{}. {item} (done)\n", at + 1),
                (_, false) => format!("{}. {item} (open)\n", at + 1),
            };
            let text: String = items.iter().enumerate().map(line).collect();
            self.push(dice, &text, &[format!("!{n}")], &format!("t{n}"), false);
        }
    }

    fn batch(&mut self, dice: &mut Dice) {
        let form = dice.roll(3);
        for n in 0..9 {
            let file = self.project.file(dice) + &format!(".{}", self.project.name(dice));
            let text = match form {
                0 => format!("Ported {file} to the new client. Lint is clean, committed, on to the next.\n"),
                1 => format!("Done with {file}\n\n- comments added\n- formatter ran, nothing to report\n"),
                _ => format!("$ tool annotate {file}\nall good\nThis iteration covered exactly one file.\n"),
            };
            self.push(dice, &text, &[format!("!{n}")], &format!("t{n}"), false);
        }
    }

    fn numbered(&mut self, dice: &mut Dice) {
        let (form, from) = (dice.roll(3), 1 + dice.roll(40));
        for n in from..from + 9 {
            let text = match form {
                0 => format!("Translated chapter-{n:02}.md. Links and footnotes verified.\n"),
                1 => format!("Story US-{n:03} is implemented, its acceptance test passes. Committed.\n"),
                _ => format!("Migration {n:04}_{} applied without complaints.\n", self.project.name(dice)),
            };
            self.push(dice, &text, &[format!("!{n}")], &format!("t{n}"), false);
        }
    }

    /// The same long text before every piece of work.
    fn header(&mut self, dice: &mut Dice) {
        let mut header = String::new();
        for n in 0..20 + dice.roll(30) {
            let _ = writeln!(
                header,
                "Rule {n}: {} before {}, see {}",
                self.project.name(dice),
                self.project.name(dice),
                self.project.file(dice)
            );
        }
        for n in 0..9 {
            let text = header.clone() + &texts::work(dice, &self.project);
            self.push(dice, &text, &[format!("!{n}")], &format!("t{n}"), false);
        }
    }

    fn poll(&mut self, dice: &mut Dice) {
        let (form, total) = (dice.roll(6), 60 + dice.roll(100));
        let (name, mut done) = (self.project.name(dice), 2 + dice.roll(9));
        for _ in 0..9 {
            let text = match form {
                0 => format!("Looking at the deployment of {name}.\n{done} of {total} pods are up\n"),
                1 => format!("[{name}] indexing… {}%\n", done * 100 / total),
                2 => format!("epoch {done}/{total} of {name}, still training\n"),
                3 => format!("$ queue status {name}\njobs waiting: {}\n", total.saturating_sub(done)),
                4 => format!("uploaded {} MB so far for {name}, I check again later\n", done * 7),
                _ => format!("{name}: {done} rows copied, {} to go\n", total.saturating_sub(done)),
            };
            self.push(dice, &text, &["poll".to_owned()], "s", false);
            done += 1 + dice.roll(4);
        }
    }
}

fn paraphrased(dice: &mut Dice, text: &str) -> String {
    texts::paraphrased(dice, text)
}

fn shuffled(dice: &mut Dice, text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    dice.shuffle(&mut lines);
    lines.join("\n") + "\n"
}

/// Without its beginning or its end.
fn cut(dice: &mut Dice, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let lost = dice.roll(lines.len() / 3 + 1);
    let kept = if dice.chance(50) { &lines[lost..] } else { &lines[..lines.len() - lost] };
    kept.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::score::Case as Scored;
    use super::*;

    #[test]
    fn every_made_case_can_be_scored_and_a_seed_makes_the_same_again() {
        let text = made(7, 2);
        assert_eq!(text.lines().count(), 2 * (CLASSES.len() + variants::VARIANTS.len()));
        let cases: Vec<Scored> = text.lines().map(|line| Scored::of(line).unwrap()).collect();
        assert_eq!(cases.iter().filter(|case| case.stuck.is_some()).count(), 2 * 14);
        assert_eq!(text, made(7, 2));
        assert_ne!(text, made(8, 2));
    }
}
