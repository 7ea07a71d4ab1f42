//! `cargo xtask gen`: writes the files, and the marked regions of Markdown files, that come from the programs.
//!
//! A region starts with the line `<!-- generated: NAME -->` and ends with `<!-- end -->`.

use crate::{Result, repo};
use std::path::Path;
use std::process::Command;

/// A file, or a region of one, that holds what a program of this workspace prints.
pub struct Entry {
    pub path: &'static str,
    /// The name of the region; None when the whole file is generated.
    pub region: Option<&'static str>,
    /// The binary of this workspace that prints it, such as `ralph`.
    pub bin: &'static str,
    pub args: &'static [&'static str],
}

pub const GENERATED: &[Entry] = &[
    Entry { path: "README.md", region: Some("guards"), bin: "ralph", args: &["__doc", "guards"] },
    Entry { path: "README.md", region: Some("agents"), bin: "ralph", args: &["__doc", "agents"] },
    Entry {
        path: "docs/agents.md",
        region: Some("agent-lines"),
        bin: "ralph",
        args: &["__doc", "agent-lines"],
    },
    Entry { path: "docs/agents.md", region: Some("prices"), bin: "ralph", args: &["__doc", "prices"] },
    Entry {
        path: "docs/stuck-detection.md",
        region: Some("detectors"),
        bin: "ralph",
        args: &["__doc", "detectors"],
    },
    Entry { path: "README.md", region: Some("commands"), bin: "ralph", args: &["__doc", "commands"] },
    Entry { path: "docs/settings.md", region: Some("settings"), bin: "ralph", args: &["__doc", "settings"] },
    Entry { path: "docs/ralph.schema.json", region: None, bin: "ralph", args: &["schema"] },
    Entry { path: "docs/events.schema.json", region: None, bin: "ralph", args: &["schema", "--events"] },
    Entry { path: "docs/snapshot.schema.json", region: None, bin: "ralph", args: &["schema", "--snapshot"] },
    Entry { path: "docs/detect.schema.json", region: None, bin: "ralph", args: &["schema", "--detect"] },
    Entry { path: "xtask/README.md", region: Some("tasks"), bin: "xtask", args: &["help", "--markdown"] },
    Entry { path: "xtask/README.md", region: Some("checks"), bin: "xtask", args: &["tidy", "--list"] },
];

const END: &str = "<!-- end -->";

pub fn run(args: &[String]) -> Result<()> {
    if !args.is_empty() {
        return Err("gen takes no arguments".into());
    }
    let root = repo::root();
    for entry in GENERATED {
        let path = root.join(entry.path);
        let old = match std::fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("{}: {error}", entry.path)),
        };
        let new = made(entry, old.as_deref(), print(&root, entry))?;
        if old.as_ref() != Some(&new) {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", entry.path))?;
            }
            std::fs::write(&path, new).map_err(|error| format!("{}: {error}", entry.path))?;
            println!(
                "wrote {}{}",
                entry.path,
                entry.region.map(|name| format!(" ({name})")).unwrap_or_default()
            );
        }
    }
    Ok(())
}

/// What the program of an entry prints, on a terminal that is the same everywhere.
pub fn print(root: &Path, entry: &Entry) -> Result<String> {
    let mut command = if entry.bin == "xtask" {
        // That is us: no second build, which could replace the program that runs.
        Command::new(std::env::current_exe().map_err(|error| format!("cannot find xtask: {error}"))?)
    } else {
        let mut cargo = repo::cargo(root);
        cargo.args(["run", "--quiet", "--bin", entry.bin, "--"]);
        cargo
    };
    command.current_dir(root).args(entry.args).env("NO_COLOR", "1").env("COLUMNS", "100");
    repo::stdout_of(&mut command)
}

