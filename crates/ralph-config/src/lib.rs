//! From files, user config, `--set` and flags to one checked definition.
//!
//! Each layer is read into a tree whose keys and values know where they were written ([`yaml`]). Every layer is checked
//! by itself, then they are laid over one another ([`layers`]) and read into typed settings ([`definition`]) by serde
//! ([`de`]). So an error always has a file, a line, a column and a caret, and `ralph check --show` can tell where each
//! value came from. What keys there are is read from the JSON Schema ([`schema`]), which is derived from the types.

mod agent;
mod agent_plan;
mod commands;
mod de;
mod definition;
mod diagnostic;
mod foreign;
mod hats;
mod idle;
mod layers;
mod loop_detection;
mod memory;
mod nearest;
mod plan;
pub mod presets;
mod proof;
mod ralph_md;
mod resume;
mod schema;
mod show;
mod source;
pub mod target;
mod unknown;
mod user_args;
mod validate;
mod words;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ralph_core::plan::{Plan, Task};

pub use agent::{AgentDef, AgentSpec, CliDef, CommandLine};
pub use agent_plan::{cost_is_known, tokens_are_known};
pub use commands::{CommandDef, Name};
pub use definition::Definition;
pub use diagnostic::{ConfigError, Diagnostic};
pub use idle::{Idle, IdleDef, OnState, ReactionDef, WakeDef};
pub use layers::Flags;
pub use nearest::nearest;
pub use plan::prices;
pub use ralph_md::{RalphMd, parse_ralph_md};
pub use resume::{is_about_stuck, settings_change};
pub use schema::schema;
pub use show::Setting;
pub use source::Place;
pub use user_args::Given;

use presets::Preset;
use source::{Layer, SourceMap};
use target::{Kind, Target};
use validate::Settings;
use yaml::{Node, Value};

/// The task of a definition that names none, in the workspace.
const USUAL_PROMPT: &str = "PROMPT.md";
/// No definition is this large; a file that never ends must not fill the memory.
const MAX_FILE: u64 = 16 << 20;
/// Settings alone, without the body of a RALPH.md.
const MAX_YAML: usize = 1 << 20;

/// Everything that settings are read from.
#[derive(Debug, Clone)]
pub struct Sources {
    /// `-C`, or the current folder. Relative paths are meant from here.
    pub workspace: PathBuf,
    pub target: Option<String>,
    /// A definition that comes with ralph, below the others.
    pub preset: Option<String>,
    /// Whether it is to be run, so that there has to be a prompt.
    pub needs_task: bool,
    /// `--set`, each `key=value`.
    pub sets: Vec<String>,
    pub flags: Flags,
    /// What the command line has for the ralph itself. Nothing: it is not known, and not to be judged.
    pub given: Option<Vec<Given>>,
    /// The long names of ralph's own options.
    pub options: Vec<String>,
    pub env: Env,
}

impl Sources {
    /// No target, no flags, an empty environment.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            target: None,
            preset: None,
            needs_task: true,
            sets: Vec::new(),
            flags: Flags::default(),
            given: None,
            options: Vec::new(),
            env: Env::default(),
        }
    }
}

/// What the environment says about places.
#[derive(Debug, Clone, Default)]
pub struct Env {
    pub home: Option<PathBuf>,
    pub xdg_config_home: Option<PathBuf>,
}

impl Env {
    pub fn from_process() -> Self {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self { home: path("HOME"), xdg_config_home: path("XDG_CONFIG_HOME") }
    }

    /// `$XDG_CONFIG_HOME/ralph/config.yml`. A relative folder is ignored, as the XDG rules say.
    pub fn user_config(&self) -> Option<PathBuf> {
        let folder = self.xdg_config_home.clone().filter(|path| path.is_absolute());
        let folder = folder.or_else(|| Some(self.home.as_ref()?.join(".config")))?;
        Some(folder.join("ralph").join("config.yml"))
    }
}

