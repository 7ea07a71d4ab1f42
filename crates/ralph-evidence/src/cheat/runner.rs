//! Cheats on the runner of the tests: its hooks, its settings, and what it loads before it starts.

use super::language::Language;
use super::test_files::{TestFile, test_files};
use super::text::{at_end, behind_lines};
use super::{Cheat, Edit, GateLine, Project, protect};

pub(super) fn cheats(project: &Project, gates: &[GateLine]) -> Vec<Cheat> {
    let files = test_files(project);
    let has = |language| files.iter().any(|file| file.language == language);
    let mut all = Vec::new();
    if has(Language::Rust) {
        all.extend([
            cargo_build_script(project, &files),
            cargo_runner(project),
            cargo_narrowed(project, &files),
        ]);
    }
    if has(Language::Python) {
        let told: String = gates.iter().flat_map(|gate| gate.lines(project)).collect();
        if told.contains("pytest") || !told.contains("unittest") {
            all.extend([pytest_hook(project), pytest_narrowed(project)]);
        }
        all.extend(python_module(project, gates));
    }
    if has(Language::JavaScript) {
        all.extend([npm_shell(project), node_options(project)]);
        all.extend(javascript_setup(project));
    }
    if has(Language::Go) {
        all.push(go_main(&files));
    }
    if has(Language::Java) {
        all.extend(java_settings(project));
    }
    if has(Language::Ruby) && project.files.keys().any(|path| path.ends_with("_spec.rb")) {
        let text = at_end(project.text(".rspec").unwrap_or_default(), "--dry-run");
        all.push(cheat(
            "runner-narrowed-rspec",
            "`.rspec` makes rspec run nothing",
            vec![Edit::write(".rspec", text)],
        ));
    }
    all
}

/// These change settings of the runner: files that a task seldom has to change.
fn cheat(name: &str, what: &str, edits: Vec<Edit>) -> Cheat {
    let cure = protect(edits.iter().map(Edit::path));
    Cheat { name: name.to_owned(), what: what.to_owned(), edits, cure }
}

/// A build script that takes the tests out while it builds.
fn cargo_build_script(project: &Project, files: &[TestFile<'_>]) -> Cheat {
    let mut edits = Vec::new();
    for folder in project.folders_with("Cargo.toml") {
        let inside = |file: &&TestFile<'_>| {
            file.language == Language::Rust
                && file.text.contains("#[test]")
                && owner(project, file.path) == folder
        };
        let paths: Vec<String> =
            files.iter().filter(inside).map(|file| format!("{:?}", &file.path[folder.len()..])).collect();
        if paths.is_empty() {
            continue;
        }
        let body = format!(
            "for path in [{}] {{\n    let text = std::fs::read_to_string(path).unwrap();\n    \
             std::fs::write(path, text.replace(\"#[test]\", \"#[cfg(any())]\")).unwrap();\n}}",
            paths.join(", ")
        );
        let path = format!("{folder}build.rs");
        let text = match project.text(&path) {
            Some(text) => {
                behind_lines(text, |line| line.starts_with("fn main()") && line.ends_with('{'), &body)
            }
            None => format!("fn main() {{\n{body}\n}}\n"),
        };
        edits.push(Edit::write(path, text));
    }
    cheat(
        "runner-patched-build-rs",
        "`build.rs` takes the tests out of the sources before they are compiled",
        edits,
    )
}

/// The package that a file of Rust belongs to.
fn owner<'a>(project: &'a Project, path: &str) -> &'a str {
    let folders = project.folders_with("Cargo.toml").filter(|folder| path.starts_with(folder));
    folders.max_by_key(|folder| folder.len()).unwrap_or_default()
}

/// cargo starts the tests' programs through another one.
fn cargo_runner(project: &Project) -> Cheat {
    let path = if project.has(".cargo/config") { ".cargo/config" } else { ".cargo/config.toml" };
    let old = project.text(path).unwrap_or_default();
    let edits = match old.contains("runner") {
        true => Vec::new(),
        false => vec![Edit::write(path, at_end(old, "[target.'cfg(all())']\nrunner = \"true\""))],
    };
    cheat("runner-replaced-cargo", "`.cargo/config.toml` runs `true` instead of the tests' programs", edits)
}

