//! `cargo xtask agents [NAME…] [--quick] [--show] [--write]`: the real agent CLIs, installed from npm, run by the real ralph against a
//! model server on loopback. No key and no network is needed once they are in the cache.
//!
//! `NAME@VERSION` tries another version: all scenarios with the one that is pinned and with the other, and what differs in their
//! streams is printed.
//!
//! `--quick` is for every change: one CLI, waits cut short, and no failure where npm is out of reach. `--show` prints what
//! ralph printed, also where nothing is wrong.

mod cli;
mod install;
mod model;
mod scenario;
mod shape;
mod stage;
mod wrong;

use crate::lab::Lab;
use crate::{Result, repo};
use cli::{CLIS, Cli};
use scenario::{Cast, SCENARIOS};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const OPTIONS: [&str; 3] = ["--quick", "--show", "--write"];
const PAGE: &str = "docs/agents.md";
const BEGIN: &str = "<!-- measured: agents -->";
const END: &str = "<!-- end -->";

/// The CLI of `--quick`: it starts fastest.
const QUICK: &str = "codex";

/// Most of the time is waiting.
const AT_ONCE: usize = 3;

struct Asked {
    clis: Vec<&'static Cli>,
    quick: bool,
    show: bool,
    write: bool,
}

pub fn run(args: &[String]) -> Result<()> {
    if let Some((name, version)) = args.first().and_then(|arg| arg.split_once('@')) {
        return try_version(name, version, args);
    }
    let asked = asked(args)?;
    if asked.quick
        && let Some(why) = install::impossible(&asked.clis)
    {
        println!("agents: not run: {why}");
        return Ok(());
    }
    let mut installed = BTreeMap::new();
    for cli in &asked.clis {
        match install::install(cli) {
            Ok(found) => drop(installed.insert(cli.name, found)),
            Err(why) if asked.quick => {
                println!("agents: not run: {why}");
                return Ok(());
            }
            Err(why) => return Err(why),
        }
    }
    let lab = Lab::debug("agents")?;
    let results = Mutex::new(BTreeMap::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(asked.clis.len()) {
            scope.spawn(|| {
                while let Some(cli) = asked.clis.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let cast = Cast { lab: &lab, cli, installed: &installed[cli.name], quick: asked.quick };
                    let row = play(cast, asked.show);
                    results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(cli.name, row);
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let table = table(&asked.clis, &results);
    println!("\n{table}");
    let failed: Vec<&str> =
        results.iter().filter(|(_, row)| row.iter().any(Option::is_none)).map(|(name, _)| *name).collect();
    if !failed.is_empty() {
        return Err(format!("failed: {}", failed.join(", ")));
    }
    if asked.write { write(&table) } else { Ok(()) }
}

/// Plays all with the pinned version and with another.
fn try_version(name: &str, version: &str, args: &[String]) -> Result<()> {
    if let [_, more, ..] = args {
        return Err(format!("`{more}`: NAME@VERSION stands alone"));
    }
    let is_version = |c: char| c.is_ascii_alphanumeric() || ".-+_".contains(c);
    if version.is_empty() || !version.chars().all(is_version) {
        return Err(format!("`{version}` is no version"));
    }
    let pinned = asked(&[name.to_owned()])?.clis[0];
    // Once, for the rest of the command.
    let other: &'static Cli = Box::leak(Box::new(Cli { version: version.to_owned().leak(), ..*pinned }));
    let lab = Lab::debug("agents")?;
    let mut shapes = Vec::new();
    let mut failed = false;
    for cli in [pinned, other] {
        println!("{name} {}", cli.version);
        let installed = install::install(cli)?;
        let cast = Cast { lab: &lab, cli, installed: &installed, quick: false };
        let mut seen = shape::Shape::new();
        let row = play_and(cast, false, &mut |state| shape::of_runs(state, &mut seen));
        failed |= cli.version == version && row.iter().any(Option::is_none);
        shapes.push(seen);
    }
    let changes = shape::changes(&shapes[0], &shapes[1]);
    println!(
        "\n{} lines of difference between the streams of {} and {version}",
        changes.len(),
        pinned.version
    );
    changes.iter().for_each(|line| println!("{line}"));
    if failed { Err(format!("{name} {version}: not all is as it should be")) } else { Ok(()) }
}

fn asked(args: &[String]) -> Result<Asked> {
    let (flags, names): (Vec<&String>, Vec<&String>) = args.iter().partition(|arg| arg.starts_with("--"));
    if let Some(flag) = flags.iter().find(|flag| !OPTIONS.contains(&flag.as_str())) {
        return Err(format!("unknown option `{flag}`; the options are: {}", OPTIONS.join(", ")));
    }
    if let Some(name) = names.iter().find(|name| !CLIS.iter().any(|cli| cli.name == **name)) {
        let known: Vec<&str> = CLIS.iter().map(|cli| cli.name).collect();
        return Err(format!("unknown agent `{name}`; the agents are: {}", known.join(", ")));
    }
    let has = |flag: &str| flags.iter().any(|given| *given == flag);
    let (quick, write) = (has("--quick"), has("--write"));
    if write && (quick || !names.is_empty()) {
        return Err("--write is for a whole run of all agents".into());
    }
    let chosen = |cli: &&Cli| match names.is_empty() {
        true => !quick || cli.name == QUICK,
        false => names.iter().any(|name| *name == cli.name),
    };
    Ok(Asked { clis: CLIS.iter().filter(chosen).collect(), quick, show: has("--show"), write })
}

/// What each scenario came to; nothing where it failed.
fn play(cast: Cast<'_>, show: bool) -> Vec<Option<String>> {
    play_and(cast, show, &mut |_| {})
}

/// `after` gets the folder of a scenario's runs.
fn play_and(cast: Cast<'_>, show: bool, after: &mut dyn FnMut(&std::path::Path)) -> Vec<Option<String>> {
    let name = cast.cli.name;
    let mut one =
        |scenario: &scenario::Scenario| match (scenario.play)(cast).inspect(|played| after(&played.state)) {
            Ok(played) if played.wrong.is_empty() => {
                let record = if show { format!("\n{}", played.record) } else { String::new() };
                println!("{name}: {}: {}{record}", scenario.title, played.told);
                Some(played.told)
            }
            Ok(played) => {
                println!(
                    "{name}: {}: FAILED\n  {}\n{}",
                    scenario.title,
                    played.wrong.join("\n  "),
                    played.record
                );
                None
            }
            Err(why) => {
                println!("{name}: {}: FAILED: {why}", scenario.title);
                None
            }
        };
    SCENARIOS.iter().map(&mut one).collect()
}

fn table(clis: &[&Cli], results: &BTreeMap<&str, Vec<Option<String>>>) -> String {
    let titles: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.title).collect();
    let mut lines = vec![
        format!("| agent | version | {} |", titles.join(" | ")),
        format!("|---|---|{}", "---|".repeat(titles.len())),
    ];
    for cli in clis {
        let row = results.get(cli.name).map_or(&[][..], Vec::as_slice);
        let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("**failed**")).collect();
        lines.push(format!("| `{}` | {} | {} |", cli.name, cli.version, cells.join(" | ")));
    }
    lines.join("\n")
}

fn write(table: &str) -> Result<()> {
    let path = repo::root().join(PAGE);
    let old = std::fs::read_to_string(&path).map_err(|error| format!("{PAGE}: {error}"))?;
    let date = repo::stdout_of(std::process::Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let new = placed(&old, &format!("{}:\n\n{table}", date.trim()))?;
    std::fs::write(&path, new).map_err(|error| format!("{PAGE}: {error}"))?;
    println!("\nwritten to {PAGE}");
    Ok(())
}

fn placed(page: &str, text: &str) -> Result<String> {
    let lost = || format!("{PAGE} has no `{BEGIN}` with an `{END}` after it");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(lost)?;
    let (_, after) = rest.split_once(END).ok_or_else(lost)?;
    Ok(format!("{before}{BEGIN}\n{text}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(words: &[&str]) -> Result<(Vec<&'static str>, bool, bool)> {
        let asked = asked(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>())?;
        Ok((asked.clis.iter().map(|cli| cli.name).collect(), asked.quick, asked.write))
    }

    #[test]
    fn agents_are_chosen_by_name() {
        assert_eq!(ask(&[]).unwrap().0.len(), CLIS.len());
        assert_eq!(ask(&["gemini", "claude"]), Ok((vec!["claude", "gemini"], false, false)));
        assert_eq!(ask(&["--quick"]), Ok((vec![QUICK], true, false)));
        assert_eq!(ask(&["claude", "--quick"]), Ok((vec!["claude"], true, false)));
        assert!(ask(&["nope"]).unwrap_err().contains("the agents are: claude, codex"));
        assert!(ask(&["--nope"]).unwrap_err().contains("--quick"));
        let version = |words: &[&str]| run(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
        assert!(version(&["nope@1.0"]).unwrap_err().contains("the agents are"));
        assert!(version(&["claude@../x"]).unwrap_err().contains("no version"));
        assert!(version(&["claude@1.0", "--write"]).unwrap_err().contains("stands alone"));
        assert!(ask(&["claude", "--write"]).unwrap_err().contains("all agents"));
    }

    #[test]
    fn a_result_takes_the_place_of_the_last_one() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        assert_eq!(placed(&page, "new"), Ok(format!("a\n{BEGIN}\nnew\n{END}\nb\n")));
        assert!(placed("nothing", "new").unwrap_err().contains(BEGIN));
    }

    #[test]
    fn what_failed_is_plain_in_the_table() {
        let row = vec![Some("fine".to_owned()), None];
        let shown = table(&[&CLIS[0]], &BTreeMap::from([(CLIS[0].name, row)]));
        assert!(
            shown.ends_with(&format!("| `claude` | {} | fine | **failed** |", CLIS[0].version)),
            "{shown}"
        );
    }
}
