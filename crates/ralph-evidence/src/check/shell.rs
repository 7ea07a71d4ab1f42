//! Enough of a shell's grammar to tell which programs a command line runs, and whose status is the status of the whole.
//!
//! Nothing is expanded. What cannot be read (an unclosed quote, a text that was cut) is read as far as it goes.

/// Brackets inside brackets, deeper than anyone types.
const MAX_DEPTH: usize = 24;

/// One word, quotes removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    /// Some of it was quoted: then it is no keyword and no assignment by accident.
    pub quoted: bool,
}

/// What ends a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// `;`, a new line, or the end.
    Next,
    /// `&`
    Background,
    And,
    Or,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Simple(Vec<Word>),
    /// The commands of a pipe, and whether `!` turns its status around.
    Pipe(Vec<Node>, bool),
    /// `( … )` or `{ …; }`: the status of the list is its own.
    Group {
        list: List,
        subshell: bool,
    },
    /// `if`, `for`, `while`: which of its commands ran is not known.
    Compound(List),
}

pub(super) type List = Vec<(Node, Then)>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(Word),
    Op(&'static str),
}

pub(super) struct Parsed {
    pub list: List,
    /// The text ended in the middle of something.
    pub broken: bool,
}

pub(super) fn parse(text: &str) -> Parsed {
    let mut lexer = Lexer { chars: text.chars().collect(), at: 0, broken: false, heredocs: Vec::new() };
    let tokens = lexer.tokens();
    let mut parser = Parser { tokens, at: 0, broken: lexer.broken };
    let mut list = parser.list(0);
    // A bracket too many: what follows is read too, as something that nothing is sure of.
    while parser.at < parser.tokens.len() {
        parser.broken = true;
        parser.at += 1;
        list.extend(parser.list(0));
    }
    Parsed { list, broken: parser.broken }
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

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    broken: bool,
}

/// Words that end a list inside a compound command.
const ENDS: &[&str] = &["then", "do", "else", "elif", "fi", "done", "esac", "}"];

impl Parser {
    fn op(&self) -> Option<&'static str> {
        match self.tokens.get(self.at) {
            Some(Token::Op(op)) => Some(op),
            _ => None,
        }
    }

    fn keyword(&self) -> Option<&str> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) if !word.quoted => Some(&word.text),
            _ => None,
        }
    }

    fn list(&mut self, depth: usize) -> List {
        let mut list = List::new();
        loop {
            while matches!(self.op(), Some(";" | ";;" | "&")) {
                self.at += 1;
            }
            if self.at >= self.tokens.len() || self.op() == Some(")") {
                return list;
            }
            if self.keyword().is_some_and(|word| ENDS.contains(&word)) {
                return list;
            }
            let before = self.at;
            let node = self.pipe(depth);
            let then = match self.op() {
                Some("&&") => Then::And,
                Some("||") => Then::Or,
                Some("&") => Then::Background,
                _ => Then::Next,
            };
            self.at += usize::from(matches!(self.op(), Some("&&" | "||" | "&" | ";" | ";;")));
            list.push((node, then));
            if matches!(then, Then::And | Then::Or) {
                while self.op() == Some(";") {
                    self.at += 1;
                }
            }
            if self.at == before {
                self.broken = true;
                self.at += 1;
            }
        }
    }

    fn pipe(&mut self, depth: usize) -> Node {
        let mut negated = false;
        while self.keyword() == Some("!") {
            negated = !negated;
            self.at += 1;
        }
        let mut parts = vec![self.command(depth)];
        while matches!(self.op(), Some("|" | "|&")) {
            self.at += 1;
            while self.op() == Some(";") {
                self.at += 1;
            }
            parts.push(self.command(depth));
        }
        match (parts.len(), negated) {
            (1, false) => parts.remove(0),
            _ => Node::Pipe(parts, negated),
        }
    }

    fn command(&mut self, depth: usize) -> Node {
        if depth >= MAX_DEPTH {
            self.broken = true;
            self.at = self.tokens.len();
            return Node::Simple(Vec::new());
        }
        if self.op() == Some("(") {
            self.at += 1;
            let list = self.list(depth + 1);
            self.broken |= self.op() != Some(")");
            self.at += 1;
            return Node::Group { list, subshell: true };
        }
        match self.keyword() {
            Some("{") => {
                self.at += 1;
                let list = self.list(depth + 1);
                self.broken |= self.keyword() != Some("}");
                self.at += 1;
                Node::Group { list, subshell: false }
            }
            Some("if" | "while" | "until" | "for" | "select") => self.compound(depth),
            Some("case") => self.skip_case(),
            Some("function") => self.function(depth, 2),
            _ => self.simple(depth),
        }
    }

    /// The lists of `if … then … else … fi` and of loops, one after the other.
    fn compound(&mut self, depth: usize) -> Node {
        if matches!(self.keyword(), Some("for" | "select")) {
            // The words that are gone through run nothing.
            while self.at < self.tokens.len() && self.op() != Some(";") && self.keyword() != Some("do") {
                self.at += 1;
            }
        } else {
            self.at += 1;
        }
        let mut list = List::new();
        loop {
            list.extend(self.list(depth + 1));
            match self.keyword() {
                Some("then" | "do" | "else" | "elif") => self.at += 1,
                Some("fi" | "done") => {
                    self.at += 1;
                    return Node::Compound(list);
                }
                _ => {
                    self.broken = true;
                    return Node::Compound(list);
                }
            }
        }
    }

    /// What `case` chooses is not known, and its patterns look like anything.
    fn skip_case(&mut self) -> Node {
        while self.at < self.tokens.len() && self.keyword() != Some("esac") {
            self.at += 1;
        }
        self.at += 1;
        Node::Simple(Vec::new())
    }

    /// The definition of a function runs nothing.
    fn function(&mut self, depth: usize, words: usize) -> Node {
        self.at += words;
        while matches!(self.op(), Some("(" | ")" | ";")) {
            self.at += 1;
        }
        self.command(depth + 1);
        Node::Simple(Vec::new())
    }

    fn simple(&mut self, depth: usize) -> Node {
        let mut words = Vec::new();
        while let Some(Token::Word(word)) = self.tokens.get(self.at) {
            words.push(word.clone());
            self.at += 1;
        }
        if words.len() == 1 && self.op() == Some("(") {
            return self.function(depth, 0);
        }
        Node::Simple(words)
    }
}
