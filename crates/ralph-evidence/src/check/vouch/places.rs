//! Where programs and what they check come from, by their paths alone.

use super::Vouched;

/// Programs that a project holds itself.
const OF_PROJECTS: &[&str] = &["gradlew", "mvnw"];
/// Folders that anyone fills in passing.
const SCRATCH: &[&str] = &["/tmp/", "/var/tmp/", "/dev/shm/", "/private/tmp/", "./tmp/", "tmp/"];

/// A program as it is named: by its name alone, or from a place where programs are installed.
pub(in crate::check) fn program(path: &str) -> Vouched {
    let Some((folder, name)) = path.rsplit_once(['/', '\\']) else { return Vouched::ByStatus };
    // `@biomejs/biome` is the name of a package.
    match path.starts_with('@') || is_for_programs(folder) || OF_PROJECTS.contains(&name) {
        true => Vouched::ByStatus,
        false => Vouched::Never,
    }
}

/// `PATH=…`: what stands in front of the old one hides programs.
pub(super) fn search_path(value: &str) -> Vouched {
    let is_old = |part: &str| ["$PATH", "${PATH}"].contains(&part);
    let mut parts = split(value).into_iter();
    // Behind the old ones nothing is hidden.
    let mut front = parts.by_ref().take_while(|part| !is_old(part));
    match front.all(is_for_programs) && value.contains("PATH") {
        true => Vouched::ByStatus,
        false => Vouched::Never,
    }
}

/// At colons, but not in `$(…)`.
fn split(value: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut from, mut depth) = (0, 0_u32);
    for (at, c) in value.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                parts.push(&value[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&value[from..]);
    parts
}

fn is_for_programs(folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    let last = folder.rsplit(['/', '\\']).next().unwrap_or_default();
    let installed = matches!(last, "bin" | ".bin" | "sbin" | "Scripts" | "shims")
        || folder.starts_with("/usr/")
        || folder.starts_with("/opt/");
    installed && !SCRATCH.iter().any(|place| folder.starts_with(place))
}

/// Whether a folder or file named on a command line is outside of the workspace. `~` and `$HOME` may be the way to it.
pub(in crate::check) fn is_outside(path: &str, workspace: &str) -> bool {
    const HERE: &[&str] = &["$PWD", "${PWD}", "$(pwd)", "`pwd`", "$(git rev-parse --show-toplevel)"];
    if path.is_empty() || workspace.is_empty() || HERE.iter().any(|here| path.starts_with(here)) {
        return has_parent(path);
    }
    let within = |path: &str| {
        path.strip_prefix(workspace).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if let Some(rest) = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|home| path.strip_prefix(home)) {
        let rest = rest.trim_end_matches('/');
        let mut up = std::path::Path::new(rest).ancestors().filter(|part| !part.as_os_str().is_empty());
        return has_parent(rest) || !up.any(|part| workspace.ends_with(&format!("/{}", part.display())));
    }
    match path.chars().next() {
        Some('/') => {
            path.split('/').any(|part| part == "..") || !(within(path) || within(&format!("/private{path}")))
        }
        Some('~' | '$' | '`') => true,
        _ => has_parent(path),
    }
}

/// Whether `..` leads out of it.
fn has_parent(path: &str) -> bool {
    let mut depth = 0_i32;
    path.split('/').filter(|part| !part.is_empty() && *part != ".").any(|part| {
        depth += if part == ".." { -1 } else { 1 };
        depth < 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_folders_are_known_by_where_they_are() {
        for known in ["pytest", ".venv/bin/pytest", "/usr/bin/time", "./node_modules/.bin/jest", "./gradlew"]
        {
            assert_eq!(program(known), Vouched::ByStatus, "{known}");
        }
        for made in ["./pytest", "/tmp/bin/pytest", "fake/cargo", "/tmp/cargo"] {
            assert_eq!(program(made), Vouched::Never, "{made}");
        }
        for fine in
            ["$HOME/.cargo/bin:$PATH", "$PATH:./x", "/usr/local/go/bin:${PATH}", "$(npm bin)/bin:$PATH"]
        {
            assert_eq!(search_path(fine), Vouched::ByStatus, "{fine}");
        }
        for made in ["/tmp/fake:$PATH", ".:$PATH", "/tmp/x/bin:$PATH", "./bin-of-mine", "/usr/bin:./x:$PATH"]
        {
            assert_eq!(search_path(made), Vouched::Never, "{made}");
        }
    }

    #[test]
    fn a_folder_is_inside_however_it_is_written() {
        for inside in
            ["", "web", "/srv/work", "/srv/work/web", "~/work", "$HOME/work/web", "$PWD/x", "a/../b"]
        {
            assert!(!is_outside(inside, "/srv/work"), "{inside}");
        }
        for outside in
            ["/tmp/other", "/srv/worker", "..", "a/../../b", "~/other", "$d", "~", "/srv/work/../x"]
        {
            assert!(is_outside(outside, "/srv/work"), "{outside}");
        }
    }
}
