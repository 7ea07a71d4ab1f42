//! The asserts in a stretch of a test: where they are, what they compare, and whether they can fail at all.

use super::dead::dead;
use super::lex::{Kind, Token, Tokens};
use super::path::Language;
use super::sheet::line_end;
use std::collections::BTreeSet;
use std::ops::Range;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assert {
    pub line: usize,
    pub range: Range<usize>,
    /// What tells it from others, whatever its white space.
    pub text: String,
    /// The values in it.
    pub literals: Vec<String>,
    /// The names in it that are the program's or the test's own.
    pub words: BTreeSet<String>,
    /// It cannot fail.
    pub constant: bool,
}

/// All asserts that run, in order.
pub(super) fn asserts(tokens: &Tokens, range: Range<usize>, language: Language) -> Vec<Assert> {
    let dead = dead(tokens, range.clone(), language);
    let mut found: Vec<Assert> = Vec::new();
    let mut at = range.start;
    while at < range.end.min(tokens.list.len()) {
        if let Some(gone) = dead.iter().find(|gone| gone.contains(&at)) {
            at = gone.end;
            continue;
        }
        let Some(part) = assert_at(tokens, at, language, &range) else {
            at += 1;
            continue;
        };
        at = part.end.max(at + 1);
        found.push(read(tokens, part, language));
    }
    found
}

fn read(tokens: &Tokens, range: Range<usize>, language: Language) -> Assert {
    let part = tokens.part(range.clone());
    let words = part.iter().enumerate().filter_map(|(place, token)| {
        let word = token.word()?;
        let member = place > 0 && part[place - 1].is(".");
        (!(is_neutral(word) || member && is_matcher(word))).then(|| word.to_owned())
    });
    Assert {
        line: part.first().map_or(0, |token| token.line),
        text: part.iter().map(Token::key).collect::<Vec<_>>().join(" "),
        literals: part.iter().filter(|token| token.is_literal()).map(|token| token.text.clone()).collect(),
        words: words.collect(),
        constant: is_constant(tokens, &range, language) || is_guarded(tokens, &range, language),
        range,
    }
}

/// Whether a call of this name is taken for an assert wherever it stands.
pub(super) fn is_counted(name: &str, language: Language) -> bool {
    match language {
        Language::Shell => is_shell_check(name),
        _ => is_assert(name),
    }
}

/// The call of a helper at this place.
pub(super) fn helper_call(tokens: &Tokens, at: usize, language: Language) -> Option<Assert> {
    let starts = tokens.list[at].first
        || at > 0
            && [";", "&&", "||", "{", "then", "do", "!", "run"].iter().any(|sign| tokens.is(at - 1, sign));
    let range = match language {
        Language::Shell => (starts && !tokens.is(at + 1, "(")).then(|| at..line_end(tokens, at))?,
        Language::Ruby if !tokens.is(at + 1, "(") => starts.then(|| at..line_end(tokens, at))?,
        _ => tokens.is(at + 1, "(").then(|| at..chain_end(tokens, at))?,
    };
    Some(read(tokens, range, language))
}

