//! Settings of test runners that leave tests out, or that make a failure nothing.

use super::compare::finding;
use super::lex::{Kind, Tokens};
use super::marks::Mark;
use super::path::{self, Language};
use super::{SourceFile, markup};
use ralph_core::tampering::{Finding, Tampering};

pub(super) fn marks(path: &str, text: &str) -> Vec<Mark> {
    let name = path::name(path).to_ascii_lowercase();
    match name.as_str() {
        "pytest.ini" | ".pytest.ini" | "tox.ini" | "setup.cfg" | "pyproject.toml" => pytest(text),
        "cargo.toml" => cargo(text),
        "config.toml" if path.contains(".cargo") => cargo_runner(text),
        "nextest.toml" => lines(text, &["default-filter"]),
        "pom.xml" => markup::maven(text),
        "maven.config" | "gradle.properties" | "jvm.config" => {
            options(text, &["-DskipTests", "-Dmaven.test.skip", "-Dmaven.test.failure.ignore", "skipTests"])
        }
        ".rspec" => options(
            text,
            &["--tag", "-t", "--example", "-e", "--exclude-pattern", "--dry-run", "--failure-exit-code"],
        ),
        _ if name.ends_with(".gradle") || name.ends_with(".gradle.kts") => markup::gradle(text),
        _ if name.starts_with(".mocharc.y") => lines(text, &["ignore", "grep", "fgrep", "invert", "dry-run"]),
        _ if [
            "jest.",
            "vitest.",
            "vite.config.",
            "playwright.",
            ".mocharc",
            "ava.config",
            "package.json",
        ]
        .iter()
        .any(|start| name.starts_with(start))
            && (Language::of(path) == Some(Language::Script)
                || name.contains("json")
                || name.ends_with("rc")) =>
        {
            script(&name, text)
        }
        _ => Vec::new(),
    }
}

/// The sections of an ini or toml file, and the values of each with its line; a value may go on over lines.
struct Setting {
    section: String,
    key: String,
    value: String,
    line: usize,
}

fn settings(text: &str) -> Vec<Setting> {
    let mut found: Vec<Setting> = Vec::new();
    let mut section = String::new();
    let mut open = 0i32;
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let continues = open > 0 || line.starts_with([' ', '\t']) && !found.is_empty();
        if !continues && trimmed.starts_with('[') {
            section = trimmed.to_owned();
            found.push(Setting {
                section: section.clone(),
                key: String::new(),
                value: String::new(),
                line: at + 1,
            });
            continue;
        }
        let quoted = trimmed.split(" #").next().unwrap_or(trimmed);
        open += quoted.matches('[').count() as i32 - quoted.matches(']').count() as i32;
        match quoted.split_once('=').filter(|_| !continues) {
            Some((key, value)) => found.push(Setting {
                section: section.clone(),
                key: key.trim().trim_matches('"').to_owned(),
                value: value.trim().to_owned(),
                line: at + 1,
            }),
            None => {
                if let Some(last) = found.last_mut() {
                    last.value.push(' ');
                    last.value.push_str(quoted);
                }
            }
        }
    }
    found
}

fn words(value: &str) -> Vec<String> {
    let plain = value.replace(['[', ']', ','], " ").replace("\"\"\"", " ");
    let bare = plain.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned());
    bare.filter(|word| !word.is_empty()).collect()
}

fn is_pytest(setting: &Setting) -> bool {
    setting.section.contains("pytest")
}

fn pytest(text: &str) -> Vec<Mark> {
    let mut found = Vec::new();
    for setting in settings(text).iter().filter(|setting| is_pytest(setting)) {
        let words = words(&setting.value);
        match setting.key.as_str() {
            "addopts" => found.extend(pytest_options(&words, setting.line)),
            key @ ("python_functions" | "python_files" | "python_classes")
                if !words.iter().any(finds_tests) =>
            {
                let detail = format!("{key} = {}", words.join(" "));
                found.push(Mark::new(Tampering::RunnerNarrowed, setting.line, detail));
            }
            "norecursedirs" | "collect_ignore" => {
                for word in words.iter().filter(|word| word.contains("test")) {
                    found.push(Mark::naming(setting.line, format!("{} has `{word}`", setting.key), word));
                }
            }
            _ => {}
        }
    }
    found
}

