//! Damaged streams: whatever comes, parsers do not panic, stay within bounds, and do not care how it is cut.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use ralph_agents::agent::AGENTS;
use ralph_agents::stream::FINAL_TEXT_MAX;
use ralph_agents::tool::ToolResult;
use ralph_agents::{AgentSignal, RunSummary, Stream};

/// All recorded stdouts, with the agent they belong to.
static STREAMS: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts");
    let mut all = Vec::new();
    for agent in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        for file in fs::read_dir(&agent).unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().is_some_and(|extension| extension == "jsonl") {
                all.push((agent.file_name().unwrap().to_str().unwrap().to_string(), fs::read(file).unwrap()));
            }
        }
    }
    all.sort();
    all
});

#[derive(Debug, Clone)]
enum Damage {
    Truncate(Index),
    Flip(Index, u8),
    Drop(Index, Index),
    Insert(Index, Vec<u8>),
    Repeat(Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        any::<Index>().prop_map(Damage::Truncate),
        (any::<Index>(), 0..8u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Damage::Drop(a, b)),
        (any::<Index>(), prop::collection::vec(any::<u8>(), 1..40))
            .prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Damage::Repeat(a, b)),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    if bytes.is_empty() {
        return;
    }
    let range = |a: &Index, b: &Index| {
        let (a, b) = (a.index(bytes.len()), b.index(bytes.len()));
        a.min(b)..a.max(b)
    };
    match damage {
        Damage::Truncate(at) => bytes.truncate(at.index(bytes.len())),
        Damage::Flip(at, bit) => {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        Damage::Drop(a, b) => drop(bytes.drain(range(a, b))),
        Damage::Insert(at, new) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, new.iter().copied());
        }
        Damage::Repeat(a, b) => bytes.extend_from_within(range(a, b)),
    }
}

fn read(agent: &str, chunks: impl Iterator<Item = (Stream, Vec<u8>)>) -> Vec<AgentSignal> {
    let mut dialogue = ralph_agents::agent::by_name(agent).unwrap().dialogue();
    let mut out = Vec::new();
    for (from, chunk) in chunks {
        dialogue.take(from, &chunk, &mut out);
    }
    dialogue.finish(&mut out);
    out
}

fn within_bounds(signals: &[AgentSignal]) {
    let mut run = RunSummary::default();
    for signal in signals {
        run.observe(signal);
        let (text, max) = match signal {
            AgentSignal::Text { text, .. } | AgentSignal::Result { text, .. } => (text, FINAL_TEXT_MAX),
            AgentSignal::ToolResult(ToolResult { output, .. }) => (output, 4200),
            AgentSignal::Error { message, .. } => (message, 4200),
            AgentSignal::Retry { reason, .. } => (reason, 4300),
            AgentSignal::Noise { line } => (line, 2200),
            _ => continue,
        };
        assert!(text.len() <= max, "{} > {max}: {signal:?}", text.len());
        let json = serde_json::to_string(signal).unwrap();
        assert_eq!(serde_json::from_str::<AgentSignal>(&json).unwrap(), *signal);
    }
    let now = "2026-11-16T12:00:00Z".parse().unwrap();
    ralph_agents::failure::failure(&run, now, &jiff::tz::TimeZone::UTC);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_recordings(
        which in any::<Index>(),
        other in any::<Index>(),
        damages in prop::collection::vec(damage(), 1..6),
        sizes in prop::collection::vec(1..2000usize, 1..20),
        stderr in any::<bool>(),
    ) {
        let (agent, stream) = which.get(STREAMS.as_slice());
        // Sometimes the stream of another CLI altogether.
        let agent = if other.index(4) == 0 { AGENTS[other.index(AGENTS.len())].name } else { agent.as_str() };
        let mut bytes = stream.clone();
        damages.iter().for_each(|damage| apply(&mut bytes, damage));
        let from = if stderr { Stream::Stderr } else { Stream::Stdout };
        let whole = read(agent, std::iter::once((from, bytes.clone())));
        within_bounds(&whole);
        let mut rest = bytes.as_slice();
        let mut sizes = sizes.iter().cycle();
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let (chunk, left) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
            chunks.push((from, chunk.to_vec()));
            rest = left;
        }
        prop_assert_eq!(read(agent, chunks.into_iter()), whole);
    }

    #[test]
    fn any_bytes(agent in 0..AGENTS.len(), bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        within_bounds(&read(AGENTS[agent].name, std::iter::once((Stream::Stdout, bytes))));
    }

    #[test]
    fn any_reset_text(text in "(resets?|again|in|after|wait|reset_at|retry-after)[ :=|]{0,2}(at |on )?[0-9a-zA-Z:,./()\\- ]{0,40}") {
        let now = "2026-11-16T12:00:00Z".parse().unwrap();
        if let Some(at) = ralph_agents::failure::reset::parse(&text, now, &jiff::tz::TimeZone::UTC) {
            prop_assert!(at.duration_since(now).abs().as_hours() <= 40 * 24);
        }
    }
}
