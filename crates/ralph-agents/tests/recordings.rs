//! Every recording of a real CLI: transcript in; signals, totals, verdict and failure out.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ralph_agents::agent::by_name;
use ralph_agents::failure::failure;
use ralph_agents::{AgentSignal, Outcome, RunSummary, Stream, verdict};
use ralph_core::event::Exit;

struct Recording {
    agent: String,
    scenario: String,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    exit: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts")
}

fn recordings() -> Vec<Recording> {
    let mut all = Vec::new();
    for agent in fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()) {
        for exit in fs::read_dir(&agent).unwrap().map(|entry| entry.unwrap().path()) {
            if exit.extension().is_some_and(|extension| extension == "exit") {
                let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_string();
                all.push(Recording {
                    agent: name(&agent),
                    scenario: name(&exit),
                    stdout: fs::read(exit.with_extension("stdout.jsonl")).unwrap(),
                    stderr: fs::read(exit.with_extension("stderr.txt")).unwrap_or_default(),
                    exit: fs::read_to_string(&exit).unwrap().trim().to_string(),
                });
            }
        }
    }
    all.sort_by(|a, b| (&a.agent, &a.scenario).cmp(&(&b.agent, &b.scenario)));
    assert!(all.len() > 140, "{}", all.len());
    all
}

impl Recording {
    fn signals(&self) -> Vec<AgentSignal> {
        let mut dialogue = by_name(&self.agent).unwrap().dialogue();
        let mut out = Vec::new();
        dialogue.take(Stream::Stdout, &self.stdout, &mut out);
        dialogue.take(Stream::Stderr, &self.stderr, &mut out);
        dialogue.finish(&mut out);
        out
    }

    fn summary(&self) -> RunSummary {
        let mut run = RunSummary::default();
        self.signals().iter().for_each(|signal| drop(run.observe(signal)));
        run
    }

    /// How it ended. One that did not end by itself was killed by the recorder, in ralph's place.
    fn exit(&self) -> Exit {
        match self.exit.parse::<i32>() {
            Ok(code) if code >= 0 => Exit::Code(code),
            Ok(signal) => Exit::Signal(-signal),
            Err(_) => Exit::Signal(9),
        }
    }

    fn verdict(&self) -> Outcome {
        verdict(&self.summary(), &self.exit())
    }
}

fn now() -> Timestamp {
    "2026-11-15T23:30:00Z".parse().unwrap()
}

fn render(recording: &Recording) -> String {
    let mut text = String::new();
    let mut noise = 0;
    for signal in recording.signals() {
        if matches!(signal, AgentSignal::Noise { .. }) {
            noise += 1;
            continue;
        }
        writeln!(text, "{}", serde_json::to_string(&signal).unwrap()).unwrap();
    }
    let run = recording.summary();
    let open: Vec<_> = run.open.iter().map(|call| &call.id).collect();
    writeln!(text, "-- {noise} lines of noise, {} retries, open tools {open:?}", run.retries).unwrap();
    writeln!(text, "-- usage {}", serde_json::to_string(&run.totals.usage()).unwrap()).unwrap();
    writeln!(text, "-- cost {:?}", run.totals.cost_usd()).unwrap();
    writeln!(text, "-- exit {}", recording.exit).unwrap();
    match recording.verdict() {
        Outcome::Ok => writeln!(text, "-- ok").unwrap(),
        Outcome::Failed { why } => {
            writeln!(text, "-- failed: {why}").unwrap();
            match failure(&run, now(), &TimeZone::UTC) {
                None => writeln!(text, "-- failure: not known").unwrap(),
                Some(it) => {
                    let at = |at: ralph_core::time::Timestamp| Timestamp::from_millisecond(at.as_millis());
                    let resets = it.resets_at.map(|time| at(time).unwrap().to_string());
                    writeln!(text, "-- failure: {} resets {resets:?}", it.class.name()).unwrap();
                }
            }
        }
    }
    text
}

/// One snapshot for each agent.
#[test]
fn each_recording_reads_as_reviewed() {
    let mut pages: Vec<(String, String)> = Vec::new();
    for recording in recordings() {
        let section = format!("== {}\n{}\n", recording.scenario, render(&recording));
        match pages.last_mut().filter(|(agent, _)| *agent == recording.agent) {
            Some((_, page)) => page.push_str(&section),
            None => pages.push((recording.agent, section)),
        }
    }
    for (agent, page) in pages {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(agent, page);
        });
    }
}

