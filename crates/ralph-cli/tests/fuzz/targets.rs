//! What is fed with damaged bytes, and what must hold.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ralph_agents::Stream;
use ralph_agents::agent::AGENTS;
use ralph_config::Sources;
use ralph_core::hat::{Pattern, Payload, Topic};
use ralph_core::ids::Seq;
use ralph_core::marker::{Rules as MarkerRules, SpeechScanner, TailScanner};
use ralph_core::plan::SignalPlan;
use ralph_core::ralph_md::{self, Values};
use ralph_core::record::{Chain, Record};
use ralph_evidence::gitignore::Rules;
use ralph_evidence::{git_index, redact};
use ralph_model::Asked;
use ralph_runtime::proxy::{body, head};

use crate::corpus::{files, indexes, lines};

pub struct Target {
    pub name: &'static str,
    pub corpus: fn() -> Vec<Vec<u8>>,
    pub run: fn(&[u8]),
}

pub const TARGETS: &[Target] = &[
    Target { name: "records", corpus: || lines(files("crates/ralph-core/tests", ".jsonl")), run: records },
    Target { name: "definitions", corpus: definition_corpus, run: definitions },
    Target { name: "ralph_md", corpus: ralph_md_corpus, run: ralph_md },
    Target { name: "streams", corpus: || files("crates/ralph-agents/transcripts", ".jsonl"), run: streams },
    Target { name: "requests", corpus: request_corpus, run: requests },
    Target { name: "emit", corpus: emit_corpus, run: emit },
    Target { name: "gitignore", corpus: gitignore_corpus, run: gitignore },
    Target { name: "git_index", corpus: indexes, run: index },
    Target { name: "proxy", corpus: proxy_corpus, run: proxy },
    Target { name: "redact", corpus: || files("crates/ralph-agents/transcripts", ".jsonl"), run: redaction },
];

fn records(input: &[u8]) {
    let mut chain = Chain::default();
    let _ = Record::decode(input, &mut chain, Seq(1));
    // With a right checksum the content is looked at.
    let text = String::from_utf8_lossy(input);
    let body = text.rsplit_once(",\"crc\"").map_or(text.trim_end_matches('}'), |(body, _)| body);
    let sealed = Chain::default().seal(body);
    let _ = Record::decode(sealed.trim_end_matches('\n').as_bytes(), &mut Chain::default(), Seq(1));
    if let Ok(record) = Record::from_json(input) {
        let line = record.encode(&mut Chain::default()).expect("what was read can be written");
        let again = Record::decode(line.trim_end().as_bytes(), &mut Chain::default(), record.seq);
        assert_eq!(again.as_ref(), Ok(&record), "it is read as it was written");
    }
}

fn definition_corpus() -> Vec<Vec<u8>> {
    [files("presets", ".yml"), files("examples", ".yml")].concat()
}

/// One for each process; in memory where there is such a place.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    place.expect("a folder").keep()
});

fn loaded(name: &str, input: &[u8]) {
    let path = FOLDER.join(name);
    fs::write(&path, input).expect("write");
    let mut sources = Sources::new(FOLDER.clone());
    sources.target = Some(name.to_owned());
    match ralph_config::load(&sources) {
        Ok(loaded) => {
            loaded.settings();
            let _ = loaded.to_plan(None, false).map(|plan| serde_json::to_string(&plan).expect("a plan"));
        }
        Err(error) => assert!(!error.render(false).is_empty()),
    }
}

fn definitions(input: &[u8]) {
    loaded("ralph.yml", input);
}

