//! Tells ralph's own options of `ralph run` from the arguments of the ralph that is run.

use std::ffi::OsString;
use std::iter::Peekable;

use clap::{Arg, Command};

use ralph_config::Given;

/// The command line for clap, and what is for the ralph.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Split {
    pub own: Vec<OsString>,
    pub given: Vec<Given>,
    /// The long names of ralph's own options of `ralph run`.
    pub options: Vec<String>,
}

/// Takes a whole command line apart, by the options that `command` has. The first word that is no option is the TARGET; further ones, options that ralph does
/// not have, and everything behind `--` are for the ralph.
pub fn split(command: &mut Command, all: impl IntoIterator<Item = OsString>) -> Split {
    let mut words = all.into_iter().peekable();
    let mut out = Split { own: words.by_ref().take(2).collect(), ..Split::default() };
    if out.own.get(1).is_none_or(|command| command != "run") {
        out.own.extend(words);
        return out;
    }
    let options = options(command);
    out.options = options.iter().filter_map(|option| option.get_long().map(str::to_owned)).collect();
    let mut target = false;
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--") => {
                let rest = words.by_ref().map(|word| Given::Positional(lossy(word)));
                out.given.extend(rest);
            }
            Some(text) if text.starts_with("--") => {
                let (name, value) = match text[2..].split_once('=') {
                    Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                    None => (text[2..].to_owned(), None),
                };
                match options.iter().find(|option| is_long(option, &name)) {
                    Some(option) => {
                        let takes = takes_value(option) && value.is_none();
                        if takes && is_optional(option) {
                            out.own.push(with_name(word, &mut words));
                            continue;
                        }
                        out.own.push(word);
                        if takes {
                            out.own.extend(words.next());
                        }
                    }
                    None => out.given.push(named(name, value, &options, &mut words)),
                }
            }
            Some(text) if text.starts_with('-') && text.len() > 1 => {
                let takes = value_follows(&options, &text[1..]);
                out.own.push(word);
                if takes {
                    out.own.extend(words.next());
                }
            }
            _ if !target => {
                target = true;
                out.own.push(word);
            }
            _ => out.given.push(Given::Positional(lossy(word))),
        }
    }
    out
}

/// Those of `ralph run`, help included.
fn options(command: &mut Command) -> Vec<Arg> {
    command.build();
    let run = command.find_subcommand("run");
    run.map(|run| run.get_arguments().filter(|arg| !arg.is_positional()).cloned().collect())
        .unwrap_or_default()
}

fn is_long(option: &Arg, name: &str) -> bool {
    option.get_long() == Some(name) || option.get_all_aliases().is_some_and(|all| all.contains(&name))
}

fn takes_value(option: &Arg) -> bool {
    option.get_action().takes_values()
}

/// The value may be left out.
fn is_optional(option: &Arg) -> bool {
    option.get_num_args().is_some_and(|count| count.min_values() == 0)
}

/// The next word is the name that goes with this option, unless it is an option or looks like a TARGET.
fn with_name(option: OsString, words: &mut Peekable<impl Iterator<Item = OsString>>) -> OsString {
    let is_name = |next: &OsString| {
        let text = next.to_string_lossy();
        !text.starts_with('-') && !text.contains('/') && !text.ends_with(".md") && !text.ends_with(".yml")
    };
    match words.next_if(is_name) {
        Some(name) => {
            let mut both = option;
            both.push("=");
            both.push(name);
            both
        }
        None => option,
    }
}

/// Whether the value of the last of these short options is the next word.
fn value_follows(options: &[Arg], cluster: &str) -> bool {
    let mut letters = cluster.chars();
    while let Some(letter) = letters.next() {
        let option = options.iter().find(|option| option.get_short() == Some(letter));
        if option.is_some_and(takes_value) {
            return letters.as_str().is_empty();
        }
    }
    false
}

/// A value that looks like an option is more likely one that was forgotten.
fn named(
    name: String,
    value: Option<String>,
    options: &[Arg],
    words: &mut Peekable<impl Iterator<Item = OsString>>,
) -> Given {
    let is_short = |letter: char| options.iter().any(|option| option.get_short() == Some(letter));
    let is_value = |next: &OsString| match next.as_encoded_bytes() {
        [b'-', b'-', ..] => false,
        [b'-', letter, ..] => !is_short(char::from(*letter)),
        _ => true,
    };
    let value = value.or_else(|| words.next_if(is_value).map(lossy));
    Given::Named { name, value }
}

fn lossy(word: OsString) -> String {
    word.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str) -> (String, String) {
        let words = ["ralph"].into_iter().chain(line.split(' ')).map(OsString::from);
        let Split { own, given, .. } = split(&mut crate::args::command(), words);
        let own: Vec<String> = own.into_iter().skip(1).map(lossy).collect();
        let given: Vec<String> = given
            .into_iter()
            .map(|one| match one {
                Given::Positional(value) => value,
                Given::Named { name, value } => format!("{name}:{}", value.unwrap_or("?".to_owned())),
            })
            .collect();
        (own.join(" "), given.join(" "))
    }

    fn pair(own: &str, given: &str) -> (String, String) {
        (own.to_owned(), given.to_owned())
    }

    #[test]
    fn only_the_first_word_is_the_target() {
        assert_eq!(parts("run r A B"), pair("run r", "A B"));
        assert_eq!(parts("run -n 2 r A -d 1 B"), pair("run -n 2 r -d 1", "A B"));
        assert_eq!(parts("run -n2 -qv r --json"), pair("run -n2 -qv r --json", ""));
        assert_eq!(parts("run -p -x r A"), pair("run -p -x r", "A"));
        assert_eq!(parts("check r A --b"), pair("check r A --b", ""));
        assert_eq!(parts("run"), pair("run", ""));
        assert_eq!(parts("run --worktree fix r"), pair("run --worktree=fix r", ""));
        assert_eq!(parts("run --worktree r/RALPH.md"), pair("run --worktree r/RALPH.md", ""));
        assert_eq!(parts("run --worktree -n 2"), pair("run --worktree -n 2", ""));
    }

    #[test]
    fn options_that_ralph_does_not_have_are_arguments() {
        assert_eq!(parts("run r --b perf ./p"), pair("run r", "b:perf ./p"));
        assert_eq!(
            parts("run r --a=1=2 --max-iterations=3 --set a=b"),
            pair("run r --max-iterations=3 --set a=b", "a:1=2")
        );
        assert_eq!(parts("run r --a --b"), pair("run r", "a:? b:?"));
        assert_eq!(parts("run r --a -5 --help"), pair("run r --help", "a:-5"));
        assert_eq!(parts("run --no-such -p x -a claude"), pair("run -p x -a claude", "no-such:?"));
        assert_eq!(parts("run r -z"), pair("run r -z", ""), "clap says what is wrong with it");
    }

    #[test]
    fn every_word_behind_two_dashes_is_an_argument() {
        assert_eq!(parts("run r -- --verbose ./src -n 3"), pair("run r", "--verbose ./src -n 3"));
        assert_eq!(parts("run -- A"), pair("run", "A"));
        assert_eq!(parts("run r -- A -- B"), pair("run r", "A -- B"));
    }
}
