//! `ralph presets` and `ralph init`: definitions to start from.

use std::fs::OpenOptions;
use std::io::{self, Write};

use super::workspace;
use crate::args::{InitArgs, PresetsArgs};
use crate::error::CliError;
use ralph_config::presets::{PRESETS, Preset};
use ralph_config::unknown_preset;

pub fn presets(args: PresetsArgs) -> Result<u8, CliError> {
    let text = match args.name {
        Some(name) => find(&name)?.yaml.trim_end().to_owned(),
        None => {
            let width = PRESETS.iter().map(|preset| preset.name.len()).max().unwrap_or(0);
            let line = |preset: &Preset| format!("{:width$}  {}", preset.name, preset.summary());
            PRESETS.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    };
    crate::io::print(&text)?;
    Ok(0)
}

pub fn init(args: InitArgs) -> Result<u8, CliError> {
    let preset = find(&args.preset)?;
    let path = workspace(&args.at.workspace)?.join("ralph.yml");
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    let mut file = file.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            CliError::Usage(format!("{} is there already; nothing was changed", path.display()))
        }
        _ => CliError::Failed(format!("cannot write {}: {error}", path.display())),
    })?;
    file.write_all(preset.yaml.as_bytes())?;
    crate::io::print(&format!(
        "wrote {}\nwrite the task into PROMPT.md beside it, or give it with `ralph run -p`; `ralph check` looks it over",
        path.display()
    ))?;
    if ralph_runtime::trial::can_confine() {
        crate::io::print(
            "this machine can confine the agent: add `sandbox: workspace`, or run with `--sandbox workspace`",
        )?;
    }
    Ok(0)
}

fn find(name: &str) -> Result<&'static Preset, CliError> {
    Preset::find(name).ok_or_else(|| unknown_preset(name).into())
}
