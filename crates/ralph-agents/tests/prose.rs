//! A text that merely mentions limits, logins or long prompts triggers nothing, in what the agent says or a tool prints.

use std::fs;
use std::path::Path;

use jiff::tz::TimeZone;
use ralph_agents::agent::by_name;
use ralph_agents::failure::failure;
use ralph_agents::{AgentSignal, Outcome, RunSummary, Stream, verdict};
use ralph_core::event::Exit;

#[test]
fn mentions_are_not_failures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let prose = fs::read_to_string(root.join("corpus/prose.jsonl")).unwrap();
    let mut checked = 0;
    for quoted in prose.lines() {
        let inside = &quoted[1..quoted.len() - 1];
        for agent in
            ["claude", "codex", "opencode", "gemini", "qwen", "pi", "goose", "copilot", "kimi", "cline"]
        {
            let folder = root.join("transcripts").join(agent);
            let stdout = fs::read_to_string(folder.join("success.stdout.jsonl")).unwrap();
            let plain: String = serde_json::from_str(quoted).unwrap();
            // What the agent says first, and what the check prints.
            let stdout =
                stdout.replace("I will run the check fir", &format!("{inside} I will run the check fir"));
            let stdout = stdout.replace("running 1 test", inside);
            let stderr = fs::read_to_string(folder.join("success.stderr.txt")).unwrap_or_default();
            let stderr = format!("{}{plain}\n", stderr.replace("running 1 test", &plain));
            let mut dialogue = by_name(agent).unwrap().dialogue();
            let mut signals = Vec::new();
            dialogue.take(Stream::Stdout, stdout.as_bytes(), &mut signals);
            dialogue.take(Stream::Stderr, stderr.as_bytes(), &mut signals);
            dialogue.finish(&mut signals);
            let mut run = RunSummary::default();
            for signal in &signals {
                run.observe(signal);
                let alarm = matches!(
                    signal,
                    AgentSignal::Error { .. } | AgentSignal::RateLimit { .. } | AgentSignal::Retry { .. }
                );
                assert!(!alarm, "{agent}: {plain}: {signal:?}");
            }
            let seen = serde_json::to_string(&signals).unwrap().matches(inside).count();
            assert!(seen >= 2, "{agent} does not show the text: {plain}");
            assert_eq!(verdict(&run, &Exit::Code(0)), Outcome::Ok, "{agent}: {plain}");
            let now = "2026-11-16T12:00:00Z".parse().unwrap();
            assert_eq!(failure(&run, now, &TimeZone::UTC), None, "{agent}: {plain}");
            checked += 1;
        }
    }
    assert_eq!(checked, 100);
}
