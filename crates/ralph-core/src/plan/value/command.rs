//! Command lines: split into words as a shell would, but no shell runs.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

use super::{Rule, leaf};

/// What a shell would not take for a word.
const OPERATORS: [&str; 9] = ["&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1"];
/// Characters of a word that a message shows.
const SHOWN: usize = 40;

/// A command line in words. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine(Vec<String>);

leaf!(CommandLine, Vec<String>, |it| it.0, |it| Self(it.clone()));

impl CommandLine {
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains('\0') {
            return Err("a command cannot hold a NUL byte".to_owned());
        }
        let words = shell_words::split(text).map_err(|_| {
            "a quote is not closed\na quote that is meant as itself is written \\\" or \\'".to_owned()
        })?;
        let Some(first) = words.first().filter(|word| !word.trim().is_empty()) else {
            return Err("expected a command\nwrite the program to run, such as ./my-agent.sh".to_owned());
        };
        if let Some((name, value)) = first.split_once('=').filter(|(name, _)| is_variable(name)) {
            return Err(format!(
                "{} is not a program, and no shell reads this line\nput `env` before it: env {name}={value} …",
                quote(first)
            ));
        }
        Ok(Self(words))
    }

    pub fn words(&self) -> &[String] {
        &self.0
    }
}

/// The first word that only a shell would understand.
pub fn shell_operator(words: &[String]) -> Option<&str> {
    words.iter().map(String::as_str).find(|word| OPERATORS.contains(word))
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Short, on one line, and without anything that writes to a terminal.
fn quote(word: &str) -> String {
    let mut out = String::new();
    for c in word.chars().take(SHOWN) {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    let more = if word.chars().nth(SHOWN).is_some() { "…" } else { "" };
    format!("`{out}{more}`")
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CommandVisitor;
        impl Visitor<'_> for CommandVisitor {
            type Value = CommandLine;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<CommandLine, E> {
                CommandLine::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(CommandVisitor)
    }
}

impl Serialize for CommandLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&shell_words::join(&self.0))
    }
}

impl JsonSchema for CommandLine {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "CommandLine".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "\\S" })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_word_of_its_own_is_an_operator() {
        let words = |line: &str| CommandLine::parse(line).expect("a command").0;
        assert_eq!(shell_operator(&words("make && make test")), Some("&&"));
        assert_eq!(shell_operator(&words("grep 'a|b' x\\>y")), None);
    }

    #[test]
    fn a_variable_is_not_a_program() {
        let error = CommandLine::parse("CI=1 make").expect_err("no shell reads it");
        assert!(error.contains("env CI=1"), "{error}");
        assert!(CommandLine::parse("./a=b make").is_ok());
    }

    proptest! {
        /// The journal holds the line, and a resumed run has to start the very same words.
        #[test]
        fn words_come_back_from_the_line_that_they_are_written_as(
            words in proptest::collection::vec("[ -~\\n\\té#~!]{0,8}", 1..6)
        ) {
            let words: Vec<String> = std::iter::once("make".to_owned()).chain(words).collect();
            let text = serde_json::to_string(&CommandLine(words.clone())).expect("text");
            let read: CommandLine = serde_json::from_str(&text).expect("a command line");
            prop_assert_eq!(read.0, words);
        }
    }
}