/// The assert that starts here: from its word to its end.
fn assert_at(tokens: &Tokens, at: usize, language: Language, within: &Range<usize>) -> Option<Range<usize>> {
    let word = tokens.word(at)?;
    let range = match language {
        Language::Shell => shell_command(tokens, at).then(|| at..line_end(tokens, at))?,
        Language::Python | Language::Ruby => {
            let raises = ["raises", "warns", "fail"].contains(&word) && tokens.is(at + 1, "(");
            let statement = word == "assert" && language == Language::Python;
            let called = counts(tokens, at, language)
                && (tokens.is(at + 1, "(")
                    || tokens.is(at + 1, "{")
                    || language == Language::Ruby && !tokens.is(at + 1, "="));
            let defined = at > 0 && ["def", "import", "class"].iter().any(|word| tokens.is(at - 1, word));
            ((statement || called || raises) && !defined).then(|| at..line_end(tokens, at))?
        }
        Language::Go if go_failure(tokens, at) => condition(tokens, at, within),
        _ => {
            let macro_call = language == Language::Rust && tokens.is(at + 1, "!");
            let go_library = language == Language::Go && word == "require";
            let member = tokens.is(at + 1, ".") && (word == "assert" || go_library || word == "expect");
            // Kotlin: `assertFailsWith<E> { … }`.
            let typed = language == Language::Java && (tokens.is(at + 1, "<") || tokens.is(at + 1, "{"));
            let infix = language == Language::Java && word.starts_with("should");
            let called = (go_library || counts(tokens, at, language))
                && (macro_call || member || typed || tokens.is(at + 1, "("));
            let tap = language == Language::Script && tap_method(tokens, at);
            let fails = language == Language::Java && word == "fail" && tokens.is(at + 1, "(");
            let property =
                language == Language::Script && word == "should" && at > 0 && tokens.is(at - 1, ".");
            let defined = at > 0
                && ["fn", "func", "function", "fun", "void", "import"]
                    .iter()
                    .any(|word| tokens.is(at - 1, word));
            if defined || !(called || infix || tap || fails || property) {
                return None;
            }
            if infix || property || typed {
                whole_line(tokens, at)
            } else {
                at..chain_end(tokens, at + usize::from(macro_call))
            }
        }
    };
    Some(range.start..range.end.min(within.end))
}

/// Whether the word here is an assert. A name that may as well be the program's counts where its result is not used.
fn counts(tokens: &Tokens, at: usize, language: Language) -> bool {
    let word = tokens.word(at).unwrap_or_default();
    let method = at > 0 && tokens.is(at - 1, ".");
    let vague =
        ["verify", "check", "ensure"].iter().any(|start| word.to_ascii_lowercase().starts_with(start));
    let alone = at == 0
        || [";", "{", "}"].iter().any(|sign| tokens.is(at - 1, sign))
        || tokens.list[at].first
        || tokens.list[at - 1].line < tokens.list[at].line && !tokens.is(at - 1, "=")
        || method && at > 1 && tokens.list[at - 2].first;
    let unwraps = language == Language::Rust && method && word.starts_with("expect");
    is_assert(word) && !unwraps && (!vague || alone)
}

/// Words that begin an assert in one library or another.
pub(super) fn is_assert(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    [
        "assert",
        "debug_assert",
        "prop_assert",
        "refute",
        "expect",
        "verify",
        "must_",
        "wont_",
        "check_",
        "ensure",
    ]
    .iter()
    .any(|start| lower.starts_with(start))
        || ["should", "is_expected", "check"].contains(&word)
}

/// `t.equal(…)` and its like in tap, ava and tape.
fn tap_method(tokens: &Tokens, at: usize) -> bool {
    const METHODS: &[&str] = &[
        "is",
        "not",
        "equal",
        "equals",
        "same",
        "deepEqual",
        "strictEqual",
        "ok",
        "true",
        "false",
        "truthy",
        "falsy",
        "throws",
        "notThrows",
        "match",
        "like",
        "snapshot",
        "regex",
        "error",
        "rejects",
        "notEqual",
        "fail",
    ];
    tokens.word(at) == Some("t")
        && tokens.is(at + 1, ".")
        && tokens.word(at + 2).is_some_and(|word| METHODS.contains(&word))
        && tokens.is(at + 3, "(")
}

fn go_failure(tokens: &Tokens, at: usize) -> bool {
    tokens.is(at + 1, ".")
        && tokens.is(at + 3, "(")
        && tokens
            .word(at + 2)
            .is_some_and(|word| ["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"].contains(&word))
}

/// The condition of the `if` around this place; the call itself where there is none.
fn condition(tokens: &Tokens, at: usize, within: &Range<usize>) -> Range<usize> {
    let open = (within.start..at).rev().find(|place| tokens.is(*place, "{") && tokens.close(*place) > at);
    let head = open.and_then(|open| {
        let stop =
            |place: &usize| ["{", "}"].iter().any(|sign| tokens.is(*place, sign)) || tokens.is(*place, "if");
        let start = (within.start..open).rev().find(stop)?;
        tokens.is(start, "if").then_some(start..open)
    });
    // The range has to reach past the call, or it would be read again; its text is the condition's.
    head.map_or(at..tokens.close(at + 3) + 1, |head| head.start..head.end.max(head.start + 1))
}