/// The text that the file of an entry should have, from what it has now and what the program printed.
pub fn made(entry: &Entry, old: Option<&str>, printed: Result<String>) -> Result<String> {
    let printed = printed?;
    if printed.trim().is_empty() {
        return Err(format!("`{} {}` printed nothing", entry.bin, entry.args.join(" ")));
    }
    match (entry.region, old) {
        (None, _) => Ok(printed),
        (Some(_), None) => Err(format!("{} does not exist; write it with the region's markers", entry.path)),
        (Some(name), Some(old)) => {
            let regions = regions(old)?;
            let mut named = regions.iter().filter(|region| region.name == name);
            match (named.next(), named.next()) {
                (Some(region), None) => Ok(replaced(old, region, &printed)),
                (None, _) => Err(format!("{} has no line `<!-- generated: {name} -->`", entry.path)),
                (Some(_), Some(_)) => Err(format!("{} has the region `{name}` twice", entry.path)),
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Region {
    pub name: String,
    /// Lines of the two markers, from 1.
    pub first: usize,
    pub last: usize,
}

/// The regions of a Markdown text. Markers inside code blocks are only shown.
pub fn regions(text: &str) -> Result<Vec<Region>> {
    let mut found = Vec::new();
    let mut open: Option<(String, usize)> = None;
    let mut in_code = false;
    for (line, content) in text.lines().enumerate().map(|(index, content)| (index + 1, content.trim())) {
        if let Some((name, first)) = &open {
            if content == END {
                found.push(Region { name: name.clone(), first: *first, last: line });
                open = None;
            } else if name_of(content).is_some() {
                return Err(format!("the region `{name}` of line {first} is not ended before line {line}"));
            }
        } else if content.starts_with("```") {
            in_code = !in_code;
        } else if let Some(name) = name_of(content).filter(|_| !in_code) {
            open = Some((name.to_owned(), line));
        }
    }
    match open {
        Some((name, first)) => Err(format!("the region `{name}` of line {first} has no `{END}`")),
        None => Ok(found),
    }
}

fn name_of(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- generated: ")?.strip_suffix(" -->").map(str::trim)
}

fn replaced(text: &str, region: &Region, printed: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let body = printed.trim_end();
    format!("{}{body}\n{}", lines[..region.first].concat(), lines[region.last - 1..].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Entry = Entry { path: "schema.json", region: None, bin: "ralph", args: &["schema"] };
    const REGION: Entry = Entry { path: "G.md", region: Some("guards"), bin: "ralph", args: &["guards"] };
    const PAGE: &str = "# G\n<!-- generated: guards -->\nold\nolder\n<!-- end -->\nafter\n";

    fn printed(text: &str) -> Result<String> {
        Ok(text.to_owned())
    }

    #[test]
    fn a_whole_file_is_what_was_printed() {
        assert_eq!(made(&FILE, None, printed("{}\n")), Ok("{}\n".into()));
        assert_eq!(made(&FILE, Some("old"), printed("{}\n")), Ok("{}\n".into()));
    }

    #[test]
    fn a_region_is_replaced_and_the_rest_stays() {
        let new = "# G\n<!-- generated: guards -->\na\nb\n<!-- end -->\nafter\n";
        assert_eq!(made(&REGION, Some(PAGE), printed("a\nb\n\n")).as_deref(), Ok(new));
        assert_eq!(
            made(&REGION, Some(new), printed("a\nb\n\n")).as_deref(),
            Ok(new),
            "a second time changes nothing"
        );
    }

    #[test]
    fn an_empty_region_is_filled() {
        let page = "<!-- generated: guards -->\n<!-- end -->\n";
        let new = made(&REGION, Some(page), printed("a")).unwrap();
        assert_eq!(new, "<!-- generated: guards -->\na\n<!-- end -->\n");
    }

    #[test]
    fn what_cannot_be_made_says_why() {
        let error = |old: Option<&str>, out| made(&REGION, old, out).unwrap_err();
        assert!(error(Some(PAGE), printed(" \n")).contains("`ralph guards` printed nothing"));
        assert!(error(Some(PAGE), Err("exit 2".into())).contains("exit 2"));
        assert!(error(None, printed("a")).contains("does not exist"));
        assert!(error(Some("# G\n"), printed("a")).contains("no line `<!-- generated: guards -->`"));
        assert!(error(Some(&PAGE.repeat(2)), printed("a")).contains("twice"));
        assert!(error(Some("<!-- generated: guards -->\n"), printed("a")).contains("no `<!-- end -->`"));
        let nested = "<!-- generated: guards -->\n<!-- generated: b -->\n<!-- end -->\n";
        assert!(error(Some(nested), printed("a")).contains("not ended before line 2"));
    }

    #[test]
    fn markers_in_code_blocks_are_only_shown() {
        let page = format!("```\n<!-- generated: shown -->\n```\n{PAGE}");
        assert_eq!(regions(&page), Ok(vec![Region { name: "guards".into(), first: 5, last: 8 }]));
    }

    #[test]
    fn a_program_prints_what_an_entry_asks_for() {
        let missing = Entry { path: "x", region: None, bin: "no-such-binary", args: &[] };
        assert!(print(&repo::root(), &missing).unwrap_err().contains("no-such-binary"));
    }
}
