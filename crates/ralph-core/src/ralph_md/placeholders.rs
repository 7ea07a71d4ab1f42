//! `{{ commands.x }}`, `{{ args.x }}` and `{{ ralph.x }}`: resolved in one pass, so that text which came from an argument or a
//! command is never taken for a placeholder.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// What placeholders stand for.
#[derive(Debug, Clone, Default)]
pub struct Values<'a> {
    /// What each command printed.
    pub commands: BTreeMap<&'a str, &'a str>,
    pub args: Option<&'a BTreeMap<String, String>>,
    /// The name of the ralph.
    pub name: &'a str,
    pub iteration: u32,
    /// Nothing: not limited.
    pub max_iterations: Option<u32>,
}

impl Values<'_> {
    fn of(&self, space: &str, name: &str) -> String {
        let text = match (space, name) {
            ("commands", _) => self.commands.get(name).map(|text| (*text).to_owned()),
            ("args", _) => self.args.and_then(|args| args.get(name)).cloned(),
            (_, "name") => Some(self.name.to_owned()),
            (_, "iteration") => Some(self.iteration.to_string()),
            (_, "max_iterations") => self.max_iterations.map(|max| max.to_string()),
            _ => None,
        };
        text.unwrap_or_default()
    }
}

/// The text with its placeholders resolved. A name that means nothing becomes nothing; any other `{{ … }}` stays.
pub fn resolve(text: &str, values: &Values) -> String {
    replace(text, |space, name| Some(values.of(space, name)))
}

/// The words of a command line in which only `args` are resolved, each as one word or a part of one, whatever is in it.
/// An argument that was not given is nothing. `split` takes a line apart as a shell does.
pub fn command_words<E>(
    line: &str,
    arg: impl Fn(&str) -> Option<String>,
    split: impl Fn(&str) -> Result<Vec<String>, E>,
) -> Result<Vec<String>, E> {
    // Stands for an argument's text while the line is split. Any character will do that the line itself does not have.
    let Some(mark) = ('\u{e000}'..='\u{f8ff}').find(|c| !line.contains(*c)) else { return split(line) };
    let mut given = Vec::new();
    let marked = replace(line, |space, name| {
        if space != "args" {
            return None;
        }
        let Some(value) = arg(name) else { return Some(String::new()) };
        given.push(value);
        Some(mark.to_string())
    });
    let mut given = given.into_iter();
    let words = split(&marked)?.into_iter().map(|word| {
        let mut parts = word.split(mark);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |word, part| word + &given.next().unwrap_or_default() + part)
    });
    Ok(words.collect())
}

/// The arguments that a text has placeholders of.
pub fn args_of(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    replace(text, |space, name| {
        if space == "args" {
            found.insert(name.to_owned());
        }
        None
    });
    found
}

/// A placeholder, as it stands in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    pub at: Range<usize>,
    /// `commands`, `args` or `ralph`.
    pub space: String,
    pub name: String,
}

/// Every placeholder of a text, in order.
pub fn placeholders(text: &str) -> Vec<Placeholder> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find(OPEN).map(|open| at + open) {
        let here = placeholder(&text[open..]);
        // A brace at a time, as they are replaced.
        at = open + here.map_or(1, |(_, _, len)| len);
        if let Some((space, name, _)) = here {
            found.push(Placeholder { at: open..at, space: space.to_owned(), name: name.to_owned() });
        }
    }
    found
}

/// Every placeholder of the prompt of a RALPH.md, at its place in the whole file. Those in comments are none.
pub fn placeholders_of_body(text: &str) -> Vec<Placeholder> {
    let body = super::split(text).body;
    let kept = super::comments::kept(&text[body.clone()]).into_iter();
    let kept = kept.map(|range| body.start + range.start..body.start + range.end);
    let moved = |range: Range<usize>| {
        let found = placeholders(&text[range.clone()]).into_iter();
        found.map(move |one| Placeholder { at: range.start + one.at.start..range.start + one.at.end, ..one })
    };
    kept.flat_map(moved).collect()
}

