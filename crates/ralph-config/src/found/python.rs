//! pytest, tox, unittest, ruff, flake8, mypy, pyright.

use ralph_core::check::Kind;

use super::{Folder, Found};

pub(super) fn gates(folder: &Folder) -> Vec<Found> {
    let through = through(folder);
    let mut found: Vec<Found> = tests(folder, through).into_iter().collect();
    let mut add = |kind, run: &str, from: Option<String>| {
        found.extend(from.map(|from| Found::new("python", kind, &format!("{through}{run}"), from)));
    };
    add(
        Kind::Lint,
        "ruff check .",
        settings(folder, &["ruff.toml", ".ruff.toml"], "pyproject.toml", "[tool.ruff"),
    );
    let has_ruff = settings(folder, &["ruff.toml", ".ruff.toml"], "pyproject.toml", "[tool.ruff").is_some();
    if !has_ruff {
        add(Kind::Lint, "flake8", settings(folder, &[".flake8"], "setup.cfg", "[flake8]"));
    }
    let mypy = settings(folder, &["mypy.ini", ".mypy.ini"], "pyproject.toml", "[tool.mypy");
    match mypy.or_else(|| settings(folder, &[], "setup.cfg", "[mypy]")) {
        Some(from) => add(Kind::Typecheck, "mypy .", Some(from)),
        None => {
            let pyright = settings(folder, &["pyrightconfig.json"], "pyproject.toml", "[tool.pyright");
            add(Kind::Typecheck, "pyright", pyright);
        }
    }
    found
}

/// What runs programs in the project's environment.
fn through(folder: &Folder) -> &'static str {
    match (folder.has("uv.lock"), folder.has("poetry.lock")) {
        (true, _) => "uv run ",
        (_, true) => "poetry run ",
        _ => "",
    }
}

/// A file of settings, or a section of one.
fn settings(folder: &Folder, files: &[&'static str], shared: &str, section: &str) -> Option<String> {
    let file = folder.first(files).map(str::to_owned);
    let is_start = |line: &str| line.trim_start().starts_with(section);
    file.or_else(|| {
        folder.text(shared).lines().any(is_start).then(|| format!("{shared}: {section}…").replace("]…", "]"))
    })
}

fn tests(folder: &Folder, through: &str) -> Option<Found> {
    if let Some(from) = pytest(folder) {
        let program = folder.first(&[".venv/bin/pytest", "venv/bin/pytest"]).filter(|_| through.is_empty());
        let run = format!("{through}{}", program.unwrap_or("pytest"));
        return Some(Found::new("python", Kind::Test, &run, from));
    }
    if folder.text("tox.ini").contains("[testenv") {
        return Some(Found::new("python", Kind::Test, "tox", "tox.ini"));
    }
    unittest(folder, through)
}

fn pytest(folder: &Folder) -> Option<String> {
    let found =
        settings(folder, &["pytest.ini", ".pytest.ini", "conftest.py"], "pyproject.toml", "[tool.pytest");
    let found = found.or_else(|| settings(folder, &[], "setup.cfg", "[tool:pytest]"));
    let found = found.or_else(|| settings(folder, &[], "tox.ini", "[pytest]"));
    let found = found.or_else(|| folder.files.iter().find(|path| path.ends_with("/conftest.py")).cloned());
    let required = [
        "pyproject.toml",
        "requirements.txt",
        "requirements-dev.txt",
        "dev-requirements.txt",
        "requirements-test.txt",
        "Pipfile",
        "tox.ini",
    ];
    found.or_else(|| {
        let is_named = |name: &&str| folder.text(name).lines().any(names_pytest);
        required.into_iter().find(is_named).map(|name| format!("{name}: pytest"))
    })
}

/// `pytest`, and neither a comment nor a plugin alone.
fn names_pytest(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default();
    line.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').any(|word| word == "pytest")
}

/// The standard library's own runner, where there are files that it would find.
fn unittest(folder: &Folder, through: &str) -> Option<Found> {
    let is_test = |path: &&String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.starts_with("test") && name.ends_with(".py") && name != "tests.py"
    };
    let tests: Vec<&String> = folder.files.iter().filter(is_test).collect();
    let first = tests.first()?;
    let in_top = tests.iter().any(|path| !path.contains('/'));
    let inside = ["tests", "test"]
        .into_iter()
        .find(|name| tests.iter().any(|path| path.starts_with(&format!("{name}/"))));
    let run = match inside.filter(|_| !in_top) {
        None if in_top => "python3 -m unittest discover".to_owned(),
        None => return None,
        Some(name) if folder.has(&format!("{name}/__init__.py")) => {
            format!("python3 -m unittest discover -s {name} -t .")
        }
        Some(name) => format!("python3 -m unittest discover -s {name}"),
    };
    let run = if through.is_empty() { run } else { format!("{through}{}", run.replace("python3", "python")) };
    Some(Found::new("python", Kind::Test, &run, first.as_str()))
}
