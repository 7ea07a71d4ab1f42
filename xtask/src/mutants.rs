//! `cargo xtask mutants [NAME…]`: proves that the simulation can fail. Each deliberate bug is put into a copy of the
//! workspace; the tests there must compile and fail.

mod list;
mod verdict;
mod work;

use crate::{Result, repo};
use list::MUTANTS;
use std::path::Path;
use std::time::Duration;
use verdict::Verdict;

/// The simulation: cargo's arguments, and the filter of test names.
const TESTS: &[&str] =
    &["test", "--locked", "--profile", "mutants", "--package", "ralph-core", "--test", "core"];
const FILTER: &str = "sim";

/// What may catch a mutant that the simulation cannot see, such as a stop that is heard late but heard.
const OTHERS: &[&str] = &["test", "--locked", "--profile", "mutants", "--package", "ralph-core", "--tests"];

/// A mutant may make the engine run for ever. The simulation itself must notice; this only ends the wait.
const PATIENCE: Duration = Duration::from_secs(600);

/// A deliberate bug.
pub struct Mutant {
    pub name: &'static str,
    pub file: &'static str,
    /// Text that occurs exactly once in the file.
    pub find: &'static str,
    pub replace: &'static str,
    /// What would go wrong for a user.
    pub why: &'static str,
}

pub fn run(args: &[String]) -> Result<()> {
    let mutants = chosen(MUTANTS, args)?;
    let root = repo::root();
    let base = root.join("target/mutants");
    let copy = work::Copy::new(&root, &base.join("work"))?;
    let target = base.join("target");
    println!("without a mutant: {}", baseline(&copy, &target)?);
    println!("mutant | caught by | first failing line");
    println!("---|---|---");
    let (mut bad, mut by_simulation) = (0, 0);
    for mutant in &mutants {
        let verdict = judge(mutant, &copy, &target)?;
        println!("{} | {verdict}", mutant.name);
        if matches!(&verdict, Verdict::Caught { by, .. } if by.iter().any(|test| test.contains(FILTER))) {
            by_simulation += 1;
        }
        if !matches!(verdict, Verdict::Caught { .. }) {
            println!("  it is a bug because: {}", mutant.why);
            bad += 1;
        }
    }
    match bad {
        0 => {
            println!("mutants: all {} caught, {by_simulation} of them by the simulation", mutants.len());
            Ok(())
        }
        _ => Err(format!("mutants: {bad} of {} not caught", mutants.len())),
    }
}

/// The mutants to try: all, or those named.
fn chosen<'a>(all: &'a [Mutant], names: &[String]) -> Result<Vec<&'a Mutant>> {
    if all.is_empty() {
        return Err("nothing to prove: the list in xtask/src/mutants/list.rs is empty".into());
    }
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|mutant| mutant.name == **name)) {
        let known: Vec<_> = all.iter().map(|mutant| mutant.name).collect();
        return Err(format!("unknown mutant `{unknown}`; the mutants are: {}", known.join(", ")));
    }
    Ok(all.iter().filter(|mutant| names.is_empty() || names.iter().any(|name| name == mutant.name)).collect())
}

/// The tests must pass, and be there, before a failure means anything.
fn baseline(copy: &work::Copy, target: &Path) -> Result<String> {
    let build = copy.cargo(target, TESTS, &["--no-run"], Duration::MAX)?;
    if !build.succeeded {
        return Err(format!("the tests do not compile without a mutant:\n{}", build.output));
    }
    let run = copy.cargo(target, TESTS, &[FILTER], PATIENCE)?;
    match verdict::judge(&run) {
        Verdict::Survived => match verdict::passed(&run.output) {
            0 => Err(format!("no test matches `{FILTER}`: nothing would catch a mutant")),
            passed => Ok(format!("{passed} passed")),
        },
        other => Err(format!("the tests fail without a mutant: {other}")),
    }
}

fn judge(mutant: &Mutant, copy: &work::Copy, target: &Path) -> Result<Verdict> {
    let original = copy.read(mutant.file)?;
    let mutated = match mutated(mutant, &original) {
        Ok(text) => text,
        Err(reason) => return Ok(Verdict::DoesNotApply(reason)),
    };
    copy.write(mutant.file, &mutated)?;
    let verdict = copy.cargo(target, TESTS, &["--no-run"], Duration::MAX).and_then(|build| {
        if !build.succeeded {
            return Ok(Verdict::DoesNotCompile(verdict::compile_error(&build.output)));
        }
        match verdict::judge(&copy.cargo(target, TESTS, &[FILTER], PATIENCE)?) {
            Verdict::Survived => Ok(verdict::judge(&copy.cargo(target, OTHERS, &[], PATIENCE)?)),
            seen => Ok(seen),
        }
    });
    copy.write(mutant.file, &original)?;
    verdict
}

/// The file with the bug in it.
fn mutated(mutant: &Mutant, text: &str) -> std::result::Result<String, String> {
    if mutant.find == mutant.replace {
        return Err("it changes nothing".into());
    }
    match text.matches(mutant.find).count() {
        _ if mutant.find.is_empty() => Err("it looks for nothing".into()),
        1 => Ok(text.replacen(mutant.find, mutant.replace, 1)),
        0 => Err(format!("its text is not in {}", mutant.file)),
        many => Err(format!("its text is {many} times in {}", mutant.file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(find: &'static str, replace: &'static str) -> Mutant {
        Mutant { name: "m", file: "a.rs", find, replace, why: "" }
    }

    #[test]
    fn a_mutant_applies_where_its_text_is_exactly_once() {
        assert_eq!(mutated(&mutant("a < b", "a <= b"), "if a < b {}"), Ok("if a <= b {}".into()));
        let refused = |find, replace, text| mutated(&mutant(find, replace), text).unwrap_err();
        assert_eq!(refused("a < b", "x", "if b {}"), "its text is not in a.rs");
        assert_eq!(refused("b", "x", "a b b"), "its text is 2 times in a.rs");
        assert_eq!(refused("", "x", "a"), "it looks for nothing");
        assert_eq!(refused("a", "a", "a"), "it changes nothing");
    }

    #[test]
    fn an_empty_list_proves_nothing() {
        assert!(chosen(&[], &[]).err().unwrap().contains("nothing to prove"));
    }

    #[test]
    fn mutants_are_chosen_by_name() {
        let all = [Mutant { name: "x", ..mutant("a", "b") }, Mutant { name: "y", ..mutant("a", "b") }];
        let names = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| word.to_string()).collect();
            chosen(&all, &words).map(|them| them.iter().map(|one| one.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), ["x", "y"]);
        assert_eq!(names(&["y"]).unwrap(), ["y"]);
        assert!(names(&["z"]).unwrap_err().contains("the mutants are: x, y"));
    }

    #[test]
    fn every_mutant_of_the_list_applies_to_the_tree_as_it_is() {
        for mutant in MUTANTS {
            let text = std::fs::read_to_string(repo::root().join(mutant.file)).unwrap();
            assert!(mutated(mutant, &text).is_ok(), "{}: {:?}", mutant.name, mutated(mutant, &text));
        }
    }
}
