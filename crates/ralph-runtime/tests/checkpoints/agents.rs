//! Random agents at work with checkpoints on. After an undo the files are byte for byte those of the checkpoint, and git's own
//! books are what the agent left. `RALPH_UNDO_AGENTS` says how many, `RALPH_UNDO_SEED` runs a single one.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ralph_runtime::checkpoint::Saved;

use crate::support::{Manifest, Repo, git, look};

/// Random numbers that a seed repeats (SplitMix64).
struct Rng(u64);

impl Rng {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % most as u64).expect("small")
    }

    fn path(&mut self) -> PathBuf {
        let names: [&[u8]; 16] = [
            b"a",
            b"b",
            b"c.txt",
            b"dir",
            b"dir/a",
            b"dir/b.txt",
            b"dir/sub/c",
            b"x.ign",
            b"dir/y.ign",
            b"new\nline",
            b"\xe4\xff",
            b"sp ace",
            b"tool.sh",
            b"link",
            b"inner/f",
            b"sub/f",
        ];
        PathBuf::from(OsStr::from_bytes(names[self.below(names.len())]))
    }

    fn bytes(&mut self) -> Vec<u8> {
        let seed = self.below(1 << 20);
        match self.below(6) {
            0 => Vec::new(),
            1 => format!("{seed}\r\nb\r\n").into_bytes(),
            2 => format!("{seed}\nb\r\nmixed\n").into_bytes(),
            3 => [0, 159, 146, 150, (seed % 256) as u8].repeat(1 + seed % 40_000),
            4 => format!("$Id$ {seed}\n").into_bytes(),
            _ => format!("{seed}\n").repeat(1 + seed % 20).into_bytes(),
        }
    }
}

fn act(repo: &Repo, rng: &mut Rng) {
    match rng.below(12) {
        0..=3 => repo.write(rng.path(), rng.bytes()),
        4 => {
            let path = repo.path(rng.path());
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        }
        5 => {
            let mode = [0o644, 0o755, 0o600, 0o700][rng.below(4)];
            let path = repo.path(rng.path());
            if path.is_file() && !path.is_symlink() {
                let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode));
            }
        }
        6 => {
            let path = repo.path(rng.path());
            let _ = fs::remove_file(&path);
            let _ = symlink(["a", "nowhere", "dir", "../outside"][rng.below(4)], path);
        }
        7 => {
            let (from, to) = (repo.path(rng.path()), repo.path(rng.path()));
            let _ = fs::rename(from, to);
        }
        8 => rules(repo, rng),
        9 => nest(repo, rng),
        _ => books(repo, rng),
    }
}

/// What is ignored, and what git would do to bytes.
fn rules(repo: &Repo, rng: &mut Rng) {
    match rng.below(4) {
        0 => repo.write(".gitignore", ["*.ign\n", "*.ign\nb\n", "", "dir/\n"][rng.below(4)]),
        1 => repo.write(
            ".gitattributes",
            ["* text=auto eol=crlf\n", "* filter=no ident\n", "*.txt -text\n"][rng.below(3)],
        ),
        2 => drop(repo.git(&["config", "core.autocrlf", ["true", "input", "false"][rng.below(3)]])),
        _ => drop(repo.git(&["config", "core.fileMode", ["true", "false"][rng.below(2)]])),
    }
}

fn nest(repo: &Repo, rng: &mut Rng) {
    let inner = repo.path("inner");
    match rng.below(3) {
        0 => {
            repo.write("inner/f", rng.bytes());
            git(&inner, &["init", "-q"]);
            git(&inner, &["add", "-A"]);
            git(&inner, &["commit", "-qm", "inner"]);
        }
        1 => {
            let source = repo.dir.path().join("source");
            fs::create_dir_all(&source).expect("a folder");
            fs::write(source.join("f"), rng.bytes()).expect("write");
            git(&source, &["init", "-q"]);
            git(&source, &["add", "-A"]);
            git(&source, &["commit", "-qm", "source"]);
            let source = source.to_string_lossy().into_owned();
            repo.git(&["submodule", "add", "-q", "--force", &source, "sub"]);
        }
        _ => drop(repo.git(&["add", "inner"])),
    }
}

