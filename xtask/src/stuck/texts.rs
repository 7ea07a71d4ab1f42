//! What agents and their tools print, made up: names, prose, edits, test runs, errors, and what differs from run to run.
//!
//! A text may hold fields that are filled anew each time it is printed: `{time}`, `{took}`, `{id}`, `{line}`, `{temp}`,
//! `{pid}`, `{size}`, `{cost}`.

mod fields;
mod words;

use std::fmt::Write as _;

pub use fields::filled;
use words::{ENDINGS, FOLDERS, NOUNS, VERBS};

/// SplitMix64: small, and the same everywhere.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % sides.max(1) as u64) as usize
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.roll(100) < percent
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.roll(at + 1));
        }
    }

    fn text(&mut self, letters: &[u8], length: usize) -> String {
        (0..length).map(|_| char::from(letters[self.roll(letters.len())])).collect()
    }
}

/// The names of one project.
pub struct Project {
    ending: &'static str,
    folder: &'static str,
}

impl Project {
    pub fn new(dice: &mut Dice) -> Self {
        Self { ending: dice.pick(ENDINGS), folder: dice.pick(FOLDERS) }
    }

    pub fn file(&self, dice: &mut Dice) -> String {
        let (noun, verb) = (dice.pick(NOUNS), dice.pick(VERBS));
        match dice.roll(3) {
            0 => format!("{}/{noun}/{verb}.{}", self.folder, self.ending),
            1 => format!("{}/{noun}_{verb}.{}", self.folder, self.ending),
            _ => format!("{}/{noun}.{}", self.folder, self.ending),
        }
    }

    pub fn name(&self, dice: &mut Dice) -> String {
        let (noun, verb) = (dice.pick(NOUNS), dice.pick(VERBS));
        let mut capital = noun.to_owned();
        capital[..1].make_ascii_uppercase();
        match dice.roll(3) {
            0 => format!("{verb}_{noun}"),
            1 => format!("{verb}{capital}"),
            _ => format!("{capital}{}", dice.pick(&["Service", "Store", "View", "Handler", "Codec"])),
        }
    }

    /// A command that checks the project.
    pub fn command(&self, dice: &mut Dice) -> String {
        let name = self.name(dice);
        match self.ending {
            "rs" => format!("cargo test {name}"),
            "py" => format!("pytest -k {name}"),
            "go" => format!("go test ./... -run {name}"),
            "java" | "kt" => format!("gradle test --tests {name}"),
            "rb" => format!("bundle exec rspec -e {name}"),
            "ex" => format!("mix test --only {name}"),
            _ => format!("npm test -- {name}"),
        }
    }
}

/// An iteration of an agent that gets on.
pub fn work(dice: &mut Dice, project: &Project) -> String {
    let mut out = String::new();
    for _ in 0..=dice.roll(3) {
        let (file, name, noun) = (project.file(dice), project.name(dice), dice.pick(NOUNS));
        let verb = dice.pick(VERBS);
        let _ = match dice.roll(5) {
            0 => {
                writeln!(out, "The {noun} does not {verb} yet, so I will teach `{name}` in {file} about it.")
            }
            1 => writeln!(out, "Next: {file}. `{name}` returns early when the {noun} is empty."),
            2 => writeln!(out, "I moved the {noun} code out of {file} and into {name}."),
            3 => writeln!(out, "Reading {file} to see who calls {name} before I {verb} the {noun}."),
            _ => writeln!(out, "{name} can {verb} each {noun} once now; {file} no longer has to."),
        };
    }
    edit(dice, project, &mut out);
    if dice.chance(60) {
        let (file, noun) = (project.file(dice), dice.pick(NOUNS));
        let _ = writeln!(out, "$ {}\n{file}: {noun} ok ({{took}})", project.command(dice));
    }
    out
}

fn edit(dice: &mut Dice, project: &Project, out: &mut String) {
    let file = project.file(dice);
    let _ = match dice.roll(3) {
        0 => writeln!(out, "[edit] {file}"),
        1 => writeln!(out, "● Update({file})"),
        _ => writeln!(out, "diff --git a/{file} b/{file}\nindex {{id}}..{{id}}\n@@ -{{line}} +{{line}} @@"),
    };
    for _ in 0..2 + dice.roll(5) {
        let (a, b) = (project.name(dice), project.name(dice));
        let _ = match dice.roll(4) {
            0 => writeln!(out, "+    let value = {a}({b}.first());"),
            1 => writeln!(out, "-    return {a} + {b}"),
            2 => writeln!(out, "+    if ({a}.isEmpty()) {{{{ throw new {b}(); }}}}"),
            _ => writeln!(out, "     {a}: {b},"),
        };
    }
}

/// Something that fails, as tools of many kinds tell it.
pub fn error(dice: &mut Dice, project: &Project) -> String {
    let (file, name, other) = (project.file(dice), project.name(dice), project.name(dice));
    let noun = dice.pick(NOUNS);
    let command = project.command(dice);
    let told = match dice.roll(12) {
        0 => format!(
            "Traceback (most recent call last):\n  File \"{file}\", line {{line}}, in {name}\nValueError: {noun} must be positive"
        ),
        1 => format!(
            "error[E0599]: no method named `{name}` found for struct `{other}`\n  --> {file}:{{line}}:9"
        ),
        2 => format!(
            "{file}({{line}},7): error CS0103: The name '{name}' does not exist in the current context"
        ),
        3 => format!("--- FAIL: Test{other} ({{took}})\n    {file}:{{line}}: want {noun}, got nil\nFAIL"),
        4 => format!(
            "** (UndefinedFunctionError) function {other}.{name}/2 is undefined\n    {file}:{{line}}: {other}.run/1"
        ),
        5 => format!(
            "PHP Fatal error:  Uncaught TypeError: {name}() expects {other}, null given in {file}:{{line}}"
        ),
        6 => format!("{file}:{{line}}:12: error: no matching function for call to '{other}::{name}(int)'"),
        7 => format!(
            "● {other} › handles every {noun}\n    expect(received).toBe(expected)\n      at {name} ({file}:{{line}}:5)"
        ),
        8 => format!(
            "ERROR: relation \"{noun}s\" does not exist\nLINE {{line}}: SELECT * FROM {noun}s\n  in {file}"
        ),
        9 => format!(
            "Caused by: java.lang.IllegalStateException: {noun} is closed\n\tat {other}.{name}({file}:{{line}})"
        ),
        10 => format!("fatal: could not read {file}: Permission denied\nmake: *** [{name}] Error 2"),
        _ => format!(
            "{file}:{{line}}: warning: unused {noun}\n{file}:{{line}}: parse error near `{name}` in {other}"
        ),
    };
    format!("$ {command}\n{told}\n")
}

