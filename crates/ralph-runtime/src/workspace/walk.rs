//! A walk through the workspace by git's rules of what is ignored. Every file of rules is one that an agent may have prepared.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ralph_evidence::gitignore::{Rules, Verdict};
use ralph_store::plain::{self, Links};

use super::git::Repository;

/// Of one file of rules; the rules of a larger one do not count.
const MAX_RULES: u64 = 4 << 20;

/// The rules of one file, for what is below a folder, and those that count where they say nothing.
struct Level {
    folder: PathBuf,
    rules: Rules,
    above: Option<Rc<Level>>,
}

type Levels = Option<Rc<Level>>;

/// Gives everything below a folder that git does not ignore to `wanted`, and what that wants and is no folder to `visit`, until
/// that has enough. Paths are relative to where it begins. Links are not followed. Outside of git nothing is ignored; a repository inside has rules of its own.
pub(super) fn walk(root: &Path, wanted: &mut dyn FnMut(&Path) -> bool, visit: &mut dyn FnMut(&Path) -> bool) {
    let top = root.ancestors().find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok());
    let mut open = vec![(PathBuf::new(), top.and_then(|top| rules_above(top, root)), top.is_some())];
    while let Some((inside, mut levels, mut in_git)) = open.pop() {
        let folder = root.join(&inside);
        let entries: Vec<_> = fs::read_dir(&folder).into_iter().flatten().flatten().collect();
        let has = |name: &str| entries.iter().any(|entry| entry.file_name() == name);
        if !inside.as_os_str().is_empty() && has(".git") {
            (levels, in_git) = (rules_of_repository(&folder), true);
        }
        if in_git && has(".gitignore") {
            levels = with_file(levels, &folder, &folder.join(".gitignore"), Links::Refuse);
        }
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            let path = inside.join(entry.file_name());
            let is_folder = kind.is_dir();
            if is_ignored(&levels, &root.join(&path), is_folder) || !wanted(&path) {
                continue;
            }
            if is_folder {
                open.push((path, levels.clone(), in_git));
            } else if !visit(&path) {
                return;
            }
        }
    }
}

fn is_ignored(levels: &Levels, path: &Path, is_folder: bool) -> bool {
    let mut next = levels.as_ref();
    while let Some(level) = next {
        let inside = path.strip_prefix(&level.folder).unwrap_or(path);
        match level.rules.verdict(inside.as_os_str().as_bytes(), is_folder) {
            Some(verdict) => return verdict == Verdict::Ignored,
            None => next = level.above.as_ref(),
        }
    }
    false
}

/// The rules that count everywhere in a repository.
fn rules_of_repository(top: &Path) -> Levels {
    let global = global_rules().and_then(|file| with_file(None, top, &file, Links::Follow));
    match Repository::open(top) {
        Some(repository) => with_file(global, top, &repository.exclude_file(), Links::Follow),
        None => global,
    }
}

/// The rules of the repository, and those of the folders between its top and the folder where the walk begins.
fn rules_above(top: &Path, root: &Path) -> Levels {
    let mut levels = rules_of_repository(top);
    let between: Vec<&Path> = root.ancestors().skip(1).take_while(|folder| folder.starts_with(top)).collect();
    for folder in between.into_iter().rev() {
        levels = with_file(levels, folder, &folder.join(".gitignore"), Links::Refuse);
    }
    levels
}

/// One more file of rules, if there is one that can be read and has any.
fn with_file(above: Levels, folder: &Path, file: &Path, links: Links) -> Levels {
    let rules = match plain::read(file, links, MAX_RULES) {
        Ok(text) => Rules::parse(&text),
        Err(_) => return above,
    };
    match rules.is_empty() {
        true => above,
        false => Some(Rc::new(Level { folder: folder.to_owned(), rules, above })),
    }
}

/// The user's own rules for all repositories.
fn global_rules() -> Option<PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = var("HOME");
    let config = var("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let settings =
        [home.as_ref().map(|home| home.join(".gitconfig")), config.as_ref().map(|it| it.join("git/config"))];
    let named = settings.into_iter().flatten().find_map(|file| {
        let text = plain::read(&file, Links::Follow, plain::TEXT).ok()?;
        excludes_file(&String::from_utf8_lossy(&text))
    });
    match named {
        Some(named) => Some(match named.strip_prefix("~/") {
            Some(rest) => home?.join(rest),
            None => PathBuf::from(named),
        }),
        None => Some(config?.join("git/ignore")),
    }
}

/// What `core.excludesFile` is set to.
fn excludes_file(config: &str) -> Option<String> {
    config.lines().find_map(|line| {
        let (key, value) = line.trim().split_once('=')?;
        let value = value.trim().trim_matches('"').trim();
        (key.trim().eq_ignore_ascii_case("excludesfile") && !value.is_empty()).then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_found_whatever_its_case() {
        let config = "[user]\n\tname = x\n[core]\n\texcludesFile = \"~/.ignored\"\n";
        assert_eq!(excludes_file(config).as_deref(), Some("~/.ignored"));
        assert_eq!(excludes_file("[core]\n\teditor = vi\n"), None);
    }
}
