//! Cases that are gone from a table, while nothing else of the test changed.

use super::super::lex::Token;
use super::account::Account;
use super::{ComparedTest, cut, finding};
use ralph_core::tampering::{Finding, Tampering};

/// Only where the test of now is the test of before with something left out: a rewritten one is judged by its asserts.
pub(super) fn lost(old: &ComparedTest, new: &ComparedTest, account: &Account) -> Option<Finding> {
    let texts = |test: &ComparedTest| test.real.iter().map(|assert| assert.text.clone()).collect::<Vec<_>>();
    if texts(old) != texts(new) || old.is_loose() {
        return None;
    }
    let of = |test: &ComparedTest| test.places().collect::<Vec<_>>();
    let (before, after) = (of(old), of(new));
    let mut rest = after.iter().peekable();
    let mut gone: Vec<&Token> = Vec::new();
    for at in before {
        let token = &old.sheet.tokens.list[at];
        match rest.next_if(|now| new.sheet.tokens.list[**now].key() == token.key()) {
            Some(_) => {}
            None => gone.push(token),
        }
    }
    let brackets = gone.iter().any(|token| ["(", "[", "{"].iter().any(|sign| token.is(sign)));
    let literals = gone.iter().filter(|token| token.is_literal()).count();
    // A statement that is gone is no case.
    let words = gone.iter().filter(|token| token.word().is_some()).count();
    if rest.next().is_some() || !brackets || literals < 2 || words > literals || account.has_case(&gone, old)
    {
        return None;
    }
    let text: Vec<String> = gone.iter().map(|token| token.key()).collect();
    let detail = format!("`{}` no longer has the case `{}`", new.test.name, cut(&text.join(" ")));
    Some(finding(Tampering::TestRemoved, new.file, new.test.line, detail))
}
