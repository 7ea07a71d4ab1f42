//! Settings that decide what a gate's command does: of npm, of git; and the files that a script loads.

use regex::Regex;
use std::sync::LazyLock;

/// The lines of an `.npmrc` that decide how scripts are run.
pub(super) fn of_npm(text: &str) -> Option<String> {
    const KEYS: &[&str] = &[
        "script-shell",
        "ignore-scripts",
        "node-options",
        "shell-emulator",
        "scripts-prepend-node-path",
        "dry-run",
    ];
    let key = |line: &&str| {
        line.split('=').next().is_some_and(|key| KEYS.contains(&key.trim().replace('_', "-").as_str()))
    };
    let lines: Vec<&str> = text.lines().filter(key).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The definition of an alias in a configuration of git.
pub(super) fn alias(text: &str, name: &str) -> Option<String> {
    let mut inside = false;
    let mut found = String::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line.to_ascii_lowercase().starts_with("[alias");
            let include = line.to_ascii_lowercase().starts_with("[include");
            include.then(|| found.push_str(line));
        } else if inside && line.split('=').next().is_some_and(|key| key.trim().eq_ignore_ascii_case(name)) {
            found.push_str(line);
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Words of git that no alias can take.
pub(super) fn is_of_git(word: &str) -> bool {
    OWN.contains(&word)
}

const OWN: &[&str] = &[
    "add",
    "am",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "checkout",
    "cherry-pick",
    "clean",
    "clone",
    "commit",
    "config",
    "describe",
    "diff",
    "diff-index",
    "diff-files",
    "diff-tree",
    "fetch",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "init",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge",
    "merge-base",
    "mv",
    "name-rev",
    "notes",
    "pull",
    "push",
    "rebase",
    "reflog",
    "remote",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "show",
    "show-ref",
    "stash",
    "status",
    "submodule",
    "switch",
    "tag",
    "update-index",
    "verify-commit",
    "version",
    "worktree",
    "whatchanged",
    "write-tree",
    "update-ref",
    "lfs",
    "shortlog",
    "sparse-checkout",
    "symbolic-ref",
    "diff-pairs",
    "help",
];

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("a pattern of this file"));
    };
}

pattern!(SCRIPT, r#"(?m)(?:\brequire\s*\(\s*|\bfrom\s+|\bimport\s*\(?\s*)["'](\.{1,2}/[\w./-]+)["']"#);
pattern!(PYTHON, r"(?m)^\s*(?:from\s+(\.?[\w.]+)\s+import\b|import\s+([\w., ]+))");
pattern!(RUBY, r#"(?m)^\s*(?:require_relative|load)\s*\(?\s*["']([\w./-]+)["']"#);

/// The files beside it that a script may load, as paths of the workspace. Not all of them need be there.
pub(super) fn loaded(path: &str, text: &str) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let first = text.lines().next().unwrap_or_default();
    let is = |end: &[&str], word: &str| {
        end.iter().any(|end| path.ends_with(end)) || first.starts_with("#!") && first.contains(word)
    };
    let mut found = Vec::new();
    if is(&[".js", ".mjs", ".cjs", ".ts"], "node") {
        for one in SCRIPT.captures_iter(text) {
            found.extend(
                ["", ".js", ".mjs", ".cjs", ".ts", "/index.js"]
                    .iter()
                    .map(|end| format!("{folder}{}{end}", &one[1])),
            );
        }
    } else if is(&[".py"], "python") {
        for one in PYTHON.captures_iter(text) {
            let names = one.get(1).or(one.get(2)).map_or("", |names| names.as_str());
            for name in names.split(',').filter_map(|name| name.split_whitespace().next()) {
                let plain = name.trim_start_matches('.').replace('.', "/");
                found.extend([
                    format!("{folder}{plain}.py"),
                    format!("{folder}{plain}/__init__.py"),
                    format!("{plain}.py"),
                ]);
            }
        }
    } else if is(&[".rb"], "ruby") {
        let files = RUBY.captures_iter(text).map(|one| format!("{folder}{}", &one[1]));
        found.extend(files.flat_map(|file| [format!("{file}.rb"), file]));
    }
    found.iter().filter_map(|path| super::plain_path(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_settings_that_decide_how_scripts_run_count() {
        assert_eq!(of_npm("registry=https://x\nsave-exact=true\n"), None);
        assert_eq!(of_npm("script-shell = /bin/true\n").as_deref(), Some("script-shell = /bin/true"));
    }

    #[test]
    fn an_alias_is_found_in_its_section() {
        let text = "[core]\n\tcheck = no\n[alias]\n\tst = status\n\tcheck = !true\n";
        assert_eq!(alias(text, "check").as_deref(), Some("check = !true"));
        assert_eq!(alias(text, "co"), None);
    }

    #[test]
    fn what_a_script_loads_is_named_beside_it() {
        assert!(loaded("c/check.js", "const r = require(\"./lib/r\")").contains(&"c/lib/r.js".to_owned()));
        assert!(loaded("check.py", "import sys, helper\n").contains(&"helper.py".to_owned()));
        assert!(
            loaded("ci/check.py", "from ci.rules import all_rules\n").contains(&"ci/rules.py".to_owned())
        );
        assert!(loaded("check.rb", "require_relative 'lib/rules'\n").contains(&"lib/rules.rb".to_owned()));
    }
}
