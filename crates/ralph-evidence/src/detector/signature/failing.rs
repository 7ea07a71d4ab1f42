//! The tests that an output names as failing: how many, which, and in which file.

use std::collections::BTreeSet;

use super::parts::{MAX_PART, base, file_in, slug};
use super::runners;
use crate::detector::hash::{self, short};

/// Names of failing tests in a signature.
const NAMES: usize = 2;
/// Names that are told apart. A run in which more tests fail is told by these and by how many they are.
const MOST: usize = 4096;

#[derive(Debug, Clone, Default)]
pub(super) struct FailingTests {
    /// As the runner counts them.
    counted: Option<u64>,
    /// The first names, as a signature has them.
    names: Vec<String>,
    /// All of them, each with what stood before it.
    all: BTreeSet<u32>,
    /// The file they stand in, where it is one.
    file: Option<String>,
    files_differ: bool,
    /// A numbered heading whose test stands on the lines behind it, as mocha prints it.
    heading: Option<String>,
}

impl FailingTests {
    pub(super) fn line(&mut self, line: &str, lower: &str) {
        let counted = self.counted.is_some_and(|count| count > 0);
        if let Some(heading) = self.heading.take() {
            match line.strip_suffix(':') {
                Some(last) => self.add(None, &format!("{heading} {last}"), last),
                // Suites within suites.
                None if heading.len() < 300 && !line.contains(':') => {
                    self.heading = Some(format!("{heading} {line}"));
                }
                None => self.add(None, &heading, &heading),
            }
        } else if let Some(heading) = runners::heading(line).filter(|_| counted) {
            self.heading = Some(heading.to_owned());
        } else if let Some(named) = runners::failing_name(line, counted) {
            self.add(file_in(named.place), named.whole, named.name);
        }
        if let Some(count) = runners::failing_count(lower) {
            self.counted = Some(count);
            if count > 0 {
                let (file, names) = runners::listed_names(line);
                let words = |name: &str| match file {
                    // `login test timeout` is what a person calls `login timeout` there.
                    Some(_) => {
                        name.split_whitespace().filter(|word| *word != "test").collect::<Vec<_>>().join(" ")
                    }
                    None => name.to_owned(),
                };
                names.into_iter().for_each(|name| self.add(file, name, &words(name)));
            }
        }
    }

    fn add(&mut self, file: Option<&str>, whole: &str, name: &str) {
        if let Some(file) = file.map(base) {
            self.files_differ |= self.file.as_deref().is_some_and(|known| known != file);
            self.file.get_or_insert_with(|| file.to_owned());
            if base(name) == file {
                // jest: the file by itself, and its tests below.
                return;
            }
        }
        let name = slug(name, MAX_PART);
        if name.is_empty() {
            return;
        }
        if self.all.len() < MOST {
            self.all.insert(short(hash::of(&slug(whole, usize::MAX))));
        }
        if self.names.len() < NAMES && !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    /// Nothing where no test fails.
    pub(super) fn signature(&self) -> Option<String> {
        let named = self.all.len().max(usize::from(self.file.is_some())) as u64;
        let failing = self.counted.unwrap_or(named);
        if failing == 0 {
            return None;
        }
        let names = self.names.join(",");
        Some(match self.file.as_ref().filter(|_| !self.files_differ) {
            Some(file) if names.is_empty() => format!("test-fail:{failing}-{file}"),
            Some(file) => match failing.saturating_sub(self.names.len() as u64) {
                0 => format!("{file}:{names}"),
                more => format!("{file}:{names}+{more}"),
            },
            None => format!("test-fail:{failing}-{names}").trim_end_matches('-').to_owned(),
        })
    }

    /// Stands for the set of all that fail; 0 for none that is named.
    pub(super) fn mark(&self) -> u32 {
        let mut bytes = Vec::new();
        self.all.iter().for_each(|one| bytes.extend_from_slice(&one.to_le_bytes()));
        match bytes.is_empty() {
            true => 0,
            false => short(hash::Hasher::new().bytes(&bytes).finish()).max(1),
        }
    }
}