/// Behind `name(…)`, and behind what is chained to it.
pub(super) fn chain_end(tokens: &Tokens, at: usize) -> usize {
    let mut end = at + 1;
    loop {
        // Braces are arguments of a macro only; else they are a block.
        if tokens.opens(end) && (!tokens.is(end, "{") || tokens.is(end - 1, "!")) {
            end = tokens.close(end) + 1;
        } else if (tokens.is(end, ".") || tokens.is(end, "::")) && tokens.word(end + 1).is_some() {
            end += 2;
        } else {
            return end.min(tokens.list.len());
        }
    }
}

fn whole_line(tokens: &Tokens, at: usize) -> Range<usize> {
    let line = tokens.list[at].line;
    let start = (0..at).rev().find(|place| tokens.list[*place].line < line).map_or(0, |place| place + 1);
    let mut end = at;
    while end < tokens.list.len() && tokens.list[end].line == line {
        end = if tokens.opens(end) { tokens.close(end) } else { end } + 1;
    }
    start..end.min(tokens.list.len())
}

/// A command that fails when something is not as expected.
fn shell_command(tokens: &Tokens, at: usize) -> bool {
    let word = tokens.word(at).unwrap_or_default();
    let lower = word.to_ascii_lowercase();
    let checks = ["[", "[[", "test", "diff", "cmp", "grep"].contains(&word) || is_shell_check(&lower);
    let starts = tokens.list[at].first
        || at > 0
            && [";", "&&", "||", "{", "(", "then", "do", "!", "if", "|"]
                .iter()
                .any(|sign| tokens.is(at - 1, sign));
    checks && starts && !tokens.is(at + 1, "(")
}

fn is_shell_check(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["assert", "refute", "expect", "verify", "check_"].iter().any(|start| lower.starts_with(start))
}

/// Asserts of libraries, in small letters and without lines: what they do is known. Another function of such a name may
/// check anything.
const LIBRARY: &[&str] = &[
    "assert",
    "asserteq",
    "assertne",
    "assertequal",
    "assertequals",
    "assertnotequal",
    "assertnotequals",
    "asserttrue",
    "assertfalse",
    "assertnull",
    "assertnotnull",
    "assertnil",
    "assertnotnil",
    "assertis",
    "assertisnot",
    "assertisnone",
    "assertisnotnone",
    "assertin",
    "assertnotin",
    "assertgreater",
    "assertgreaterequal",
    "assertless",
    "assertlessequal",
    "assertsame",
    "assertnotsame",
    "assertthat",
    "assertarrayequals",
    "assertarrayequal",
    "assertalmostequal",
    "assertallclose",
    "assertcountequal",
    "assertdictequal",
    "assertlistequal",
    "assertinclude",
    "assertempty",
    "assertnot",
    "debugassert",
    "debugasserteq",
    "debugassertne",
    "propassert",
    "propasserteq",
    "expect",
    "refute",
    "refuteequal",
    "refutenil",
    "require",
    "t",
    "if",
];

pub(super) fn is_library(word: &str) -> bool {
    LIBRARY.contains(&word.to_ascii_lowercase().replace('_', "").as_str())
}

const NEUTRAL: &[&str] = &[
    "true",
    "false",
    "True",
    "False",
    "None",
    "null",
    "nil",
    "undefined",
    "NaN",
    "and",
    "or",
    "not",
    "is",
    "in",
    "if",
    "unless",
    "self",
    "this",
    "t",
    "Some",
    "Ok",
    "vec",
    "await",
    "return",
    "to",
    "not_to",
    "eq",
    "eql",
    "equal",
    "be",
    "Assert",
    "Assertions",
    "chai",
    "unittest",
    "pytest",
    "cls",
    "insta",
    "std",
    "require",
    "new",
];

/// Whether a word says nothing about what is tested.
pub(super) fn is_neutral(word: &str) -> bool {
    NEUTRAL.contains(&word) || is_assert(word) || word.starts_with("be_") || word.len() == 1 && word != "x"
}

