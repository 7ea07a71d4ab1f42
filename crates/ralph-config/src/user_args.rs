//! Arguments for a ralph on the command line: by position, and by `--name value`.

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::ralph_md::is_name;

use super::commands::Name;
use super::diagnostic::Diagnostic;
use super::nearest::nearest;
use super::sources::Sources;

/// One argument that is not one of ralph's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    Positional(String),
    /// `--name value` or `--name=value`.
    Named {
        name: String,
        value: Option<String>,
    },
}

/// What others call ralph's own options. Only such names that hardly mean something else.
const OTHER_NAMES: [(&[&str], &str); 14] = [
    (
        &[
            "iterations",
            "iters",
            "iter",
            "max-iters",
            "max-iter",
            "maxiter",
            "max-turns",
            "max-loops",
            "turns",
            "num",
            "num-iterations",
        ],
        "--max-iterations",
    ),
    (&["budget", "max-budget", "max-budget-usd", "cost-limit", "max-spend", "max-usd"], "--max-cost"),
    (&["max-time", "max-duration", "time-limit", "runtime"], "--max-runtime"),
    (&["iteration-timeout", "agent-timeout", "max-iteration-time"], "--timeout"),
    // ralph-orchestrator's and ralphify's
    (&["backend", "cli", "agent-command"], "--agent"),
    (&["config"], "-C DIR, or name the file: ralph run FILE"),
    (&["completion-promise", "success-regex"], "--set stop.success_regex=TEXT"),
    (&["idle-timeout", "idle-timeout-secs"], "--set event_loop.silence_timeout=D"),
    (&["continue", "resume-loop"], "ralph resume"),
    (
        &["no-tui", "tui", "autonomous", "no-git", "no-archive", "no-metrics"],
        "nothing: ralph needs no such option",
    ),
    // TalkCody's
    (&["ralph-loop", "ralph-loop-enabled"], "nothing: `ralph run` always loops, unless told `--once`"),
    (&["max-wall-time-ms", "max-walltime"], "--set event_loop.max_wall_time=D"),
    (&["max-tokens", "token-limit", "token-budget"], "--set event_loop.max_tokens=N"),
    (&["max-wall-time", "wall-time"], "--set event_loop.max_wall_time=D"),
];

/// What a definition knows of arguments.
#[derive(Debug, Default)]
pub struct Known<'a> {
    pub declared: &'a [Name],
    /// Those that the prompt or a command has a placeholder of.
    pub used: BTreeSet<String>,
    /// The long names of ralph's own options, to tell a misspelt one.
    pub options: &'a [String],
    /// A RALPH.md takes what it did not declare, as ralphify's do. Elsewhere it is a mistake.
    pub takes_any: bool,
}

impl Known<'_> {
    fn is_declared(&self, name: &str) -> bool {
        self.declared.iter().any(|one| one.0 == name)
    }

    /// What is wrong with a name.
    fn refusal(&self, name: &str) -> Option<String> {
        if self.is_declared(name) {
            return None;
        }
        let title = format!("there is no option `--{name}`");
        if let Some(meant) = self.meant(name) {
            return Some(format!("{title}; did you mean `{meant}`?"));
        }
        if !is_name(name) {
            return Some(format!(
                "`--{name}` is no argument: a name is made of letters, digits, `-` and `_`"
            ));
        }
        if self.takes_any {
            return None;
        }
        Some(match self.declared {
            [] => format!("{title}; to take it as an argument, declare it with `args`"),
            _ => format!("{title}, nor is it an argument: {}", names(self.declared)),
        })
    }

    /// The option or argument that somebody who wrote this most likely means.
    fn meant(&self, name: &str) -> Option<String> {
        if let Some(option) = nearest(name, self.options.iter().map(String::as_str)) {
            return Some(format!("--{option}"));
        }
        // What stands in the prompt is meant as it is.
        if self.takes_any && self.used.contains(name) {
            return None;
        }
        let plain = name.to_ascii_lowercase().replace('_', "-");
        if let Some((_, option)) = OTHER_NAMES.iter().find(|(names, _)| names.contains(&plain.as_str())) {
            return Some((*option).to_owned());
        }
        // Every two names of one or two letters are alike.
        let declared = self.declared.iter().map(|one| one.0.as_str()).filter(|_| name.len() > 2);
        nearest(name, declared).map(|one| format!("--{one}"))
    }
}

