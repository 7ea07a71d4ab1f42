//! A Rust file as a flat list of tokens with lines. Macro bodies are in it, comments and strings are not.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    Ident(String),
    Punct(char),
    Open(Delimiter),
    Close,
    Literal,
}

#[derive(Debug)]
pub struct Token {
    pub kind: Kind,
    pub line: usize,
}

impl Token {
    pub fn ident(&self) -> Option<&str> {
        match &self.kind {
            Kind::Ident(name) => Some(name),
            _ => None,
        }
    }

    pub fn is(&self, punct: char) -> bool {
        self.kind == Kind::Punct(punct)
    }

    fn is_open(&self) -> bool {
        matches!(self.kind, Kind::Open(_))
    }
}

pub fn flatten(stream: TokenStream) -> Vec<Token> {
    let mut tokens = Vec::new();
    flatten_into(stream, &mut tokens);
    tokens
}

fn flatten_into(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Ident(ident) => tokens.push(Token { kind: Kind::Ident(ident.to_string()), line }),
            TokenTree::Punct(punct) => tokens.push(Token { kind: Kind::Punct(punct.as_char()), line }),
            TokenTree::Literal(_) => tokens.push(Token { kind: Kind::Literal, line }),
            TokenTree::Group(group) => {
                tokens.push(Token { kind: Kind::Open(group.delimiter()), line });
                flatten_into(group.stream(), tokens);
                tokens.push(Token { kind: Kind::Close, line: group.span_close().start().line });
            }
        }
    }
}

/// The name of the macro that is called at this token, if one is: `name!(`, not `name != x`.
pub fn macro_call(tokens: &[Token], at: usize) -> Option<&str> {
    let name = tokens.get(at)?.ident()?;
    (tokens.get(at + 1)?.is('!') && tokens.get(at + 2)?.is_open()).then_some(name)
}

/// The path that starts at this token, as its segments. None inside a path, so that each is seen once.
pub fn path(tokens: &[Token], at: usize) -> Option<Vec<&str>> {
    let colons = |at: usize| {
        tokens.get(at).is_some_and(|token| token.is(':'))
            && tokens.get(at + 1).is_some_and(|token| token.is(':'))
    };
    if at >= 3 && colons(at - 2) && tokens[at - 3].ident().is_some_and(|name| !is_keyword(name)) {
        return None;
    }
    let mut segments = vec![tokens.get(at)?.ident().filter(|name| !is_keyword(name))?];
    let mut next = at + 1;
    while colons(next) {
        let Some(name) = tokens.get(next + 2).and_then(Token::ident) else { break };
        segments.push(name);
        next += 3;
    }
    Some(segments)
}

/// Words before a path that starts with `::`, which are no part of it.
fn is_keyword(name: &str) -> bool {
    ["use", "return", "in", "as", "else", "match", "if", "while", "mut", "dyn", "impl", "move"]
        .contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        flatten(text.parse().unwrap())
    }

    fn macros(text: &str) -> Vec<String> {
        let tokens = tokens(text);
        (0..tokens.len()).filter_map(|at| macro_call(&tokens, at)).map(str::to_owned).collect()
    }

    fn paths(text: &str) -> Vec<String> {
        let tokens = tokens(text);
        (0..tokens.len()).filter_map(|at| path(&tokens, at)).map(|path| path.join("::")).collect()
    }

    #[test]
    fn macros_are_found_in_macros_and_not_in_strings_comments_or_comparisons() {
        assert_eq!(macros("a!(b![c!{}]) // d!()"), ["a", "b", "c"]);
        assert_eq!(macros("\"e!()\"; f != (1); !g(); h!"), [""; 0]);
    }

    #[test]
    fn a_path_is_seen_once_and_whole() {
        assert_eq!(paths("std::fs::read(x)"), ["std::fs::read", "x"]);
        assert_eq!(paths("return ::std::fs::read"), ["std::fs::read"]);
        assert_eq!(paths("std::{fs}"), ["std", "fs"]);
        assert_eq!(paths("a: b"), ["a", "b"]);
    }

    #[test]
    fn lines_count_from_one() {
        let lines: Vec<_> = tokens("a\n(\nb\n)").iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 2, 3, 4]);
    }
}
