//! How fast each dialogue reads its own format, and whether its memory grows: `cargo xtask bench parsers` runs it.
//!
//! Time on the core is counted, not the clock on the wall. The recorded sessions, over and over; for Claude Code also with
//! tool outputs of real sizes. Each line: agent, what, MB/s, signals, memory in KiB after a tenth and at the end; tabs between.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Instant;

use ralph_agents::agent::AGENTS;
use ralph_agents::{AgentDef, Stream};

const CHUNK: usize = 64 << 10;
const TOTAL: usize = 200 << 20;

fn main() {
    for def in AGENTS {
        let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts").join(def.name);
        if let Ok(session) = fs::read(recording.join("success.stdout.jsonl")) {
            measure(def, "recorded session", &session);
        }
        if def.name == "claude" {
            measure(def, "partial messages", partial().as_bytes());
            for kilobytes in [4, 64, 256] {
                measure(
                    def,
                    &format!("tool outputs of {kilobytes} kB"),
                    tool_session(kilobytes << 10).as_bytes(),
                );
            }
            measure(def, "lines of 100 MB", long_line(100 << 20).as_bytes());
        }
    }
}

fn measure(def: &AgentDef, what: &str, session: &[u8]) {
    let mut dialogue = def.dialogue();
    let (mut out, mut bytes, mut signals) = (Vec::new(), 0usize, 0usize);
    let (mut early, start) = (None, busy_seconds());
    while bytes < TOTAL {
        for chunk in session.chunks(CHUNK) {
            dialogue.take(Stream::Stdout, chunk, &mut out);
            signals += out.len();
            out.clear();
        }
        bytes += session.len();
        if bytes >= TOTAL / 10 && early.is_none() {
            early = Some(memory());
        }
    }
    let late = memory();
    dialogue.finish(&mut out);
    let seconds = busy_seconds() - start;
    let speed = bytes as f64 / 1e6 / seconds;
    println!("{}\t{what}\t{speed:.0}\t{signals}\t{}\t{late}", def.name, early.unwrap_or(late));
}

/// What this process holds in memory, in KiB; 0 where the system does not tell.
fn memory() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Time on a core, where the system tells: other programs must not spoil the figure. Else wall-clock time.
fn busy_seconds() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let busy = fs::read_to_string("/proc/self/schedstat").ok();
    let nanos = busy.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(|| START.elapsed().as_secs_f64(), |nanos| nanos / 1e9)
}

fn partial() -> String {
    let line = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a few words at a time"}},"session_id":"429608a2-5702-4940-a6ec-9dfd4ee67658","parent_tool_use_id":null,"uuid":"39bc8721-d53a-4ad5-9f08-640dcada1813"}"#;
    format!("{line}\n").repeat(1000)
}

fn tool_session(size: usize) -> String {
    let text = "    Checking crate v0.1.0 (\\\"quoted\\\")\\n".repeat(size / 40);
    let call = r#"{"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo check","description":"Check"}}],"usage":{"input_tokens":5,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s"}"#;
    let result = format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","content":"{text}","is_error":false,"tool_use_id":"t1"}}]}},"parent_tool_use_id":null,"session_id":"s","tool_use_result":{{"stdout":"{text}","stderr":"","interrupted":false}}}}"#
    );
    format!("{call}\n{result}\n")
}

fn long_line(size: usize) -> String {
    format!("{{\"type\":\"user\",\"message\":{{\"content\":\"{}\"}}}}\n", "x".repeat(size))
}
