//! Finds every key that ralph does not know, and says what was probably meant.

use serde_json::Value;

use super::diagnostic::{Diagnostic, MAX_SHOWN, quote};
use super::foreign::{ORCHESTRATOR, OTHERS, snake};
use super::nearest::nearest;
use super::schema::{join, paths, properties, schema};
use super::source::SourceMap;
use super::yaml::{Entry, Node};

/// The unknown keys of one layer, in the order they were written: all, or more than are ever shown.
pub fn unknown_keys(map: &SourceMap, root: &Node) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    walk(map, root, "", schema(), &mut found);
    found
}

fn walk(map: &SourceMap, node: &Node, prefix: &str, schema: &Value, found: &mut Vec<Diagnostic>) {
    if let Some(each) = schema.get("additionalProperties").filter(|each| each.is_object()) {
        for entry in node.entries() {
            walk(map, &entry.value, &join(prefix, &entry.key), each, found);
        }
    }
    let Some(known) = properties(schema) else { return };
    for entry in node.entries() {
        // One more than is shown: a file of nothing but mistakes is not read to its end.
        if found.len() > MAX_SHOWN {
            return;
        }
        match known.get(&entry.key) {
            Some(child) => walk(map, &entry.value, &join(prefix, &entry.key), child, found),
            None => {
                let siblings: Vec<&str> = known.keys().map(String::as_str).collect();
                found.push(explain(prefix, entry, &siblings).at(map.place(entry.key_span)));
            }
        }
    }
}

fn explain(prefix: &str, entry: &Entry, siblings: &[&str]) -> Diagnostic {
    let key = entry.key.as_str();
    let path = join(prefix, key);
    // Hats are called what the user calls them.
    let hat = path.strip_prefix("hats.").and_then(|rest| rest.split_once('.'));
    let listed = hat.map_or_else(|| path.clone(), |(_, key)| format!("hats.*.{key}"));
    let spelt = snake(&listed);
    if let Some((_, instead)) = ORCHESTRATOR.iter().find(|(name, _)| *name == listed || *name == spelt) {
        let title = format!("`{path}` is a ralph-orchestrator setting that ralph does not have");
        return match *instead {
            "" => Diagnostic::new(title),
            instead => Diagnostic::new(title).help(instead),
        };
    }
    let word = snake(key);
    // Where the very word is known here, only the way it is spelt is wrong.
    if let Some((_, who, instead)) =
        OTHERS.iter().find(|(name, ..)| *name == word && !siblings.contains(name))
    {
        return Diagnostic::new(format!("{} is a {who} setting", quote(&path))).help(*instead);
    }
    let found = Diagnostic::new(format!("unknown key {}", quote(&path)));
    let everywhere = paths();
    let elsewhere = everywhere.iter().find(|path| path.rsplit('.').next() == Some(key));
    let near = |names: &[&str]| nearest(key, names.iter().copied()).map(str::to_owned);
    if let Some(name) = near(siblings) {
        let found = found.help(format!("did you mean `{name}`?"));
        match elsewhere {
            Some(path) => found.help(format!("or does it belong to another section: `{path}`?")),
            None => found,
        }
    } else if let Some(path) = elsewhere {
        found.help(format!("it belongs to another section: `{path}`"))
    } else if let Some(path) = nearest_elsewhere(key, &everywhere) {
        found.help(format!("did you mean `{path}`?"))
    } else {
        found.help(format!("known here: {}", siblings.join(", ")))
    }
}

fn nearest_elsewhere<'a>(key: &str, paths: &'a [String]) -> Option<&'a str> {
    let last = |path: &'a str| path.rsplit('.').next().unwrap_or(path);
    let name = nearest(key, paths.iter().map(|path| last(path)))?;
    paths.iter().map(String::as_str).find(|path| last(path) == name)
}
