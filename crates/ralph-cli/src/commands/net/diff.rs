//! `ralph diff`: what an iteration or the run changed.

use std::io::IsTerminal;

use ralph_core::event::CheckpointSaved;
use ralph_model::text::scrub;
use ralph_model::{ChangedPath, HowChanged, TreeDiff};
use ralph_runtime::checkpoint::{Change, Git};

use super::super::workspace;
use super::pager::Pager;
use super::{Book, moment};
use crate::args::DiffArgs;
use crate::error::CliError;
use ralph_store::Store;

pub fn diff(args: DiffArgs) -> Result<u8, CliError> {
    // One word alone may be either.
    let (run, range) = match (args.run, args.range) {
        (Some(word), None) if is_range(&word) => (None, Some(word)),
        both => both,
    };
    let store = Store::from_env()?;
    let run = store.find(run.as_deref(), &workspace(&args.at.workspace)?)?;
    let book = Book::read(run)?;
    let (from, to) = ends(&book, range.as_deref(), args.since_start)?;
    let git = book.git()?;
    if args.json {
        let changed = ralph_runtime::checkpoint::changes(&git, &from.commit, &to.commit)?;
        crate::io::print_json(&TreeDiff {
            run: book.run.id.clone(),
            from: from.name.clone(),
            to: to.name.clone(),
            from_commit: from.commit.clone(),
            to_commit: to.commit.clone(),
            files: changed.iter().map(changed_path).collect(),
        })?;
        return Ok(0);
    }
    let title = format!("from {} to {}", moment(from), moment(to));
    print(&git, from, to, args.stat, !args.no_pager, &title)?;
    Ok(0)
}

fn changed_path(change: &Change) -> ChangedPath {
    let how = match (&change.from, &change.to) {
        (None, _) => HowChanged::Added,
        (_, None) => HowChanged::Removed,
        _ => HowChanged::Changed,
    };
    ChangedPath { path: change.path.to_string_lossy().into_owned(), how }
}

/// `3`, `3..5`, `3..`: run ids are longer, and have no dots.
fn is_range(word: &str) -> bool {
    word.contains("..") || word.len() <= 5 && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn ends<'a>(
    book: &'a Book,
    range: Option<&str>,
    since_start: bool,
) -> Result<(&'a CheckpointSaved, &'a CheckpointSaved), CliError> {
    let known = |found: Option<&'a CheckpointSaved>, text: &str| found.ok_or_else(|| book.unknown(text));
    let one = |text: &str| {
        let number: u32 = text.parse().map_err(|_| {
            CliError::Usage(format!("`{text}` is no iteration; say N, N..M or --since-start"))
        })?;
        Ok::<_, CliError>((known(book.before(number), text)?, known(book.after(number), text)?))
    };
    match range {
        None if since_start => Ok((book.start(), book.last())),
        None => match book.iterations().last() {
            Some(last) => one(&last.to_string()),
            None => Err(CliError::Usage(format!("no iteration of run {} has a checkpoint yet", book.run.id))),
        },
        Some(text) => match text.split_once("..") {
            Some((from, to)) => {
                let from = if from.is_empty() { Ok(book.start()) } else { book.find(from) };
                let to = if to.is_empty() { Ok(book.last()) } else { book.find(to) };
                Ok((from?, to?))
            }
            None if since_start => Ok((book.start(), one(text)?.1)),
            None => one(text),
        },
    }
}

fn print(
    git: &Git,
    from: &CheckpointSaved,
    to: &CheckpointSaved,
    stat: bool,
    paged: bool,
    title: &str,
) -> Result<(), CliError> {
    let mut args = vec!["diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color"];
    args.extend(if stat { &["--stat=100"][..] } else { &["-p", "--src-prefix=a/", "--dst-prefix=b/"] });
    args.extend([from.commit.as_str(), to.commit.as_str()]);
    let paint = Paint { color: crate::io::color(std::io::stdout().is_terminal()) };
    let mut pager = Pager::open(paged);
    let mut lines = 0_u64;
    let mut body = Body::Head;
    git.lines(args, &mut |line| {
        if lines == 0 {
            pager.line(&paint.dim(title))?;
        }
        lines += 1;
        let text = scrub(&String::from_utf8_lossy(line));
        pager.line(&paint.line(&text, stat, &mut body))
    })?;
    if lines == 0 {
        pager.line(&format!("nothing was changed {title}"))?;
    }
    pager.close()?;
    Ok(())
}

/// Where in a patch a line stands: `--- a` is a head, and in a hunk a line that goes.
enum Body {
    Head,
    Hunk,
}

struct Paint {
    color: bool,
}

impl Paint {
    fn paint(&self, code: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    fn line(&self, text: &str, stat: bool, body: &mut Body) -> String {
        if stat {
            return text.to_owned();
        }
        if text.starts_with("diff --git ") {
            *body = Body::Head;
        } else if text.starts_with("@@ ") {
            *body = Body::Hunk;
            return self.paint("36", text);
        }
        match (&body, text.as_bytes().first()) {
            (Body::Head, _) => self.paint("1", text),
            (Body::Hunk, Some(b'+')) => self.paint("32", text),
            (Body::Hunk, Some(b'-')) => self.paint("31", text),
            _ => text.to_owned(),
        }
    }
}
