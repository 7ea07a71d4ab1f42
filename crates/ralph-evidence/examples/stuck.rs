//! What it costs to watch an output for loops: `cargo run --release -p ralph-core --example stuck`.
//!
//! Each line, with tabs between: what, megabytes, seconds on the core, memory in KiB before and at the most. Outputs come in
//! pieces, as they do from a pipe, and are not held in memory, except by the check that takes a whole text.

use std::time::Instant;

use ralph_evidence::detector::{OutputSimilarityDetector, Sketcher};

const MEGA: usize = 1_000_000;
/// What a pipe gives at once.
const CHUNK: usize = 64 << 10;

/// A kind of output: what stands from one byte to another.
type Flood = fn(&mut Vec<u8>, usize);

const FLOODS: &[(&str, Flood)] = &[
    ("lines of 80 bytes", |out, at| {
        let byte = |at: usize| if at % 80 == 79 { b'\n' } else { b'a' + (at % 26) as u8 };
        out.extend((at..at + CHUNK).map(byte));
    }),
    ("log lines, all different", |out, at| {
        let mut number = at / 100;
        while out.len() < CHUNK {
            let line = format!(
                "12:{:02}:{:02} INFO worker {} copied src/module_{number}/part.rs to the cache, {} left\n",
                number / 60 % 60,
                number % 60,
                number % 8,
                number * 7 % 1000
            );
            out.extend_from_slice(line.as_bytes());
            number += 1;
        }
    }),
    ("lines of one byte", |out, at| {
        out.extend((at..at + CHUNK).map(|at| if at % 2 == 1 { b'\n' } else { b'a' + (at / 2 % 26) as u8 }))
    }),
    ("one endless line", |out, _| out.resize(CHUNK, b'x')),
    ("random bytes", |out, at| {
        let mut state = at as u64 | 1;
        while out.len() < CHUNK {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            out.extend_from_slice(&state.to_le_bytes());
        }
    }),
];

fn main() {
    for (what, flood) in FLOODS {
        for megabytes in [10, 100, 1000] {
            sketch(what, *flood, megabytes);
        }
    }
    for megabytes in [1, 10, 100] {
        similarity(
            "two outputs with nothing in common",
            megabytes,
            |at| format!("left {at}\n"),
            |at| format!("right {at}\n"),
        );
        similarity(
            "two outputs that share every second line",
            megabytes,
            |at| format!("both {at}\n"),
            |at| format!("{} {at}\n", if at % 2 == 0 { "both" } else { "right" }),
        );
    }
}

fn sketch(what: &str, flood: Flood, megabytes: usize) {
    let mut sketcher = Sketcher::new();
    let (before, mut most) = (memory(), 0);
    let mut chunk = Vec::with_capacity(2 * CHUNK);
    let (mut seconds, mut at) = (0.0, 0);
    while at < megabytes * MEGA {
        chunk.clear();
        flood(&mut chunk, at);
        let start = Instant::now();
        sketcher.push(&chunk);
        seconds += start.elapsed().as_secs_f64();
        at += chunk.len();
        if at % (16 * CHUNK) < CHUNK {
            most = most.max(memory());
        }
    }
    let start = Instant::now();
    let sketch = sketcher.finish();
    seconds += start.elapsed().as_secs_f64();
    assert_eq!(sketch.bytes, at as u64);
    println!("sketch, {what}\t{megabytes}\t{seconds:.4}\t{before}\t{most}");
}

fn similarity(what: &str, megabytes: usize, left: fn(usize) -> String, right: fn(usize) -> String) {
    let text = |line: fn(usize) -> String| {
        let mut out = String::with_capacity(megabytes * MEGA + 100);
        let mut number = 0;
        while out.len() < megabytes * MEGA {
            out.push_str(&line(number));
            number += 1;
        }
        out
    };
    let (left, right) = (text(left), text(right));
    let mut detector = OutputSimilarityDetector::default();
    detector.check(&left);
    let before = memory();
    let start = Instant::now();
    let found = detector.check(&right);
    let seconds = start.elapsed().as_secs_f64();
    assert!(found.is_none(), "{found:?}");
    println!("similarity, {what}\t{megabytes}\t{seconds:.4}\t{before}\t{}", peak().max(before));
}

/// What this process holds in memory, in KiB; 0 where the system does not tell.
fn memory() -> u64 {
    status("VmRSS:")
}

/// What it has held at the most.
fn peak() -> u64 {
    status("VmHWM:")
}

fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
