//! The files that no iteration may change: what gates run, and what `protect` names. They are copied beside the journal when
//! the run begins, and compared after each attempt.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ralph_core::event::{ProtectedChange, ProtectedFile};
use ralph_core::plan::{Plan, ProtectPolicy};
use ralph_evidence::gate_files::{Part, first_difference, is_check, part_of, stands_on};
use sha2::{Digest, Sha256};

use super::Pins;
use super::plain_file::{self, Found};
use crate::workspace::{Patterns, Trees};

/// Files that `protect` may name.
const MAX_FILES: usize = 10_000;
/// Lines of a difference that are recorded.
const LINES: usize = 6;

pub(crate) struct Protection {
    workspace: PathBuf,
    /// Where the copies are.
    copies: PathBuf,
    policy: ProtectPolicy,
    patterns: Patterns,
    allowed: Patterns,
    files: Vec<ProtectedFile>,
}

impl Protection {
    /// Fingerprints what has to be protected. `known`: what was recorded when the run began; it stays what it is but for files
    /// that `is_trusted` says a person changed meanwhile.
    pub(crate) fn start(
        plan: &Plan,
        run: &Path,
        pins: &Pins,
        known: &[ProtectedFile],
        is_trusted: &dyn Fn(&ProtectedFile) -> bool,
    ) -> Result<Self, String> {
        let patterns = Patterns::new(&plan.protect.paths).map_err(|error| format!("protect: {error}"))?;
        let allowed =
            Patterns::new(&plan.protect.allow).map_err(|error| format!("protect.allow: {error}"))?;
        let (workspace, copies) = (plan.workspace.clone(), run.join("protected"));
        let mut this =
            Self { workspace, copies, policy: plan.protect_policy, patterns, allowed, files: Vec::new() };
        for (path, part, by) in this.wanted(plan, pins) {
            let (hash, text) = this.fingerprint(&path, &part);
            let now = ProtectedFile { path, part: part.name(), by, hash };
            let before = known.iter().find(|file| file.path == now.path && file.part == now.part);
            match before.filter(|before| before.hash == now.hash || !is_trusted(before)) {
                Some(before) => this.files.push(before.clone()),
                None => {
                    this.keep(&now, text).map_err(|error| format!("cannot copy {}: {error}", now.path))?;
                    this.files.push(now);
                }
            }
        }
        Ok(this)
    }

    pub(crate) fn files(&self) -> &[ProtectedFile] {
        &self.files
    }

    /// Every file that is not what it was. With the policy `restore` it is put back.
    pub(crate) fn changes(&self) -> Vec<ProtectedChange> {
        let mut changes: Vec<ProtectedChange> =
            self.files.iter().filter_map(|file| self.change(file)).collect();
        let known = |path: &str| self.files.iter().any(|file| file.path == path && file.part.is_none());
        for path in self.named().into_iter().filter(|path| !known(path)) {
            let restored =
                self.policy == ProtectPolicy::Restore && fs::remove_file(self.workspace.join(&path)).is_ok();
            changes.push(ProtectedChange { path, part: None, diff: vec!["a new file".to_owned()], restored });
        }
        changes
    }

    fn change(&self, file: &ProtectedFile) -> Option<ProtectedChange> {
        let part = part_of(file);
        let (hash, text) = self.fingerprint(&file.path, &part);
        if hash == file.hash {
            return None;
        }
        let before = file.hash.as_ref().and_then(|hash| plain_file::text(&self.copies.join(hash)));
        let mut diff =
            first_difference(&before.clone().unwrap_or_default(), &text.clone().unwrap_or_default(), LINES);
        match (&before, &text) {
            (None, Some(_)) => diff.insert(0, "it is new".to_owned()),
            (Some(_), None) => diff = vec!["it is gone".to_owned()],
            // The text is the same.
            _ if diff.is_empty() => {
                diff.push("whether it can be executed was changed, or what kind of file it is".to_owned())
            }
            _ => {}
        }
        let restored =
            self.policy == ProtectPolicy::Restore && part == Part::Whole && self.restore(file).is_ok();
        Some(ProtectedChange { path: file.path.clone(), part: file.part.clone(), diff, restored })
    }

