//! Scripts of a package.json.

use serde_json::Value;

/// Words of a package manager that are no scripts.
const OWN: &[&str] = &[
    "install",
    "i",
    "ci",
    "add",
    "remove",
    "exec",
    "x",
    "dlx",
    "create",
    "init",
    "publish",
    "pack",
    "audit",
    "outdated",
    "why",
    "info",
    "link",
    "update",
    "up",
    "config",
    "cache",
    "workspace",
    "workspaces",
];

/// The script that a package manager is asked to run, and the folders that it goes to first.
pub(super) fn asked(manager: &str, rest: &[String]) -> Option<(String, Vec<String>)> {
    let mut dirs = Vec::new();
    let mut words = rest.iter();
    let mut plain: Vec<&str> = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--prefix" | "-C" | "--cwd" | "--dir" => dirs.extend(words.next().cloned()),
            "--" => break,
            word if word.starts_with('-') => {}
            word => plain.push(word),
        }
    }
    let name = match (manager, plain.as_slice()) {
        (_, ["run" | "run-script" | "rum", name, ..]) => name,
        ("npm" | "pnpm" | "yarn", ["test" | "t" | "tst", ..]) => &"test",
        ("npm", ["start" | "stop" | "restart", ..]) => plain.first()?,
        // The runner of bun itself, and words that npm has no script for.
        ("bun" | "npm", _) => return None,
        (_, [name, ..]) if !OWN.contains(name) => name,
        _ => return None,
    };
    Some(((*name).to_owned(), dirs))
}

/// The script as it is written, for its commands.
pub(super) fn command(text: &str, name: &str) -> Option<String> {
    let scripts = around(name).filter_map(|one| scripts(text)?.get(&one)?.as_str().map(str::to_owned));
    let all: Vec<String> = scripts.collect();
    (!all.is_empty()).then(|| all.join("\n"))
}

/// What defines the script.
pub(super) fn script(text: &str, name: &str) -> Option<String> {
    let all = scripts(text)?;
    let lines = around(name).filter_map(|one| Some(format!("{one}: {}\n", all.get(&one)?)));
    let lines: String = lines.collect();
    (!lines.is_empty()).then_some(lines)
}

fn around(name: &str) -> impl Iterator<Item = String> {
    [format!("pre{name}"), name.to_owned(), format!("post{name}")].into_iter()
}

fn scripts(text: &str) -> Option<serde_json::Map<String, Value>> {
    match serde_json::from_str::<Value>(text).ok()?.get_mut("scripts")?.take() {
        Value::Object(scripts) => Some(scripts),
        _ => None,
    }
}
