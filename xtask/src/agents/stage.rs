//! A workspace with a failing check, a home with a CLI's settings, a model server with a script, and ralph among them.

use super::cli::{Cli, Place};
use super::install::{Installed, path_with};
use super::model::{ModelServer, Script, Turn};
use crate::Result;
use crate::lab::{Lab, empty, living, only_run};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// In the environment of everything that belongs to one stage. CLIs hide variables whose names sound secret.
const MARK: &str = "RALPH_STAGE";

/// Passes once the answer is there. What a tool prints is no claim of the agent, whatever it looks like.
const CHECK: &str = r#"echo "<ralph>COMPLETE</ralph>"
test "$(cat answer.txt 2>/dev/null)" = 42
"#;

pub const TASK: &str = "Make `sh ./check.sh` pass.";

pub struct Stage<'a> {
    lab: &'a Lab,
    installed: &'a Installed,
    mark: String,
    pub workspace: PathBuf,
    home: PathBuf,
    pub state: PathBuf,
    definition: PathBuf,
    pub server: ModelServer,
}

/// One process of ralph.
pub struct Session {
    child: Child,
    printed: PathBuf,
}

impl<'a> Stage<'a> {
    /// `extra` goes into the definition beside the agent.
    pub fn new(
        lab: &'a Lab,
        (cli, installed): (&Cli, &'a Installed),
        name: &str,
        script: impl FnOnce(&Path) -> Vec<Turn>,
        extra: Value,
    ) -> Result<Stage<'a>> {
        let mark = format!("{}-{name}-{}", cli.name, std::process::id());
        let folder = lab.folder(&format!("{}-{name}", cli.name))?;
        let (workspace, home) = (empty(folder.join("workspace"))?, empty(folder.join("home"))?);
        write(&workspace.join("check.sh"), CHECK)?;
        let server = ModelServer::start(Script::new(script(&workspace)))?;
        let place = Place { home: home.clone(), url: server.url() };
        for (file, text) in (cli.files)(&place) {
            write(&home.join(file), &text)?;
        }
        let mut stage = Stage {
            lab,
            installed,
            mark,
            workspace,
            state: folder.join("state"),
            definition: folder.join("ralph.yml"),
            home,
            server,
        };
        stage.define(cli, &place, extra)?;
        stage.prepare(&(cli.prepare)(&place))?;
        Ok(stage)
    }

    /// JSON is YAML.
    fn define(&mut self, cli: &Cli, place: &Place, extra: Value) -> Result<()> {
        let program = self.installed.program.display().to_string();
        let env: serde_json::Map<String, Value> =
            (cli.env)(place).into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
        let mut agent = json!({"name": cli.name, "command": format!("'{program}'"),
            "args": (cli.args)(place), "env": env});
        if let Some(model) = cli.model {
            agent["model"] = json!(model);
        }
        let mut definition = json!({"agent": agent, "prompt": TASK,
            "event_loop": {"max_iterations": 6, "iteration_timeout": "10m"}});
        if let (Some(all), Some(more)) = (definition.as_object_mut(), extra.as_object()) {
            all.extend(more.clone());
        }
        write(&self.definition, &definition.to_string())
    }

    fn prepare(&self, args: &[String]) -> Result<()> {
        if args.is_empty() {
            return Ok(());
        }
        let mut command = self.clean(&self.installed.program);
        crate::repo::stdout_of(command.args(args).current_dir(&self.workspace)).map(drop)
    }

    /// A program with an environment that has nothing of the user's: no keys, no settings, no proxy.
    fn clean(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let path = match &self.installed.node {
            Some(node) => path_with(node),
            None => std::env::var_os("PATH").unwrap_or_default(),
        };
        command.env_clear().env("PATH", path).env("HOME", &self.home).env("TMPDIR", std::env::temp_dir());
        command.env("RALPH_STATE_DIR", &self.state).env("NO_COLOR", "1").env("LANG", "C.UTF-8");
        command.env(MARK, &self.mark).stdin(Stdio::null());
        command
    }

