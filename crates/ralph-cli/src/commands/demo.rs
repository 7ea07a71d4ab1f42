//! `ralph demo`: the real loop on a small real task, with a script in the place of the agent.
//!
//! Nothing but a shell is needed: no agent, key, network or compiler. The script is a separate process and is called what
//! it is. It claims too early and is refused by the gate, fails once, and then repairs what the gate named.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{run, workspace};
use crate::args::{DemoArgs, ScreenArgs};
use crate::error::CliError;
use crate::io::print;
use ralph_config::Sources;

const ROMAN: &str = include_str!("demo/roman.sh");
const CHECK: &str = include_str!("demo/check.sh");
const PROMPT: &str = include_str!("demo/PROMPT.md");
/// Folders of earlier demos that are passed over.
const MAX_FOLDERS: u32 = 10_000;

pub fn demo(args: DemoArgs) -> Result<u8, CliError> {
    let dir = folder(args.dir)?;
    build(&dir)?;
    let versioned = match versioned(&dir) {
        Ok(true) => "It is a git repository.",
        Ok(false) => "git is not installed, so it is a plain folder.",
        Err(error) => return Err(CliError::Failed(format!("cannot make a git repository: {error}"))),
    };
    let shown = dir.display();
    print(&format!(
        "A demo of ralph, in {shown}\n\n  roman.sh   a small program with bugs\n  check.sh   what has to be true of it; ralph \
         runs this as a gate\n  ralph.yml  the loop: agent, task, gate\n\n{versioned} In the agent's place works a script \
         that comes with ralph, as a\nseparate process: no model, no key, no network. All else is real. This is `ralph \
         run -v`:\n"
    ))?;
    let screen = ScreenArgs { json: false, quiet: false, verbose: true };
    let mut sources = Sources::new(&dir);
    // Nothing of the demo is worth a net.
    sources.sets.push("checkpoints=off".to_owned());
    let code = run::start(&sources, None, &screen, false, &crate::args::NetArgs::default())?;
    let verdict = match code {
        0 => "The agent's word was not enough; the gate's was. The folder is left for a look.",
        _ => "This is not how the demo should end. The folder is left for a look.",
    };
    let at = shell_words::quote(&dir.to_string_lossy()).into_owned();
    print(&format!(
        "\n{verdict} Try next:\n\n  # what each claim was missing\n  ralph explain -C {at}\n  # all that the script said\n  \
         ralph logs --all -C {at}\n  # the same on a project of yours\n  ralph run -p 'make the tests pass' -a claude \
         --set 'gates=[{{name: tests, run: make test}}]'"
    ))?;
    Ok(code)
}

/// The folder that is named, or a new one among the temporary ones.
fn folder(named: Option<PathBuf>) -> Result<PathBuf, CliError> {
    if let Some(dir) = named {
        fs::create_dir_all(&dir)?;
        if fs::read_dir(&dir)?.next().is_some() {
            return Err(CliError::Usage(format!(
                "{} is not empty; the demo needs a folder of its own",
                dir.display()
            )));
        }
        return workspace(&dir);
    }
    let base = std::env::temp_dir();
    for n in 1..MAX_FOLDERS {
        let dir = base.join(format!("ralph-demo-{n}"));
        match fs::create_dir(&dir) {
            Ok(()) => return workspace(&dir),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(CliError::Failed(format!("cannot make a folder in {}: {error}", base.display())));
            }
        }
    }
    Err(CliError::Failed(format!("{} is full of demos; remove some", base.display())))
}

