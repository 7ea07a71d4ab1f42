//! Scripts, recipes and jobs that run checks: whether a failure is still heard, and whether all is still run.
//!
//! A recipe is compared with the one of the same owner before: the same script, target, or job. What is new is no finding.

mod heard;
mod parts;

use super::compare::{cut, finding};
use super::path;
use super::{SourceFile, shell_like};
use heard::Run;
use ralph_core::tampering::{Finding, Tampering};

/// One list of commands that fails or passes as a whole.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recipe {
    /// The target, script or job; empty for a file that is one recipe.
    pub owner: String,
    /// Of its first line.
    pub line: usize,
    pub text: String,
    /// A failing command ends it.
    pub errexit: bool,
    /// Its failure is ignored by whoever runs it.
    pub ignored: bool,
    /// Plain asserts of the shell are checks in it.
    pub tests: bool,
    /// The status of a pipe is that of its last program.
    pub pipes: bool,
}

pub(super) fn review(files: &[SourceFile]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in files {
        let (Some(before), Some(after)) = (&file.before, &file.after) else { continue };
        if before == after {
            continue;
        }
        let (old, new) = (recipes(&file.path, before), recipes(&file.path, after));
        let mut owners: Vec<&str> = new.iter().map(|recipe| recipe.owner.as_str()).collect();
        owners.dedup();
        for owner in owners {
            let of = |all: &[Recipe]| {
                all.iter().filter(|recipe| recipe.owner == owner).cloned().collect::<Vec<_>>()
            };
            found.extend(compare(&file.path, &of(&old), &of(&new)));
            found.extend(dropped(&file.path, &of(&old), &of(&new), files));
        }
    }
    found
}

fn recipes(path: &str, text: &str) -> Vec<Recipe> {
    let name = path::name(path).to_ascii_lowercase();
    if name == "makefile" || name == "gnumakefile" || name.ends_with(".mk") {
        return parts::make(text, true);
    }
    if name == "justfile" || name == ".justfile" {
        return parts::make(text, false);
    }
    if name == "package.json" {
        return parts::package(text);
    }
    if path::is_pipeline(path) {
        return parts::pipeline(text);
    }
    if name == "tox.ini" {
        return parts::tox(text);
    }
    if shell_like(path, text) {
        let first = text.lines().next().unwrap_or_default();
        let errexit = first.starts_with("#!") && first.contains(" -e");
        let tests =
            path::is_test(path) || ["test", "check", "verify", "ci"].iter().any(|word| name.contains(word));
        return vec![Recipe {
            owner: String::new(),
            line: 1,
            text: text.to_owned(),
            errexit,
            ignored: false,
            tests,
            pipes: true,
        }];
    }
    Vec::new()
}

fn compare(file: &str, old: &[Recipe], new: &[Recipe]) -> Vec<Finding> {
    let runs = |recipes: &[Recipe]| recipes.iter().flat_map(heard::runs).collect::<Vec<Run>>();
    let (before, after) = (runs(old), runs(new));
    let mut found = Vec::new();
    let line = new.first().map_or(1, |recipe| recipe.line);
    if before.is_empty() {
        return found;
    }
    if after.is_empty() && !new.is_empty() && new.iter().all(heard::does_nothing) {
        let was = cut(&before[0].text);
        found.push(finding(
            Tampering::ExitSwallowed,
            file,
            line,
            format!("nothing is checked any more; it ran `{was}`"),
        ));
        return found;
    }
    for run in &after {
        let same = |other: &&Run| other.key == run.key;
        let was_heard = before.iter().filter(same).any(|other| other.heard);
        let is_heard = after.iter().filter(same).any(|other| other.heard);
        if was_heard && !is_heard && !run.heard {
            found.push(finding(Tampering::ExitSwallowed, file, run.line, format!("`{}`", cut(&run.text))));
        }
        let was_whole = before.iter().filter(same).any(|other| other.narrowed.is_none());
        let is_whole = after.iter().filter(same).any(|other| other.narrowed.is_none());
        if let Some(option) = run.narrowed.as_ref().filter(|_| was_whole && !is_whole) {
            found.push(finding(
                Tampering::RunnerNarrowed,
                file,
                run.line,
                format!("`{}` has `{option}`", cut(&run.text)),
            ));
        }
    }
    found.extend(not_run(file, (old, &before), new));
    found.extend(shadowed(file, &before, (old, new)));
    found.extend(trapped(file, old, new));
    found.extend(exit_made_constant(file, old, new));
    found.dedup_by(|one, other| one.kind == other.kind && one.detail == other.detail);
    found
}

