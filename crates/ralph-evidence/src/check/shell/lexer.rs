//! A command line as words and operators: quotes removed, redirections and here-documents skipped.
//!
//! Apart from the grammar, which no longer looks at characters.

use super::Word;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    Op(&'static str),
}

/// The tokens of a text, and whether the text ended in the middle of something.
pub(super) fn tokens(text: &str) -> (Vec<Token>, bool) {
    let mut lexer = Lexer { chars: text.chars().collect(), at: 0, broken: false, heredocs: Vec::new() };
    let tokens = lexer.tokens();
    (tokens, lexer.broken)
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    broken: bool,
    /// The ends of the here-documents that begin after this line.
    heredocs: Vec<String>,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn tokens(&mut self) -> Vec<Token> {
        let mut out = Vec::new();
        while let Some(c) = self.peek(0) {
            match c {
                '\n' => {
                    self.at += 1;
                    out.push(Token::Op(";"));
                    self.skip_heredocs();
                }
                c if c.is_whitespace() => self.at += 1,
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '#' => self.skip_comment(),
                '&' if self.peek(1) == Some('>') => self.redirect(),
                '&' | '|' | ';' | '(' | ')' => out.push(self.operator()),
                '<' | '>' => self.redirect(),
                _ => {
                    let word = self.word();
                    let is_fd = !word.quoted && word.text.chars().all(|c| c.is_ascii_digit());
                    if is_fd && matches!(self.peek(0), Some('<' | '>')) {
                        self.redirect();
                    } else {
                        out.push(Token::Word(word));
                    }
                }
            }
        }
        out
    }

    fn operator(&mut self) -> Token {
        const OPERATORS: &[&str] = &["&&", "||", "|&", ";;", "&", "|", ";", "(", ")"];
        let two: String = self.chars[self.at..].iter().take(2).collect();
        let op = OPERATORS.iter().find(|op| two.starts_with(**op)).copied().unwrap_or(";");
        self.at += op.len();
        Token::Op(op)
    }

    fn skip_comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    /// A redirection and its target: where the output goes does not matter here.
    fn redirect(&mut self) {
        let from = self.at;
        while matches!(self.peek(0), Some('<' | '>' | '&' | '|')) && self.at - from < 3 {
            self.at += 1;
        }
        let op: String = self.chars[from..self.at].iter().collect();
        if op.ends_with(['<', '>']) && self.peek(0) == Some('(') {
            // A process substitution.
            self.at += 1;
            return self.skip_until_close(')');
        }
        let strips = op == "<<" && self.peek(0) == Some('-');
        self.at += usize::from(strips || (op.ends_with('&') && self.peek(0) == Some('-')));
        while self.peek(0).is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
        if self.peek(0).is_some_and(|c| !c.is_whitespace() && !"&|;()<>".contains(c)) {
            let target = self.word();
            if op == "<<" {
                self.heredocs.push(target.text);
            }
        }
    }

    fn skip_heredocs(&mut self) {
        for end in std::mem::take(&mut self.heredocs) {
            loop {
                if self.at >= self.chars.len() {
                    self.broken = true;
                    return;
                }
                let rest = &self.chars[self.at..];
                let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
                let line: String = rest[..length].iter().collect();
                self.at = (self.at + length + 1).min(self.chars.len());
                if line.trim_matches(['\t', '\r']) == end {
                    break;
                }
            }
        }
    }

    fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(c) = self.peek(0) {
            match c {
                c if c.is_whitespace() || "&|;()<>".contains(c) => break,
                '\'' => self.quoted(&mut word, '\''),
                '"' => self.quoted(&mut word, '"'),
                '`' => self.substitution(&mut word, 1, '`'),
                '$' if matches!(self.peek(1), Some('(')) => self.substitution(&mut word, 2, ')'),
                '$' if matches!(self.peek(1), Some('{')) => self.substitution(&mut word, 2, '}'),
                '\\' => {
                    if let Some(next) = self.peek(1).filter(|next| *next != '\n') {
                        word.text.push(next);
                        word.quoted = true;
                    }
                    self.at += 2;
                }
                c => {
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.chars.len());
        word
    }

    fn quoted(&mut self, word: &mut Word, quote: char) {
        word.quoted = true;
        self.at += 1;
        loop {
            match self.peek(0) {
                None => return self.broken = true,
                Some(c) if c == quote => return self.at += 1,
                Some('\\') if quote == '"' => {
                    match self.peek(1) {
                        Some(next @ ('"' | '\\' | '$' | '`')) => word.text.push(next),
                        Some('\n') | None => {}
                        Some(next) => word.text.extend(['\\', next]),
                    }
                    self.at = (self.at + 2).min(self.chars.len());
                }
                Some(c) => {
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
    }

    /// Kept as it stands, so that an assignment of it can be looked into.
    fn substitution(&mut self, word: &mut Word, opening: usize, close: char) {
        let from = self.at;
        self.at += opening;
        self.skip_until_close(close);
        word.text.extend(&self.chars[from..self.at]);
    }

    fn skip_until_close(&mut self, close: char) {
        let open = match close {
            ')' => '(',
            '}' => '{',
            other => other,
        };
        let mut depth = 1;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\\' => self.at += 1,
                '\'' | '"' if close != '`' => {
                    self.at -= 1;
                    self.quoted(&mut Word::default(), c);
                }
                c if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                }
                c if c == open => depth += 1,
                _ => {}
            }
        }
        self.at = self.at.min(self.chars.len());
        self.broken = true;
    }
}
