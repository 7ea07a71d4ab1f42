//! The JSON Schema of the definition, and the known keys, which are read from it.

use std::sync::OnceLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::definition::Definition;

/// Other names of settings. The value moves to the second path before anything reads it.
pub const ALIASES: [(&str, &str); 7] = [
    ("event_loop.max_runtime_seconds", "event_loop.max_runtime"),
    ("event_loop.max_cost", "event_loop.max_cost_usd"),
    ("event_loop.similarity_window_size", "loop_detection.similarity_window"),
    ("event_loop.similarity_threshold", "loop_detection.similarity_threshold"),
    ("event_loop.prompt", "prompt"),
    ("event_loop.prompt_file", "prompt_file"),
    ("stop.require_tsc", "stop.require_typecheck"),
];

/// The schema that `ralph schema` prints.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let mut schema = settings.into_generator().into_root_schema_for::<Definition>().to_value();
        without_null(&mut schema);
        for (alias, target) in ALIASES {
            add_alias(&mut schema, alias, target);
        }
        schema
    })
}

/// The properties of the mapping that a schema describes, if it describes one with a fixed set of keys.
pub fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        return Some(properties);
    }
    schema.get("anyOf")?.as_array()?.iter().find_map(properties)
}

/// Every known path, aliases included, shortest first.
pub fn paths() -> Vec<String> {
    let mut out = Vec::new();
    let mut level = vec![(String::new(), schema())];
    while !level.is_empty() {
        let mut below = Vec::new();
        for (prefix, schema) in level {
            for (key, child) in properties(schema).into_iter().flatten() {
                let path = join(&prefix, key);
                out.push(path.clone());
                below.push((path, child));
            }
        }
        level = below;
    }
    out
}

pub fn join(prefix: &str, key: &str) -> String {
    match prefix {
        "" => key.to_owned(),
        _ => format!("{prefix}.{key}"),
    }
}

/// A setting that is not set is left out, not written as `null`: the schema should say so.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("default") == Some(&Value::Null) {
                object.remove("default");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|one| one != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    object.insert("type".to_owned(), one);
                }
            }
            if let Some(Value::Array(variants)) = object.get_mut("anyOf") {
                variants.retain(|one| one != &json!({ "type": "null" }));
            }
            object.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

fn add_alias(schema: &mut Value, alias: &str, target: &str) {
    let pointer = |path: &str| format!("/properties/{}", path.replace('.', "/properties/"));
    let Some(mut copy) = schema.pointer(&pointer(target)).cloned() else { return };
    let Some((section, key)) = alias.rsplit_once('.') else { return };
    let Some(place) = schema.pointer_mut(&format!("{}/properties", pointer(section))) else { return };
    if let (Some(copy), Some(place)) = (copy.as_object_mut(), place.as_object_mut()) {
        copy.insert("description".to_owned(), format!("The same as `{target}`.").into());
        copy.remove("default");
        place.insert(key.to_owned(), Value::Object(copy.clone()));
    }
}