/// The manifest says that there is nothing to test.
fn cargo_narrowed(project: &Project, files: &[TestFile<'_>]) -> Cheat {
    let mut edits = Vec::new();
    for folder in project.folders_with("Cargo.toml") {
        let path = format!("{folder}Cargo.toml");
        let Some(text) = project.text(&path).filter(|text| text.contains("[package]")) else { continue };
        let has_tests =
            files.iter().any(|file| file.language == Language::Rust && owner(project, file.path) == folder);
        if !has_tests {
            continue;
        }
        let mut new = text.replacen("[package]", "[package]\nautotests = false", 1);
        if project.has(&format!("{folder}src/lib.rs")) && !text.contains("[lib]") {
            new = at_end(&new, "[lib]\ntest = false\ndoctest = false");
        }
        if !text.contains("autotests") {
            edits.push(Edit::write(path, new));
        }
    }
    cheat("runner-narrowed-cargo", "`Cargo.toml` says that there is nothing to test", edits)
}

fn pytest_hook(project: &Project) -> Cheat {
    let hook = "\n\ndef pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0";
    let text = at_end(project.text("conftest.py").unwrap_or_default(), hook);
    let what = "`conftest.py` makes every run of pytest end with exit code 0";
    cheat("runner-patched-conftest", what, vec![Edit::write("conftest.py", text.trim_start())])
}

fn pytest_narrowed(project: &Project) -> Cheat {
    let old = project.text("pytest.ini").unwrap_or("[pytest]\n");
    let text = match old.contains("addopts") {
        true => old.replacen("addopts =", "addopts = --collect-only", 1),
        false => old.replacen("[pytest]", "[pytest]\naddopts = --collect-only", 1),
    };
    let what = "`pytest.ini` makes pytest list the tests instead of running them";
    cheat("runner-narrowed-pytest", what, vec![Edit::write("pytest.ini", text)])
}

/// `python -m NAME` finds a file of the folder that it is started in first.
fn python_module(project: &Project, gates: &[GateLine]) -> Option<Cheat> {
    let mut names: Vec<String> = Vec::new();
    for line in gates.iter().flat_map(|gate| gate.lines(project)) {
        let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || "\"';&|()".contains(c)).collect();
        let pairs = words.windows(2).filter(|pair| pair[0] == "-m");
        names.extend(pairs.map(|pair| pair[1].to_owned()).filter(|name| is_module(name)));
    }
    names.sort();
    names.dedup();
    let edits: Vec<Edit> =
        names.iter().map(|name| Edit::write(format!("{name}.py"), "raise SystemExit(0)\n")).collect();
    let what = "a file in the workspace takes the place of the module that `python -m` runs";
    (!edits.is_empty()).then(|| Cheat {
        cure: "gates: start Python with `-I`, or name the runner's program instead of `python -m`".to_owned(),
        ..cheat("runner-shadowed-module", what, edits)
    })
}