/// Replaces each placeholder by what `value` gives for it; nothing leaves it as it is.
fn replace(text: &str, mut value: impl FnMut(&str, &str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(OPEN) {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let found = placeholder(rest).and_then(|(space, name, len)| Some((value(space, name)?, len)));
        // A brace at a time: `{{{ args.x }}` has a placeholder behind its first one.
        let len = found.as_ref().map_or(1, |(_, len)| *len);
        match &found {
            Some((value, _)) => out.push_str(value),
            None => out.push_str(&rest[..len]),
        }
        rest = &rest[len..];
    }
    out + rest
}

/// The namespace, the name and the length of a placeholder that begins here.
fn placeholder(text: &str) -> Option<(&str, &str, usize)> {
    let inside = text.strip_prefix(OPEN)?.trim_start();
    // A brace ends the search, too: no name has one, and a text of nothing but braces is read once.
    let end = inside.find(|c: char| c.is_whitespace() || matches!(c, '{' | '}'))?;
    let (word, rest) = inside.split_at(end);
    let (space, name) = word.split_once('.')?;
    let rest = rest.trim_start().strip_prefix(CLOSE)?;
    let known = matches!(space, "commands" | "args" | "ralph") && super::is_name(name);
    known.then_some((space, name, text.len() - rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn resolved(text: &str) -> String {
        let args = args(&[("a", "A"), ("tricky", "{{ commands.x }}{{ args.a }}"), ("empty", "")]);
        let commands = BTreeMap::from([("x", "out\n"), ("my-cmd_2", "{{ args.a }}")]);
        let values =
            Values { commands, args: Some(&args), name: "demo", iteration: 3, max_iterations: Some(9) };
        resolve(text, &values)
    }

    #[test]
    fn placeholders_stand_for_their_values() {
        assert_eq!(resolved("{{ args.a }}|{{args.a}}|{{\n  args.a\n}}"), "A|A|A");
        assert_eq!(resolved("{{ ralph.name }} {{ ralph.iteration }}/{{ ralph.max_iterations }}"), "demo 3/9");
        assert_eq!(resolved("[{{ commands.gone }}{{ args.gone }}{{ ralph.gone }}]"), "[]");
        for text in [
            "{{ other.x }}",
            "{{ x }}",
            "{{ args. }}",
            "{{ args.a b }}",
            "{{ args.a }",
            "{{",
            "{{}}",
            "{{ args .a }}",
        ] {
            assert_eq!(resolved(text), text);
        }
        assert_eq!(resolved("{{{ args.a }}}"), "{A}");
        assert_eq!(resolved("{{ x {{ args.a }} }}"), "{{ x A }}");
        let unlimited = resolve("[{{ ralph.max_iterations }}]", &Values::default());
        assert_eq!(unlimited, "[]");
    }

    #[test]
    fn placeholders_are_found_where_they_stand_and_not_in_comments() {
        let text = "---\nargs: [a]\n---\n<!-- {{ args.no }} -->\n{{{ args.a }} x\n```\n<!-- {{commands.b}} -->\n```\n{{ x.y }}";
        let found = placeholders_of_body(text);
        let names: Vec<(&str, &str)> = found.iter().map(|one| (&*one.name, &text[one.at.clone()])).collect();
        assert_eq!(names, [("a", "{{ args.a }}"), ("b", "{{commands.b}}")]);
        assert_eq!(placeholders("{{ args.a }}{{args.b}}").len(), 2);
    }

    #[test]
    fn inserted_text_is_not_searched_for_placeholders() {
        assert_eq!(resolved("{{ args.tricky }}"), "{{ commands.x }}{{ args.a }}");
        assert_eq!(resolved("{{ commands.my-cmd_2 }}"), "{{ args.a }}");
        assert_eq!(resolved("{{{{ args.empty }} args.a }}"), "{{ args.a }}");
    }

    #[test]
    fn placeholders_count_in_fenced_blocks_too() {
        assert_eq!(resolved("```\n{{ args.a }}\n```"), "```\nA\n```");
    }

    #[test]
    fn output_is_inserted_unchanged() {
        assert_eq!(resolved("[{{ commands.x }}]"), "[out\n]");
    }

    /// By blanks, with single quotes: enough to show what is split when.
    fn split(line: &str) -> Result<Vec<String>, String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().ok_or("no word")?.push(c),
            }
        }
        Ok(words.into_iter().filter(|word| !word.is_empty()).collect())
    }

    #[test]
    fn an_argument_is_one_word_whatever_is_in_it() {
        let args = args(&[("a", "x y; rm 'z'"), ("b", "{{ args.a }}"), ("e", "")]);
        let words = |line: &str| command_words(line, |name| args.get(name).cloned(), split).expect("words");
        assert_eq!(words("echo {{ args.a }}"), ["echo", "x y; rm 'z'"]);
        assert_eq!(words("echo pre-{{ args.a }}-{{ args.b }}"), ["echo", "pre-x y; rm 'z'-{{ args.a }}"]);
        assert_eq!(words("echo '{{ args.a }}'"), ["echo", "x y; rm 'z'"]);
        assert_eq!(words("echo {{ args.gone }} z"), ["echo", "z"]);
        assert_eq!(words("echo {{ args.e }} z"), ["echo", "", "z"], "given, and empty");
        assert_eq!(
            words("echo '{{ ralph.name }}' '{{ commands.x }}'"),
            ["echo", "{{ ralph.name }}", "{{ commands.x }}"]
        );
        let names: Vec<String> =
            args_of("{{ args.b }} {{ commands.c }} {{ args }} {{args.a}} {{ args.b }}").into_iter().collect();
        assert_eq!(names, ["a", "b"]);
    }
}
