//! An SVG by itself: hats in columns by their distance from the start, topics as labelled curves.

use std::fmt::Write as _;

use ralph_model::hat::{Edge, Graph, Kind, Source};
use ralph_model::text::clean;

use super::counted;

const BOX_HEIGHT: f64 = 44.0;
const ROW: f64 = 110.0;
const MARGIN: f64 = 30.0;
/// Of one character in a label, about.
const CHAR: f64 = 7.2;

struct Layout {
    /// The upper left corner of each box; the first is ralph's, then the hats.
    boxes: Vec<(f64, f64)>,
    width: f64,
    box_width: f64,
    size: (f64, f64),
}

/// A box, by its place in the layout.
fn slot(source: Source) -> usize {
    match source {
        Source::Ralph => 0,
        Source::Hat(n) => n + 1,
    }
}

pub fn svg(graph: &Graph) -> String {
    let layout = Layout::of(graph);
    let (width, height) = layout.size;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n"
    );
    out.push_str(
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\" fill=\"#555\"/></marker></defs>\n",
    );
    let _ = writeln!(out, "<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#ffffff\"/>");
    // Topics between the same two boxes lie one beside the other.
    let mut between: Vec<(usize, usize)> = Vec::new();
    for edge in &graph.edges {
        let from = slot(edge.from);
        for target in &edge.to {
            let to = target.hat + 1;
            let nth = between.iter().filter(|pair| **pair == (from, to)).count();
            between.push((from, to));
            layout.curve(&mut out, edge, &counted(graph, edge, target.count), (from, to), nth);
        }
        if edge.to.is_empty() || edge.unheard > 0 {
            let nth = between.iter().filter(|pair| **pair == (from, usize::MAX)).count();
            between.push((from, usize::MAX));
            layout.lost(&mut out, edge, &counted(graph, edge, edge.unheard), from, nth);
        }
    }
    layout.draw_boxes(graph, &mut out);
    out.push_str("</svg>\n");
    out
}

impl Layout {
    fn of(graph: &Graph) -> Self {
        let longest = graph.hats.iter().map(|hat| hat.id.chars().count()).max().unwrap_or(0).max(10);
        let topic = graph.edges.iter().map(|edge| edge.topic.as_str().chars().count()).max().unwrap_or(0);
        let box_width = longest as f64 * CHAR + 30.0;
        let width = box_width + topic as f64 * CHAR + 80.0;
        let distances = graph.distances();
        // What is never reached stands behind everything else.
        let last = distances.iter().flatten().max().map_or(1, |most| most + 2);
        let columns: Vec<usize> = std::iter::once(0)
            .chain(distances.iter().map(|distance| distance.map_or(last, |distance| distance + 1)))
            .collect();
        let mut heights = vec![0usize; last + 1];
        let mut boxes = Vec::with_capacity(columns.len());
        for column in columns {
            let row = heights[column];
            heights[column] += 1;
            boxes.push((MARGIN + column as f64 * width, MARGIN + 40.0 + row as f64 * ROW));
        }
        let rows = heights.iter().copied().max().unwrap_or(1);
        let used = heights.iter().rposition(|rows| *rows > 0).unwrap_or(0) + 1;
        let size = (MARGIN + used as f64 * width, MARGIN + 80.0 + rows as f64 * ROW + 60.0);
        Self { boxes, width, box_width, size }
    }

    fn middle(&self, slot: usize) -> (f64, f64) {
        let (x, y) = self.boxes[slot];
        (x + self.box_width / 2.0, y + BOX_HEIGHT / 2.0)
    }

