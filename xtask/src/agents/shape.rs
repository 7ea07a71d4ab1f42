//! What a stream is made of, apart from what it says: which lines have which fields of which kind. Two versions of a CLI are
//! compared by it.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Deeper than this is what tools and models say.
const DEPTH: usize = 5;
/// A longer name, or one with a digit, is a key that somebody made up: an id, a path.
const NAME: usize = 40;

pub type Shape = BTreeSet<String>;

/// Of all that agents printed in the runs of a state folder.
pub fn of_runs(state: &Path, into: &mut Shape) {
    let runs = std::fs::read_dir(state.join("runs")).into_iter().flatten().flatten();
    for run in runs {
        for log in std::fs::read_dir(run.path().join("logs")).into_iter().flatten().flatten() {
            let text = std::fs::read(log.path()).unwrap_or_default();
            of_lines(&String::from_utf8_lossy(&text), into);
        }
    }
}

fn of_lines(text: &str, into: &mut Shape) {
    for line in text.lines() {
        let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(line) else { continue };
        let word = |key: &str| value[key].as_str().filter(|word| !word.is_empty()).map(str::to_owned);
        let kind: Vec<String> = ["type", "subtype", "role"].iter().filter_map(|key| word(key)).collect();
        of_value(&value, &kind.join("/"), DEPTH, into);
    }
}

fn of_value(value: &Value, path: &str, depth: usize, into: &mut Shape) {
    let leaf = match value {
        Value::Object(fields) if depth > 0 => {
            for (name, value) in fields {
                let made_up = name.len() > NAME || name.contains(|c: char| c.is_ascii_digit() || c == '/');
                let name = if made_up { "*" } else { name };
                of_value(value, &format!("{path} .{name}"), depth - 1, into);
            }
            return;
        }
        Value::Array(all) if depth > 0 => {
            all.iter().for_each(|one| of_value(one, &format!("{path}[]"), depth - 1, into));
            return;
        }
        Value::Object(_) => "object",
        Value::Array(_) => "list",
        Value::String(_) => "text",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Null => "null",
    };
    into.insert(format!("{path}: {leaf}"));
}

/// What is new and what is gone, a line each.
pub fn changes(before: &Shape, after: &Shape) -> Vec<String> {
    let gone = before.difference(after).map(|line| format!("- {line}"));
    gone.chain(after.difference(before).map(|line| format!("+ {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Shape {
        let mut shape = Shape::new();
        of_lines(text, &mut shape);
        shape
    }

    #[test]
    fn what_is_said_makes_no_difference_and_what_it_is_said_in_does() {
        let old = shape("{\"type\":\"a\",\"n\":1,\"list\":[{\"x\":\"one\"}],\"by\":{\"id-1\":2}}\nnoise");
        let same =
            shape("{\"type\":\"a\",\"n\":7,\"list\":[{\"x\":\"two\"},{\"x\":\"3\"}],\"by\":{\"id-9\":2}}");
        assert_eq!(changes(&old, &same), Vec::<String>::new());
        let new = shape("{\"type\":\"a\",\"subtype\":\"b\",\"n\":\"7\"}");
        let told = changes(&old, &new);
        assert!(
            told.contains(&"+ a/b .n: text".to_owned()) && told.contains(&"- a .n: number".to_owned()),
            "{told:?}"
        );
    }
}
