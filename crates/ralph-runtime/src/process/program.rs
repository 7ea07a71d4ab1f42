//! Finds a program the way `execvp` would, but relative to a given directory and `PATH`, and before anything
//! is started.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use thiserror::Error;

/// What `execvp` searches when there is no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ResolveError {
    #[error("`{name}` was not found")]
    NotFound { name: String },
    #[error("`{}` is not an executable file", path.display())]
    NotExecutable { path: PathBuf },
}

/// The file that `name` means in `cwd`. A name with a slash is a path; any other is searched in `path_env`,
/// whose relative entries count from `cwd`. A match that may not be executed is passed over, and named only if
/// there is no better one.
pub fn resolve_program(
    name: impl AsRef<OsStr>,
    cwd: &Path,
    path_env: Option<&OsStr>,
) -> Result<PathBuf, ResolveError> {
    let name = name.as_ref();
    let not_found = || ResolveError::NotFound { name: name.to_string_lossy().into_owned() };
    if name.is_empty() {
        return Err(not_found());
    }
    if name.as_encoded_bytes().contains(&b'/') {
        return check(cwd.join(name)).map_err(|bad| bad.unwrap_or_else(not_found));
    }
    let mut passed_over = None;
    for dir in env::split_paths(path_env.unwrap_or(OsStr::new(DEFAULT_PATH))) {
        match check(cwd.join(dir).join(name)) {
            Ok(found) => return Ok(found),
            Err(bad) => passed_over = passed_over.or(bad),
        }
    }
    Err(passed_over.unwrap_or_else(not_found))
}

/// `Err(None)` if there is nothing at `path`.
fn check(path: PathBuf) -> Result<PathBuf, Option<ResolveError>> {
    let Ok(found) = path.metadata() else { return Err(None) };
    if found.is_file() && access(&path, Access::EXEC_OK).is_ok() {
        Ok(path)
    } else {
        Err(Some(ResolveError::NotExecutable { path }))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// `a/tool` may not be executed, `b/tool` may; `a/folder` is a directory.
    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, mode) in [("a/tool", 0o644), ("b/tool", 0o755)] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(root.path().join("a/folder")).unwrap();
        root
    }

    fn resolve(root: &Path, name: &str, path: &str) -> Result<PathBuf, ResolveError> {
        resolve_program(name, root, Some(OsStr::new(path)))
    }

    #[test]
    fn searches_path_from_the_given_directory_and_passes_over_what_cannot_run() {
        let root = tree();
        assert_eq!(resolve(root.path(), "tool", "nowhere:a:b"), Ok(root.path().join("b/tool")));
        assert_eq!(resolve(&root.path().join("b"), "tool", ""), Ok(root.path().join("b/tool")));
    }

    #[test]
    fn a_name_with_a_slash_is_a_path_and_is_not_searched() {
        let root = tree();
        assert_eq!(resolve(root.path(), "./b/tool", "a"), Ok(root.path().join("./b/tool")));
        assert_eq!(resolve(root.path(), "/bin/sh", ""), Ok(PathBuf::from("/bin/sh")));
        let missing = ResolveError::NotFound { name: "./tool".into() };
        assert_eq!(resolve(root.path(), "./tool", "b"), Err(missing));
    }

    #[test]
    fn says_what_is_wrong() {
        let root = tree();
        let not_executable = |file: &str| Err(ResolveError::NotExecutable { path: root.path().join(file) });
        assert_eq!(resolve(root.path(), "tool", "a:nowhere"), not_executable("a/tool"));
        assert_eq!(resolve(root.path(), "a/tool", ""), not_executable("a/tool"));
        assert_eq!(resolve(root.path(), "folder", "a"), not_executable("a/folder"));
        for name in ["gone", ""] {
            assert_eq!(resolve(root.path(), name, "a:b"), Err(ResolveError::NotFound { name: name.into() }));
        }
    }

    #[test]
    fn without_path_the_usual_places_are_searched() {
        assert!(resolve_program("sh", Path::new("/"), None).is_ok());
    }
}
