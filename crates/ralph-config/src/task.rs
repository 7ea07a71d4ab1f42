//! Where the task comes from.

use std::collections::BTreeSet;
use std::path::Path;

use ralph_core::plan::Task;

use super::definition::Definition;
use super::diagnostic::Diagnostic;
use super::ralph_md::RalphMd;
use super::reader::read_file;
use super::source::Layer;
use super::target::{self, Target};
use super::validate::Settings;

/// The task of a definition that names none, in the workspace.
const USUAL_PROMPT: &str = "PROMPT.md";

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
    pub preset: bool,
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
        // Where ralph-orchestrator looks, too.
        let usual = self.workspace.join(USUAL_PROMPT);
        if self.body.is_none() && (self.target.is_some() || self.preset) && usual.is_file() {
            return Ok(Task::File(usual));
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