    fn draw_boxes(&self, graph: &Graph, out: &mut String) {
        for (slot, (x, y)) in self.boxes.iter().enumerate() {
            let hat = slot.checked_sub(1).and_then(|n| graph.hats.get(n));
            let (name, fill, round) = match hat {
                Some(hat) => (hat.id.as_str(), "#eef3fb", 6),
                None => ("ralph", "#f4f4f4", 22),
            };
            let width = self.box_width;
            let _ = writeln!(
                out,
                "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"{BOX_HEIGHT:.0}\" rx=\"{round}\" \
                 fill=\"{fill}\" stroke=\"#456\"/>"
            );
            let (middle, _) = self.middle(slot);
            let limit = hat.and_then(|hat| hat.max_activations);
            let lift = if limit.is_some() { 18.0 } else { 26.0 };
            label(out, (middle, y + lift), name, "#123");
            if let Some(max) = limit {
                label(out, (middle, y + 35.0), &format!("at most {max}×"), "#678");
            }
        }
    }

    fn curve(&self, out: &mut String, edge: &Edge, what: &str, (from, to): (usize, usize), nth: usize) {
        let ((x1, y1), (x2, y2)) = (self.middle(from), self.middle(to));
        let half = self.box_width / 2.0;
        let shift = nth as f64 * 26.0;
        let (path, place) = if from == to {
            let top = y1 - BOX_HEIGHT / 2.0;
            let reach = 46.0 + shift;
            let path = format!(
                "M{:.0},{top:.0} C{:.0},{:.0} {:.0},{:.0} {:.0},{top:.0}",
                x1 - 20.0,
                x1 - 30.0,
                top - reach,
                x1 + 30.0,
                top - reach,
                x1 + 20.0
            );
            (path, (x1, top - reach * 0.75 - 4.0))
        } else if x2 > x1 {
            let (a, b) = (x1 + half, x2 - half);
            let bend = (b - a) / 2.0;
            let (y1, y2) = (y1 + shift - 8.0, y2 + shift - 8.0);
            let path =
                format!("M{a:.0},{y1:.0} C{:.0},{y1:.0} {:.0},{y2:.0} {b:.0},{y2:.0}", a + bend, b - bend);
            (path, ((a + b) / 2.0, (y1 + y2) / 2.0 - 5.0))
        } else {
            // Back to an earlier column, below the boxes.
            let (y1, y2) = (y1 + BOX_HEIGHT / 2.0, y2 + BOX_HEIGHT / 2.0);
            let depth = y1.max(y2) + 46.0 + shift;
            let path = format!("M{x1:.0},{y1:.0} C{x1:.0},{depth:.0} {x2:.0},{depth:.0} {x2:.0},{y2:.0}");
            (path, ((x1 + x2) / 2.0, depth - 14.0))
        };
        draw(out, edge, &path);
        label(out, place, what, "#333");
    }

    /// A topic that nobody gets ends in a dot beside the box.
    fn lost(&self, out: &mut String, edge: &Edge, what: &str, from: usize, nth: usize) {
        let (x, y) = self.middle(from);
        let a = x + self.box_width / 2.0;
        let down = y + BOX_HEIGHT / 2.0 - 6.0 + nth as f64 * 18.0;
        let b = a + (self.width - self.box_width) * 0.2;
        draw(out, edge, &format!("M{a:.0},{:.0} L{b:.0},{down:.0}", y + 10.0));
        let _ = writeln!(out, "<circle cx=\"{b:.0}\" cy=\"{down:.0}\" r=\"3\" fill=\"#b33\"/>");
        let _ = writeln!(
            out,
            "<text x=\"{:.0}\" y=\"{:.0}\" fill=\"#b33\">{}</text>",
            b + 6.0,
            down + 4.0,
            escape(&clean(what))
        );
    }
}

fn draw(out: &mut String, edge: &Edge, path: &str) {
    let dash = if edge.kind == Kind::Exhausted { " stroke-dasharray=\"5 4\"" } else { "" };
    let _ =
        writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"#555\" marker-end=\"url(#arrow)\"{dash}/>");
}

fn label(out: &mut String, (x, y): (f64, f64), text: &str, color: &str) {
    let text = escape(&clean(text));
    let _ = writeln!(
        out,
        "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"middle\" fill=\"{color}\">{text}</text>"
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
