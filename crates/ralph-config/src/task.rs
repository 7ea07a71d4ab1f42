//! Where the task comes from.

use std::collections::BTreeSet;
use std::path::Path;

use ralph_core::plan::Task;

use super::definition::Definition;
use super::diagnostic::Diagnostic;
use super::ralph_md::RalphMd;
use super::reader::read_file;
use super::source::Layer;
use super::target::{self, Target, USUAL_PROMPT};
use super::validate::Settings;

/// The arguments that the prompt and the commands have a place for.
pub fn used_args(definition: &Definition, task: Option<&Task>) -> BTreeSet<String> {
    let prompt = task.and_then(text_of);
    let commands = definition.commands.iter().map(|command| command.run.0.as_str());
    prompt.as_deref().into_iter().chain(commands).flat_map(ralph_core::ralph_md::args_of).collect()
}

/// The task as it is written now. A file that cannot be read has no place for an argument.
fn text_of(task: &Task) -> Option<String> {
    match task {
        Task::Text(text) => Some(text.clone()),
        Task::File(path) => String::from_utf8(read_file(path).ok()?).ok(),
        Task::RalphMd(path) => {
            Some(ralph_core::ralph_md::body(&String::from_utf8(read_file(path).ok()?).ok()?))
        }
    }
}

/// An agent without a task does whatever it likes, and is paid for it. A file that cannot be read is judged elsewhere.
fn is_blank(path: &Path) -> bool {
    read_file(path).is_ok_and(|bytes| {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        bytes.iter().all(u8::is_ascii_whitespace)
    })
}

fn empty(found: Diagnostic) -> Diagnostic {
    found.help("write the task into it, or give one with `-p`")
}

/// A RALPH.md whose settings were not seen as such is easily taken for one that has them.
pub fn explain_no_settings(found: Diagnostic, file: Option<&RalphMd>) -> Diagnostic {
    match file {
        Some(md) if md.frontmatter.is_none() && md.text.lines().any(|line| line.trim_end() == "---") => found
            .note("RALPH.md has no settings: they stand between two `---` lines, and the first is line 1"),
        _ => found,
    }
}

/// Where the task may come from.
pub struct TaskPlace<'a> {
    pub workspace: &'a Path,
    pub target: Option<&'a Target>,
    pub body: Option<&'a str>,
    pub needed: bool,
}

impl TaskPlace<'_> {
    pub fn task(&self, settings: &Settings, definition: &Definition) -> Result<Task, Diagnostic> {
        let set = settings.root.entry("prompt").or_else(|| settings.root.entry("prompt_file"));
        let layer = set.map(|entry| settings.map.get(entry.key_span.source).layer);
        let body = self.body.filter(|body| !body.is_empty()).and(self.target);
        match (body, layer) {
            (Some(target), None | Some(Layer::UserConfig)) => {
                return Ok(Task::RalphMd(target.path.clone()));
            }
            (Some(_), Some(Layer::File)) => {
                let key = set.map_or("prompt", |entry| entry.key.as_str());
                return Err(settings
                    .at(key, format!("`{key}` and the body cannot both be the prompt"))
                    .help("remove one of them"));
            }
            _ => {}
        }
        if let Some(text) = &definition.prompt {
            return Ok(Task::Text(text.0.clone()));
        }
        if let Some(file) = &definition.prompt_file {
            return self.prompt_file(settings, &file.0, layer);
        }
        let usual = self.workspace.join(USUAL_PROMPT);
        if self.body.is_none() && usual.is_file() {
            return match is_blank(&usual) {
                false => Ok(Task::File(usual)),
                true if self.needed => {
                    Err(empty(Diagnostic::new(format!("the prompt {USUAL_PROMPT} is empty"))))
                }
                true => Ok(Task::Text(String::new())),
            };
        }
        match self.needed {
            true => Err(self.no_prompt()),
            false => Ok(Task::Text(String::new())),
        }
    }

    fn prompt_file(&self, settings: &Settings, file: &str, layer: Option<Layer>) -> Result<Task, Diagnostic> {
        let folder = match layer {
            Some(Layer::File) => self.target.and_then(|target| target.path.parent()),
            _ => None,
        };
        let path = target::absolute(&folder.unwrap_or(self.workspace).join(file));
        match path.is_file() {
            true if is_blank(&path) => {
                Err(empty(settings.at("prompt_file", format!("`prompt_file`: `{file}` is empty"))))
            }
            true => Ok(Task::File(path)),
            false => {
                let found = settings.at("prompt_file", format!("`prompt_file`: there is no file `{file}`"));
                Err(found.note(format!("looked for {}", path.display())))
            }
        }
    }

    fn no_prompt(&self) -> Diagnostic {
        let help = match self.body {
            Some(_) => "write the task below the second `---` line, or give one with `-p` or `-f`",
            None => {
                "give the task with `-p` or `-f`, with `prompt` or `prompt_file` in the definition, or in PROMPT.md"
            }
        };
        Diagnostic::new("there is no prompt").help(help)
    }
}