/// The recipe ran a test, and what it runs now is known to run none.
fn not_run(file: &str, (old, before): (&[Recipe], &[Run]), new: &[Recipe]) -> Option<Finding> {
    let was = before.iter().find(|run| run.heard && heard::tests(run))?;
    let now = !new.is_empty() && new.iter().all(heard::runs_no_test);
    let line = new.first().filter(|_| now && !old.iter().all(heard::runs_no_test))?.line;
    let detail = format!("no test is run any more; it ran `{}`", cut(&was.text));
    Some(finding(Tampering::RunnerNarrowed, file, line, detail))
}

/// A function of the shell takes the place of a program that checks.
fn shadowed(file: &str, before: &[Run], (old, new): (&[Recipe], &[Recipe])) -> Option<Finding> {
    let programs = || before.iter().filter_map(|run| run.text.split_whitespace().next());
    let name = new.iter().find_map(|recipe| heard::shadowed(recipe, programs()))?;
    let was = old.iter().any(|recipe| heard::shadowed(recipe, std::iter::once(name)).is_some());
    let detail = format!("a function of the script stands in the place of `{name}`");
    (!was).then(|| finding(Tampering::RunnerShadowed, file, new[0].line, detail))
}

/// A test that is no longer run, where nothing else of the recipe changed, and which is run nowhere else now.
fn dropped(file: &str, old: &[Recipe], new: &[Recipe], files: &[SourceFile]) -> Option<Finding> {
    let texts = |recipes: &[Recipe]| recipes.iter().flat_map(heard::texts).collect::<Vec<String>>();
    let (before, after) = (texts(old), texts(new));
    let nothing = |text: &String| text == ":" || text == "true";
    if after.is_empty() || !after.iter().all(|text| before.contains(text) || nothing(text)) {
        return None;
    }
    let runs = old.iter().flat_map(heard::runs).filter(|run| run.heard && heard::is_test(run));
    let lost = runs.into_iter().find(|run| {
        let wider = after.iter().any(|text| run.text.starts_with(text.as_str()));
        let elsewhere = || {
            let others = files
                .iter()
                .filter(|other| other.path != file)
                .filter_map(|other| Some((&other.path, other.after.as_ref()?)));
            others.into_iter().any(|(path, text)| texts(&recipes(path, text)).contains(&run.text))
        };
        let gone =
            || files.iter().any(|other| other.after.is_none() && run.text.contains(path::name(&other.path)));
        !after.contains(&run.text) && !wider && !gone() && !elsewhere()
    })?;
    let line = new.first().map_or(1, |recipe| recipe.line);
    Some(finding(Tampering::RunnerNarrowed, file, line, format!("`{}` is no longer run", cut(&lost.text))))
}

/// `trap 'exit 0' EXIT`: whatever failed, the end is success.
fn trapped(file: &str, old: &[Recipe], new: &[Recipe]) -> Option<Finding> {
    let find = |recipes: &[Recipe]| {
        recipes.iter().find_map(|recipe| {
            let at = recipe.text.lines().position(|line| {
                let line = line.trim_start();
                line.starts_with("trap ")
                    && line.contains("exit 0")
                    && !line.contains("INT")
                    && !line.contains("TERM")
            })?;
            Some(recipe.line + at)
        })
    };
    let line = find(new).filter(|_| find(old).is_none())?;
    Some(finding(Tampering::ExitSwallowed, file, line, "a trap ends the script with success"))
}

/// A script that ended with what it counted ends with 0.
fn exit_made_constant(file: &str, old: &[Recipe], new: &[Recipe]) -> Option<Finding> {
    let exits = |recipes: &[Recipe], is: fn(&str) -> bool| {
        recipes.iter().find_map(|recipe| {
            let lines = recipe.text.lines().enumerate();
            lines
                .filter(|(_, line)| line.trim_start().starts_with("exit "))
                .find(|(_, line)| is(line))
                .map(|(at, _)| recipe.line + at)
        })
    };
    let counted: fn(&str) -> bool = |line| line.contains('$');
    let zero: fn(&str) -> bool = |line| line.trim() == "exit 0";
    exits(old, counted).filter(|_| exits(old, zero).is_none() && exits(new, counted).is_none())?;
    let line = exits(new, zero)?;
    Some(finding(Tampering::ExitSwallowed, file, line, "the script ends with 0, not with what it counted"))
}
