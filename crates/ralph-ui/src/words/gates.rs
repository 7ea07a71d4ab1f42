//! Gates and claims in words.

use ralph_model::event::{
    CompletionAccepted, CompletionDeferred, CompletionInferred, CompletionRejected, Event, GateFinished,
    GatesFinished, GatesStarted, Inference,
};
use ralph_model::ids::IterationNumber;
use ralph_model::text::clean;

use super::{Phrase, foreign, kill_cause};
use crate::format::{count, duration};
use crate::paint::Tone;

/// `gate tests failed 3s: exit code 1`
pub(crate) fn finished(gate: &GateFinished, required: bool) -> Phrase {
    let took = if gate.duration.as_millis() == 0 { "<1ms".to_owned() } else { duration(gate.duration) };
    let why = match (&gate.error, gate.exit_code) {
        _ if gate.passed => String::new(),
        (Some(error), _) => format!(": {}", foreign(error)),
        (None, Some(code)) => format!(": exit code {code}"),
        (None, None) => String::new(),
    };
    let only = if gate.passed || required { "" } else { " (only reported)" };
    let (tone, word) = match (gate.passed, required) {
        (true, _) => (Tone::Good, "passed"),
        (false, true) => (Tone::Bad, "failed"),
        (false, false) => (Tone::Notice, "failed"),
    };
    Phrase { tone, head: word.to_owned(), rest: format!(" {took}{why}{only}") }
}

/// A round that is not the first needs an explanation.
pub(crate) fn again(started: &GatesStarted) -> Option<String> {
    (started.round > 1).then(|| "files changed while the gates ran; they run again".to_owned())
}

pub(crate) fn rejected(claim: &CompletionRejected) -> String {
    format!("#{} is not believed: {}", claim.iteration, foreign(&claim.why))
}

/// A claim that waits, `#2 says that the task is complete; first comes code_reviewer`, or that nobody has made.
pub(crate) fn claim(event: &Event) -> Option<String> {
    match event {
        Event::CompletionDeferred(claim) => {
            Some(format!("#{} says that the task is complete; {}", claim.iteration, first(claim)))
        }
        Event::CompletionInferred(claim) => Some(inferred(claim)),
        _ => None,
    }
}

fn first(claim: &CompletionDeferred) -> String {
    let hats: Vec<String> = claim.hats.iter().map(|hat| clean(hat)).collect();
    format!("first comes {}", hats.join(", "))
}

fn inferred(claim: &CompletionInferred) -> String {
    match claim.from {
        Inference::RequiredEvents => {
            "everything that is required was published, and nothing is pending: that is a claim".to_owned()
        }
        Inference::WaitingClaim => {
            let hat = claim.hat.as_deref().map(clean).unwrap_or_default();
            format!("nothing is pending any more: the claim of {hat} is judged")
        }
    }
}

pub(crate) fn iteration_of(event: &Event) -> Option<IterationNumber> {
    match event {
        Event::GatesStarted(e) => Some(e.iteration),
        Event::GateStarted(e) => Some(e.iteration),
        Event::GateFinished(e) => Some(e.iteration),
        Event::GatesFinished(e) => Some(e.iteration),
        Event::GatesKilled(e) => Some(e.iteration),
        Event::CompletionDeferred(e) => Some(e.iteration),
        Event::CompletionInferred(e) => Some(e.iteration),
        Event::CompletionAccepted(e) => Some(e.iteration),
        Event::CompletionRejected(e) => Some(e.iteration),
        _ => None,
    }
}

pub(crate) fn details(event: &Event) -> String {
    match event {
        Event::GatesStarted(e) => {
            let names: Vec<String> = e.gates.iter().map(|name| clean(name)).collect();
            let round = if e.round > 1 { format!(" (round {})", e.round) } else { String::new() };
            format!("{}{round}", names.join(", "))
        }
        Event::GateStarted(e) => clean(&e.name),
        Event::GateFinished(e) => {
            let phrase = finished(e, true);
            format!("{} {}{}", clean(&e.name), phrase.head, phrase.rest)
        }
        Event::GatesFinished(e) => gates_finished(e),
        Event::GatesKilled(e) => kill_cause(&e.why, e.grace),
        Event::CompletionDeferred(e) => first(e),
        Event::CompletionInferred(e) => inferred(e),
        Event::CompletionAccepted(e) => accepted(e),
        Event::CompletionRejected(e) => foreign(&e.why),
        _ => String::new(),
    }
}

fn gates_finished(ran: &GatesFinished) -> String {
    let tree = ran.tree.as_ref().map(|tree| format!(", tree {}", short(&tree.hash))).unwrap_or_default();
    let moved = match ran.moved.is_empty() {
        true => String::new(),
        false => format!(", meanwhile changed: {}", foreign(&ran.moved.join(", "))),
    };
    let left_out = match ran.left_out.is_empty() {
        true => String::new(),
        false => format!(", left out: {}", foreign(&ran.left_out.join(", "))),
    };
    let unseen =
        ran.unseen.as_ref().map(|why| format!(", tree not seen: {}", foreign(why))).unwrap_or_default();
    format!("after {}{tree}{moved}{left_out}{unseen}", duration(ran.duration))
}

fn accepted(claim: &CompletionAccepted) -> String {
    let mut out = match claim.gates {
        0 => "on the agent's word: no gate was asked".to_owned(),
        n => format!("{} passed", count(n, "gate", "gates")),
    };
    if let Some(tree) = &claim.tree {
        out.push_str(&format!(" on tree {}", short(&tree.hash)));
        if let Some(commit) = &tree.commit {
            out.push_str(&format!(" over commit {}", short(commit)));
        }
    }
    out
}

fn short(hash: &str) -> String {
    clean(hash).chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_gate_never_takes_no_time() {
        for (micros, shown) in [(0, "<1ms"), (900, "<1ms"), (1_500, "1ms"), (2_000_000, "2s")] {
            let gate = GateFinished {
                iteration: IterationNumber(1),
                round: 1,
                name: "tests".to_owned(),
                passed: true,
                exit_code: Some(0),
                timed_out: false,
                error: None,
                duration: Duration::from_micros(micros),
                tail: String::new(),
                tests: None,
                tampering: None,
            };
            assert_eq!(finished(&gate, true).rest, format!(" {shown}"));
        }
    }

    #[test]
    fn a_claim_that_waits_or_that_nobody_made_has_a_line() {
        let iteration = IterationNumber(2);
        let hats = vec!["code_reviewer".into(), "docs\u{1b}[31m".into()];
        let waits = Event::CompletionDeferred(CompletionDeferred { iteration, hats });
        let words = "#2 says that the task is complete; first comes code_reviewer, docs";
        assert_eq!(claim(&waits).as_deref(), Some(words));
        assert_eq!((details(&waits).as_str(), iteration_of(&waits)), (&words[35..], Some(iteration)));
        let inferred = |from| {
            let hat = Some("executor".into());
            claim(&Event::CompletionInferred(CompletionInferred { iteration, from, hat })).unwrap_or_default()
        };
        assert!(inferred(Inference::WaitingClaim).ends_with("the claim of executor is judged"));
        assert!(inferred(Inference::RequiredEvents).starts_with("everything that is required was published"));
        assert_eq!(claim(&Event::RunPaused {}), None);
    }
}
