//! What holds for every key, whatever keys there are. The list is the schema's.

use serde_json::Value as Json;

use super::super::foreign::ORCHESTRATOR;
use super::super::schema::{paths, properties};
use super::*;

/// The last letter lost, two letters swapped, a letter doubled, a letter struck wrong.
fn misspellings(key: &str) -> Vec<String> {
    let chars: Vec<char> = key.chars().collect();
    let mid = chars.len() / 2;
    let at = |change: &dyn Fn(&mut Vec<char>)| {
        let mut chars = chars.clone();
        change(&mut chars);
        chars.into_iter().collect::<String>()
    };
    let all = [
        at(&|chars| chars.truncate(chars.len() - 1)),
        at(&|chars| chars.swap(mid - 1, mid)),
        at(&|chars| chars.insert(mid, chars[mid])),
        at(&|chars| chars[mid] = 'q'),
    ];
    all.into_iter().filter(|wrong| wrong != key).collect()
}

#[test]
fn every_misspelled_key_gets_the_right_suggestion() {
    let mut tried = 0;
    for path in paths() {
        let (section, key) = path.rsplit_once('.').unwrap_or(("", &path));
        for wrong in misspellings(key) {
            let wrong = match section {
                "" => wrong,
                _ => format!("{section}.{wrong}"),
            };
            let text = yml("agent: a\nprompt: x\n").set(&format!("{wrong}=1")).err();
            assert!(text.contains(&format!("unknown key `{wrong}`")), "{text}");
            assert!(text.contains(&format!("did you mean `{key}`?")), "{path} for {wrong}:\n{text}");
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried} is too few: are the keys still read from the schema?");
}

/// One schema for both kinds of file.
#[test]
fn every_key_may_stand_in_a_ralph_md() {
    for path in paths() {
        let settings = nested(&path.replace('*', "a"));
        let loaded = md(&format!("---\n{settings}---\nDo it")).load();
        let text = loaded.map(|_| String::new()).unwrap_or_else(|error| error.to_string());
        assert!(!text.contains("unknown key"), "{path}: {text}");
    }
    let settings = "event_loop: {max_iterations: 7, delay: 1s}\ngates: [{name: t, run: make}]\nidle: {}\n\
        memory: {enabled: true}\nhats: {a: {triggers: [task.start], publishes: [x.done]}}\nstop: {max_rejected_completions: 3}\n";
    let same = md(&format!("---\nagent: ./a\n{settings}---\nDo it")).ok().definition;
    assert_eq!(
        same,
        Definition { prompt: None, ..yml(&format!("agent: ./a\n{settings}prompt: Do it\n")).ok().definition }
    );
}

#[test]
fn every_key_is_explained_and_closed_to_others() {
    fn check(path: &str, schema: &Json) {
        if let Some(known) = properties(schema) {
            let text = schema.to_string();
            assert!(text.contains("\"additionalProperties\":false"), "{path} is open");
            for (key, child) in known {
                let text = child["description"].as_str().unwrap_or_default();
                assert!(text.len() > 15, "{path}.{key} has no description");
                check(&format!("{path}.{key}"), child);
            }
        }
    }
    check("", schema());
    assert_eq!(schema().pointer("/properties/event_loop/properties/max_runtime/default"), Some(&"4h".into()));
    let text = schema().to_string();
    assert!(!text.contains("\"null\""), "a key that is there has a value");
    assert!(!text.contains("$ref"), "inlined, so that the keys can be read from it");
}

#[test]
fn foreign_keys_are_not_our_own() {
    let known = paths();
    for name in ORCHESTRATOR.iter().map(|(name, _)| name) {
        assert!(!known.iter().any(|path| path == name), "`{name}` is known");
        let shown = name.replace('*', "a");
        assert!(yml(&nested(&shown)).err().contains(&format!("`{shown}` is ")), "{name}");
    }
}

/// Help must not send the user to a key that is not there.
#[test]
fn advice_names_keys_that_exist() {
    let known = paths();
    for (name, instead) in ORCHESTRATOR {
        for word in instead.split('`').skip(1).step_by(2).filter(|word| !word.contains(' ')) {
            assert!(
                known.iter().any(|path| path == word || path.ends_with(&format!(".{word}"))),
                "{name}: {word}"
            );
        }
    }
}

fn nested(path: &str) -> String {
    match path.split_once('.') {
        Some((section, key)) => {
            let below = nested(key).trim_end().replace('\n', "\n  ");
            format!("{section}:\n  {below}\n")
        }
        None => format!("{path}: 1\n"),
    }
}

#[test]
fn every_setting_is_shown() {
    let shown: Vec<String> = event_loop("delay: 1").ok().settings().into_iter().map(|one| one.path).collect();
    let aliases: Vec<&str> = schema::ALIASES.iter().map(|(alias, _)| *alias).collect();
    for path in paths() {
        let leaf = !paths().iter().any(|other| other.starts_with(&format!("{path}.")));
        // Sections that are there as a whole, or not at all.
        let optional =
            ["agent.", "cli.", "idle.", "on_state."].iter().any(|section| path.starts_with(section));
        if leaf && !optional && !aliases.contains(&path.as_str()) {
            assert!(shown.contains(&path), "{path} is missing from {shown:?}");
        }
    }
    assert!(shown.contains(&"agent.command".to_owned()));
}
