//! Tests of shell: `@test "…" {` of bats, functions `test…` of shunit2 and its like.

use super::{Sheet, Test, line_end};
use crate::tamper::lex::{Kind, Tokens};
use crate::tamper::path;

pub(super) fn read(sheet: &mut Sheet, file: &str) {
    let tokens = std::mem::take(&mut sheet.tokens);
    let test_file = path::is_test(file) || file.ends_with(".bats");
    let mut at = 0;
    while at < tokens.list.len() {
        let line = tokens.list[at].line;
        let bats = tokens.is(at, "@test") && tokens.get(at + 1).is_some_and(|name| name.kind == Kind::Text);
        let name_at = if bats || tokens.word(at) == Some("function") { at + 1 } else { at };
        let function =
            tokens.is(name_at + 1, "(") && tokens.is(name_at + 2, ")") && tokens.is(name_at + 3, "{");
        if !tokens.list[at].first || !(bats || function) {
            at += 1;
            continue;
        }
        let open = (name_at..tokens.list.len()).find(|at| tokens.is(*at, "{")).unwrap_or(name_at);
        let end = end(&tokens, at, open);
        let name = tokens.list[name_at].text.clone();
        let body = open + 1..end.saturating_sub(1).max(open + 1);
        if bats || test_file && name.to_ascii_lowercase().starts_with("test") {
            let indent = tokens.get(body.start).map_or(0, |token| token.indent);
            let mut lines =
                body.clone().filter(|at| tokens.list[*at].first && tokens.list[*at].indent == indent);
            let skipped = lines.find(|at| {
                let whole = tokens.part(*at..line_end(&tokens, *at));
                matches!(whole[0].word(), Some("skip" | "startSkipping"))
                    && !whole.iter().any(|token| token.is("&&"))
            });
            let skipped = skipped.map(|at| tokens.list[at].line);
            sheet.tests.push(Test { name, line, extent: at..end, body, skipped, gates: Vec::new() });
        } else if test_file {
            sheet.helpers.push((name, at..end));
        } else {
            sheet.defines.push(name);
        }
        at = end.max(at + 1);
    }
    sheet.tokens = tokens;
}

/// Behind the `}` of a function: a brace of its own line, indented no further than the function.
fn end(tokens: &Tokens, at: usize, open: usize) -> usize {
    let (line, indent) = (tokens.list[at].line, tokens.list[at].indent);
    let close = tokens.close(open);
    if tokens.opens(open) && tokens.list[close].line == line {
        return close + 1;
    }
    let mut behind = tokens.list.iter().enumerate().skip(open + 1);
    behind
        .find(|(_, token)| token.line > line && token.indent <= indent && token.is("}"))
        .map_or(tokens.list.len(), |(place, _)| place + 1)
}
