//! Which command lines are recognised as checks, and that no text breaks the recogniser.

mod command_lines;
mod ledger;
mod lies;

use super::*;
use command_lines::{NOT_SEEN, SEEN};

/// `test: npm test`, with `?` where the status is not the check's or no pass is believed, `#` where it takes a count.
fn seen(command: &str) -> String {
    let found = recognise(command, &[]);
    let told = found.iter().map(|it| {
        let mark = match it.vouched {
            _ if !it.sure => "?",
            Vouched::Never => "?",
            Vouched::ByCount => "#",
            Vouched::ByStatus => "",
        };
        format!("{}{mark}: {}", it.kind.noun(), it.key())
    });
    told.collect::<Vec<_>>().join(", ")
}

#[test]
fn what_people_type_is_recognised_and_whose_status_it_is() {
    let wrong: Vec<String> = SEEN
        .iter()
        .filter_map(|(command, expected)| {
            let got = seen(command);
            (got != *expected).then(|| format!("{command:?}\n  expected {expected:?}\n  got      {got:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_checks_nothing_is_not_recognised() {
    let wrong: Vec<String> = NOT_SEEN
        .iter()
        .filter_map(|command| {
            let got = seen(command);
            (!got.is_empty()).then(|| format!("{command:?} as {got:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn patterns_of_the_project_are_recognised_behind_wrappers_too() {
    let extra = [
        ExtraPattern { kind: Kind::Test, command: "./ci *".to_owned() },
        ExtraPattern { kind: Kind::Lint, command: "tools/check-*".to_owned() },
    ];
    let seen = |command: &str| recognise(command, &extra).first().map(|it| (it.kind, it.sure));
    assert_eq!(seen("timeout 5 ./ci fast"), Some((Kind::Test, true)));
    assert_eq!(seen("./ci fast | tail"), Some((Kind::Test, false)));
    assert_eq!(seen("./ci"), None);
    assert_eq!(seen("echo ./ci fast"), None);
    assert_eq!(seen("cd a && tools/check-docs --all"), Some((Kind::Lint, true)));
    assert_eq!(seen("tools/other"), None);
}

#[test]
fn no_text_panics_or_recurses_without_end() {
    let pieces = [
        "npm test", "(", ")", "{", "}", "|", "||", "&&", "&", ";", "\n", "'", "\"", "`", "$(", "${", "<<EOF",
        ">", "2>&1", "if", "then", "fi", "for", "do", "done", "case", "esac", "!", "bash -c", "eval", "\\",
        "é", " ", "=", "xargs", "f()", "-o", "set", "exit $?", "A=$(",
    ];
    let mut seed = 1_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[usize::try_from(seed >> 33).unwrap_or(0) % pieces.len()]);
            text.push(' ');
        }
        recognise(&text, &[]);
        explore::is_exploration(&text);
    }
    recognise(&"(".repeat(100_000), &[]);
    recognise(&"eval ".repeat(10_000), &[]);
    recognise(&"bash -c 'x' && ".repeat(5_000), &[]);
    assert_eq!(recognise(&"npm run test:a; ".repeat(1000), &[]).len(), 1);
}