const LEADS: &[&str] = &[
    "Back to this one.",
    "I still owe an answer here.",
    "Picking up where the last session ended.",
    "Right, one more go.",
    "The run before this one did not settle it.",
    "I want to be certain about the cause before touching anything.",
    "Something upstream must feed it a bad value, I assume.",
    "My guess is that the cache hands out an old copy.",
    "It could be that two threads get in each other's way.",
    "The docs hint at a different default, so I will follow them.",
    "I am going to narrow this down with a smaller change.",
    "A clean build might behave differently.",
    "Maybe the previous tweak was too timid; this time it is bolder.",
    "Time to simplify the branch that misbehaves.",
    "Let us see whether reverting half of it helps.",
    "Odd. The value looks right to me.",
    "I have a new theory about the order of events.",
    "Rather than argue with the linter I rewrite the expression.",
    "This ought to do it.",
    "One thing I have not tried is the obvious one.",
];
const CLOSINGS: &[&str] = &[
    "Not there yet; more on this in the next round.",
    "I will come back with a fix.",
    "Leaving it here for the moment.",
    "That did not help, so something else is going on.",
    "To be continued.",
    "Another attempt seems worthwhile.",
    "I hope the next pass clears it.",
    "Hm, same picture as before.",
    "Let me think about it differently.",
];

/// The same thing in other words around it.
pub fn paraphrased(dice: &mut Dice, block: &str) -> String {
    let mut out = String::new();
    for _ in 0..1 + dice.roll(2) {
        let _ = writeln!(out, "{}", dice.pick(LEADS));
    }
    out.push_str(block);
    if dice.chance(60) {
        let _ = writeln!(out, "{}", dice.pick(CLOSINGS));
    }
    out
}

const IDLE: &[&str] = &[
    "I went through the backlog and everything on it has been finished.",
    "There are no tasks left in the plan.",
    "The project is complete; no further changes are necessary.",
    "Nothing remains to be done here.",
    "All requirements have already been met, so I made no changes.",
    "Every item is ticked off and the suite is green.",
    "No outstanding work was found.",
    "The specification is fully implemented. There is nothing for me to add.",
    "I looked again: no open issues, all checks pass, nothing to commit.",
    "Same state as last time, the todo list is empty.",
];

pub fn idle(dice: &mut Dice) -> String {
    let mut out = format!("{}\n", dice.pick(IDLE));
    if dice.chance(40) {
        let _ = writeln!(out, "{}", dice.pick(IDLE));
    }
    if dice.chance(30) {
        let _ = writeln!(out, "Checks: 212 passed, 0 failed");
    }
    out
}

/// What a harness or an agent's program prints around an iteration.
pub fn framed(dice: &mut Dice, frame: usize, number: usize, text: &str) -> String {
    match frame {
        0 => text.to_owned(),
        1 => format!(
            "{{time}} INFO  round {number} begins, pid {{pid}}\n{text}{{time}} INFO  round {number} ends after {{took}}\n"
        ),
        2 => format!(
            "▶ attempt {number} of 60\n{text}elapsed {{took}}, {{cost}}, ctx {}%\n",
            10 + dice.roll(80)
        ),
        3 => format!("request {{id}}\n{text}usage: {{size}} in, {{size}} out ({{cost}})\n"),
        4 => format!("╭─ {{time}} ─ {{temp}}\n{text}╰─ done, rss {{size}}\n"),
        5 => format!("── pass {number} ──\n{text}trace_id={{id}} span={{id}}\n"),
        6 => format!("[{number}/100] {{time}}\n{text}CPU usage: {}%, object at {{id}}\n", dice.roll(100)),
        7 => format!(
            "({number} of 100) starting agent\n{text}total_cost_usd: {}.{:04}\n",
            dice.roll(3),
            dice.roll(10_000)
        ),
        _ => format!(
            "Session ID: {{id}}\n{text}tokens: {} in / {} out, workdir {{temp}}\n",
            dice.roll(90_000),
            dice.roll(9_000)
        ),
    }
}

pub const FRAMES: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_filled_anew_and_other_braces_are_left_alone() {
        let mut dice = Dice(3);
        let (a, b) = (filled(&mut dice, "x {time} {{ y"), filled(&mut dice, "x {time} {{ y"));
        assert_ne!(a, b);
        assert!(a.ends_with(" {{ y") && !a.contains("time"), "{a}");
        assert_eq!(filled(&mut dice, "fn f() { a }"), "fn f() { a }");
    }

    #[test]
    fn the_same_seed_says_the_same() {
        let say = |seed| {
            let mut dice = Dice(seed);
            let project = Project::new(&mut dice);
            work(&mut dice, &project) + &error(&mut dice, &project)
        };
        assert_eq!(say(5), say(5));
        assert_ne!(say(5), say(6));
    }
}