fn build(dir: &Path) -> Result<(), CliError> {
    let ralph = std::env::current_exe()?;
    let agent = format!("{} __demo-agent", shell_words::quote(&ralph.to_string_lossy()));
    // A JSON string is a YAML string, whatever the path holds.
    let agent = serde_json::Value::String(agent);
    let definition = format!(
        "# The demo of ralph. The agent is a script that comes with ralph; put a real one in its place: `agent: claude`.\n\
         agent: {{command: {agent}}}\n\
         prompt_file: PROMPT.md\n\
         event_loop: {{max_iterations: 6}}\n\
         gates:\n  - {{name: check, run: sh check.sh, kind: test, timeout: 30s}}\n"
    );
    let files = [("roman.sh", ROMAN), ("check.sh", CHECK), ("PROMPT.md", PROMPT), ("ralph.yml", &definition)];
    for (name, text) in files {
        fs::write(dir.join(name), text)?;
    }
    Ok(())
}

/// Makes a repository with one commit. `false`: there is no git.
fn versioned(dir: &Path) -> io::Result<bool> {
    let settings =
        ["user.name=ralph demo", "user.email=demo@example.com", "commit.gpgsign=false", "core.hooksPath="];
    for args in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "A small program with bugs"]] {
        let mut git = Command::new("git");
        git.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null());
        git.args(settings.iter().flat_map(|setting| ["-c", setting]));
        // Whatever the caller works on, and however: this is another repository.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            git.env_remove(name);
        }
        match git.args(args).output() {
            Ok(done) if done.status.success() => {}
            Ok(done) => {
                return Err(io::Error::other(String::from_utf8_lossy(&done.stderr).trim().to_owned()));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// `ralph __demo-agent`: what works in the agent's place.
pub fn agent() -> Result<u8, CliError> {
    let mut prompt = String::new();
    io::stdin().read_to_string(&mut prompt)?;
    let iteration =
        std::env::var("RALPH_ITERATION").ok().and_then(|number| number.parse().ok()).unwrap_or(1_u32);
    let say = |text: &str| print(&format!("[demo script] {text}"));
    match iteration {
        1 => {
            repair(&[(9, "IX"), (4, "IV")])?;
            say("4 and 9 were wrong, and I have repaired them. I did not run check.sh: it will be fine.")?;
            print("<ralph>COMPLETE</ralph>")?;
            Ok(0)
        }
        2 => {
            say(&format!(
                "The gate told me: {}. I am about to repair it, and my connection is gone.",
                told(&prompt)
            ))?;
            eprintln!("[demo script] connection lost (on purpose)");
            Ok(1)
        }
        _ => {
            say(&format!(
                "The summary of the last iteration says: {}. All the other pairs are missing.",
                told(&prompt)
            ))?;
            repair(&[(900, "CM"), (400, "CD"), (90, "XC"), (40, "XL"), (9, "IX"), (4, "IV")])?;
            let checked = Command::new("sh").arg("check.sh").stdin(Stdio::null()).output()?;
            say(&format!("I ran check.sh: {}", String::from_utf8_lossy(&checked.stdout).trim()))?;
            if checked.status.success() {
                print("<ralph>COMPLETE</ralph>")?;
            }
            Ok(0)
        }
    }
}

/// What the prompt says that the gate said: the context of each iteration is fresh, and this is all it knows.
fn told(prompt: &str) -> &str {
    let line = prompt.lines().rev().find(|line| line.contains(": expected "));
    let end = |text: &str| text.find(". ").unwrap_or(text.len());
    let from =
        |text: &str| text.find(": expected ").and_then(|at| text[..at].rfind(' ')).map_or(0, |at| at + 1);
    line.map_or("nothing", |line| &line[from(line)..][..end(&line[from(line)..])])
}

/// Writes roman.sh anew with these pairs among its own, the greatest first.
fn repair(pairs: &[(u32, &str)]) -> Result<(), CliError> {
    let value =
        |line: &str| line.strip_prefix("add ").and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    let mut lines: Vec<String> = ROMAN.lines().map(str::to_owned).collect();
    for (number, letters) in pairs {
        let at = lines.iter().position(|line| value(line).is_some_and(|value| value < *number));
        lines.insert(at.unwrap_or(lines.len()), format!("add {number} {letters}"));
    }
    Ok(fs::write("roman.sh", lines.join("\n") + "\n")?)
}
