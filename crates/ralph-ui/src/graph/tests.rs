use ralph_core::event::TopicPublished;
use ralph_core::hat::{HatPlan, HatsPlan, Payload};

use super::*;

fn hat(id: &str, triggers: &[&str], publishes: &[&str], max: Option<u32>) -> HatPlan {
    let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    HatPlan { max_activations: max, ..HatPlan::new(id, patterns(triggers), patterns(publishes)) }
}

fn review_loop() -> Graph {
    Graph::of(&HatsPlan::new(vec![
        hat("executor", &["task.start", "review.changes_requested"], &["implementation.done"], None),
        hat(
            "code_reviewer",
            &["implementation.done"],
            &["review.approved", "review.changes_requested"],
            Some(3),
        ),
        hat("escalator", &["*.exhausted"], &["escalation.logged"], None),
    ]))
}

fn counted_loop() -> Graph {
    let mut graph = review_loop();
    let event = |topic: &str, from: &str, to: &[&str]| TopicPublished {
        iteration: None,
        id: 1,
        topic: topic.parse().unwrap(),
        payload: Payload::default(),
        from: from.into(),
        to: to.iter().map(|hat| (*hat).into()).collect(),
        dropped: Vec::new(),
        by_default: false,
    };
    graph.count(&event("task.start", "ralph", &["executor"]));
    graph.count(&event("implementation.done", "executor", &["code_reviewer"]));
    graph.count(&event("implementation.done", "executor", &["code_reviewer"]));
    graph.count(&event("code_reviewer.exhausted", "ralph", &["escalator"]));
    graph.count(&event("escalation.logged", "escalator", &[]));
    graph.count(&event("review.changes_requested", "ralph", &["executor"]));
    graph
}

#[test]
fn a_graph_as_text() {
    insta::assert_snapshot!("text", text(&review_loop(), &Style::plain()));
    insta::assert_snapshot!("text_of_a_run", text(&counted_loop(), &Style::plain()));
}

#[test]
fn a_graph_for_other_tools() {
    insta::assert_snapshot!("mermaid", mermaid(&counted_loop()));
    insta::assert_snapshot!("dot", dot(&counted_loop()));
    insta::assert_snapshot!("svg", svg(&counted_loop()));
}

#[test]
fn names_can_not_break_out_of_a_picture() {
    let graph = Graph::of(&HatsPlan::new(vec![hat("a\"]<b>&\\\u{1b}[31m", &["task.start"], &["x.*"], None)]));
    let (mermaid, dot, svg) = (mermaid(&graph), dot(&graph), svg(&graph));
    assert!(mermaid.contains("h0[\"a#34;]#60;b#62;#38;#92;\"]") && mermaid.contains("x.#42;"), "{mermaid}");
    assert!(dot.contains(r#"h0 [label="a\"]<b>&\\"];"#), "{dot}");
    assert!(svg.contains("a&quot;]&lt;b&gt;&amp;\\</text>"), "{svg}");
    assert!(!svg.contains('\u{1b}') && !text(&graph, &Style::plain()).contains('\u{1b}'));
}