/// A definition that can be run.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub definition: Definition,
    pub agent: AgentSpec,
    pub task: Task,
    /// What the arguments of the ralph are. Nothing: they are not known.
    pub args: Option<BTreeMap<String, String>>,
    /// What the run is called.
    pub name: String,
    /// Absolute.
    pub workspace: PathBuf,
    /// The definition file, absolute, if there is one.
    pub file: Option<PathBuf>,
    /// The preset below it.
    pub preset: Option<String>,
    settings: Settings,
}

impl Loaded {
    /// Every setting with its value and where it came from.
    pub fn settings(&self) -> Vec<Setting> {
        let mut all = show::settings(&self.settings, &self.definition);
        // A file that is found without being named is a value all the same.
        if let (Task::File(path), None) = (&self.task, &self.definition.prompt_file)
            && let Some(one) = all.iter_mut().find(|one| one.path == "prompt_file")
        {
            one.value = Some(path.strip_prefix(&self.workspace).unwrap_or(path).display().to_string());
        }
        all
    }

    /// An error about a setting that only shows later, such as an agent that is not installed.
    pub fn error_at(&self, path: &str, message: &str, help: Option<&str>) -> ConfigError {
        let found = self.settings.at(path, message);
        match help {
            Some(help) => found.help(help).into(),
            None => found.into(),
        }
    }

    /// Whether it is known what the command with this number runs: not where it depends on arguments that are not.
    pub fn is_known(&self, command: usize) -> bool {
        let depends = self.definition.commands.get(command).is_some_and(commands::depends_on_args);
        self.args.is_some() || !depends
    }

    /// Whether there is anything to run: somebody has to hear the event with which hats start.
    pub fn check_start(&self, plan: &Plan) -> Result<(), ConfigError> {
        let found = plan.hats.iter().flat_map(|hats| hats::fatal(&self.settings, hats)).collect();
        ConfigError::from_all(found).map_or(Ok(()), Err)
    }

    /// Arguments that were given and are of no use: neither declared, nor is there a place for them.
    pub fn idle_args(&self) -> Vec<&str> {
        let used = used_args(&self.definition, Some(&self.task));
        let is_declared = |name: &str| self.definition.args.iter().any(|one| one.0 == name);
        let given = self.args.iter().flat_map(|args| args.keys());
        given.map(String::as_str).filter(|name| !is_declared(name) && !used.contains(*name)).collect()
    }

    /// What is worth a warning before anything runs.
    pub fn warnings(&self, plan: &Plan) -> Vec<Diagnostic> {
        let hats = plan.hats.iter().flat_map(|hats| hats::findings(&self.settings, hats));
        hats.chain(idle::findings(&self.settings, &plan.idle)).collect()
    }

    /// The path of the setting that names the agent: what an error about the agent should point at.
    pub fn agent_path(&self) -> &'static str {
        match (&self.definition.agent, &self.definition.cli) {
            (Some(_), _) | (None, None) => "agent.command",
            (None, Some(cli)) if cli.command.is_some() => "cli.command",
            (None, Some(_)) => "cli.backend",
        }
    }
}

