//! npm, pnpm, yarn and bun.

use ralph_core::check::Kind;
use serde_json::Value;

use super::{Folder, Found};

/// A manager of packages: how it runs a script, and a program of the project.
struct Manager {
    test: &'static str,
    script: &'static str,
    program: &'static str,
}

fn manager(folder: &Folder) -> Manager {
    let has = |names: &[&'static str]| folder.first(names).is_some();
    if has(&["pnpm-lock.yaml"]) {
        Manager { test: "pnpm test", script: "pnpm run", program: "pnpm exec" }
    } else if has(&["yarn.lock"]) {
        Manager { test: "yarn test", script: "yarn run", program: "yarn run" }
    } else if has(&["bun.lockb", "bun.lock"]) {
        Manager { test: "bun run test", script: "bun run", program: "bunx" }
    } else {
        Manager { test: "npm test", script: "npm run", program: "npx --no-install" }
    }
}

pub(super) fn gates(folder: &Folder) -> Vec<Found> {
    let Ok(manifest) = serde_json::from_str::<Value>(folder.text("package.json")) else { return Vec::new() };
    let manager = manager(folder);
    let script = |name: &str| {
        let text = manifest["scripts"][name].as_str().unwrap_or_default();
        (is_real(text)).then(|| format!("package.json: script `{name}`"))
    };
    let uses =
        |name: &str| ["dependencies", "devDependencies"].iter().any(|kind| manifest[*kind][name].is_string());
    let mut found = Vec::new();
    if let Some(from) = script("test") {
        found.push(Found::new("npm", Kind::Test, manager.test, from));
    }
    match script("lint") {
        Some(from) => found.push(Found::new("npm", Kind::Lint, &format!("{} lint", manager.script), from)),
        None => {
            let config = folder
                .files
                .iter()
                .find(|path| path.starts_with("eslint.config.") || path.starts_with(".eslintrc"));
            if let Some(config) = config.filter(|_| uses("eslint")) {
                found.push(Found::new("npm", Kind::Lint, &format!("{} eslint .", manager.program), config));
            }
        }
    }
    let types = ["typecheck", "type-check", "types", "check-types"];
    match types.into_iter().find_map(|name| Some((name, script(name)?))) {
        Some((name, from)) => {
            found.push(Found::new("npm", Kind::Typecheck, &format!("{} {name}", manager.script), from));
        }
        None if folder.has("tsconfig.json") && uses("typescript") => {
            let run = format!("{} tsc --noEmit", manager.program);
            found.push(Found::new("npm", Kind::Typecheck, &run, "tsconfig.json"));
        }
        None => {}
    }
    found
}

/// Not what `npm init` writes, nothing that always passes, and nothing that never ends.
fn is_real(script: &str) -> bool {
    let script = script.trim();
    let is_empty = matches!(script, "" | "true" | "exit 0" | ":")
        || script.starts_with("echo ") && !script.contains("&&");
    !is_empty
        && !script.contains("no test specified")
        && !script.split_whitespace().any(|word| word == "--watch")
}
