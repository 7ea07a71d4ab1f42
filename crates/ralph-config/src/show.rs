//! Every setting with its value and where it came from, for `ralph check --show`.

use serde_json::Value;

use super::definition::Definition;
use super::schema::join;
use super::validate::Settings;
use super::yaml::{Entry, Node};

/// One line of `ralph check --show`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Setting {
    /// The dotted path, as `--set` takes it.
    pub path: String,
    /// As one would write it. `None`: not set, and without a default.
    pub value: Option<String>,
    /// `default`, `ralph.yml:4:3`, `--set` or `-n`.
    pub from: String,
}

/// All settings in the order of the definition.
pub fn settings(settings: &Settings, definition: &Definition) -> Vec<Setting> {
    let mut out = Vec::new();
    match serde_json::to_value(definition) {
        Ok(value) => flatten(settings, "", &value, Some(&settings.root), None, &mut out),
        Err(error) => out.push(Setting {
            path: "(all)".to_owned(),
            value: Some(format!("cannot be shown: {error}")),
            from: "default".to_owned(),
        }),
    }
    out
}

fn flatten(
    settings: &Settings,
    path: &str,
    value: &Value,
    node: Option<&Node>,
    entry: Option<&Entry>,
    out: &mut Vec<Setting>,
) {
    // A section without a fixed set of keys may be empty, and is shown all the same.
    if let Value::Object(fields) = value
        && !fields.is_empty()
    {
        for (key, value) in fields {
            let entry = node.and_then(|node| node.entry(key));
            flatten(settings, &join(path, key), value, entry.map(|entry| &entry.value), entry, out);
        }
        return;
    }
    out.push(Setting {
        path: path.to_owned(),
        value: match value {
            Value::Null => None,
            Value::Object(_) => None,
            Value::String(text) => Some(text.clone()),
            // `2`, where JSON has `2.0`.
            Value::Number(number) => Some(number.as_f64().unwrap_or_default().to_string()),
            other => Some(other.to_string()),
        },
        from: entry.map_or_else(|| "default".to_owned(), |entry| settings.map.place(entry.key_span).short()),
    });
}