/// Reads, checks and joins all settings.
pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    let workspace = target::absolute(&sources.workspace);
    let flags = &sources.flags;
    let has_prompt = flags.prompt.is_some() || flags.prompt_file.is_some();
    let home = sources.env.home.as_deref();
    // A preset needs no file beside it.
    let enough = has_prompt || sources.preset.is_some();
    let target = target::resolve(sources.target.as_deref(), enough, &workspace, home)?;

    let (settings, file) = read_layers(sources, target.as_ref())?;
    let mut definition: Definition =
        de::from_node(&settings.root).map_err(|error| error.into_diagnostic(&settings.map))?;
    loop_detection::settle(&settings, &mut definition);
    let mut found = layers::still_exclusive(&settings.map, &settings.root);
    let agent = validate::agent(&settings, &definition);
    let agent = agent.map_err(|one| found.push(explain_no_settings(one, file.as_ref()))).ok();
    found.extend(validate::shell_lines(&settings, &definition));
    let prices = prices(&definition);
    let fallback = definition.fallback.iter().filter_map(AgentSpec::of_line);
    let enforceable = agent
        .clone()
        .is_some_and(|first| std::iter::once(first).chain(fallback).all(|one| one.cost_enforceable(&prices)));
    found.extend(validate::bounds(&settings, &definition.event_loop, enforceable));
    if let Some(agent) = &agent {
        found.extend(proof::check(&settings, &definition, agent.tells_of_tools()));
    }
    let place = TaskPlace {
        workspace: &workspace,
        target: target.as_ref(),
        body: file.as_ref().map(|md| md.body.as_str()),
        preset: sources.preset.is_some(),
        needed: sources.needs_task,
    };
    let task = place.task(&settings, &definition).map_err(|one| found.push(one)).ok();
    found.extend(commands::check(&settings, &definition));
    found.extend(loop_detection::check(&settings, &definition.loop_detection));
    found.extend(hats::check(&settings, &definition));
    let known = user_args::Known {
        declared: &definition.args,
        used: used_args(&definition, task.as_ref()),
        options: &sources.options,
        takes_any: target.as_ref().is_some_and(|target| target.kind == Kind::RalphMd),
    };
    let args = sources.given.as_ref().map(|given| user_args::assign(&known, given));
    let args = args.transpose().map_err(|message| found.push(Diagnostic::new(message))).ok().flatten();
    match (agent, task, ConfigError::from_all(found)) {
        (Some(agent), Some(task), None) => Ok(Loaded {
            definition,
            agent,
            task,
            args,
            name: target.as_ref().map_or_else(|| target::folder_name(&workspace), |one| one.name.clone()),
            file: target.map(|target| target.path),
            preset: sources.preset.clone(),
            workspace,
            settings,
        }),
        (_, _, Some(error)) => Err(error),
        // A missing agent or task always leaves a message; this only satisfies the types.
        _ => Err(Diagnostic::new("the definition is not complete").into()),
    }
}

