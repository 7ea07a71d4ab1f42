//! Paths of a workspace, as paths of its copy.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// Every occurrence of a path, where it ends as a path does, replaced.
pub(super) fn rewrite(text: &OsStr, from: &Path, to: &Path) -> OsString {
    let (bytes, old) = (text.as_bytes(), from.as_os_str().as_bytes());
    if old.is_empty() || old == b"/" {
        return text.to_owned();
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let before = at.checked_sub(1).map(|before| bytes[before]);
        if rest.starts_with(old) && is_end(rest.get(old.len())) && is_start(before) {
            out.extend_from_slice(to.as_os_str().as_bytes());
            at += old.len();
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    OsString::from_vec(out)
}

/// A path goes on with a name that has such characters.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-".contains(&byte) || byte >= 0x80
}

fn is_end(byte: Option<&u8>) -> bool {
    byte.is_none_or(|byte| !is_name(*byte))
}

fn is_start(byte: Option<u8>) -> bool {
    byte.is_none_or(|byte| !is_name(byte))
}

/// What a link has to say in the copy: into the copy where it leads into the workspace, and the same place elsewhere.
/// `folder`: where the link is, relative to the workspace.
pub(super) fn retarget(link: &Path, folder: &Path, workspace: &Path, copy: &Path) -> PathBuf {
    let meant = plain(&workspace.join(folder).join(link));
    match meant.strip_prefix(workspace) {
        Ok(_) if link.is_relative() && stays_inside(link, folder) => link.to_owned(),
        Ok(inside) => copy.join(inside),
        Err(_) => meant,
    }
}

/// Whether a relative link never climbs above the top on its way.
fn stays_inside(link: &Path, folder: &Path) -> bool {
    let mut depth = folder.components().count();
    link.components().all(|part| match part {
        Component::ParentDir if depth == 0 => false,
        Component::ParentDir => {
            depth -= 1;
            true
        }
        Component::Normal(_) => {
            depth += 1;
            true
        }
        _ => true,
    })
}

/// Without `.` and `..`, by the words alone.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_workspace_become_paths_of_the_copy() {
        let new = |text: &str| {
            rewrite(OsStr::new(text), Path::new("/a/w"), Path::new("/s/w")).into_string().expect("text")
        };
        assert_eq!(new("/a/w/bin:/usr/bin:/a/w"), "/s/w/bin:/usr/bin:/s/w");
        assert_eq!(new("#!/a/w/.venv/bin/python"), "#!/s/w/.venv/bin/python");
        assert_eq!(new("/a/w2 /a/w-x /b/a/w /a/w.d"), "/a/w2 /a/w-x /b/a/w /a/w.d");
    }

    #[test]
    fn links_lead_to_the_copy_or_where_they_led() {
        let new = |link: &str, folder: &str| {
            retarget(Path::new(link), Path::new(folder), Path::new("/a/w"), Path::new("/s/w"))
        };
        assert_eq!(new("../b", "c"), Path::new("../b"));
        assert_eq!(new("/a/w/b", "c"), Path::new("/s/w/b"));
        assert_eq!(new("../../w/b", "c"), Path::new("/s/w/b"));
        assert_eq!(new("../../x", "c"), Path::new("/a/x"));
        assert_eq!(new("/etc/hosts", ""), Path::new("/etc/hosts"));
    }
}
