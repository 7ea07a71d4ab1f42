//! Tests of Ruby: examples of RSpec, methods `test_…` of Minitest, `test "…" do` of Rails.

use super::{Containers, Sheet, Test, line_end};
use crate::tamper::lex::{Kind, Tokens};
use crate::tamper::path;
use std::ops::Range;

const GROUPS: &[&str] = &["describe", "context", "feature", "xdescribe", "xcontext", "fdescribe", "fcontext"];
const TESTS: &[&str] = &[
    "it",
    "specify",
    "example",
    "scenario",
    "test",
    "should",
    "xit",
    "xspecify",
    "xexample",
    "xscenario",
    "fit",
    "fspecify",
    "fexample",
    "focus",
];

pub(super) fn read(sheet: &mut Sheet, file: &str) {
    let tokens = std::mem::take(&mut sheet.tokens);
    let (test_file, collected) = (path::is_test(file), path::is_collected(file));
    let mut around = Containers::new(test_file, None, Vec::new());
    let mut at = 0;
    while at < tokens.list.len() {
        around.leave(at);
        if !tokens.list[at].first {
            at += 1;
            continue;
        }
        // `RSpec.describe`.
        let at_word = if tokens.is(at + 1, ".") && tokens.word(at) == Some("RSpec") { at + 2 } else { at };
        let word = tokens.word(at_word).unwrap_or_default().to_owned();
        let line = tokens.list[at].line;
        let head = at..line_end(&tokens, at);
        let off =
            (word.starts_with('x') || marked(&tokens, head.clone(), &["skip", "pending"])).then_some(line);
        let focus = ["fit", "fdescribe", "fcontext", "fspecify", "fexample", "focus"]
            .contains(&word.as_str())
            || marked(&tokens, head.clone(), &["focus"]);
        let opens = tokens
            .get(at_word + 1)
            .is_some_and(|next| next.kind == Kind::Text || next.is("(") || next.is("{") || next.is("do"));
        if collected && GROUPS.contains(&word.as_str()) {
            around.enter(end(&tokens, at), off, false, Vec::new());
            focus.then(|| sheet.focused.push((line, word.clone())));
        } else if collected && TESTS.contains(&word.as_str()) && opens {
            let end = end(&tokens, at);
            let name = tokens.part(at_word + 1..head.end).iter().find(|token| token.kind == Kind::Text);
            let name = name.map_or_else(|| format!("{word} (line by line)"), |token| token.text.clone());
            focus.then(|| sheet.focused.push((line, name.clone())));
            push(sheet, &tokens, (name, line, around.last().skipped.or(off)), at..end, head.end);
            at = end;
            continue;
        } else if word == "def" {
            let name_at = if tokens.is(at_word + 2, ".") { at_word + 3 } else { at_word + 1 };
            let name = tokens.word(name_at).unwrap_or_default().to_owned();
            let end = end(&tokens, at);
            if collected && name.starts_with("test_") {
                push(sheet, &tokens, (name, line, around.last().skipped), at..end, head.end);
            } else if test_file {
                sheet.helpers.push((name, at..end));
            } else {
                sheet.defines.push(name);
            }
            at = end;
            continue;
        } else if (word == "class" || word == "module") && !test_file {
            sheet.defines.extend(tokens.word(at_word + 1).map(str::to_owned));
        }
        at += 1;
    }
    sheet.tokens = tokens;
}

fn push(
    sheet: &mut Sheet,
    tokens: &Tokens,
    known: (String, usize, Option<usize>),
    extent: Range<usize>,
    head: usize,
) {
    let (name, line, skipped) = known;
    let body = head.min(extent.end)..extent.end;
    let body = if body.is_empty() { extent.clone() } else { body };
    let skipped = skipped.or_else(|| off_by_statement(tokens, body.clone()));
    sheet.tests.push(Test { name, line, extent, body, skipped, gates: Vec::new() });
}

/// Behind the `end` (or bracket) that closes what starts at this line: by its indentation.
fn end(tokens: &Tokens, at: usize) -> usize {
    let (line, indent) = (tokens.list[at].line, tokens.list[at].indent);
    let one_line = line_end(tokens, at);
    let same_line = tokens.part(at..one_line);
    let opens = same_line.iter().any(|token| token.is("do") || token.is("def") || token.is("{"));
    let closes = same_line.last().is_some_and(|token| token.is("end") || token.is("}"));
    if !opens || closes {
        return one_line;
    }
    let mut behind = tokens.list.iter().enumerate().skip(at + 1);
    behind
        .find(|(_, token)| token.line > line && token.indent <= indent && (token.is("end") || token.is("}")))
        .map_or(tokens.list.len(), |(place, _)| place + 1)
}

/// `skip: true`, `:skip` in the words before the block.
fn marked(tokens: &Tokens, head: Range<usize>, names: &[&str]) -> bool {
    head.clone().any(|at| {
        let named = tokens.word(at).is_some_and(|word| names.contains(&word));
        let symbol = at > 0
            && tokens.is(at - 1, ":")
            && (tokens.is(at + 1, "do") || tokens.is(at + 1, ",") || tokens.is(at + 1, ")"));
        let key = tokens.is(at + 1, ":")
            && tokens.get(at + 2).is_some_and(|value| value.is("true") || value.kind == Kind::Text);
        named && at > head.start && (symbol || key)
    })
}

/// `skip "why"` as a statement of the body itself, without `if` behind it.
fn off_by_statement(tokens: &Tokens, body: Range<usize>) -> Option<usize> {
    let indent = tokens.get(body.start)?.indent;
    let mut lines = body.filter(|at| tokens.list[*at].first && tokens.list[*at].indent == indent);
    let found = lines.find(|at| {
        let line = tokens.part(*at..line_end(tokens, *at));
        matches!(line[0].word(), Some("skip" | "pending"))
            && !line
                .iter()
                .any(|token| token.is("if") || token.is("unless") || token.is("=") || token.is("."))
    });
    found.map(|at| tokens.list[at].line)
}