#[test]
fn the_success_script_has_the_same_tokens_everywhere() {
    let mut seen = Vec::new();
    for recording in recordings().iter().filter(|recording| recording.scenario.starts_with("success")) {
        let usage = recording.summary().totals.usage();
        let split = usage.map(|usage| (usage.input, usage.cache_read, usage.output));
        let want = match recording.agent.as_str() {
            "goose" => Some((21_350, 0, 160)),
            "copilot" | "kimi" => None,
            _ => Some((6_050, 15_300, 160)),
        };
        assert_eq!(split, want, "{} {}", recording.agent, recording.scenario);
        assert_eq!(recording.verdict(), Outcome::Ok, "{} {}", recording.agent, recording.scenario);
        let run = recording.summary();
        let said = run.final_text().unwrap();
        assert!(said.ends_with("\n\n<ralph>COMPLETE</ralph>"), "{}: {said}", recording.agent);
        seen.push(recording.agent.clone());
    }
    seen.dedup();
    assert_eq!(
        seen,
        ["claude", "cline", "codex", "copilot", "gemini", "goose", "kimi", "opencode", "pi", "qwen"]
    );
}

/// The tokens are those that the scripted server served.
#[test]
fn the_final_word_and_the_tokens_of_what_once_was_read_wrong() {
    let all = recordings();
    let read = |agent: &str, scenario: &str| {
        let one = all.iter().find(|one| (&*one.agent, &*one.scenario) == (agent, scenario)).unwrap();
        let run = one.summary();
        let output = run.totals.usage().map(|usage| usage.output);
        (run.final_text().map(str::to_owned), output)
    };
    let word = |agent: &str, scenario: &str| read(agent, scenario).0;
    assert_eq!(word("opencode", "text-empty").as_deref(), Some(""), "an older message had a marker");
    assert_eq!(read("opencode", "text-reasoning").1, Some(600 + 606));
    assert_eq!(word("qwen", "text-cut-partial").as_deref(), Some("Second try. Not done yet."));
    assert_eq!(word("qwen", "text-cut").as_deref(), Some(""), "nobody knows where the next try begins");
}

#[test]
fn only_what_ended_well_is_ok() {
    for recording in recordings() {
        let good = ["success", "text", "toolfail", "bgchild", "no-git-repo", "stall-once"];
        let want = good.iter().any(|good| recording.scenario.starts_with(good));
        let got = recording.verdict() == Outcome::Ok;
        assert_eq!(got, want, "{} {}: {:?}", recording.agent, recording.scenario, recording.verdict());
        // A bad exit code or a signal makes a failure of everything.
        for bad in [Exit::Code(1), Exit::Signal(15)] {
            assert_ne!(verdict(&recording.summary(), &bad), Outcome::Ok);
        }
    }
}

#[test]
fn each_failure_has_its_class() {
    for recording in recordings() {
        if recording.verdict() == Outcome::Ok {
            continue;
        }
        let scenario = recording.scenario.split('-').next().unwrap();
        let want = match (recording.agent.as_str(), scenario) {
            (_, "autherror" | "noauth" | "noapikey") => Some("sign_in"),
            (_, "badrequest") => Some("context_too_long"),
            (_, "ratelimit") => Some("limit"),
            (_, "servererror" | "overloaded" | "noserver" | "disconnect") => Some("outage"),
            (_, "quota") => Some("billing"),
            ("claude" | "codex" | "gemini", "usagelimit") => Some("limit"),
            // "insufficient_quota": no waiting helps.
            (_, "usagelimit") => Some("billing"),
            ("claude", "maxbudget" | "sigint") => Some("other"),
            // Was trying again when it was stopped.
            ("claude", "stall") => continue,
            _ => None,
        };
        let got = failure(&recording.summary(), now(), &TimeZone::UTC).map(|failure| failure.class.name());
        assert_eq!(got, want, "{} {}", recording.agent, recording.scenario);
    }
}

#[test]
fn the_cut_of_the_chunks_makes_no_difference() {
    for recording in recordings() {
        let whole = recording.signals();
        for size in [1, 7, 1000, 4096] {
            let mut dialogue = by_name(&recording.agent).unwrap().dialogue();
            let mut out = Vec::new();
            recording.stdout.chunks(size).for_each(|chunk| dialogue.take(Stream::Stdout, chunk, &mut out));
            recording.stderr.chunks(size).for_each(|chunk| dialogue.take(Stream::Stderr, chunk, &mut out));
            dialogue.finish(&mut out);
            // Noise on stderr comes last either way, because stdout was pushed first and ends with a line end.
            assert_eq!(out, whole, "{} {} in chunks of {size}", recording.agent, recording.scenario);
        }
    }
}

#[test]
fn crlf_makes_no_difference() {
    for recording in recordings() {
        let mut with_cr = Recording { exit: recording.exit.clone(), ..recording };
        let whole = with_cr.signals();
        for bytes in [&mut with_cr.stdout, &mut with_cr.stderr] {
            *bytes = String::from_utf8_lossy(bytes).replace('\n', "\r\n").into_bytes();
        }
        assert_eq!(with_cr.signals(), whole, "{} {}", with_cr.agent, with_cr.scenario);
    }
}