fn is_matcher(word: &str) -> bool {
    [
        "to", "is", "not", "be", "equal", "deep", "strict", "ok", "have", "eq", "contain", "include",
        "match", "raise", "True", "False", "Equal",
    ]
    .iter()
    .any(|start| word.starts_with(start))
}

fn is_constant(tokens: &Tokens, range: &Range<usize>, language: Language) -> bool {
    let part = tokens.part(range.clone());
    if language == Language::Shell {
        return shell_constant(part);
    }
    let receiver = range.start > 1
        && tokens.is(range.start - 1, ".")
        && tokens.word(range.start - 2).is_some_and(|word| !is_neutral(word));
    if receiver {
        return false;
    }
    if never_false(part) || equal_sides(tokens, range) {
        return true;
    }
    let speaks = part.iter().any(|token| {
        token.is_literal() || ["true", "false", "True", "False", "None"].iter().any(|word| token.is(word))
    });
    let live = part.iter().enumerate().any(|(place, token)| match token.kind {
        Kind::Word => {
            let member = place > 0 && part[place - 1].is(".");
            let single = token.text.len() == 1 && token.text != "t";
            single || !(is_neutral(&token.text) || member && is_matcher(&token.text))
        }
        Kind::Text => token.text.contains("${") || token.text.contains("#{") || token.text.contains('{'),
        _ => false,
    });
    // `fail("…")` always fails: that is no way to pass.
    let fails =
        part.first().is_some_and(|token| ["fail", "raises", "warns"].iter().any(|word| token.is(word)));
    let known = part.first().and_then(Token::word).is_none_or(is_library);
    (speaks && !live || is_tuple(tokens, range, language)) && known && !fails && part.len() > 1
}

/// `assert (x == 4, "why")`: a tuple that has something in it is always true.
fn is_tuple(tokens: &Tokens, range: &Range<usize>, language: Language) -> bool {
    if language != Language::Python || !tokens.is(range.start, "assert") || !tokens.is(range.start + 1, "(") {
        return false;
    }
    let close = tokens.close(range.start + 1);
    let whole = close + 1 >= range.end || tokens.is(close + 1, ",");
    let inner = split(tokens, range.start + 2..close, |at| tokens.is(at, ","));
    let comma = (range.start + 2..close).any(|at| tokens.is(at, ",")) && inner.len() > 1;
    let generator = (range.start + 2..close).any(|at| tokens.is(at, "for"));
    whole && comma && !generator
}

/// `if f(2) == 4 { assert_eq!(f(2), 4) }`: it is asked only where it holds.
fn is_guarded(tokens: &Tokens, range: &Range<usize>, language: Language) -> bool {
    if [Language::Python, Language::Ruby, Language::Shell].contains(&language) || tokens.is(range.start, "if")
    {
        return false;
    }
    let from = range.start.saturating_sub(60);
    let open = (from..range.start).rev().find(|at| tokens.is(*at, "{") && tokens.close(*at) > range.start);
    let head = open.and_then(|open| {
        let start =
            (from..open).rev().find(|at| [";", "{", "}", "if"].iter().any(|sign| tokens.is(*at, sign)))?;
        tokens.is(start, "if").then_some(start..open)
    });
    let Some(head) = head else { return false };
    let keys = |side: &Range<usize>| tokens.part(side.clone()).iter().map(Token::key).collect::<Vec<_>>();
    let inner = match tokens.is(head.start + 1, "(") && tokens.close(head.start + 1) + 1 == head.end {
        true => head.start + 2..head.end - 1,
        false => head.start + 1..head.end,
    };
    let equal = |at: usize| ["==", "==="].iter().any(|sign| tokens.is(at, sign));
    let (Some((left, right)), Some((one, other))) = (two(split(tokens, inner, equal)), sides(tokens, range))
    else {
        return false;
    };
    let (left, right, one, other) = (keys(&left), keys(&right), keys(&one), keys(&other));
    (left == one && right == other || left == other && right == one) && !left.is_empty()
}