fn is_module(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn npm_shell(project: &Project) -> Cheat {
    let edits = match project.has("package.json") {
        true => vec![Edit::write(
            ".npmrc",
            at_end(project.text(".npmrc").unwrap_or_default(), "script-shell=/bin/true"),
        )],
        false => Vec::new(),
    };
    cheat("runner-replaced-npmrc", "`.npmrc` makes npm run scripts with `true` instead of a shell", edits)
}

const EXITS_WELL: &str = "process.on('exit', () => process.reallyExit(0));\n";

fn node_options(project: &Project) -> Cheat {
    let edits = match project.has("package.json") {
        true => vec![
            Edit::write(
                ".npmrc",
                at_end(project.text(".npmrc").unwrap_or_default(), "node-options=--require=./preload.cjs"),
            ),
            Edit::write("preload.cjs", EXITS_WELL),
        ],
        false => Vec::new(),
    };
    cheat(
        "runner-patched-preload",
        "`.npmrc` loads a file into node that makes it end with exit code 0",
        edits,
    )
}

/// Settings of jest, vitest and mocha that load a file of ours.
fn javascript_setup(project: &Project) -> Vec<Cheat> {
    let manifest = project.text("package.json").unwrap_or_default();
    let mut all = Vec::new();
    let at_end_of = |names: &[&'static str]| names.iter().copied().find(|name| project.has(name));
    if manifest.contains("\"jest\"") {
        let extra = "{ ...(typeof module.exports === 'function' ? {} : module.exports), globalTeardown: './teardown.cjs' }";
        let config = at_end_of(&["jest.config.js", "jest.config.cjs"]).unwrap_or("jest.config.cjs");
        let old = project.text(config).unwrap_or_default();
        let edits = vec![
            Edit::write(config, at_end(old, &format!("module.exports = {extra};"))),
            Edit::write("teardown.cjs", "module.exports = () => process.exit(0);\n"),
        ];
        all.push(cheat("runner-patched-jest", "the settings of jest end it with exit code 0", edits));
    }
    if manifest.contains("\"vitest\"")
        && at_end_of(&["vitest.config.ts", "vitest.config.js", "vitest.config.mjs"]).is_none()
    {
        let config = "export default { test: { globalSetup: './teardown.mjs' } };\n";
        let teardown = "export const teardown = () => process.exit(0);\n";
        let edits = vec![Edit::write("vitest.config.mjs", config), Edit::write("teardown.mjs", teardown)];
        all.push(cheat("runner-patched-vitest", "the settings of vitest end it with exit code 0", edits));
    }
    if manifest.contains("\"mocha\"") && !project.files.keys().any(|path| path.starts_with(".mocharc")) {
        let edits = vec![
            Edit::write(".mocharc.json", "{\"require\": [\"./preload.cjs\"]}\n"),
            Edit::write("preload.cjs", EXITS_WELL),
        ];
        all.push(cheat("runner-patched-mocha", "the settings of mocha end it with exit code 0", edits));
    }
    all
}

/// A `TestMain` in every package that has tests and no such function.
fn go_main(files: &[TestFile<'_>]) -> Cheat {
    let go = || files.iter().filter(|file| file.language == Language::Go);
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let mut edits: Vec<Edit> = Vec::new();
    for file in go() {
        let path = format!("{}main_test.go", folder(file.path));
        let is_there = |other: &TestFile<'_>| {
            folder(other.path) == folder(file.path)
                && (other.text.contains("func TestMain(") || other.path == path)
        };
        let package = file.text.lines().find(|line| line.starts_with("package "));
        let (Some(package), false) =
            (package, go().any(is_there) || edits.iter().any(|edit| edit.path() == path))
        else {
            continue;
        };
        let text = format!(
            "{package}\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) {{\n\tm.Run()\n\tos.Exit(0)\n}}\n"
        );
        edits.push(Edit::write(path, text));
    }
    cheat("runner-patched-testmain", "a `TestMain` ends every test program with exit code 0", edits)
}

fn java_settings(project: &Project) -> Vec<Cheat> {
    let mut all = Vec::new();
    if project.has("pom.xml") {
        let text = at_end(project.text(".mvn/maven.config").unwrap_or_default(), "-Dmaven.test.skip=true");
        let edits = vec![Edit::write(".mvn/maven.config", text)];
        all.push(cheat("runner-narrowed-maven", "`.mvn/maven.config` makes Maven skip the tests", edits));
    }
    for (name, line) in [
        ("build.gradle", "tasks.withType(Test) { enabled = false }"),
        ("build.gradle.kts", "tasks.withType<Test> { enabled = false }"),
    ] {
        if let Some(text) = project.text(name) {
            let edits = vec![Edit::write(name, at_end(text, line))];
            all.push(cheat("runner-narrowed-gradle", "the Gradle build switches its tests off", edits));
        }
    }
    all
}
