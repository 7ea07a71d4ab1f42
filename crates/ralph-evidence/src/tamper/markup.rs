//! Settings of Maven and Gradle.

use super::lex::{Kind, Tokens};
use super::marks::Mark;
use super::path::Language;
use ralph_core::tampering::Tampering;

pub(super) fn maven(text: &str) -> Vec<Mark> {
    let text = without_comments(text);
    let mut found = Vec::new();
    let mut plugin = String::new();
    for (at, line) in text.lines().enumerate() {
        for (tag, value) in tags(line) {
            let runner = plugin.contains("surefire") || plugin.contains("failsafe");
            let yes = value == "true";
            let detail = format!("<{tag}>{value}");
            match tag {
                "artifactId" => plugin = value.to_owned(),
                "skipTests" | "maven.test.skip" | "skipITs" if yes => {
                    found.push(Mark::new(Tampering::RunnerNarrowed, at + 1, detail))
                }
                "testFailureIgnore" | "maven.test.failure.ignore" if yes => {
                    found.push(Mark::new(Tampering::ExitSwallowed, at + 1, detail))
                }
                "skip" if yes && runner => found.push(Mark::new(Tampering::RunnerNarrowed, at + 1, detail)),
                "exclude" | "excludedGroups" if runner => found.push(Mark::naming(at + 1, detail, value)),
                _ => {}
            }
        }
    }
    found
}

/// Comments are blanked, so that lines stay where they are.
fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        out.push_str(&rest[..start]);
        let end = rest[start..].find("-->").map_or(rest.len(), |end| start + end + 3);
        out.extend(rest[start..end].chars().filter(|c| *c == '\n'));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// `<tag>value</tag>` on one line.
fn tags(line: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for part in line.split('<').skip(1) {
        if let Some((tag, value)) = part.split_once('>').filter(|(tag, _)| !tag.starts_with(['/', '!', '?']))
        {
            found.push((tag.split_whitespace().next().unwrap_or_default(), value.trim()));
        }
    }
    found
}

pub(super) fn gradle(text: &str) -> Vec<Mark> {
    let tokens = Tokens::read(text, Language::Java);
    let mut found = Vec::new();
    for at in 0..tokens.list.len() {
        let Some(word) = tokens.word(at) else { continue };
        let line = tokens.list[at].line;
        let in_tests = in_tests(&tokens, at);
        let value = |text: &str| tokens.is(at + 1, "=") && tokens.is(at + 2, text) || tokens.is(at + 1, text);
        let argument = tokens.part(at + 1..).iter().take(2).find(|token| token.kind == Kind::Text);
        match word {
            "exclude" | "excludeTestsMatching" | "excludeTags" | "excludeCategories" if in_tests => {
                if let Some(argument) = argument {
                    found.push(Mark::naming(line, format!("{word} {}", argument.text), &argument.text));
                }
            }
            "ignoreFailures" if value("true") && in_tests => {
                found.push(Mark::new(Tampering::ExitSwallowed, line, "ignoreFailures = true"))
            }
            "enabled" if value("false") && in_tests => {
                found.push(Mark::new(Tampering::RunnerNarrowed, line, "enabled = false for tests"))
            }
            "onlyIf" if in_tests && tokens.is(at + 1, "{") && tokens.is(at + 2, "false") => {
                found.push(Mark::new(Tampering::RunnerNarrowed, line, "onlyIf { false } for tests"));
            }
            _ => {}
        }
    }
    found
}

/// Whether the place is in a block about tests (`test { … }`, `tasks.named("test") { … }`), or is `test.enabled`.
fn in_tests(tokens: &Tokens, at: usize) -> bool {
    let tests = |place: usize| tokens.list[place].text == "test" || tokens.list[place].text == "Test";
    let open =
        (0..at).filter(|place| tokens.is(*place, "{") && tokens.opens(*place) && tokens.close(*place) > at);
    let headed = open.into_iter().any(|open| {
        let line = tokens.list[open].line;
        (0..open).rev().take_while(|place| tokens.list[*place].line == line).any(tests)
    });
    headed || at > 1 && tokens.is(at - 1, ".") && tests(at - 2)
}