/// What agents do to git's books.
fn books(repo: &Repo, rng: &mut Rng) {
    let all: [&[&str]; 22] = [
        &["add", "-A"],
        &["add", "-f", "x.ign"],
        &["rm", "-q", "--cached", "a"],
        &["commit", "-qam", "work"],
        &["commit", "-q", "--allow-empty", "-m", "empty"],
        &["commit", "-q", "--amend", "--no-edit", "--allow-empty"],
        &["stash", "-q", "-u"],
        &["stash", "pop", "-q"],
        &["stash"],
        &["reset", "-q", "--hard"],
        &["reset", "-q", "--hard", "HEAD~1"],
        &["reset", "-q", "HEAD"],
        &["checkout", "-q", "-B", "topic"],
        &["checkout", "-q", "-f", "main"],
        &["checkout", "-q", "--", "."],
        &["rebase", "-q", "main"],
        &["merge", "-q", "topic"],
        &["clean", "-qfd"],
        &["clean", "-qffdx"],
        &["update-index", "--assume-unchanged", "first"],
        &["pack-refs", "--all"],
        &["gc", "-q", "--prune=now"],
    ];
    repo.git(all[rng.below(all.len())]);
}

struct Kept {
    saved: Saved,
    manifest: Manifest,
}

fn save(repo: &mut Repo, at: usize, seed: u64) -> Kept {
    let (books, manifest) = (repo.books(), repo.manifest());
    let saved = repo.save(&at.to_string());
    assert_eq!(repo.books(), books, "seed {seed}: a checkpoint touched git's books");
    assert!(repo.manifest() == manifest, "seed {seed}: a checkpoint touched files");
    let names: Vec<&PathBuf> = manifest.keys().collect();
    assert_eq!(saved.files as usize, manifest.len(), "seed {seed}: of {names:?}");
    Kept { saved, manifest }
}

fn agent(seed: u64) {
    let mut rng = Rng(seed);
    let mut repo = Repo::new();
    repo.write(".gitignore", "*.ign\n");
    for _ in 0..6 {
        repo.write(rng.path(), rng.bytes());
    }
    books(&repo, &mut rng);
    let mut kept = vec![save(&mut repo, 0, seed)];
    for at in 1..4 {
        (0..1 + rng.below(7)).for_each(|_| act(&repo, &mut rng));
        kept.push(save(&mut repo, at, seed));
    }
    (0..rng.below(4)).for_each(|_| act(&repo, &mut rng));
    let to = &kept[rng.below(kept.len())];
    let ignored = ignored(&repo);
    let books = repo.books();
    let (before, done) = repo.undo(&to.saved);
    // A file that is ignored may stand where a folder has to be, and is not removed; everything else has to be as it was.
    let excused: Vec<&String> =
        done.problems.iter().filter(|one| !one.contains("in the way") && !one.contains("os error")).collect();
    assert!(excused.is_empty(), "seed {seed}: {excused:?}");
    let now = repo.manifest();
    for (path, file) in &to.manifest {
        let is_blocked = done.problems.iter().any(|one| one.starts_with(&*path.to_string_lossy()));
        assert!(
            is_blocked || look(&repo.path(path)).as_ref() == Some(file),
            "seed {seed}: {} is not as it was",
            path.display()
        );
    }
    for path in now.keys().filter(|path| !to.manifest.contains_key(*path)) {
        assert!(
            done.kept.contains(path)
                || done.problems.iter().any(|one| one.starts_with(&*path.to_string_lossy())),
            "seed {seed}: {} is too many",
            path.display()
        );
    }
    for path in ignored {
        let is_wanted = to.manifest.contains_key(&path);
        assert!(
            is_wanted || fs::symlink_metadata(repo.path(&path)).is_ok(),
            "seed {seed}: {} was ignored and is gone",
            path.display()
        );
    }
    assert_eq!(repo.books(), books, "seed {seed}: an undo touched git's books");
    let (_, again) = repo.undo(&before);
    assert!(again.problems.is_empty() || !done.problems.is_empty(), "seed {seed}: {:?}", again.problems);
}

/// Files that are there and that git ignores.
fn ignored(repo: &Repo) -> Vec<PathBuf> {
    let out = repo.git(&["ls-files", "-z", "--others", "--ignored", "--exclude-standard"]).stdout;
    let paths = out.split(|byte| *byte == 0).filter(|path| !path.is_empty() && !path.ends_with(b"/"));
    paths.map(|path| Path::new(OsStr::from_bytes(path)).to_owned()).collect()
}

#[test]
fn after_random_agents_an_undo_is_byte_equal() {
    if let Some(seed) = std::env::var("RALPH_UNDO_SEED").ok().and_then(|seed| seed.parse().ok()) {
        return agent(seed);
    }
    let agents = std::env::var("RALPH_UNDO_AGENTS").ok().and_then(|count| count.parse().ok()).unwrap_or(24);
    (1..=agents).for_each(agent);
}