fn ralph_md_corpus() -> Vec<Vec<u8>> {
    [
        "---\nagent: claude\ncommands:\n  - {name: tests, run: cargo test}\nargs: [focus]\n---\n\n# Task\n{{ commands.tests }}\n",
        "---\r\nagent: ./a.sh\r\n---\r\nDo {{ args.focus }} <!-- a note --> in {{ ralph.iteration }}.\r\n",
        "No settings.\n<!--\nhidden {{ args.x }}\n-->\n```\n<!-- shown -->\n```\n{{{{ ralph.name }} }}\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

fn ralph_md(input: &[u8]) {
    loaded("RALPH.md", input);
    let text = String::from_utf8_lossy(input);
    let body = ralph_md::body(&text);
    ralph_md::args_of(&body);
    ralph_md::resolve(&body, &Values { name: "x", iteration: 1, ..Values::default() });
}

/// However a stream is cut, it says the same.
fn streams(input: &[u8]) {
    let which = input.len() % AGENTS.len();
    let read = |size: usize| {
        let mut dialogue = AGENTS[which].dialogue();
        let mut signals = Vec::new();
        for chunk in input.chunks(size) {
            dialogue.take(Stream::Stdout, chunk, &mut signals);
        }
        dialogue.finish(&mut signals);
        signals
    };
    assert_eq!(read(1 + input.len() % 700), read(usize::MAX >> 1), "{}", AGENTS[which].name);
}

fn request_corpus() -> Vec<Vec<u8>> {
    [
        r#"{"request":"hello"}"#,
        r#"{"request":"subscribe","from":7,"token":"1-0"}"#,
        r#"{"request":"command","command":"stop","how":"kill","by":"int"}"#,
        r#"{"request":"command","command":"say","text":"hi"}"#,
        r#"{"request":"command","command":"unpause","now":true}"#,
        r#"{"request":"emit","topic":"a.b","payload":"x"}"#,
        r#"{"request":"emit","topic":"a.b","payload":{"base64":"eA=="}}"#,
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

fn requests(input: &[u8]) {
    if let Ok(asked) = serde_json::from_slice::<Asked>(input) {
        let json = serde_json::to_string(&asked).expect("what was read can be written");
        assert_eq!(serde_json::from_str::<Asked>(&json).ok(), Some(asked));
    }
}

fn emit_corpus() -> Vec<Vec<u8>> {
    [
        "<event topic=\"build.done\">\nall good\n</event>\n",
        "text\n<!-- ralph:state idle -->\n<!-- ralph:delay 5m -->\n",
        "```\n<ralph>COMPLETE</ralph>\n```\n<ralph>COMPLETE</ralph>\n",
        "a.*.b\nbuild.**\n",
        "<event topic=\"x\"><event topic=\"y\">z</event>",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

fn emit(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for line in text.lines() {
        if let (Ok(topic), Ok(pattern)) = (line.parse::<Topic>(), line.parse::<Pattern>()) {
            assert!(pattern.matches(&topic), "a topic is a pattern of itself: {line}");
        }
        let _ = line.parse::<Pattern>();
    }
    let payload = Payload::from_bytes(input.to_vec());
    assert_eq!(&*payload.to_bytes(), input);
    let rules = MarkerRules::new(&SignalPlan::default(), &text);
    let said = |size: usize| {
        let (mut tail, mut speech) = (TailScanner::new(rules.clone()), SpeechScanner::new(rules.clone()));
        for chunk in input.chunks(size) {
            tail.push(chunk);
            speech.push(chunk);
        }
        (tail.finish(), speech.finish())
    };
    assert_eq!(said(1 + input.len() % 97), said(usize::MAX >> 1), "however it is cut");
}

fn gitignore_corpus() -> Vec<Vec<u8>> {
    [
        "target/\n*.log\n!keep.log\n/build\ndocs/**/*.tmp\n",
        "[a-z]*.o\n\\#x\n\\!y\n**/node_modules\nfoo/**\na/*/b?\n",
        "# comment\n\n  \nx\\ \n[[:digit:]]*\n[!]-]x\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

fn gitignore(input: &[u8]) {
    let rules = Rules::parse(input);
    for path in
        ["src/lib.rs", "a/b/c/d/e.log", "target", "x", "docs/a/b/c.tmp", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"]
    {
        rules.verdict(path.as_bytes(), path.len() % 2 == 0);
    }
    rules.verdict(&input[..input.len().min(200)], false);
}

fn index(input: &[u8]) {
    for length in [20, 32] {
        if let Some(index) = git_index::parse(input, length) {
            let bytes: usize = index.paths.iter().map(Vec::len).sum();
            // Version 4 shares beginnings, so more comes out than went in, but no more than this.
            assert!(bytes <= input.len() * input.len() + 1);
        }
    }
}

fn proxy_corpus() -> Vec<Vec<u8>> {
    [
        "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\nProxy-Authorization: Basic eDp5\r\n\r\n\x16\x03\x01",
        "GET http://a.b:81/c?d=e#f HTTP/1.1\r\nHost: a.b\r\nConnection: close, X-Own\r\nX-Own: 1\r\n\r\n",
        "POST /to/a.b/v1/messages HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhelloGET / HTTP/1.1\r\n\r\n",
        "POST http://[::1]:8/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nT: u\r\n\r\nmore",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

/// What is passed on means to the next reader what it meant here.
fn proxy(input: &[u8]) {
    let whole = head::end(input, 0);
    for seen in [1, input.len() / 2, input.len().saturating_sub(2)] {
        let found = |end: usize| head::end(input.get(..end).unwrap_or_default(), 0).ok().flatten();
        if found(seen).is_none() {
            assert_eq!(head::end(input, seen), whole, "however it comes");
        }
    }
    let Ok(Some(end)) = whole else { return };
    let (bytes, rest) = input.split_at(end);
    let Ok(read) = head::parse(bytes) else { return };
    // A tunnel is not passed on, and two headers more may be too many.
    if matches!(read.target, head::Target::Tunnel(_)) || read.headers.len() > 126 {
        return;
    }
    let place = head::Place { host: "a.b".to_owned(), port: 81 };
    let forwarded = read.forwarded(&place, 80, "/x");
    assert_eq!(head::end(&forwarded, 0), Ok(Some(forwarded.len())), "one head");
    let again = head::parse(&forwarded).expect("what is passed on can be read");
    assert_eq!((&again.method, again.body), (&read.method, read.body));
    let hosts = again.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    assert_eq!(hosts.map(|(_, value)| &value[..]).collect::<Vec<_>>(), [b"a.b:81"]);
    let pass = |bytes: &[u8]| {
        let (mut from, mut to) = (bytes, Vec::new());
        body::pass(read.body, &mut from, &mut to).ok().map(|()| (to, from.len()))
    };
    if let Some((to, _)) = pass(rest) {
        assert_eq!(pass(&to), Some((to.clone(), 0)), "one body");
    }
}

static REDACTOR: LazyLock<redact::Redactor> = LazyLock::new(|| {
    redact::Redactor::new(["assistant-secret", "\"type\":\"result", "session_id"], []).expect("a redactor")
});

fn redaction(input: &[u8]) {
    let whole = REDACTOR.bytes(input);
    let mut stream = redact::Stream::default();
    let mut pieces = Vec::new();
    for chunk in input.chunks(1 + input.len() % 61) {
        pieces.extend_from_slice(&stream.push(&REDACTOR, chunk));
    }
    pieces.extend_from_slice(&stream.finish(&REDACTOR));
    assert!(pieces == *whole, "however it is cut");
    assert!(memchr::memmem::find(&whole, b"assistant-secret").is_none());
}