/// A pattern of names that tests may well have.
fn finds_tests(pattern: &String) -> bool {
    pattern.to_ascii_lowercase().contains("test") || pattern == "*" || pattern == "*.py"
}

fn pytest_options(words: &[String], line: usize) -> Vec<Mark> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let (name, value) =
            word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let value = value.or(words.get(at + 1).map(String::as_str)).unwrap_or_default();
        match name {
            "-k" | "--deselect" => found.push(Mark::new(
                Tampering::RunnerNarrowed,
                line,
                format!("pytest is always run with `{name} {value}`"),
            )),
            "--ignore" | "--ignore-glob" => {
                found.push(Mark::naming(line, format!("pytest is always run with `{name} {value}`"), value))
            }
            "--collect-only" | "--co" | "no:python" => found.push(Mark::new(
                Tampering::RunnerNarrowed,
                line,
                format!("pytest is always run with `{word}`"),
            )),
            _ => {}
        }
    }
    found
}

/// Lists of places to look for tests, of which one is gone though its folder is not.
pub(super) fn shrunk(files: &[SourceFile]) -> Vec<Finding> {
    let keys = [("testpaths", "pytest"), ("members", "[workspace]")];
    let list = |text: &str| -> Vec<(String, Vec<String>, usize)> {
        let all = settings(text);
        let wanted = all.iter().filter(|setting| {
            keys.iter().any(|(key, section)| setting.key == *key && setting.section.contains(section))
        });
        wanted.map(|setting| (setting.key.clone(), words(&setting.value), setting.line)).collect()
    };
    let mut found = Vec::new();
    for file in files.iter().filter(|file| path::is_config(&file.path)) {
        let (Some(before), Some(after)) = (&file.before, &file.after) else { continue };
        for (key, new, line) in list(after) {
            let Some((_, old, _)) = list(before).into_iter().find(|(other, _, _)| *other == key) else {
                continue;
            };
            let gone: Vec<&String> =
                old.iter().filter(|entry| !new.contains(entry) && !entry.contains('*')).collect();
            let more = new.iter().any(|entry| !old.contains(entry));
            let left = |entry: &&&String| {
                files
                    .iter()
                    .any(|other| other.after.is_none() && other.path.starts_with(entry.trim_end_matches('/')))
            };
            if let Some(entry) = gone.iter().find(|entry| !more && !left(entry)) {
                found.push(finding(
                    Tampering::RunnerNarrowed,
                    &file.path,
                    line,
                    format!("{key} no longer has `{entry}`"),
                ));
            }
        }
    }
    found
}

fn cargo(text: &str) -> Vec<Mark> {
    let all = settings(text);
    let mut found = Vec::new();
    let (mut named, mut listed) = (String::new(), 0);
    for (at, setting) in all.iter().enumerate() {
        if setting.key.is_empty() {
            listed += usize::from(setting.section == "[[test]]");
            let own = all[at + 1..].iter().take_while(|other| !other.key.is_empty());
            named = own
                .filter(|other| other.key == "name" || other.key == "path")
                .map(|other| words(&other.value).join(" "))
                .last()
                .unwrap_or_default();
            continue;
        }
        let target = ["[lib]", "[[test]]", "[[bin]]"].contains(&setting.section.as_str());
        let off = (setting.key == "test" || setting.key == "harness") && setting.value == "false";
        if target && off {
            let detail = format!("{} {} = false {named}", setting.section, setting.key);
            let names =
                if setting.section != "[lib]" && !named.is_empty() { named.clone() } else { "(all)".into() };
            found.push(Mark::naming(setting.line, detail.trim_end(), &names));
        }
    }
    let off = all.iter().find(|setting| {
        setting.section == "[package]" && setting.key == "autotests" && setting.value == "false"
    });
    if let Some(setting) = off.filter(|_| listed == 0) {
        found.push(Mark::new(
            Tampering::RunnerNarrowed,
            setting.line,
            "autotests = false, and no test is listed",
        ));
    }
    found
}

