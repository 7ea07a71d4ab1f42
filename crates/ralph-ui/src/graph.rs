//! Hats and topics as a picture: text for the terminal, Mermaid, DOT and SVG.

mod svg;

use std::fmt::Write as _;

use ralph_model::hat::{Edge, Graph, Kind, Node, Source};
use ralph_model::text::clean;

use crate::Style;
use crate::paint::{Paint, Tone};

pub use svg::svg;

/// Who publishes what to whom, one paragraph a hat.
pub fn text(graph: &Graph, style: &Style) -> String {
    let paint = Paint { color: style.color };
    let sources = std::iter::once(Source::Ralph).chain((0..graph.hats.len()).map(Source::Hat));
    let mut parts = Vec::new();
    for source in sources {
        let edges: Vec<&Edge> = graph.edges_from(source).collect();
        let mut part =
            format!("{}{}", paint.strong(&clean(graph.name(source))), paint.dim(&remarks(graph, source)));
        let width = edges.iter().map(|edge| edge.topic.as_str().chars().count()).max().unwrap_or(0);
        for edge in edges {
            let topic = format!("{:width$}", clean(edge.topic.as_str()));
            let topic = if edge.kind == Kind::Exhausted { paint.paint(Tone::Notice, &topic) } else { topic };
            let _ = write!(part, "\n  {topic}  → {}", receivers(graph, edge, paint));
        }
        parts.push(part);
    }
    parts.join("\n\n")
}

fn remarks(graph: &Graph, source: Source) -> String {
    let Source::Hat(n) = source else { return "  starts the run".to_owned() };
    let Some(hat) = graph.hats.get(n) else { return String::new() };
    let mut out = String::new();
    if let Some(max) = hat.max_activations {
        let _ = write!(out, "  at most {max}×");
    }
    if !hat.completes {
        out.push_str("  may not complete");
    }
    if graph.distances().get(n) == Some(&None) {
        out.push_str("  never reached");
    }
    out
}

fn receivers(graph: &Graph, edge: &Edge, paint: Paint) -> String {
    let count = |n: u64| if graph.counted { paint.dim(&format!(" ×{n}")) } else { String::new() };
    let mut to: Vec<String> = edge
        .to
        .iter()
        .map(|target| format!("{}{}", clean(graph.name(Source::Hat(target.hat))), count(target.count)))
        .collect();
    if to.is_empty() || edge.unheard > 0 {
        let nobody = match edge.kind {
            Kind::Exhausted => "the end of the run",
            Kind::Promise => "the task is complete",
            _ => "nobody",
        };
        to.push(format!("{}{}", paint.paint(Tone::Notice, nobody), count(edge.unheard)));
    }
    to.join(", ")
}

/// A Mermaid flowchart.
pub fn mermaid(graph: &Graph) -> String {
    let mut out = String::from("flowchart LR\n  ralph([ralph])\n");
    for (n, hat) in graph.hats.iter().enumerate() {
        let _ = writeln!(out, "  h{n}[\"{}\"]", mermaid_text(&label(hat, "<br/>")));
    }
    let mut lost = 0;
    for edge in &graph.edges {
        let from = id(edge.from);
        let arrow = if edge.kind == Kind::Exhausted { "-.->" } else { "-->" };
        for target in &edge.to {
            let what = mermaid_text(&counted(graph, edge, target.count));
            let _ = writeln!(out, "  {from} {arrow}|\"{what}\"| h{}", target.hat);
        }
        if edge.to.is_empty() || edge.unheard > 0 {
            let what = mermaid_text(&counted(graph, edge, edge.unheard));
            let _ = writeln!(out, "  nobody{lost}(( ))\n  {from} {arrow}|\"{what}\"| nobody{lost}");
            lost += 1;
        }
    }
    out
}

/// A Graphviz digraph.
pub fn dot(graph: &Graph) -> String {
    let mut out = String::from("digraph hats {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n");
    out.push_str("  ralph [shape=ellipse];\n");
    for (n, hat) in graph.hats.iter().enumerate() {
        let _ = writeln!(out, "  h{n} [label=\"{}\"];", dot_text(&label(hat, "\n")));
    }
    let mut lost = 0;
    for edge in &graph.edges {
        let from = id(edge.from);
        let style = if edge.kind == Kind::Exhausted { ", style=dashed" } else { "" };
        for target in &edge.to {
            let what = dot_text(&counted(graph, edge, target.count));
            let _ = writeln!(out, "  {from} -> h{} [label=\"{what}\"{style}];", target.hat);
        }
        if edge.to.is_empty() || edge.unheard > 0 {
            let what = dot_text(&counted(graph, edge, edge.unheard));
            let _ = writeln!(out, "  nobody{lost} [shape=point];");
            let _ = writeln!(out, "  {from} -> nobody{lost} [label=\"{what}\"{style}];");
            lost += 1;
        }
    }
    out.push_str("}\n");
    out
}

fn id(source: Source) -> String {
    match source {
        Source::Ralph => "ralph".to_owned(),
        Source::Hat(n) => format!("h{n}"),
    }
}

fn label(hat: &Node, newline: &str) -> String {
    match hat.max_activations {
        Some(max) => format!("{}{newline}at most {max}×", clean(&hat.id)),
        None => clean(&hat.id),
    }
}

/// The topic, and how often where that is known.
fn counted(graph: &Graph, edge: &Edge, count: u64) -> String {
    match graph.counted {
        true => format!("{} ×{count}", clean(edge.topic.as_str())),
        false => clean(edge.topic.as_str()),
    }
}

/// Names of hats are the user's: nothing in them may end the text they stand in.
fn mermaid_text(text: &str) -> String {
    let breaks = text.replace("<br/>", "\n");
    let safe: String = breaks
        .chars()
        .map(|c| match c {
            '"' | '<' | '>' | '&' | '#' | ';' | '`' | '\\' => format!("#{};", u32::from(c)),
            '\n' => "<br/>".to_owned(),
            c => c.to_string(),
        })
        .collect();
    // A lone `*` would be taken for a list or for emphasis.
    safe.replace('*', "#42;")
}

fn dot_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests;
