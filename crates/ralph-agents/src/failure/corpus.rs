//! Real error texts, from recordings and public issue trackers, with the class and the reset time they stand for.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;

use super::class::class_of;
use super::reset;
use crate::signal::FailureClass;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    source: String,
    message: String,
    class: FailureClass,
    http: Option<u16>,
    #[serde(default)]
    code: String,
    resets_at: Option<Timestamp>,
    now: Option<Timestamp>,
    zone: Option<String>,
}

fn entries() -> Vec<Entry> {
    let lines = include_str!("../../corpus/errors.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn every_text_has_its_class_and_its_reset_time() {
    let entries = entries();
    assert!(entries.len() >= 80, "{}", entries.len());
    let mut counts = [[0; FailureClass::ALL.len()]; FailureClass::ALL.len()];
    let mut wrong = Vec::new();
    for entry in &entries {
        let got = class_of(entry.http, &entry.code, &entry.message);
        counts[entry.class as usize][got as usize] += 1;
        if got != entry.class {
            wrong.push(format!(
                "{} is {}, not {}: {}",
                entry.source,
                entry.class.name(),
                got.name(),
                entry.message
            ));
        }
        if entry.class == FailureClass::Limit {
            let now = entry.now.unwrap_or("2026-11-16T12:00:00Z".parse().unwrap());
            let zone = entry.zone.as_ref().map_or(TimeZone::UTC, |zone| TimeZone::get(zone).unwrap());
            let resets = reset::parse(&entry.message, now, &zone);
            if resets != entry.resets_at {
                wrong.push(format!(
                    "{} resets {:?}, not {resets:?}: {}",
                    entry.source, entry.resets_at, entry.message
                ));
            }
        }
    }
    println!(
        "{:>18} {}",
        "is \\ read as",
        FailureClass::ALL.map(|class| format!("{:>17}", class.name())).join("")
    );
    for class in FailureClass::ALL {
        let row = counts[class as usize].map(|count| format!("{count:>17}")).join("");
        println!("{:>18} {row}", class.name());
        // A limit that ralph set is known to ralph, by no text of the agent's.
        let has_texts = class != FailureClass::Breach;
        assert!(
            !has_texts || counts[class as usize].iter().sum::<u32>() >= 4,
            "too few texts of {}",
            class.name()
        );
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), entries.len(), wrong.join("\n"));
}
