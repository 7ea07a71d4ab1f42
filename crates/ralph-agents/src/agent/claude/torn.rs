//! Text of a stream that broke, which the CLI joins to the text of its next try: qwen does. What was said before the
//! break is no part of the answer. The partial messages tell how long it is.

use crate::stream::text;

#[derive(Default)]
pub(super) struct Torn {
    /// The stream has partial messages.
    partial: bool,
    /// Bytes of text of this message, by its partial messages.
    said: usize,
    /// Bytes of it that came in whole blocks.
    told: usize,
    /// Bytes of it that are torn and still to come in whole blocks.
    left: usize,
    /// What is left of the newest message, if something was cut off.
    rest: Option<String>,
}

impl Torn {
    pub(super) fn message_begins(&mut self) {
        *self = Torn { partial: true, ..Torn::default() };
    }

    pub(super) fn delta(&mut self, text: &str) {
        self.partial = true;
        self.said += text.len();
    }

    /// The stream broke, and what was said stays where it is.
    pub(super) fn broken(&mut self) {
        // Without partial messages nobody knows where the next try begins: none of it is believed.
        self.left = if self.partial { self.said.saturating_sub(self.told) } else { usize::MAX };
        self.rest = Some(String::new());
    }

    /// What counts of a block of text.
    pub(super) fn block<'a>(&mut self, block: &'a str) -> &'a str {
        self.told = self.told.saturating_add(block.len());
        let cut = self.left.min(block.len());
        if self.left != usize::MAX {
            self.left -= cut;
        }
        // The end of the torn part is the end of a piece that was sent, so of a character. If not, it is another text.
        let rest = block.get(cut..).unwrap_or("");
        if let Some(all) = &mut self.rest {
            all.push_str(rest);
            *all = text::bounded(std::mem::take(all));
        }
        rest
    }

    pub(super) fn message_ends(&mut self) {
        if !self.partial {
            self.left = 0;
        }
    }

    /// The newest message without what was torn, in place of the CLI's own account of it.
    pub(super) fn rest(&mut self) -> Option<String> {
        self.rest.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_before_each_break_is_cut_off() {
        let mut torn = Torn::default();
        torn.message_begins();
        ["Dé", "ja"].iter().for_each(|piece| torn.delta(piece));
        torn.broken();
        torn.delta("again ");
        torn.broken();
        torn.delta("done");
        assert_eq!(torn.block("Déjaagain done"), "done");
        assert_eq!(torn.rest().as_deref(), Some("done"));
        torn.message_begins();
        torn.delta("whole");
        assert_eq!((torn.block("whole"), torn.rest()), ("whole", None));
    }

    #[test]
    fn a_block_that_was_told_before_the_break_is_not_cut_off_again() {
        let mut torn = Torn::default();
        torn.message_begins();
        torn.delta("one");
        assert_eq!(torn.block("one"), "one");
        torn.delta("tw");
        torn.broken();
        torn.delta("two");
        assert_eq!(torn.block("twtwo"), "two");
    }

    #[test]
    fn without_partial_messages_nothing_of_a_joined_text_is_believed() {
        let mut torn = Torn::default();
        torn.broken();
        assert_eq!(torn.block("torn, whole"), "");
        torn.message_ends();
        assert_eq!(torn.rest().as_deref(), Some(""));
        assert_eq!(torn.block("next"), "next");
    }

    #[test]
    fn a_text_that_is_not_what_was_announced_is_never_half_a_character() {
        let mut torn = Torn::default();
        torn.message_begins();
        torn.delta("a");
        torn.broken();
        assert_eq!(torn.block("é"), "");
    }
}
