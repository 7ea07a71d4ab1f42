//! Who gets an event. Patterns stand in a tree by their segments, so that the cost of one event hangs on its own length
//! and not on the number of hats.

use std::collections::BTreeMap;

use crate::plan::Plan;

use super::topic::{Pattern, Segment, Specificity, Topic};

#[derive(Debug, Clone, Default)]
pub struct Routes {
    /// The tree as a list; the root is the first.
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    words: BTreeMap<String, usize>,
    one: Option<usize>,
    any: Option<usize>,
    /// Whether this stands for a `**`, which takes in more segments.
    is_any: bool,
    /// The hats with a trigger that ends here, by their place in the file.
    hats: Vec<usize>,
    specificity: Option<Specificity>,
}

impl Routes {
    /// `triggers`: those of each hat, in the order of the file.
    pub fn new<'a>(triggers: impl IntoIterator<Item = &'a [Pattern]>) -> Self {
        let mut routes = Self { nodes: vec![Node::default()] };
        for (hat, patterns) in triggers.into_iter().enumerate() {
            patterns.iter().for_each(|pattern| routes.add(hat, pattern));
        }
        routes
    }

    /// Those of a plan; nothing goes anywhere where there are no hats.
    pub fn of(plan: &Plan) -> Self {
        let hats = plan.hats.iter().flat_map(|hats| &hats.hats);
        Self::new(hats.map(|hat| hat.triggers.as_slice()))
    }

    fn add(&mut self, hat: usize, pattern: &Pattern) {
        let mut at = 0;
        for segment in pattern.segments() {
            at = self.child(at, segment);
        }
        let node = &mut self.nodes[at];
        node.specificity = Some(pattern.specificity());
        if node.hats.last() != Some(&hat) {
            node.hats.push(hat);
        }
    }

    fn child(&mut self, at: usize, segment: &Segment) -> usize {
        let new = self.nodes.len();
        let node = &mut self.nodes[at];
        let child = match segment {
            Segment::Word(word) => *node.words.entry(word.clone()).or_insert(new),
            Segment::One => *node.one.get_or_insert(new),
            Segment::Any => *node.any.get_or_insert(new),
        };
        if child == new {
            self.nodes.push(Node { is_any: *segment == Segment::Any, ..Node::default() });
        }
        child
    }

    /// The hats that get an event, in the order of the file: all those whose closest trigger is as close as any.
    pub fn subscribers(&self, topic: &Topic) -> Vec<usize> {
        let mut active = vec![0];
        self.open_any(&mut active);
        for word in topic.segments() {
            let mut next = Vec::with_capacity(active.len() + 2);
            for at in active {
                let node = &self.nodes[at];
                next.extend(node.words.get(word).copied());
                next.extend(node.one);
                next.extend(node.is_any.then_some(at));
            }
            self.open_any(&mut next);
            // Two ways to the same node are one.
            next.sort_unstable();
            next.dedup();
            active = next;
        }
        let ends = active.iter().map(|at| &self.nodes[*at]).filter(|node| !node.hats.is_empty());
        let closest = ends.clone().filter_map(|node| node.specificity).max();
        let mut hats: Vec<usize> = ends
            .filter(|node| node.specificity == closest)
            .flat_map(|node| node.hats.iter().copied())
            .collect();
        hats.sort_unstable();
        hats.dedup();
        hats
    }

    /// A `**` may stand for nothing: what follows it is open at once. Two never follow each other.
    fn open_any(&self, active: &mut Vec<usize>) {
        for i in 0..active.len() {
            active.extend(self.nodes[active[i]].any);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(hats: &[&[&str]]) -> (Vec<Vec<Pattern>>, Routes) {
        let triggers: Vec<Vec<Pattern>> =
            hats.iter().map(|hat| hat.iter().map(|text| text.parse().unwrap()).collect()).collect();
        let routes = Routes::new(triggers.iter().map(Vec::as_slice));
        (triggers, routes)
    }

    fn to(routes: &Routes, topic: &str) -> Vec<usize> {
        routes.subscribers(&topic.parse().unwrap())
    }

    #[test]
    fn the_closest_trigger_wins_and_equals_share_in_the_order_of_the_file() {
        let (_, routes) =
            routes(&[&["*"], &["review.*"], &["review.done"], &["*.done", "review.done"], &["*.done"]]);
        assert_eq!(to(&routes, "review.done"), [2, 3]);
        assert_eq!(to(&routes, "review.failed"), [1]);
        assert_eq!(to(&routes, "build.done"), [3, 4]);
        assert_eq!(to(&routes, "anything"), [0]);
        assert_eq!(to(&routes, "a.b.c"), [0]);
    }

    #[test]
    fn a_hat_with_two_fitting_triggers_gets_an_event_once() {
        let (_, routes) = routes(&[&["a.*", "*.b"], &["a.*"]]);
        assert_eq!(to(&routes, "a.b"), [0, 1]);
        assert_eq!(to(&routes, "x.y"), Vec::<usize>::new());
    }

    #[test]
    fn the_tree_says_the_same_as_asking_every_pattern() {
        let words = ["a", "b", "*", "**"];
        let mut texts = Vec::new();
        for x in words {
            texts.push(x.to_owned());
            for y in words {
                texts.push(format!("{x}.{y}"));
                texts.extend(words.iter().map(|z| format!("{x}.{y}.{z}")));
            }
        }
        let hats: Vec<Vec<&str>> =
            texts.chunks(3).map(|some| some.iter().map(String::as_str).collect()).collect();
        let hats: Vec<&[&str]> = hats.iter().map(Vec::as_slice).collect();
        let (triggers, routes) = routes(&hats);
        for text in ["a", "b", "c", "a.a", "a.c", "c.c", "a.b.a", "c.b.c", "a.b.a.b", "c.c.c.c.c"] {
            let topic: Topic = text.parse().unwrap();
            let closest =
                |hat: &Vec<Pattern>| hat.iter().filter(|p| p.matches(&topic)).map(Pattern::specificity).max();
            let best = triggers.iter().filter_map(closest).max();
            let wanted: Vec<usize> =
                (0..triggers.len()).filter(|n| best.is_some() && closest(&triggers[*n]) == best).collect();
            assert_eq!(routes.subscribers(&topic), wanted, "{text}");
        }
    }
}
