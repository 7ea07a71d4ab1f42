//! Files that an agent, a user or another program may have prepared: opened without waiting, checked to be plain files, read up
//! to a bound. What is written follows no link, neither in the file's own place nor in that of its folder.
//!
//! A pipe that nobody writes to would keep its reader waiting for ever, a device would fill the memory, and a link would lead a
//! writer to what is not ours. `cargo xtask tidy` sees to it that nothing else opens files in the store and the runtime.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

/// Of a file that holds a few words, such as a reference of git's.
pub const SMALL: u64 = 64 << 10;
/// Of a text that a person writes: a prompt, instructions, settings.
pub const TEXT: u64 = 16 << 20;

const PRIVATE: Mode = Mode::from_raw_mode(0o600);

/// Whether a link may stand where a file is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// It may: the file is the user's, who may keep it elsewhere.
    Follow,
    /// It may not: the file is ralph's own, or what a link leads to is not meant.
    Refuse,
}

/// Opens a plain file to read it.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    plain(with_flags(path, OFlags::RDONLY, links)?)
}

/// Opens a plain file that is there, to read and change it in place. Links are not followed.
pub fn open_to_change(path: &Path) -> io::Result<File> {
    plain(with_flags(path, OFlags::RDWR, Links::Refuse)?)
}

/// The whole of a plain file. One that has more than `most` bytes is an error.
pub fn read(path: &Path, links: Links, most: u64) -> io::Result<Vec<u8>> {
    read_open(&open(path, links)?, most)
}

/// The same for a file that is open.
pub fn read_open(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        true => Ok(bytes),
        false => {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {}", size(most))))
        }
    }
}

/// The same, as text.
pub fn read_text(path: &Path, links: Links, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, links, most)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Opens a folder, which is no link.
pub fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(folder) => Ok(File::from(folder)),
        Err(Errno::LOOP | Errno::NOTDIR) => Err(other("it is no folder")),
        Err(error) => Err(error.into()),
    }
}

/// A new file of ours, for nobody else to read. What stood in its place is removed, and never written to.
pub fn create(path: &Path) -> io::Result<File> {
    let (folder, name) = place(path)?;
    create_in(&open_folder(folder)?, name)
}