/// `… or True` at the end of a condition.
fn never_false(part: &[Token]) -> bool {
    part.windows(2).enumerate().any(|(at, pair)| {
        let or = pair[0].is("or") || pair[0].is("||");
        let yes = ["True", "true", "1"].iter().any(|word| pair[1].is(word));
        let ends = part.get(at + 2).is_none_or(|next| [")", ",", ";", ":"].iter().any(|sign| next.is(sign)));
        or && yes && ends
    })
}

/// Both sides of a comparison are the same text.
fn equal_sides(tokens: &Tokens, range: &Range<usize>) -> bool {
    sides(tokens, range).is_some_and(|(left, right)| {
        let keys = |side: &Range<usize>| tokens.part(side.clone()).iter().map(Token::key).collect::<Vec<_>>();
        !left.is_empty() && keys(&left) == keys(&right)
    })
}

fn shell_constant(part: &[Token]) -> bool {
    let options = ["-eq", "-ne", "-lt", "-gt", "-le", "-ge", "-n", "-z"];
    let bracket = part.first().is_some_and(|token| ["[", "[[", "test"].iter().any(|word| token.is(word)));
    let equal = part.first().is_some_and(|token| token.is("assert") || token.is("assert_equal"));
    let closed =
        part.iter().position(|token| token.is("]") || token.is("]]")).map_or(part, |end| &part[..end]);
    let swallowed = part.windows(2).any(|pair| pair[0].is("||") && (pair[1].is("true") || pair[1].is(":")));
    swallowed
        || (bracket || equal)
            && closed.len() > 1
            && closed[1..].iter().all(|token| {
                !token.text.contains(['$', '`', '/', '.'])
                    && (!token.text.starts_with('-') || options.contains(&token.text.as_str()))
            })
}

/// What an assert of equality compares: two ranges of tokens.
pub(super) fn sides(tokens: &Tokens, range: &Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
    let comparison = |at: usize| ["==", "===", "is", "!=", "!==", "="].iter().any(|sign| tokens.is(at, sign));
    let part = range.start..range.end;
    let called = ["(", ".", "!"].iter().any(|sign| tokens.is(range.start + 1, sign));
    let statement = tokens.word(range.start) == Some("assert") && !called
        || tokens.word(range.start) == Some("if")
        || ["[", "[[", "test"].iter().any(|word| tokens.is(range.start, word));
    if statement {
        let end = split(tokens, part.start + 1..part.end, |at| {
            tokens.is(at, ",") || tokens.is(at, "]") || tokens.is(at, "]]")
        })[0]
            .end;
        // `if got := f(); got != 4`.
        let start = (part.start..end).rev().find(|at| tokens.is(*at, ";")).unwrap_or(part.start) + 1;
        return two(split(tokens, start..end, comparison));
    }
    let open = (part.start..part.end).find(|at| tokens.is(*at, "(") && tokens.opens(*at))?;
    let close = tokens.close(open);
    let args = split(tokens, open + 1..close, |at| tokens.is(at, ","));
    let chained = (close + 1..part.end).find(|at| tokens.opens(*at) && tokens.is(*at, "("));
    let name: String =
        tokens.part(part.start..open).iter().map(|token| token.text.to_ascii_lowercase()).collect();
    let matcher: String = tokens
        .part(close..chained.unwrap_or(part.end))
        .iter()
        .map(|token| token.text.to_ascii_lowercase())
        .collect();
    let equality = |name: &str| {
        ["equal", "_eq", "tobe", "is(", "same", ".is", "eq", "tostrictequal"]
            .iter()
            .any(|part| name.contains(part))
    };
    if let Some(chained) = chained.filter(|_| equality(&matcher)) {
        let inner = split(tokens, chained + 1..tokens.close(chained), |at| tokens.is(at, ","));
        return Some((args.first()?.clone(), inner.first()?.clone()));
    }
    match args.len() {
        1 => two(split(tokens, args[0].clone(), comparison)),
        // A message may stand in front, of a text.
        3 if tokens.get(args[0].start).is_some_and(|token| token.kind == Kind::Text) && equality(&name) => {
            Some((args[1].clone(), args[2].clone()))
        }
        2.. if equality(&name) => Some((args[0].clone(), args[1].clone())),
        2.. => two(split(tokens, args[0].clone(), comparison)),
        _ => None,
    }
}