/// The arguments that the prompt and the commands have a place for.
fn used_args(definition: &Definition, task: Option<&Task>) -> BTreeSet<String> {
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

/// All settings, and the parts of a RALPH.md if the definition is one.
fn read_layers(
    sources: &Sources,
    target: Option<&Target>,
) -> Result<(Settings, Option<RalphMd>), ConfigError> {
    let mut reader = LayerReader::default();
    if let Some(path) = sources.env.user_config() {
        reader.user_config(&path)?;
    }
    if let Some(name) = &sources.preset {
        let preset = Preset::find(name).ok_or_else(|| unknown_preset(name))?;
        reader.yaml(
            Layer::Preset,
            &format!("preset {name}"),
            preset.yaml.to_owned(),
            0..preset.yaml.len(),
        )?;
    }
    let file = match target {
        Some(target) => reader.file(target)?,
        None => None,
    };
    // `-a` replaces the agent as a whole, so it comes first: `--set agent.…` is about the one it names.
    let (agent, flags): (Vec<Node>, Vec<Node>) =
        sources.flags.read(&mut reader.map).into_iter().partition(|tree| tree.entry("agent").is_some());
    reader.trees.extend(agent);
    for item in &sources.sets {
        match layers::read_set(&mut reader.map, item) {
            Ok(tree) => reader.trees.push(tree),
            Err(one) => reader.found.push(one),
        }
    }
    reader.trees.extend(flags);
    Ok((reader.join()?, file))
}

/// Collects layers, lowest first, and everything that is wrong with them.
#[derive(Default)]
struct LayerReader {
    map: SourceMap,
    trees: Vec<Node>,
    found: Vec<Diagnostic>,
}

impl LayerReader {
    fn user_config(&mut self, path: &Path) -> Result<(), ConfigError> {
        let shown = path.display().to_string();
        match read_file(path) {
            Ok(bytes) => {
                let text = ralph_md::decode(&bytes, &shown)?;
                let end = text.len();
                self.yaml(Layer::UserConfig, &shown, text, 0..end)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(unreadable(&shown, &error)),
        }
    }

    /// The definition file. Gives the parts of a RALPH.md.
    fn file(&mut self, target: &Target) -> Result<Option<RalphMd>, ConfigError> {
        let shown = target.shown.as_str();
        let bytes = read_file(&target.path).map_err(|error| unreadable(shown, &error))?;
        match target.kind {
            Kind::Yaml => {
                let text = ralph_md::decode(&bytes, shown)?;
                let end = text.len();
                self.yaml(Layer::File, shown, text, 0..end)?;
                Ok(None)
            }
            Kind::RalphMd => {
                let parts = parse_ralph_md(&bytes, Path::new(shown))?;
                if let Some(range) = parts.frontmatter.clone() {
                    self.yaml(Layer::File, shown, parts.text.clone(), range)?;
                }
                Ok(Some(parts))
            }
        }
    }

    fn yaml(
        &mut self,
        layer: Layer,
        shown: &str,
        text: String,
        range: std::ops::Range<usize>,
    ) -> Result<(), ConfigError> {
        if range.len() > MAX_YAML {
            return Err(Diagnostic::new(format!("`{shown}`: more than 1 MiB of settings")).into());
        }
        let source = self.map.add(layer, shown, text);
        let tree = yaml::parse(&self.map, source, range)?;
        if tree.is_null() {
            return Ok(());
        }
        if !matches!(tree.value, Value::Map(_)) {
            let title = format!("expected a mapping of settings, found {}", tree.describe());
            let found = Diagnostic::new(title).at(self.map.place(tree.span));
            return Err(found.help("write settings as `key: value`, one on a line").into());
        }
        self.trees.push(tree);
        Ok(())
    }

    fn join(mut self) -> Result<Settings, ConfigError> {
        let mut root: Option<Node> = None;
        for mut tree in std::mem::take(&mut self.trees) {
            self.found.extend(check_layer(&self.map, &mut tree));
            match &mut root {
                None => root = Some(tree),
                Some(root) if self.found.is_empty() => layers::overlay(root, tree),
                Some(_) => {}
            }
        }
        match ConfigError::from_all(self.found) {
            Some(error) => Err(error),
            None => {
                let nowhere = source::Span { source: 0, start: 0, end: 0 };
                let root = root.unwrap_or_else(|| Node::map(Vec::new(), nowhere));
                Ok(Settings { map: self.map, root, others: "default" })
            }
        }
    }
}

/// Checks one layer by itself, so that a mistake shows even where a higher layer hides it.
fn check_layer(map: &SourceMap, tree: &mut Node) -> Vec<Diagnostic> {
    let mut normal = tree.clone();
    let mut found = layers::normalize(map, &mut normal);
    if let Err(error) = de::from_node::<Definition>(&normal) {
        // serde names one key; all of them help more. The schema is made only now: it takes longer than the rest.
        let unknown = unknown::unknown_keys(map, tree);
        match unknown.is_empty() {
            true => found.push(error.into_diagnostic(map)),
            false => found.splice(0..0, unknown).for_each(drop),
        }
    }
    *tree = normal;
    found
}

/// A RALPH.md whose settings were not seen as such is easily taken for one that has them.
fn explain_no_settings(found: Diagnostic, file: Option<&RalphMd>) -> Diagnostic {
    match file {
        Some(md) if md.frontmatter.is_none() && md.text.lines().any(|line| line.trim_end() == "---") => found
            .note("RALPH.md has no settings: they stand between two `---` lines, and the first is line 1"),
        _ => found,
    }
}

/// Where the task may come from.
struct TaskPlace<'a> {
    workspace: &'a Path,
    target: Option<&'a Target>,
    body: Option<&'a str>,
    preset: bool,
    needed: bool,
}

impl TaskPlace<'_> {
    fn task(&self, settings: &Settings, definition: &Definition) -> Result<Task, Diagnostic> {
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

/// An error that names the presets there are.
pub fn unknown_preset(name: &str) -> ConfigError {
    let found = Diagnostic::new(format!("there is no preset {}", diagnostic::quote(name)));
    let known: Vec<&str> = presets::names().collect();
    found.help(nearest::suggest(name, &known)).into()
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MAX_FILE {
        true => Err(io::Error::other("larger than 16 MiB")),
        false => Ok(bytes),
    }
}

fn unreadable(shown: &str, error: &io::Error) -> ConfigError {
    Diagnostic::new(format!("`{shown}` cannot be read: {error}")).into()
}