    /// The path, what of it counts, and why.
    fn wanted(&self, plan: &Plan, pins: &Pins) -> Vec<(String, Part, String)> {
        let mut wanted = BTreeMap::new();
        let root = self.workspace.canonicalize().unwrap_or_else(|_| self.workspace.clone());
        let inside = |path: &Path| {
            let path = path.strip_prefix(&self.workspace).or_else(|_| path.strip_prefix(&root)).ok()?;
            Some(path.components().collect::<PathBuf>().to_str()?.to_owned())
        };
        let read = |path: &str| plain_file::text(&self.resolved(path));
        for gate in &plan.gates {
            let by = format!("gate {}", gate.name);
            let program = gate.run.first().and_then(|name| inside(pins.get(name)?));
            // The work that a gate tries out is there to be changed.
            let judges =
                |path: &String| is_check(path, read(path).as_deref(), gate.run.get(1..).unwrap_or_default());
            let program = program.filter(judges).map(|path| (path, Part::Whole));
            let stands = stands_on(&gate.run, &read);
            let globbed = self.globbed(&stands.globs).into_iter().map(|path| (path, Part::Whole));
            let files = stands.files.into_iter().map(|file| (file.path, file.part));
            for (path, part) in program.into_iter().chain(files).chain(globbed) {
                wanted.entry((path, part)).or_insert_with(|| by.clone());
            }
        }
        for path in self.named() {
            wanted.entry((path, Part::Whole)).or_insert_with(|| "protect".to_owned());
        }
        // A link is one thing, and the file that it leads to another.
        let linked: Vec<String> = wanted
            .keys()
            .filter_map(|(path, _)| match plain_file::look(&self.workspace.join(path)) {
                Found::Link(_) => inside(&self.workspace.join(path).canonicalize().ok()?),
                _ => None,
            })
            .collect();
        for path in linked {
            wanted.entry((path, Part::Whole)).or_insert_with(|| "a link".to_owned());
        }
        let free = |path: &str| self.allowed.matches(Path::new(path)) || path.starts_with(".ralph/");
        wanted
            .into_iter()
            .filter(|((path, _), _)| !free(path))
            .map(|((path, part), by)| (path, part, by))
            .collect()
    }

    /// Where a path leads, for the one look at the start that decides which files count.
    fn resolved(&self, path: &str) -> PathBuf {
        let full = self.workspace.join(path);
        full.canonicalize().unwrap_or(full)
    }

    /// The files that a gate runs one after the other, as they are now. One more of them can only ask for more.
    fn globbed(&self, globs: &[String]) -> Vec<String> {
        let Ok(patterns) = Patterns::new(globs) else { return Vec::new() };
        if patterns.is_empty() {
            return Vec::new();
        }
        let paths = Trees::new(&self.workspace, []).list().unwrap_or_default();
        let found = paths.into_iter().filter(|path| patterns.matches(path));
        found.filter_map(|path| path.to_str().map(str::to_owned)).take(MAX_FILES).collect()
    }

    /// The files that `protect` names and that are there.
    fn named(&self) -> Vec<String> {
        if self.patterns.is_empty() {
            return Vec::new();
        }
        let paths = Trees::new(&self.workspace, []).list().unwrap_or_default();
        let named =
            paths.into_iter().filter(|path| self.patterns.matches(path) && !self.allowed.matches(path));
        named.filter_map(|path| path.to_str().map(str::to_owned)).take(MAX_FILES).collect()
    }

    /// The hash of what counts, and its text. No hash: there is no such file or part.
    fn fingerprint(&self, path: &str, part: &Part) -> (Option<String>, Option<String>) {
        let (kind, bytes) = match plain_file::look(&self.workspace.join(path)) {
            Found::Nothing => return (None, None),
            Found::Link(target) => ("link", target.as_os_str().as_encoded_bytes().to_vec()),
            Found::Other => ("other", Vec::new()),
            Found::File { bytes, is_program } if *part == Part::Whole => {
                (if is_program { "program" } else { "file" }, bytes)
            }
            Found::File { bytes, .. } => match part.of(&String::from_utf8_lossy(&bytes)) {
                Some(text) => ("part", text.into_bytes()),
                None => return (None, None),
            },
        };
        let mut hash = Sha256::new();
        hash.update(kind);
        hash.update([0]);
        hash.update(&bytes);
        let hash = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        (Some(hash), Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Copies what counts, by its hash. A copy is executable if the file was.
    fn keep(&self, file: &ProtectedFile, text: Option<String>) -> io::Result<()> {
        let Some(hash) = &file.hash else { return Ok(()) };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.copies)?;
        let (bytes, is_program) = match plain_file::look(&self.workspace.join(&file.path)) {
            Found::File { bytes, is_program } if file.part.is_none() => (bytes, is_program),
            _ => (text.unwrap_or_default().into_bytes(), false),
        };
        let copy = self.copies.join(hash);
        let mode = if is_program { 0o700 } else { 0o600 };
        let _ = fs::remove_file(&copy);
        fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(copy)?.write_all(&bytes)
    }

    /// Puts the copy where the file was. It is moved there, so a link in its place is replaced and not followed.
    fn restore(&self, file: &ProtectedFile) -> io::Result<()> {
        let full = self.workspace.join(&file.path);
        let Some(hash) = &file.hash else { return fs::remove_file(&full) };
        let Found::File { bytes, is_program } = plain_file::look(&self.copies.join(hash)) else {
            return Err(io::Error::other("there is no copy"));
        };
        let folder = full.parent().ok_or_else(|| io::Error::other("no folder"))?;
        fs::create_dir_all(folder)?;
        let root = self.workspace.canonicalize()?;
        if !folder.canonicalize()?.starts_with(&root) {
            return Err(io::Error::other("its folder is a link that leads out of the workspace"));
        }
        let new = folder.join(format!(".ralph-restored-{}", std::process::id()));
        let mode = if is_program { 0o755 } else { 0o644 };
        let _ = fs::remove_file(&new);
        let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&new)?;
        out.write_all(&bytes)?;
        if fs::symlink_metadata(&full).is_ok_and(|meta| meta.is_dir()) {
            fs::remove_dir_all(&full)?;
        }
        fs::rename(&new, &full)
    }
}
