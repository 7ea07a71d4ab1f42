//! Splits a command line into words as a shell would, without running one.

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SplitError {
    #[error("a quote is opened but not closed in: {0}")]
    UnclosedQuote(String),
    #[error("the command is empty")]
    Empty,
}

/// Quotes and backslashes mean what they mean to a shell; `$`, `*`, `~`, `|`, `>` and `;` mean themselves.
/// A `#` at the start of a word begins a comment, as in a shell. The first word is the program: there is one.
pub fn split_words(line: &str) -> Result<Vec<String>, SplitError> {
    let words = shell_words::split(line).map_err(|_| SplitError::UnclosedQuote(line.to_owned()))?;
    if words.first().is_none_or(String::is_empty) { Err(SplitError::Empty) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        split_words(line).expect("splits")
    }

    #[test]
    fn quotes_and_backslashes_are_a_shells() {
        assert_eq!(
            words(r#"agent -p "two words" 'a "b"' c\ d """#),
            ["agent", "-p", "two words", r#"a "b""#, "c d", ""]
        );
    }

    #[test]
    fn nothing_is_expanded() {
        assert_eq!(words("echo $HOME *.rs ~ a|b > c"), ["echo", "$HOME", "*.rs", "~", "a|b", ">", "c"]);
    }

    #[test]
    fn an_unclosed_quote_is_an_error() {
        for line in ["agent 'oops", "agent \"oops", "agent \"oops\\"] {
            assert_eq!(split_words(line), Err(SplitError::UnclosedQuote(line.to_owned())));
        }
    }

    #[test]
    fn a_command_needs_a_program() {
        for line in ["", "  \t\n", "# only a comment", "'' x"] {
            assert_eq!(split_words(line), Err(SplitError::Empty), "{line:?}");
        }
    }
}
