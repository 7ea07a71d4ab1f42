//! The runners that the projects of the corpus need. pytest is installed once, beside the build.

use super::Project;
use crate::{Result, repo};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

pub struct Tools {
    pub path: OsString,
}

impl Tools {
    /// With pytest in an environment of its own, if a project asks for it and Python is there.
    pub fn get(projects: &[Project]) -> Result<Tools> {
        let mut folders: Vec<PathBuf> =
            std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
        if projects.iter().any(|project| project.gate.starts_with("python") || project.gate == "make test")
            && is_there("python3")
        {
            folders.insert(0, pytest()?);
        }
        let path = std::env::join_paths(folders).map_err(|error| format!("PATH: {error}"))?;
        Ok(Tools { path })
    }

    /// The program that a gate needs and that is not here.
    pub fn missing(&self, gate: &str) -> Option<String> {
        let program = gate.split_whitespace().next()?;
        let found = std::env::split_paths(&self.path).any(|folder| folder.join(program).is_file());
        (!found).then(|| program.to_owned())
    }
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The folder with `python` and `pytest`.
fn pytest() -> Result<PathBuf> {
    let venv = repo::root().join("target/proof/venv");
    let bin = venv.join("bin");
    if !bin.join("pytest").is_file() {
        println!("installing pytest into target/proof/venv");
        repo::stdout_of(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let mut pip = Command::new(bin.join("python"));
        repo::stdout_of(pip.args(["-m", "pip", "install", "--quiet", "pytest"]))?;
    }
    Ok(bin)
}
