//! Lying and clumsy agents: none is believed whose task is not done, and none is missed whose task is. The agents stand in
//! `tests/corpus`, and every one of them meets the real program.

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Mutex;

use crate::harness::*;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
const LEAST: usize = 60;

#[derive(Debug, Default)]
struct Entry {
    file: String,
    name: String,
    done: Option<bool>,
    ends: String,
    n: Option<String>,
    sets: Vec<String>,
    files: Vec<(String, String)>,
    git: bool,
    steps: Vec<String>,
}

/// What one agent came to.
struct Verdict {
    false_completion: bool,
    missed: bool,
    /// The run ended for another reason than the fixture says.
    wrong: Option<String>,
}

#[test]
fn no_lie_is_believed_and_no_truth_is_missed() {
    let entries = entries();
    assert!(entries.len() >= LEAST, "{} agents", entries.len());
    let count = entries.len();
    let queue: Mutex<VecDeque<Entry>> = Mutex::new(entries.into());
    let verdicts: Mutex<Vec<(String, Verdict)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(entry) = { queue.lock().expect("a queue").pop_front() } {
                    let verdict = meet(&entry);
                    let name = format!("{}: {}", entry.file, entry.name);
                    verdicts.lock().expect("a list").push((name, verdict));
                }
            });
        }
    });
    let verdicts = verdicts.into_inner().expect("a list");
    let named = |is: fn(&Verdict) -> bool| -> Vec<&str> {
        verdicts.iter().filter(|(_, verdict)| is(verdict)).map(|(name, _)| name.as_str()).collect()
    };
    let (believed, missed) = (named(|it| it.false_completion), named(|it| it.missed));
    println!(
        "{count} agents, false completions: {}, missed true completions: {}",
        believed.len(),
        missed.len()
    );
    assert_eq!(verdicts.len(), count, "an agent was not met");
    assert!(believed.is_empty(), "believed though the task is not done: {believed:#?}");
    assert!(missed.is_empty(), "not believed though the task is done: {missed:#?}");
    let wrong: Vec<String> = verdicts
        .iter()
        .filter_map(|(name, verdict)| Some(format!("{name}: {}", verdict.wrong.as_ref()?)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn meet(entry: &Entry) -> Verdict {
    let world = World::new();
    for (name, text) in &entry.files {
        world.write(name, text);
        let mode = fs::Permissions::from_mode(if text.starts_with("#!") { 0o755 } else { 0o644 });
        fs::set_permissions(world.work(name), mode).expect("a mode");
    }
    if entry.git {
        world.write("src.txt", "source\n");
        let commit =
            "git init -q && git add -A && git -c user.name=t -c user.email=t@example.com commit -q -m x";
        let mut git = world.command("sh");
        git.args(["-c", commit]);
        world.spawn(git).wait().expect(0);
    }
    let agent = agent(&world, entry);
    let mut args = vec!["run", "-a", &agent, "-n", entry.n.as_deref().unwrap_or("1")];
    let has_prompt = entry.files.iter().any(|(name, _)| name == "PROMPT.md");
    args.extend(if has_prompt { ["-f", "PROMPT.md"] } else { ["-p", "the task"] });
    args.extend(NO_BACKOFF);
    entry.sets.iter().for_each(|set| args.extend(["--set", set]));
    let done = world.ralph(&args);
    if world.run_dirs().is_empty() {
        let wrong = Some(format!("nothing was started:\n{}", done.stderr));
        return Verdict { false_completion: false, missed: entry.done == Some(true), wrong };
    }
    let events = world.events();
    let stopped = events.last("run.stopped");
    let (reason, code) = (stopped["reason"].as_str().unwrap_or_default(), stopped["exit_code"].as_i64());
    world.verify();
    let believed = reason == "complete" || done.status.code() == Some(0);
    let is_done = entry.done.expect("`done` is set");
    let as_said = reason == entry.ends && code == done.status.code().map(i64::from);
    let told =
        format!("ended as {reason} ({code:?}), expected {}\n{}{}", entry.ends, done.stdout, done.stderr);
    Verdict {
        false_completion: believed && !is_done,
        missed: !believed && is_done,
        wrong: (!as_said).then_some(told),
    }
}

/// The scripted agent, or one of that name whose stream ralph reads.
fn agent(world: &World, entry: &Entry) -> String {
    if !entry.steps.iter().any(|step| step.contains('@') && split_condition(step).1.starts_with('@')) {
        return world.agent(&entry.steps.join("\n"));
    }
    let mut stream = Stream::default();
    let mut script = vec![format!(
        "say {}",
        json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m"})
    )];
    for step in &entry.steps {
        let (condition, step) = split_condition(step);
        match step.strip_prefix('@') {
            Some(step) => script.push(format!("{condition}say {}", stream.line(step))),
            None => script.push(format!("{condition}{step}")),
        }
    }
    let command = world.agent(&script.join("\n"));
    let path = world.path("files").join("claude");
    fs::write(&path, format!("#!/bin/sh\nexec {command}\n")).expect("write");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    path.display().to_string()
}

/// `on 2: ` and the step behind it.
fn split_condition(step: &str) -> (&str, &str) {
    let end = step.strip_prefix("on ").and_then(|rest| rest.find(": "));
    step.split_at(end.map_or(0, |at| "on ".len() + at + ": ".len()))
}

/// Lines of Claude Code's stream.
#[derive(Default)]
struct Stream {
    calls: u32,
}

impl Stream {
    fn line(&mut self, step: &str) -> Value {
        let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
        let text = rest.replace("\\n", "\n");
        let said = |block: Value, parent: Value| json!({"type": "assistant", "parent_tool_use_id": parent, "message": {"id": "m", "content": [block]}});
        let id = |calls: u32| format!("call-{calls}");
        match word {
            "text" => said(json!({"type": "text", "text": text}), Value::Null),
            "sub" => said(json!({"type": "text", "text": text}), json!("call-0")),
            "call" | "read" => {
                self.calls += 1;
                let (name, input) = match word {
                    "call" => ("Bash", json!({"command": text})),
                    _ => ("Read", json!({"file_path": text})),
                };
                let block = json!({"type": "tool_use", "id": id(self.calls), "name": name, "input": input});
                said(block, Value::Null)
            }
            "ok" | "fail" => {
                let (code, output) = text.split_once(' ').unwrap_or((&text, ""));
                let content = match (word, code) {
                    ("ok", _) => text.clone(),
                    (_, "0") => output.to_owned(),
                    _ => format!("Exit code {code}\n{output}"),
                };
                let result = json!({
                    "type": "tool_result", "tool_use_id": id(self.calls), "content": content, "is_error": word == "fail",
                });
                json!({"type": "user", "message": {"role": "user", "content": [result]}})
            }
            "final" | "error" => json!({
                "type": "result", "subtype": if word == "final" { "success" } else { "error_during_execution" },
                "is_error": word == "error", "result": text, "session_id": "s", "total_cost_usd": 0.01,
            }),
            _ => panic!("unknown step: @{step}"),
        }
    }
}

fn entries() -> Vec<Entry> {
    let mut files: Vec<_> =
        fs::read_dir(CORPUS).expect("the corpus").flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "txt"));
    files.sort();
    files.iter().flat_map(|path| parse(path)).collect()
}

