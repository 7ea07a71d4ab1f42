//! Words, numbers, texts and signs of a source file, by a light reading that knows the strings and comments of each
//! language. A comment is nothing; a word in a string is no word.

use super::path::Language;
use std::ops::{Bound, RangeBounds};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Word,
    Number,
    Text,
    Sign,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    /// Of a text: what is between the quotes.
    pub text: String,
    /// From 1.
    pub line: usize,
    /// White space before the first token of its line.
    pub indent: usize,
    /// The first token of a line outside of all brackets.
    pub first: bool,
}

impl Token {
    pub fn is(&self, text: &str) -> bool {
        self.kind != Kind::Text && self.text == text
    }

    pub fn word(&self) -> Option<&str> {
        (self.kind == Kind::Word).then_some(self.text.as_str())
    }

    pub fn is_literal(&self) -> bool {
        matches!(self.kind, Kind::Number | Kind::Text)
    }

    /// What tells it from others: a text and a word of the same letters differ.
    pub fn key(&self) -> String {
        match self.kind {
            Kind::Text => format!("\"{}\"", self.text),
            _ => self.text.clone(),
        }
    }
}

/// The tokens, and for each opening bracket the place of its closing one.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    pub list: Vec<Token>,
    closes: Vec<Option<usize>>,
}

impl Tokens {
    pub fn read(text: &str, language: Language) -> Tokens {
        let mut reader = Reader::new(text, language);
        reader.all();
        let closes = closes(&reader.out);
        let mut tokens = Tokens { list: reader.out, closes };
        tokens.mark_first(language == Language::Python);
        tokens
    }

    /// The closing bracket of the opening one at this place; the end of the file if there is none.
    pub fn close(&self, open: usize) -> usize {
        self.closes.get(open).copied().flatten().unwrap_or(self.list.len().saturating_sub(1).max(open))
    }

    pub fn opens(&self, at: usize) -> bool {
        self.closes.get(at).is_some_and(Option::is_some)
    }

    /// A stretch, as far as there is one.
    pub fn part(&self, range: impl RangeBounds<usize>) -> &[Token] {
        let start = match range.start_bound() {
            Bound::Included(at) => *at,
            Bound::Excluded(at) => at + 1,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(at) => at + 1,
            Bound::Excluded(at) => *at,
            Bound::Unbounded => self.list.len(),
        };
        let end = end.min(self.list.len());
        &self.list[start.min(end)..end]
    }

    pub fn get(&self, at: usize) -> Option<&Token> {
        self.list.get(at)
    }

    pub fn is(&self, at: usize, text: &str) -> bool {
        self.list.get(at).is_some_and(|token| token.is(text))
    }

    pub fn word(&self, at: usize) -> Option<&str> {
        self.list.get(at).and_then(Token::word)
    }

    fn mark_first(&mut self, braces: bool) {
        let mut ends: Vec<usize> = Vec::new();
        let mut last_line = 0;
        for at in 0..self.list.len() {
            while ends.last().is_some_and(|end| *end < at) {
                ends.pop();
            }
            let inside = !ends.is_empty() && ends.last() != Some(&at);
            let token = &mut self.list[at];
            token.first = token.line != last_line && !inside;
            last_line = token.line;
            // Braces are blocks in most languages: a line in them is a line of its own.
            if self.closes[at].is_some() && (braces || !token.is("{")) {
                ends.push(self.closes[at].unwrap_or(at));
            }
        }
    }
}

fn closes(tokens: &[Token]) -> Vec<Option<usize>> {
    let mut out = vec![None; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Sign) {
        let opener = match token.text.as_str() {
            "(" | "[" | "{" => {
                open.push(at);
                continue;
            }
            ")" => "(",
            "]" => "[",
            "}" => "{",
            _ => continue,
        };
        // A bracket without its partner (a shell's `case x)`) closes nothing, unless something further out fits.
        let near = open.len().saturating_sub(STRAY_BRACKETS);
        if let Some(found) = open[near..].iter().rposition(|place| tokens[*place].text == opener) {
            out[open[near + found]] = Some(at);
            open.truncate(near + found);
        }
    }
    out
}

/// Unclosed brackets that are looked through for the partner of a closing one.
const STRAY_BRACKETS: usize = 64;
/// Characters in which a regular expression of JavaScript has to end.
const LONGEST_REGEX: usize = 400;

struct Reader {
    chars: Vec<char>,
    at: usize,
    line: usize,
    indent: usize,
    at_start: bool,
    language: Language,
    out: Vec<Token>,
    /// Ends of here-documents that begin behind this line, and whether they may be indented.
    heredocs: Vec<String>,
}