/// The same in a folder that is open.
pub fn create_in(folder: impl AsFd, name: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Somebody may put something there again, but not for ever.
    for _ in 0..8 {
        match openat(&folder, name, flags, PRIVATE) {
            Ok(file) => {
                let file = File::from(file);
                // Whatever mask this was started with.
                rustix::fs::fchmod(&file, PRIVATE)?;
                return Ok(file);
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        match unlinkat(&folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(other("something stands in its place again and again"))
}

/// Opens a file of ours to write at its end; makes it where there is none. Its folder may be a link.
pub fn append(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW;
    let file = rustix::fs::open(path, flags | OFlags::NONBLOCK | OFlags::CLOEXEC, PRIVATE);
    let file = plain(file.map_err(|error| named(error, Links::Refuse))?)?;
    match file.metadata()?.nlink() {
        0 | 1 => Ok(file),
        _ => Err(other("it has another name as well, so more than this would be written to")),
    }
}

/// Puts a whole file into an open folder, at once: written beside, then exchanged with what stands in its place. What stood there is
/// the file beside the next time, so that a file that is written again and again costs no inode each time. One that has these very
/// bytes is left alone.
pub fn replace_in(folder: impl AsFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let there = ours_in(&folder, name);
    if there.as_ref().is_some_and(|file| has_bytes(file, bytes)) {
        return Ok(());
    }
    let beside = format!(".{name}.new");
    let mut file = match ours_in(&folder, &beside) {
        Some(file) => {
            file.set_len(0)?;
            file
        }
        None => create_in(&folder, Path::new(&beside))?,
    };
    io::Write::write_all(&mut file, bytes)?;
    drop(file);
    let how = if there.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::empty() };
    let moved = renameat_with(&folder, beside.as_str(), &folder, name, how)
        // Gone meanwhile, or a file system that exchanges nothing.
        .or_else(|_| renameat(&folder, beside.as_str(), &folder, name));
    if moved.is_err() {
        let _ = unlinkat(&folder, beside.as_str(), AtFlags::empty());
    }
    Ok(moved?)
}

/// A private plain file of ours with no other name, to read and to change: writing to it writes to nothing else.
fn ours_in(folder: impl AsFd, name: &str) -> Option<File> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = plain(openat(folder, name, flags, Mode::empty()).ok()?).ok()?;
    let meta = file.metadata().ok()?;
    let is_ours = meta.nlink() == 1 && meta.uid() == rustix::process::geteuid().as_raw();
    (is_ours && meta.mode() & 0o7777 == PRIVATE.as_raw_mode()).then_some(file)
}

fn has_bytes(file: &File, bytes: &[u8]) -> bool {
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    file.metadata().is_ok_and(|meta| meta.len() == length)
        && read_open(file, length).is_ok_and(|there| there == bytes)
}

/// Whether something stands at a name in an open folder, be it a link that leads nowhere.
pub fn stands_in(folder: impl AsFd, name: &str) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Makes a folder that only its owner can enter, whatever the mask. One that is there stays as it is.
pub fn make_folder(path: &Path) -> io::Result<()> {
    match rustix::fs::mkdir(path, Mode::RWXU) {
        // The mask may have taken rights from the owner, too.
        Ok(()) => Ok(rustix::fs::chmod(path, Mode::RWXU)?),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The same with the folders above it.
pub fn make_folders(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        make_folders(above)?;
    }
    make_folder(path)?;
    match path.is_dir() {
        true => Ok(()),
        false => Err(other("it is no folder")),
    }
}

fn with_flags(path: &Path, mode: OFlags, links: Links) -> io::Result<rustix::fd::OwnedFd> {
    let links_flag = if links == Links::Refuse { OFlags::NOFOLLOW } else { OFlags::empty() };
    let flags = mode | links_flag | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|error| named(error, links))
}

fn named(error: Errno, links: Links) -> io::Error {
    match error {
        Errno::LOOP if links == Links::Refuse => other("it is a link"),
        Errno::ISDIR => other("it is a folder, not a file"),
        // A pipe without a reader, a socket.
        Errno::NXIO => other("it is no file"),
        error => error.into(),
    }
}

/// The file, if it is one.
fn plain(file: rustix::fd::OwnedFd) -> io::Result<File> {
    let file = File::from(file);
    let kind = file.metadata()?.file_type();
    let what = match kind {
        _ if kind.is_file() => return Ok(file),
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a pipe",
        _ if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "something else",
    };
    Err(other(&format!("it is {what}, not a file")))
}

fn place(path: &Path) -> io::Result<(&Path, &Path)> {
    let name = path.file_name().ok_or_else(|| other("it has no name"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok((folder.unwrap_or(Path::new(".")), Path::new(name)))
}

fn other(why: &str) -> io::Error {
    io::Error::other(why.to_owned())
}

fn size(bytes: u64) -> String {
    match bytes {
        0..=0x3ff => format!("{bytes} bytes"),
        0x400..=0xf_ffff => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// Whether there is a plain file, by its own name.
pub fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    fn pipe(path: &Path) {
        mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
    }

    fn text(result: io::Result<impl Sized>) -> String {
        result.map(|_| ()).expect_err("an error").to_string()
    }

    #[test]
    fn what_is_no_plain_file_is_told_apart_and_nobody_waits() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        pipe(&at("pipe"));
        symlink("/dev/zero", at("zero")).expect("a link");
        fs::write(at("file"), "1234").expect("write");
        symlink("file", at("link")).expect("a link");
        assert_eq!(text(read(&at("pipe"), Links::Follow, TEXT)), "it is a pipe, not a file");
        assert_eq!(text(read(&at("zero"), Links::Follow, TEXT)), "it is a device, not a file");
        assert_eq!(text(read(&at("zero"), Links::Refuse, TEXT)), "it is a link");
        assert_eq!(text(read(dir.path(), Links::Follow, TEXT)), "it is a folder, not a file");
        assert_eq!(text(read(&at("file"), Links::Follow, 3)), "it is larger than 3 bytes");
        assert_eq!(read(&at("link"), Links::Follow, 4).expect("read"), b"1234");
        assert_eq!(text(append(&at("pipe"))), "it is no file");
        assert_eq!(text(append(&at("link"))), "it is a link");
        assert_eq!(text(open_to_change(&at("pipe"))), "it is a pipe, not a file");
    }

    #[test]
    fn a_new_file_takes_the_place_of_what_stood_there_and_is_private() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        fs::write(at("theirs"), "kept").expect("write");
        pipe(&at("a"));
        symlink(at("theirs"), at("b")).expect("a link");
        fs::hard_link(at("theirs"), at("c")).expect("a second name");
        for name in ["a", "b", "c", "d"] {
            let mut file = create(&at(name)).expect(name);
            io::Write::write_all(&mut file, b"ours").expect("write");
            let meta = fs::symlink_metadata(at(name)).expect("status");
            assert!(meta.is_file() && meta.permissions().mode() & 0o777 == 0o600, "{name}");
        }
        assert_eq!(fs::read(at("theirs")).expect("read"), b"kept");
        fs::hard_link(at("theirs"), at("e")).expect("a second name");
        assert!(text(append(&at("e"))).contains("another name"));
        symlink(dir.path(), at("away")).expect("a link");
        assert_eq!(text(create(&at("away/x"))), "it is no folder");
        assert!(!at("x").exists());
    }

    #[test]
    fn a_replaced_file_is_whole_and_a_folder_in_its_place_is_an_error_without_litter() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = open_folder(dir.path()).expect("a folder");
        pipe(&dir.path().join(".x.new"));
        replace_in(&folder, "x", b"1").expect("written");
        replace_in(&folder, "x", b"22").expect("written");
        assert_eq!(fs::read(dir.path().join("x")).expect("read"), b"22");
        fs::create_dir(dir.path().join("y")).expect("a folder");
        assert!(replace_in(&folder, "y", b"1").is_err());
        assert!(!stands_in(&folder, ".y.new") && stands_in(&folder, "x"));
    }

    #[test]
    fn a_file_that_is_replaced_again_and_again_takes_no_new_inode_and_writes_through_nothing() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        let folder = open_folder(dir.path()).expect("a folder");
        let inode = |name: &str| fs::metadata(at(name)).map(|meta| meta.ino()).expect(name);
        replace_in(&folder, "x", b"1").expect("written");
        replace_in(&folder, "x", b"2").expect("written");
        let (first, second) = (inode("x"), inode(".x.new"));
        replace_in(&folder, "x", b"a longer one").expect("written");
        assert_eq!((inode("x"), inode(".x.new")), (second, first));
        replace_in(&folder, "x", b"a longer one").expect("nothing to do");
        assert_eq!(inode("x"), second, "equal bytes are left alone");
        replace_in(&folder, "x", b"3").expect("written");
        assert_eq!(fs::read(at("x")).expect("read"), b"3");
        fs::write(at("theirs"), b"kept").expect("write");
        fs::set_permissions(at("theirs"), fs::Permissions::from_mode(0o600)).expect("private");
        for place in [".x.new", "x"] {
            fs::remove_file(at(place)).expect("removed");
            fs::hard_link(at("theirs"), at(place)).expect("a second name");
            replace_in(&folder, "x", b"4").expect("written");
            fs::remove_file(at(place)).expect("removed");
            symlink(at("theirs"), at(place)).expect("a link");
            replace_in(&folder, "x", b"5").expect("written");
            assert_eq!(fs::read(at("theirs")).expect("read"), b"kept", "{place}");
            assert!(fs::symlink_metadata(at("x")).expect("status").is_file());
            assert_eq!(fs::read(at("x")).expect("read"), b"5");
            replace_in(&folder, "x", b"6").expect("written");
        }
    }

    #[test]
    fn folders_are_private() {
        let dir = tempfile::tempdir().expect("a folder");
        let deep = dir.path().join("a/b");
        make_folders(&deep).expect("made");
        make_folders(&deep).expect("there already");
        for folder in [dir.path().join("a"), deep] {
            assert_eq!(fs::metadata(folder).expect("status").permissions().mode() & 0o777, 0o700);
        }
        fs::write(dir.path().join("file"), "").expect("write");
        assert!(make_folders(&dir.path().join("file")).is_err());
    }
}