/// A runner that runs nothing.
fn cargo_runner(text: &str) -> Vec<Mark> {
    let runners = settings(text)
        .into_iter()
        .filter(|setting| setting.key == "runner" || setting.key.ends_with(".runner"));
    let nothing = |setting: &Setting| {
        let words = words(&setting.value);
        let program =
            words.first().map(|word| word.rsplit('/').next().unwrap_or(word).to_owned()).unwrap_or_default();
        ["true", "echo", ":"].contains(&program.as_str()) || setting.value.contains("exit 0")
    };
    runners
        .filter(nothing)
        .map(|setting| {
            Mark::new(Tampering::OutcomeForced, setting.line, format!("runner = {}", setting.value))
        })
        .collect()
}

/// `key: value` lines, and the items of a list below.
fn lines(text: &str, keys: &[&str]) -> Vec<Mark> {
    let mut found = Vec::new();
    let mut inside: Option<&str> = None;
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if let Some(item) = trimmed.strip_prefix("- ").filter(|_| inside.is_some()) {
            found.push(Mark::naming(at + 1, format!("{}: {item}", inside.unwrap_or_default()), item));
            continue;
        }
        let Some((key, value)) = trimmed.split_once([':', '=']) else { continue };
        inside = keys.iter().find(|known| **known == key.trim()).copied();
        if let Some(key) = inside.filter(|_| !value.trim().is_empty()) {
            found.push(Mark::naming(at + 1, format!("{key}: {}", value.trim()), value.trim()));
        }
    }
    found
}

/// Options, one or several a line.
fn options(text: &str, names: &[&str]) -> Vec<Mark> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        for (place, word) in words.iter().enumerate() {
            let name = word.split('=').next().unwrap_or(word);
            let value = word
                .split_once('=')
                .map(|(_, value)| value)
                .or(words.get(place + 1).copied())
                .unwrap_or_default();
            let tag = ["--tag", "-t"].contains(&name);
            let code = name == "--failure-exit-code";
            if !names.contains(&name)
                || value == "false"
                || tag && !value.starts_with('~')
                || code && value != "0"
            {
                continue;
            }
            let kind = if code || name.contains("failure") {
                Tampering::ExitSwallowed
            } else {
                Tampering::RunnerNarrowed
            };
            found.push(Mark::new(kind, at + 1, line.trim()));
        }
    }
    found
}

/// Settings of runners in JavaScript: objects with known keys.
fn script(name: &str, text: &str) -> Vec<Mark> {
    let tokens = Tokens::read(text, Language::Script);
    let package = name == "package.json";
    let mut found = Vec::new();
    for at in 0..tokens.list.len() {
        if !tokens.is(at + 1, ":") || tokens.list[at].kind == Kind::Sign {
            continue;
        }
        let key = tokens.list[at].text.as_str();
        let above = above(&tokens, at);
        let runner =
            !package || above.iter().any(|word| ["jest", "vitest", "mocha", "ava", "tap"].contains(word));
        let lists = match key {
            "testPathIgnorePatterns" | "testIgnore" | "grepInvert" => true,
            "ignore" | "grep" | "fgrep" | "invert" => {
                name.starts_with(".mocharc") || above.contains(&"mocha")
            }
            "exclude" => above.last() == Some(&"test") || above.last() == Some(&"vitest"),
            "testNamePattern" => true,
            _ => false,
        };
        let value = at + 2;
        if runner && key == "passWithNoTests" && tokens.is(value, "true") {
            found.push(Mark::new(Tampering::RunnerNarrowed, tokens.list[at].line, "passWithNoTests: true"));
        }
        if !runner || !lists {
            continue;
        }
        let end = if tokens.opens(value) { tokens.close(value) } else { value + 1 };
        for token in tokens.part(value..end).iter().filter(|token| token.kind == Kind::Text) {
            found.push(Mark::naming(token.line, format!("{key} has `{}`", token.text), &token.text));
        }
    }
    found
}

/// The keys around a place, outermost first.
fn above(tokens: &Tokens, at: usize) -> Vec<&str> {
    let open =
        (0..at).filter(|place| tokens.is(*place, "{") && tokens.opens(*place) && tokens.close(*place) > at);
    open.filter(|place| *place > 1 && tokens.is(place - 1, ":"))
        .map(|place| tokens.list[place - 2].text.as_str())
        .collect()
}