const JOINED: &[&str] =
    &["===", "!==", "==", "!=", "=>", "->", "::", "&&", "||", "<=", ">=", ":=", "=~", "..", "**"];

impl Reader {
    fn new(text: &str, language: Language) -> Self {
        let chars = text.chars().collect();
        Reader {
            chars,
            at: 0,
            line: 1,
            indent: 0,
            at_start: true,
            language,
            out: Vec::new(),
            heredocs: Vec::new(),
        }
    }

    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn looking_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == c)
    }

    fn push(&mut self, kind: Kind, text: String, line: usize) {
        self.out.push(Token { kind, text, line, indent: self.indent, first: false });
    }

    fn step(&mut self) -> char {
        let c = self.peek(0);
        self.at += 1;
        self.line += usize::from(c == '\n');
        c
    }

    fn all(&mut self) {
        while self.at < self.chars.len() {
            let c = self.peek(0);
            if c == '\n' {
                self.step();
                (self.at_start, self.indent) = (true, 0);
                self.skip_heredocs();
                continue;
            }
            if c.is_whitespace() {
                self.indent += if self.at_start { if c == '\t' { 8 } else { 1 } } else { 0 };
                self.step();
                continue;
            }
            if self.comment() {
                continue;
            }
            self.token();
            self.at_start = false;
        }
    }

    fn hash_comments(&self) -> bool {
        matches!(self.language, Language::Python | Language::Ruby | Language::Shell)
    }

    fn comment(&mut self) -> bool {
        let hash = self.hash_comments() && self.peek(0) == '#' && {
            let before = if self.at == 0 { ' ' } else { self.chars[self.at - 1] };
            self.language != Language::Shell || before.is_whitespace() || before == ';'
        };
        let slashes = !self.hash_comments() && self.looking_at("//");
        if hash || slashes {
            while self.at < self.chars.len() && self.peek(0) != '\n' {
                self.step();
            }
            return true;
        }
        if !self.hash_comments() && self.looking_at("/*") {
            let nests = self.language == Language::Rust;
            let mut depth = 0;
            while self.at < self.chars.len() {
                if self.looking_at("/*") && (nests || depth == 0) {
                    depth += 1;
                    self.step();
                } else if self.looking_at("*/") {
                    depth -= 1;
                    self.step();
                }
                self.step();
                if depth == 0 {
                    break;
                }
            }
            return true;
        }
        if self.language == Language::Ruby && self.at_start && self.indent == 0 && self.looking_at("=begin") {
            while self.at < self.chars.len() && !self.looking_at("\n=end") {
                self.step();
            }
            self.step();
            while self.at < self.chars.len() && self.peek(0) != '\n' {
                self.step();
            }
            return true;
        }
        false
    }

    fn token(&mut self) {
        if self.text() {
            return;
        }
        let c = self.peek(0);
        // Behind the quote of a lifetime.
        if c.is_whitespace() || self.at >= self.chars.len() {
            return;
        }
        if self.language == Language::Shell {
            return self.shell_word();
        }
        if c.is_ascii_digit() {
            return self.number();
        }
        if c.is_alphanumeric() || c == '_' || c == '$' {
            let line = self.line;
            let mut word = String::new();
            while self.peek(0).is_alphanumeric() || matches!(self.peek(0), '_' | '$') {
                word.push(self.step());
            }
            if self.language == Language::Ruby && matches!(self.peek(0), '?' | '!') && self.peek(1) != '=' {
                word.push(self.step());
            }
            return self.push(Kind::Word, word, line);
        }
        let line = self.line;
        if let Some(sign) = JOINED.iter().find(|sign| self.looking_at(sign)) {
            (0..sign.len()).for_each(|_| {
                self.step();
            });
            return self.push(Kind::Sign, (*sign).to_owned(), line);
        }
        self.step();
        self.push(Kind::Sign, c.to_string(), line);
    }

    fn number(&mut self) {
        let line = self.line;
        let mut number = String::new();
        loop {
            let c = self.peek(0);
            let point = c == '.' && self.peek(1).is_ascii_digit() && !number.contains('.');
            if !(c.is_ascii_alphanumeric() || c == '_' || point) {
                break;
            }
            let c = self.step();
            if c != '_' {
                number.push(c);
            }
        }
        self.push(Kind::Number, number, line);
    }

    /// A string, if one starts here.
    fn text(&mut self) -> bool {
        let line = self.line;
        let found = match self.language {
            Language::Rust => self.rust_text(),
            Language::Python => self.python_text(),
            Language::Script | Language::Go => self.script_text(),
            Language::Java => self.java_text(),
            Language::Ruby | Language::Shell => self.quoted_text(),
        };
        found.map(|text| self.push(Kind::Text, text, line)).is_some()
    }

    /// Up to the closing mark; with escapes unless raw.
    fn until(&mut self, end: &str, raw: bool) -> String {
        let mut text = String::new();
        while self.at < self.chars.len() && !self.looking_at(end) {
            if self.peek(0) == '\\' && !raw {
                text.push(self.step());
            }
            if self.at < self.chars.len() {
                text.push(self.step());
            }
        }
        (0..end.chars().count()).for_each(|_| {
            self.step();
        });
        text
    }

    fn after(&mut self, skipped: usize, end: &str, raw: bool) -> Option<String> {
        (0..skipped).for_each(|_| {
            self.step();
        });
        Some(self.until(end, raw))
    }

    fn rust_text(&mut self) -> Option<String> {
        let prefix =
            usize::from(matches!(self.peek(0), 'b' | 'c') && matches!(self.peek(1), '"' | 'r' | '\''));
        if self.peek(prefix) == 'r' && matches!(self.peek(prefix + 1), '"' | '#') {
            let mut hashes = 0;
            while self.peek(prefix + 1 + hashes) == '#' {
                hashes += 1;
            }
            // `r#name` is a word.
            if self.peek(prefix + 1 + hashes) != '"' {
                return None;
            }
            return self.after(prefix + 2 + hashes, &format!("\"{}", "#".repeat(hashes)), true);
        }
        if self.peek(prefix) == '"' {
            return self.after(prefix + 1, "\"", false);
        }
        if self.peek(prefix) == '\'' {
            // A character, not a lifetime.
            if self.peek(prefix + 1) == '\\' || self.peek(prefix + 2) == '\'' {
                return self.after(prefix + 1, "'", false);
            }
            self.step();
            return None;
        }
        None
    }

    fn python_text(&mut self) -> Option<String> {
        let mut prefix = 0;
        while prefix < 2 && "rRbBfFuU".contains(self.peek(prefix)) {
            prefix += 1;
        }
        let raw = (0..prefix).any(|at| "rR".contains(self.peek(at)));
        let quote = self.peek(prefix);
        if !matches!(quote, '"' | '\'') {
            return None;
        }
        let triple = (1..3).all(|more| self.peek(prefix + more) == quote);
        let end = if triple { quote.to_string().repeat(3) } else { quote.to_string() };
        self.after(prefix + end.len(), &end, raw)
    }

    fn script_text(&mut self) -> Option<String> {
        match self.peek(0) {
            '`' if self.language == Language::Go => self.after(1, "`", true),
            '`' => {
                self.step();
                Some(self.template())
            }
            quote @ ('"' | '\'') => self.after(1, &quote.to_string(), false),
            '/' if self.language == Language::Script && self.regex_may_start() => self.after(1, "/", false),
            _ => None,
        }
    }

    /// A template with `${…}` in it, which may hold templates.
    fn template(&mut self) -> String {
        let mut text = String::new();
        let mut depth = 0usize;
        while self.at < self.chars.len() {
            let c = self.step();
            match c {
                '\\' => {
                    text.push(c);
                    text.push(self.step());
                    continue;
                }
                '`' if depth == 0 => break,
                '{' if depth > 0 || text.ends_with('$') => depth += 1,
                '}' if depth > 0 => depth -= 1,
                _ => {}
            }
            text.push(c);
        }
        text
    }

    fn regex_may_start(&self) -> bool {
        let rest: String =
            self.chars[self.at + 1..].iter().take(LONGEST_REGEX).take_while(|c| **c != '\n').collect();
        rest.contains('/')
            && self.out.last().is_none_or(|token| match token.kind {
                Kind::Sign => !matches!(token.text.as_str(), ")" | "]" | "}"),
                Kind::Word => token.text == "return",
                _ => false,
            })
    }

    fn java_text(&mut self) -> Option<String> {
        match self.peek(0) {
            '"' if self.looking_at("\"\"\"") => self.after(3, "\"\"\"", false),
            quote @ ('"' | '\'' | '`') => self.after(1, &quote.to_string(), false),
            _ => None,
        }
    }

    fn quoted_text(&mut self) -> Option<String> {
        if self.peek(0) == '<' && self.peek(1) == '<' {
            return self.heredoc();
        }
        match self.peek(0) {
            '\'' if self.language == Language::Shell => self.after(1, "'", true),
            quote @ ('"' | '\'') => self.after(1, &quote.to_string(), false),
            '`' => self.after(1, "`", false),
            _ => None,
        }
    }

    /// `<<~END` and its like: remembered, and left out when its lines come.
    fn heredoc(&mut self) -> Option<String> {
        let mut ahead = 2;
        while matches!(self.peek(ahead), '-' | '~' | ' ' | '"' | '\'') {
            ahead += 1;
        }
        let mut name = String::new();
        while self.peek(ahead).is_alphanumeric() || self.peek(ahead) == '_' {
            name.push(self.peek(ahead));
            ahead += 1;
        }
        let constant = name.chars().next().is_some_and(|c| c.is_uppercase() || c == '_');
        if !constant || self.peek(2) == '<' {
            return None;
        }
        ahead += usize::from(matches!(self.peek(ahead), '"' | '\''));
        (0..ahead).for_each(|_| {
            self.step();
        });
        self.heredocs.push(name);
        Some(String::new())
    }

    fn skip_heredocs(&mut self) {
        for end in std::mem::take(&mut self.heredocs) {
            let mut body = String::new();
            let line = self.line;
            while self.at < self.chars.len() {
                let mut text = String::new();
                while self.at < self.chars.len() && self.peek(0) != '\n' {
                    text.push(self.step());
                }
                self.step();
                if text.trim() == end {
                    break;
                }
                body.push_str(&text);
                body.push('\n');
            }
            self.push(Kind::Text, body, line);
        }
    }

    fn shell_word(&mut self) {
        let line = self.line;
        const ENDS: &str = ";|&(){}<>\"'`\n";
        let mut word = String::new();
        loop {
            let c = self.peek(0);
            let brace = c == '$' && matches!(self.peek(1), '{');
            if c == '\0' || c.is_whitespace() || ENDS.contains(c) {
                break;
            }
            word.push(self.step());
            if c == '\\' && self.at < self.chars.len() {
                word.push(self.step());
            }
            if brace {
                while self.at < self.chars.len() && !word.ends_with('}') && self.peek(0) != '\n' {
                    word.push(self.step());
                }
            }
        }
        if word.is_empty() {
            let sign = JOINED.iter().find(|sign| ["&&", "||"].contains(*sign) && self.looking_at(sign));
            let sign = sign.map_or_else(|| self.peek(0).to_string(), |sign| (*sign).to_owned());
            (0..sign.chars().count()).for_each(|_| {
                self.step();
            });
            return self.push(Kind::Sign, sign, line);
        }
        let number = word.parse::<f64>().is_ok();
        self.push(if number { Kind::Number } else { Kind::Word }, word, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, language: Language) -> Vec<String> {
        Tokens::read(text, language).list.iter().map(Token::key).collect()
    }

    #[test]
    fn comments_and_strings_hold_no_words() {
        assert_eq!(
            texts("f(\"a // b\") // skip\n/* x /* y */ z */ g", Language::Rust),
            ["f", "(", "\"a // b\"", ")", "g"]
        );
        assert_eq!(texts("'x' 'a r#\"q\"z\"# '\\n'", Language::Rust), ["\"x\"", "a", "\"q\"z\"", "\"\\n\""]);
        assert_eq!(texts("x = '''a\n'b''' # c\n", Language::Python), ["x", "=", "\"a\n'b\""]);
        assert_eq!(
            texts("a = /it\\('/ ; b = c / d / e", Language::Script).len(),
            11,
            "one regex, two divisions"
        );
        assert_eq!(texts("`a ${`b`} c`; d", Language::Script), ["\"a ${`b`} c\"", ";", "d"]);
        assert_eq!(
            texts("cat <<EOF\nexit 0\nEOF\nls # no", Language::Shell),
            ["cat", "\"\"", "\"exit 0\n\"", "ls"]
        );
        assert_eq!(texts("=begin\nx\n=end\ny?", Language::Ruby), ["y?"]);
    }

    #[test]
    fn numbers_are_the_same_however_they_are_written() {
        assert_eq!(texts("1_000 1000 3.14 1..2", Language::Rust), ["1000", "1000", "3.14", "1", "..", "2"]);
    }

    #[test]
    fn broken_sources_are_read_to_their_end() {
        for language in [
            Language::Rust,
            Language::Python,
            Language::Script,
            Language::Go,
            Language::Java,
            Language::Ruby,
            Language::Shell,
        ] {
            for text in ["\"", "'", "`${", "/*", "<<A", "r#\"", ")))(((", "\\", "=begin", "'''", "a\\"] {
                Tokens::read(text, language);
            }
        }
    }
}
