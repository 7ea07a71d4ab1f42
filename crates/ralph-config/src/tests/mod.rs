//! The definition layer from the outside: files and flags in, a definition or an error text out.

mod errors;
mod hats;
mod keys;
mod load;
mod never_panics;
mod preflight;
mod resume;
mod targets;
mod unknown;

use std::path::Path;

use tempfile::TempDir;

use super::*;

/// A workspace with files in it, and nothing from the machine around it.
struct Workspace {
    dir: TempDir,
    sources: Sources,
}

impl Workspace {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = TempDir::new().unwrap();
        let sources = Sources::new(dir.path().join("ws"));
        let workspace = Self { dir, sources };
        std::fs::create_dir(workspace.path("")).unwrap();
        for (name, text) in files {
            workspace.write(name, text.as_bytes());
        }
        workspace
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("ws").join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// A home folder beside the workspace, with this user config.
    fn user_config(mut self, text: &str) -> Self {
        let home = self.dir.path().join("home");
        std::fs::create_dir_all(home.join(".config/ralph")).unwrap();
        std::fs::write(home.join(".config/ralph/config.yml"), text).unwrap();
        self.sources.env.home = Some(home);
        self
    }

    fn target(mut self, target: &str) -> Self {
        self.sources.target = Some(target.to_owned());
        self
    }

    fn set(mut self, item: &str) -> Self {
        self.sources.sets.push(item.to_owned());
        self
    }

    fn flags(mut self, change: impl FnOnce(&mut Flags)) -> Self {
        change(&mut self.sources.flags);
        self
    }

    fn load(&self) -> Result<Loaded, ConfigError> {
        load(&self.sources)
    }

    /// On a machine that has every program but those called `nowhere`, and `locked`, which nobody may execute.
    fn preflight(&self) -> Result<Ready, ConfigError> {
        let find = |name: &str, folder: &Path| {
            let obstacle = match name.contains("locked") {
                true => Obstacle::NotExecutable(folder.join(name)),
                false => Obstacle::Missing,
            };
            let problem = ProgramProblem { message: format!("`{name}` was not found"), obstacle };
            if name.contains("nowhere") || name.contains("locked") { Err(problem) } else { Ok(()) }
        };
        preflight(&self.sources, None, &Machine { is_root: false, find_program: &find })
    }

    fn ok(&self) -> Loaded {
        self.load().unwrap_or_else(|error| panic!("{error}"))
    }

    /// The error text, with the folder of the test cut out.
    fn err(&self) -> String {
        let text = self.load().map(|loaded| loaded.definition).unwrap_err().to_string();
        clean(&text, self.dir.path())
    }
}

fn clean(text: &str, dir: &Path) -> String {
    text.replace(&dir.display().to_string(), "DIR")
}

/// A valid file plus one that is under test.
fn yml(text: &str) -> Workspace {
    Workspace::new(&[("ralph.yml", text)])
}

/// A `ralph.yml` with an agent and a prompt, and these lines below `event_loop`.
fn event_loop(lines: &str) -> Workspace {
    let lines: String = lines.lines().map(|line| format!("  {line}\n")).collect();
    yml(&format!("agent: ./agent.sh\nprompt: do it\nevent_loop:\n{lines}"))
}

fn md(text: &str) -> Workspace {
    Workspace::new(&[("RALPH.md", text)])
}