/// The first option that is none of ralph's, where there is no definition that might take it as an argument.
pub fn unknown_option(sources: &Sources) -> Option<Diagnostic> {
    let given = sources.given.iter().flatten();
    let mut named = given.filter_map(|one| match one {
        Given::Named { name, .. } => Some(name),
        Given::Positional(_) => None,
    });
    let name = named.next()?;
    let known = Known { options: &sources.options, ..Known::default() };
    let found = Diagnostic::new(format!("there is no option `--{name}`"));
    Some(match known.meant(name) {
        Some(meant) => found.help(format!("did you mean `{meant}`?")),
        None => found
            .help("`ralph run --help` lists the options; an argument stands behind the definition it is for"),
    })
}

fn names(declared: &[Name]) -> String {
    declared.iter().map(|name| name.0.as_str()).collect::<Vec<_>>().join(", ")
}

/// What each argument of a ralph is.
pub fn assign(known: &Known, given: &[Given]) -> Result<BTreeMap<String, String>, String> {
    let declared = known.declared;
    let mut out = BTreeMap::new();
    let mut positional = Vec::new();
    for one in given {
        let (name, value) = match one {
            Given::Positional(value) => {
                positional.push(value);
                continue;
            }
            Given::Named { name, value } => (name, value),
        };
        if let Some(refusal) = known.refusal(name) {
            return Err(refusal);
        }
        let Some(value) = value else {
            return Err(format!("`--{name}` needs a value: --{name} VALUE, or --{name}=VALUE"));
        };
        out.insert(name.clone(), value.clone());
    }
    // Those that were given by name are not waited for.
    let mut free = declared.iter().filter(|name| !out.contains_key(&name.0)).collect::<Vec<_>>().into_iter();
    for value in positional {
        let Some(name) = free.next() else {
            return Err(match declared.is_empty() {
                true => {
                    format!("`{value}` is too much: this ralph takes no arguments; declare them with `args`")
                }
                false => format!("`{value}` is too much: this ralph takes {}", names(declared)),
            });
        };
        out.insert(name.0.clone(), value.clone());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(words: &[&str]) -> Vec<Given> {
        let words = words.iter().map(|word| match word.strip_prefix("--") {
            Some(named) => {
                let (name, value) = named.split_once('=').map_or((named, None), |(n, v)| (n, Some(v)));
                Given::Named { name: name.to_owned(), value: value.map(str::to_owned) }
            }
            None => Given::Positional((*word).to_owned()),
        });
        words.collect()
    }

    fn assigned(declared: &[&str], words: &[&str]) -> Result<Vec<(String, String)>, String> {
        assigned_by(true, declared, words)
    }

    fn assigned_by(
        takes_any: bool,
        declared: &[&str],
        words: &[&str],
    ) -> Result<Vec<(String, String)>, String> {
        let declared: Vec<Name> = declared.iter().map(|name| Name((*name).to_owned())).collect();
        let options = ["max-iterations", "delay"].map(str::to_owned);
        let used = ["budget", "focs"].map(str::to_owned).into();
        let known = Known { declared: &declared, used, options: &options, takes_any };
        assign(&known, &given(words)).map(|all| all.into_iter().collect())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        Ok(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn positions_are_assigned_in_the_order_of_the_names() {
        assert_eq!(assigned(&["a", "b"], &["A", "B"]), pairs(&[("a", "A"), ("b", "B")]));
        assert_eq!(assigned(&["a", "b"], &["A"]), pairs(&[("a", "A")]));
        assert!(assigned(&["a", "b"], &["A", "B", "C"]).unwrap_err().contains("takes a, b"));
        assert!(assigned(&[], &["A"]).unwrap_err().contains("no arguments"));
    }

    #[test]
    fn named_values_are_assigned_before_positions() {
        assert_eq!(assigned(&["a", "b"], &["--b=perf", "./p"]), pairs(&[("a", "./p"), ("b", "perf")]));
        assert_eq!(assigned(&["a", "b"], &["./p", "--a=x"]), pairs(&[("a", "x"), ("b", "./p")]));
        assert_eq!(assigned(&["a"], &["--a=1=2"]), pairs(&[("a", "1=2")]));
        assert_eq!(assigned(&["a"], &["--a=1", "--a=2"]), pairs(&[("a", "2")]));
        assert_eq!(assigned(&["a"], &["--a="]), pairs(&[("a", "")]));
    }

    #[test]
    fn a_name_that_is_almost_an_option_is_refused_unless_it_is_declared() {
        assert_eq!(assigned(&[], &["--zzz=v"]), pairs(&[("zzz", "v")]));
        assert!(assigned(&[], &["--max-iteration=5"]).unwrap_err().contains("`--max-iterations`"));
        assert!(assigned(&[], &["--max-iteration"]).unwrap_err().contains("`--max-iterations`"));
        assert_eq!(assigned(&["delays"], &["--delays=5"]), pairs(&[("delays", "5")]));
        assert!(assigned(&["a"], &["--a"]).unwrap_err().contains("needs a value"));
        assert!(assigned(&["a"], &["--a.b=1"]).unwrap_err().contains("is no argument"));
    }

    #[test]
    fn an_option_of_other_tools_is_refused_unless_the_ralph_uses_that_name() {
        for name in ["max-iters", "maxiter", "max_iter", "iterations", "max-turns", "Max-Turns"] {
            let error = assigned(&["focus"], &[&format!("--{name}=5")]).unwrap_err();
            assert!(error.contains("did you mean `--max-iterations`?"), "{error}");
        }
        assert!(assigned(&[], &["--cost-limit=5"]).unwrap_err().contains("`--max-cost`"));
        assert!(assigned(&[], &["--max-tokens=5"]).unwrap_err().contains("--set event_loop.max_tokens=N"));
        assert_eq!(assigned(&[], &["--budget=5"]), pairs(&[("budget", "5")]), "the prompt has it");
        assert_eq!(assigned(&["turns"], &["--turns=5"]), pairs(&[("turns", "5")]));
    }

    #[test]
    fn a_misspelt_argument_is_refused_unless_the_ralph_uses_that_name() {
        assert!(assigned(&["focus"], &["--foucs=x"]).unwrap_err().contains("did you mean `--focus`?"));
        assert_eq!(assigned(&["focus"], &["--focs=x"]), pairs(&[("focs", "x")]), "the prompt has it");
        assert_eq!(assigned(&["a"], &["--b=x"]), pairs(&[("b", "x")]));
    }

    #[test]
    fn elsewhere_only_what_is_declared_is_taken() {
        let refused = |declared: &[&str], word: &str| assigned_by(false, declared, &[word]).unwrap_err();
        assert!(refused(&[], "--zzz=v").contains("no option `--zzz`; to take it as an argument, declare it"));
        assert!(refused(&["a", "b"], "--zzz").contains("no option `--zzz`, nor is it an argument: a, b"));
        assert!(refused(&[], "--budget=5").contains("did you mean `--max-cost`?"));
        assert!(refused(&["focus"], "--focs=x").contains("did you mean `--focus`?"));
        assert_eq!(assigned_by(false, &["zzz"], &["--zzz=v"]), pairs(&[("zzz", "v")]));
    }
}
