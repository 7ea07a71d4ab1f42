//! Journals that were recorded by the program as it was then. Decisions follow from recorded facts alone, so that no change of
//! what reads text may make one of them differ.

use std::path::{Path, PathBuf};

use ralph_core::event::{Event, FORMAT};
use ralph_core::ids::Seq;
use ralph_core::record::{Chain, Record};
use ralph_core::replay::Verifier;

fn journals() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect()
}

fn records(path: &Path) -> Vec<Record> {
    let text = std::fs::read(path).unwrap();
    let (mut chain, mut records) = (Chain::default(), Vec::new());
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let seq = Seq(records.len() as u64 + 1);
        let record = Record::decode(line, &mut chain, seq);
        records.push(record.unwrap_or_else(|damage| panic!("{}, {seq:?}: {damage:?}", path.display())));
    }
    records
}

#[test]
fn every_recorded_journal_is_decided_again_as_it_was() {
    for path in journals() {
        let mut verifier = Verifier::default();
        for record in records(&path) {
            let verified = verifier.push(&record);
            assert!(verified.is_ok(), "{}: {:#?}", path.display(), verified.err());
        }
        assert!(verifier.decisions > 0, "{} decides nothing", path.display());
    }
}

#[test]
fn there_is_a_journal_of_this_format_and_it_has_everything_that_reads_text_in_it() {
    let newest = journals().into_iter().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with(&format!("format-{FORMAT}-"))
    });
    let records = records(&newest.expect("a journal of this format; see tests/journals/README.md"));
    for name in [
        "tool.finished",
        "gate.finished",
        "completion.rejected",
        "hat.activated",
        "topic.published",
        "loop.suspected",
        "loop.detected",
        "guidance.added",
        "run.resumed",
        "run.stopped",
    ] {
        assert!(records.iter().any(|record| record.event.name() == name), "no {name}");
    }
    let has = |fact: fn(&Event) -> bool| records.iter().any(|record| fact(&record.event));
    assert!(has(|event| matches!(event, Event::ToolFinished(end) if !end.checks.is_empty())));
    assert!(has(|event| matches!(event, Event::AgentExited(exited) if exited.evidence.is_some())));
}
