//! Tools that an agent uses: of what kind they are, and which of its calls have not ended yet.

use std::collections::VecDeque;

pub use ralph_core::event::{ToolCall, ToolKind, ToolResult};

use crate::stream::text::start;

/// Calls that are remembered until they end. An agent that opens more has the oldest forgotten.
const MAX_OPEN: usize = 256;
/// What is remembered of a command or a path, and of a name or an id.
const MAX_TOLD: usize = 4000;
const MAX_NAME: usize = 200;

/// The kind of a tool by the name that several CLIs give it. An agent whose tools have names of their own looks at those
/// in its own file first.
pub fn usual_kind(name: &str) -> ToolKind {
    match name.to_ascii_lowercase().as_str() {
        "bash" | "shell" | "run_shell_command" | "run_commands" | "command_execution" | "local_shell"
        | "exec" | "powershell" | "execute_command" => ToolKind::Shell,
        "write" | "write_file" | "create" | "create_file" | "writefile" | "write_to_file" => ToolKind::Write,
        "edit" | "edit_file" | "multiedit" | "replace" | "str_replace" | "str_replace_editor" | "editor"
        | "apply_patch" | "file_change" | "notebookedit" | "strreplacefile" | "patch" | "replace_in_file" => {
            ToolKind::Edit
        }
        "read" | "read_file" | "read_files" | "view" | "readfile" | "read_many_files" | "cat" => {
            ToolKind::Read
        }
        "grep"
        | "glob"
        | "search"
        | "search_file_content"
        | "grep_search"
        | "list"
        | "ls"
        | "list_directory"
        | "search_codebase"
        | "find"
        | "tree"
        | "rg"
        | "web_search"
        | "websearch" => ToolKind::Search,
        _ => ToolKind::Other,
    }
}

/// The calls of one agent process that have not ended yet: the one place that knows them. Bounded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenCalls {
    /// The oldest first.
    calls: VecDeque<ToolCall>,
}

impl OpenCalls {
    /// A call has begun. Gives the call that is forgotten for it, if there are too many.
    pub fn begin(&mut self, call: &ToolCall) -> Option<ToolCall> {
        let forgotten = if self.calls.len() == MAX_OPEN { self.calls.pop_front() } else { None };
        let told = |text: &Option<String>| text.as_deref().map(|text| start(text, MAX_TOLD).to_owned());
        self.calls.push_back(ToolCall {
            id: start(&call.id, MAX_NAME).to_owned(),
            kind: call.kind,
            name: start(&call.name, MAX_NAME).to_owned(),
            command: told(&call.command),
            path: told(&call.path),
        });
        forgotten
    }

    /// A call has ended. Gives the call, unless its beginning was never seen or is forgotten.
    pub fn end(&mut self, id: &str) -> Option<ToolCall> {
        let id = start(id, MAX_NAME);
        let at = self.calls.iter().position(|call| call.id == id)?;
        let call = self.calls.remove(at);
        // A stream that tells a call twice tells its end once.
        self.calls.retain(|call| call.id != id);
        call
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &ToolCall> {
        self.calls.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ToolCall {
        let command = Some("x".repeat(10_000));
        ToolCall { id: id.to_owned(), kind: ToolKind::Shell, name: "Bash".to_owned(), command, path: None }
    }

    #[test]
    fn an_end_gives_the_call_that_it_ends_once() {
        let mut open = OpenCalls::default();
        assert_eq!((open.begin(&call("a")), open.begin(&call("b"))), (None, None));
        let ended = open.end("a").expect("it was open");
        assert_eq!((ended.id.as_str(), ended.command.map(|text| text.len())), ("a", Some(MAX_TOLD)));
        assert_eq!((open.end("a"), open.end("never"), open.is_empty()), (None, None, false));
        // Told twice, ended once.
        open.begin(&call("b"));
        assert!(open.end("b").is_some() && open.is_empty());
    }

    #[test]
    fn calls_without_an_end_are_forgotten_one_by_one_when_there_are_too_many() {
        let mut open = OpenCalls::default();
        let mut forgotten = (0..MAX_OPEN + 2).filter_map(|n| open.begin(&call(&n.to_string())));
        assert_eq!(forgotten.next().map(|call| call.id).as_deref(), Some("0"));
        assert_eq!(forgotten.next().map(|call| call.id).as_deref(), Some("1"));
        assert_eq!(forgotten.next(), None);
        drop(forgotten);
        assert_eq!(open.iter().count(), MAX_OPEN);
        // A long id is cut on both ways.
        let long = "i".repeat(1000);
        open.begin(&call(&long));
        assert!(open.end(&long).is_some());
    }
}