fn two(parts: Vec<Range<usize>>) -> Option<(Range<usize>, Range<usize>)> {
    <[Range<usize>; 2]>::try_from(parts).ok().map(|[left, right]| (left, right))
}

/// The range cut at the places outside brackets where this holds. At least one part.
fn split(tokens: &Tokens, range: Range<usize>, is: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (range.start, range.start);
    while at < range.end {
        if is(at) {
            parts.push(start..at);
            start = at + 1;
        }
        at = if tokens.opens(at) { tokens.close(at).max(at) } else { at } + 1;
    }
    if start < range.end || parts.is_empty() {
        parts.push(start..range.end.max(start));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, language: Language) -> Vec<(usize, bool)> {
        let tokens = Tokens::read(text, language);
        let all = asserts(&tokens, 0..tokens.list.len(), language);
        all.iter().map(|assert| (assert.line, assert.constant)).collect()
    }

    #[test]
    fn asserts_of_every_language_are_found() {
        for (text, language) in [
            ("assert_eq!(f(2), 4);", Language::Rust),
            ("cmd.assert().success().stdout(\"x\");", Language::Rust),
            ("assert f(2) == 4, 'why'", Language::Python),
            ("self.assertEqual(f(2), 4)", Language::Python),
            ("with pytest.raises(ValueError):\n    f()", Language::Python),
            ("mock.assert_called_with(3)", Language::Python),
            ("expect(f(2)).not.toBe(4)", Language::Script),
            ("assert.strictEqual(f(2), 4)", Language::Script),
            ("t.is(f(2), 4)", Language::Script),
            ("if got := Add(2, 2); got != 4 { t.Errorf(\"got %d\", got) }", Language::Go),
            ("require.NoError(t, err)", Language::Go),
            ("assertThat(f(2)).isEqualTo(4);", Language::Java),
            ("f(2) shouldBe 4", Language::Java),
            ("expect(f(2)).to eq 4", Language::Ruby),
            ("assert_equal 4, f(2)", Language::Ruby),
            ("[ \"$out\" = 4 ]", Language::Shell),
            ("diff want.txt got.txt", Language::Shell),
        ] {
            assert_eq!(found(text, language), [(1, false)], "{text}");
        }
    }

    #[test]
    fn what_cannot_fail_is_constant() {
        for (text, language) in [
            ("assert!(true);", Language::Rust),
            ("assert_eq!(2 + 2, 4, \"fine\");", Language::Rust),
            ("assert_eq!(total, total);", Language::Rust),
            ("assert!(f(2) == 4 || true);", Language::Rust),
            ("assert True", Language::Python),
            ("assert f(2) == 4 or True", Language::Python),
            ("self.assertEqual(1, 1)", Language::Python),
            ("expect(true).toBe(true)", Language::Script),
            ("assert.ok(1)", Language::Script),
            ("if false { t.Fatal(\"x\") }", Language::Go),
            ("assertTrue(true);", Language::Java),
            ("expect(true).to be true", Language::Ruby),
            ("[ 1 = 1 ]", Language::Shell),
        ] {
            assert!(found(text, language).iter().all(|(_, constant)| *constant), "{text}");
        }
    }

    #[test]
    fn what_never_runs_or_is_never_heard_does_not_count() {
        for (text, language) in [
            ("return;\nassert_eq!(f(2), 4);", Language::Rust),
            ("if (false) {\n  assert.equal(f(2), 4)\n}", Language::Script),
            ("try { expect(f(2)).toBe(4) } catch (e) {}", Language::Script),
            ("return\nassert f(2) == 4", Language::Python),
            ("try:\n    assert f(2) == 4\nexcept AssertionError:\n    pass", Language::Python),
            ("with suppress(AssertionError):\n    assert f(2) == 4", Language::Python),
        ] {
            assert_eq!(found(text, language), [], "{text}");
        }
        let idiom = "try { f(-1); fail(); } catch (IllegalArgumentException e) { }";
        assert_eq!(
            found(idiom, Language::Java).len(),
            1,
            "fail() in a try is how exceptions were once expected"
        );
    }
}