fn parse(path: &Path) -> Vec<Entry> {
    let file = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let text = read(path);
    let entries = text.split("\n== ").map(|part| part.strip_prefix("== ").unwrap_or(part));
    entries.map(|part| entry(&file, part)).collect()
}

fn entry(file: &str, text: &str) -> Entry {
    let (head, steps) = text.split_once("\n\n").unwrap_or_else(|| panic!("no steps in {file}: {text}"));
    let mut lines = head.lines();
    let name = lines.next().unwrap_or_default().to_owned();
    let mut entry = Entry { file: file.to_owned(), name, ..Entry::default() };
    entry.steps = steps.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    for line in lines {
        let (key, value) = line.split_once(": ").unwrap_or_else(|| panic!("{file}: {line}"));
        match key {
            "done" => entry.done = Some(value == "yes"),
            "ends" => entry.ends = value.to_owned(),
            "n" => entry.n = Some(value.to_owned()),
            "set" => entry.sets.push(value.to_owned()),
            "git" => entry.git = value == "yes",
            "file" => {
                let (name, text) = value.split_once(' ').expect("a name and a text");
                entry.files.push((name.to_owned(), text.replace("\\n", "\n")));
            }
            _ => panic!("{file}: unknown key {key}"),
        }
    }
    assert!(
        entry.done.is_some() && !entry.ends.is_empty() && !entry.steps.is_empty(),
        "{file}: {}",
        entry.name
    );
    entry
}
