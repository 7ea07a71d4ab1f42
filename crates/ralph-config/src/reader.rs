//! Reads the layers of settings, lowest first, each checked by itself.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::definition::Definition;
use super::diagnostic::{ConfigError, Diagnostic};
use super::gates::Auto;
use super::presets::{Preset, unknown_preset};
use super::ralph_md::{self, RalphMd, parse_ralph_md};
use super::source::{Layer, SourceMap, Span};
use super::sources::Sources;
use super::target::{Kind, Target};
use super::validate::Settings;
use super::yaml::{self, Node, Value};
use super::{de, layers, unknown};

/// No definition is this large; a file that never ends must not fill the memory.
const MAX_FILE: u64 = 16 << 20;
/// Settings alone, without the body of a RALPH.md.
const MAX_YAML: usize = 1 << 20;

/// All settings, and the parts of a RALPH.md if the definition is one.
pub fn read_layers(
    sources: &Sources,
    target: Option<&Target>,
) -> Result<(Settings, Option<RalphMd>), ConfigError> {
    let mut reader = LayerReader { auto: Auto::of(&sources.workspace), ..LayerReader::default() };
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
    auto: Auto,
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
            self.auto.spell_out(&mut tree);
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
                let nowhere = Span { source: 0, start: 0, end: 0 };
                let root = root.unwrap_or_else(|| Node::map(Vec::new(), nowhere));
                Ok(Settings { map: self.map, root, others: "default", auto: self.auto })
            }
        }
    }
}

/// Checks one layer by itself, so that a mistake shows even where a higher layer hides it.
pub fn check_layer(map: &SourceMap, tree: &mut Node) -> Vec<Diagnostic> {
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

pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // A pipe would keep its reader waiting, a device has no end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > MAX_FILE {
        true => Err(io::Error::other("larger than 16 MiB")),
        false => Ok(bytes),
    }
}

fn unreadable(shown: &str, error: &io::Error) -> ConfigError {
    Diagnostic::new(format!("`{shown}` cannot be read: {error}")).into()
}
