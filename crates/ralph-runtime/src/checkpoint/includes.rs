//! Files that the settings of a repository draw in. git opens them whatever it is asked for, and would wait for a pipe for ever.

use std::path::{Path, PathBuf};

use ralph_store::plain::{self, Links};

/// Settings that draw in others that draw in others: git itself goes ten deep.
const DEPTH: usize = 10;
const MOST: u64 = 1 << 20;

/// The first file on the way that is there and is none to wait for.
pub(super) fn first_that_is_no_file(config: &Path) -> Option<PathBuf> {
    look(config, DEPTH)
}

fn look(config: &Path, depth: usize) -> Option<PathBuf> {
    let text = plain::read_text(config, Links::Follow, MOST).ok()?;
    let folder = config.parent().unwrap_or(Path::new("/"));
    for path in included(&text) {
        let path = match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
            (Some(rest), Some(home)) => Path::new(&home).join(rest),
            _ => folder.join(path),
        };
        // What is not there is not read.
        let Ok(found) = path.metadata() else { continue };
        if !found.is_file() && !found.is_dir() {
            return Some(path);
        }
        if let Some(found) = depth.checked_sub(1).and_then(|depth| look(&path, depth)) {
            return Some(found);
        }
    }
    None
}

/// The values of `path` in every `[include]` and `[includeIf "…"]`. Whether a condition holds is not asked.
fn included(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        let mut line = line.trim_start();
        if let Some(header) = line.strip_prefix('[') {
            inside = header.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("include"));
            // A value may stand behind the header.
            line = header.rsplit_once(']').map_or("", |(_, rest)| rest.trim_start());
        }
        let Some((key, value)) = line.split_once('=').filter(|_| inside) else { continue };
        if key.trim().eq_ignore_ascii_case("path") {
            found.push(value.trim().trim_matches('"').to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_both_kinds_of_sections_and_nowhere_else() {
        let text = "[core]\n\tpath = no\n[include]\n\tpath = a\n  PATH=\"b c\"\n[user] path = no\n[includeIf \"gitdir:~/x/\"] path = d\n";
        assert_eq!(included(text), ["a", "b c", "d"]);
        assert!(included("path = x\n[include\npath").is_empty());
    }

    #[test]
    fn a_pipe_is_found_on_the_way_and_circles_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("config"), "[include]\npath = gone\npath = more\n").expect("write");
        std::fs::write(at("more"), "[include]\npath = config\n").expect("write");
        assert_eq!(first_that_is_no_file(&at("config")), None);
        let device = "/dev/zero";
        std::fs::write(at("more"), format!("[include]\npath = {device}\n")).expect("write");
        assert_eq!(first_that_is_no_file(&at("config")), Some(PathBuf::from(device)));
    }
}
