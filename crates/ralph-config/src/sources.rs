//! Everything that settings are read from.

use std::path::PathBuf;

use super::layers::Flags;
use super::user_args::Given;

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
