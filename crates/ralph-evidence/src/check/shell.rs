//! Enough of a shell's grammar to tell which programs a command line runs, and whose status is the status of the whole.
//!
//! Nothing is expanded. What cannot be read (an unclosed quote, a text that was cut) is read as far as it goes.

mod lexer;

use lexer::Token;

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
    /// The definition of a function, or a `case`: nothing that is known runs, and what it does to the shell is not read.
    Unread,
}

pub(super) type List = Vec<(Node, Then)>;

pub(super) struct Parsed {
    pub list: List,
    /// The text ended in the middle of something.
    pub broken: bool,
}

pub(super) fn parse(text: &str) -> Parsed {
    let (tokens, broken) = lexer::tokens(text);
    let mut parser = Parser { tokens, at: 0, broken };
    let mut list = parser.list(0);
    // A bracket too many: what follows is read too, as something that nothing is sure of.
    while parser.at < parser.tokens.len() {
        parser.broken = true;
        parser.at += 1;
        list.extend(parser.list(0));
    }
    Parsed { list, broken: parser.broken }
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
        Node::Unread
    }

    /// The definition of a function runs nothing.
    fn function(&mut self, depth: usize, words: usize) -> Node {
        self.at += words;
        while matches!(self.op(), Some("(" | ")" | ";")) {
            self.at += 1;
        }
        self.command(depth + 1);
        Node::Unread
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