    fn ralph(&self, args: &[&str]) -> Command {
        let mut command = self.clean(&self.lab.ralph);
        command.args(args).arg("-C").arg(&self.workspace);
        command
    }

    pub fn run(&self) -> Result<Session> {
        let definition = self.definition.display().to_string();
        self.start(&["run", "-v", &definition])
    }

    pub fn resume(&self) -> Result<Session> {
        self.start(&["resume", "-v"])
    }

    fn start(&self, args: &[&str]) -> Result<Session> {
        let printed = self.definition.with_file_name("printed");
        let cannot = |error| format!("{}: {error}", printed.display());
        let file = File::options().create(true).append(true).open(&printed).map_err(cannot)?;
        let errors = file.try_clone().map_err(cannot)?;
        // Its own group, as a shell would give it: a Ctrl-C goes to all of it.
        let mut ralph = self.ralph(args);
        let child = ralph.stdout(file).stderr(errors).process_group(0).spawn();
        let child = child.map_err(|error| format!("{ralph:?}: {error}"))?;
        Ok(Session { child, printed })
    }

    /// Another command of ralph in this workspace.
    pub fn tell(&self, args: &[&str]) -> Result<String> {
        crate::repo::stdout_of(&mut self.ralph(args))
    }

    /// The events so far.
    pub fn events(&self) -> Vec<Value> {
        let journal = only_run(&self.state).map(|run| run.join("journal.jsonl"));
        let text = journal.ok().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub fn of_type(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// What is alive of this stage: it has the mark, or works in its folder.
    pub fn alive(&self) -> Vec<String> {
        let mine = format!("{MARK}={}", self.mark);
        living(|process| {
            let environ = std::fs::read(process.join("environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|pair| pair == mine.as_bytes())
                || std::fs::read_link(process.join("cwd"))
                    .is_ok_and(|folder| folder.starts_with(&self.workspace))
        })
    }

    /// How long it took until nothing was alive, and what was when nobody wanted to wait any longer.
    pub fn wait_for_death(&self) -> (Duration, Vec<String>) {
        let start = Instant::now();
        loop {
            let alive = self.alive();
            if alive.is_empty() || start.elapsed() > Duration::from_secs(3) {
                return (start.elapsed(), alive);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Until a tool of the agent has made this file.
    pub fn wait_for_file(&self, session: &mut Session, name: &str, most: Duration) -> Result<()> {
        let path = self.workspace.join(name);
        session.wait_until(most, &format!("no tool made {name}"), || path.exists())
    }

    pub fn wait_for_event(&self, session: &mut Session, kind: &str, most: Duration) -> Result<()> {
        session.wait_until(most, &format!("no {kind} came"), || !self.of_type(kind).is_empty())
    }
}

impl Session {
    /// To the whole group, as the terminal does it.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // Not collected yet, so the number is still its.
            let _ = kill_process_group(group, signal);
        }
    }

    pub fn kill(&mut self) -> Result<()> {
        self.child.kill().and_then(|()| self.child.wait()).map(drop).map_err(|error| error.to_string())
    }

    /// The exit code. Later than this is a mistake.
    pub fn wait(&mut self, most: Duration) -> Result<Option<i32>> {
        let deadline = Instant::now() + most;
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status.code());
            }
            if Instant::now() > deadline {
                return Err(format!("ralph did not end within {} s", most.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().map_err(|error| error.to_string())
    }

    fn wait_until(&mut self, most: Duration, or: &str, ask: impl Fn() -> bool) -> Result<()> {
        let deadline = Instant::now() + most;
        while !ask() {
            if let Some(status) = self.ended()? {
                return Err(format!("{or}: ralph ended ({status})"));
            }
            if Instant::now() > deadline {
                return Err(format!("{or} within {} s", most.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// What ralph printed, on both streams.
    pub fn printed(&self) -> String {
        std::fs::read_to_string(&self.printed).unwrap_or_default()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Nothing of a session that somebody gave up may stay; the guard sees to the rest.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}
