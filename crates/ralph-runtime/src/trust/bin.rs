//! The folder that offers `ralph` to agents: one link to this very program, and nothing else. It stands first on their PATH, so
//! whatever else is in it would be found before the real programs.

use std::fs;
use std::io;
use std::path::Path;

/// Makes the folder what it has to be. Returns the names of what was removed from it.
pub(crate) fn keep_clean(bin: &Path, link: &Path, program: &Path) -> io::Result<Vec<String>> {
    let is_folder = fs::symlink_metadata(bin).is_ok_and(|meta| meta.is_dir());
    let mut removed = Vec::new();
    if !is_folder {
        if fs::symlink_metadata(bin).is_ok() {
            fs::remove_file(bin)?;
            removed.push("bin".to_owned());
        }
        fs::create_dir_all(bin)?;
    }
    for entry in fs::read_dir(bin)? {
        let entry = entry?;
        let is_ours = entry.path() == link && fs::read_link(link).is_ok_and(|target| target == program);
        if is_ours {
            continue;
        }
        removed.push(entry.file_name().to_string_lossy().into_owned());
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    if fs::symlink_metadata(link).is_err() {
        std::os::unix::fs::symlink(program, link)?;
    }
    removed.sort();
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_else_is_there_goes_and_the_link_leads_to_the_program_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let (bin, program) = (dir.path().join("bin"), Path::new("/bin/true"));
        let link = bin.join("ralph");
        let clean = || keep_clean(&bin, &link, program).expect("clean");
        assert_eq!(clean(), [] as [&str; 0], "a folder that is not there is made");
        assert_eq!(fs::read_link(&link).expect("a link"), program);
        assert_eq!(clean(), [] as [&str; 0]);
        fs::write(bin.join("git"), "#!/bin/sh\nexit 0\n").expect("a fake");
        fs::create_dir_all(bin.join("sub/deep")).expect("a folder");
        fs::remove_file(&link).expect("removed");
        fs::write(&link, "#!/bin/sh\nexit 0\n").expect("a fake");
        assert_eq!(clean(), ["git", "ralph", "sub"]);
        assert_eq!(fs::read_link(&link).expect("a link"), program);
        fs::remove_dir_all(&bin).expect("gone");
        std::os::unix::fs::symlink("/tmp", &bin).expect("a link elsewhere");
        assert_eq!(clean(), ["bin"]);
        assert_eq!(fs::read_dir(&bin).expect("a folder").count(), 1);
    }
}
