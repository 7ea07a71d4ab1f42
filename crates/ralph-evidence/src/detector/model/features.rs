//! What is known of an iteration, as numbers with names.
//!
//! The trees of the model ask for nothing else, and what they weigh is told to a person in the words that stand here.

/// How a value is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// `97% of its text …`
    Share,
    /// `3 new names …`
    Count,
    /// Words for yes, and words for no.
    Flag,
    /// A sum that fades: said without its number.
    Sum,
}

/// One of the numbers.
#[derive(Debug)]
pub struct Feature {
    /// In the model's file and in tables.
    pub name: &'static str,
    told: Told,
    /// Behind the number; of a flag, what is so.
    words: &'static str,
    /// Of a flag or a sum, what is so where it is zero.
    otherwise: &'static str,
}

macro_rules! features {
    ($($name:ident: $told:ident, $words:literal $(or $otherwise:literal)?;)*) => {
        /// What is known of an iteration that has ended. Shares go from 0 to 1; −1 stands for what nobody knows.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub struct Evidence {
            $(#[doc = $words] pub $name: f64,)*
        }

        pub const FEATURES: &[Feature] = &[
            $(Feature { name: stringify!($name), told: Told::$told, words: $words, otherwise: concat!($($otherwise)?) },)*
        ];

        impl Evidence {
            /// In the order of [`FEATURES`].
            pub fn values(&self) -> [f64; FEATURES.len()] {
                [$(self.$name),*]
            }
        }
    };
}

features! {
    count: Count, "iterations were seen before it";
    tokens: Count, "words and names were read of it";
    size: Share, "the size of the iterations before it";
    new_words: Count, "words stand in it for the first time";
    new_words_share: Share, "of its words stand in it for the first time";
    new_text: Count, "groups of three words stand in it for the first time";
    new_text_share: Share, "of its text is new";
    new_weight: Share, "of what is not said in every iteration is new";
    new_named: Count, "new groups of words around a name";
    new_named_share: Share, "of what it says of names is new";
    new_names: Count, "new names, paths or codes";
    new_names_share: Share, "of its names, paths and codes are new";
    new_names_weight: Share, "of the names that do not come in every iteration are new";
    text_last: Share, "of its text stood in the iteration before";
    text_best: Share, "of its text stood in one of the last iterations";
    text_third: Share, "of its text came for the third time in the same distance";
    words_last: Share, "of its words stood in the iteration before";
    words_best: Share, "of its words stood in one of the last iterations";
    words_third: Share, "of its words came for the third time in the same distance";
    names_last: Share, "of its names stood in the iteration before";
    names_best: Share, "of its names stood in one of the last iterations";
    names_third: Share, "of its names came for the third time in the same distance";
    alike: Count, "of the last 12 iterations share half of its text";
    alike_words: Count, "of the last 12 iterations share most of its words";
    errors: Count, "lines that tell of an error";
    errors_best: Share, "of its errors stood in one of the last iterations";
    errors_third: Share, "of its errors came for the third time in the same distance";
    errors_new: Share, "of its errors are new";
    same_errors: Count, "of the last 12 iterations tell the same errors";
    fails: Flag, "what it did last failed" or "what it did last did not fail";
    fail_streak: Count, "iterations in a row ended with a failure";
    calls_known: Flag, "its tools are known" or "its tools are not known";
    calls: Count, "tool calls";
    calls_changing: Count, "calls that are meant to change something";
    calls_failed: Share, "of its tool calls failed";
    calls_new: Share, "of its tool calls were never made before";
    calls_best: Share, "of its tool calls were made in one of the last iterations";
    calls_third: Share, "of its tool calls came for the third time in the same distance";
    results_best: Share, "of its tool calls had the result they had in one of the last iterations";
    results_third: Share, "of its tool calls had the same result for the third time";
    results_new: Share, "of the results of its tools are new";
    changes_fresh: Flag, "it changed files as they were never changed before" or "it changed no file as it was never changed before";
    state: Share, "of the state of the files is known";
    state_same: Flag, "the files are as the iteration before left them" or "the files are not as the iteration before left them";
    state_back: Flag, "the files are back in a state they were in before" or "the files are in a state they were never in";
    state_still: Count, "iterations in a row left the files in states they had been in";
    progress: Flag, "it tells progress" or "no count, checkbox or result in it has moved on";
    open: Count, "things that fail or are not done";
    idle: Share, "of its words say that there is nothing to do";
    waits: Share, "of its words say that something else has to end first";
    blocked: Share, "of its words say that it is blocked or needs a person";
    deeds: Share, "of its words tell of something done";
    done: Share, "of its words say that the work is complete";
    quiet: Flag, "nothing in it is news by the rules" or "something in it is news by the rules";
    repeats: Share, "of the way to the third time around the same circle";
    nothings: Count, "iterations in a row say that there is nothing to do, or say little and do nothing";
    empties: Count, "iterations in a row said nothing and did nothing";
    old_sum: Sum, "iteration after iteration says what was said before" or "hardly any iteration says what was said before";
    quiet_sum: Sum, "iteration after iteration has no news" or "the last iterations had news";
    error_sum: Sum, "iteration after iteration tells the same errors" or "the last iterations told no error again";
    still_sum: Sum, "iteration after iteration leaves the files as they were" or "the last iterations left the files in new states";
    blocked_sum: Sum, "iteration after iteration says that it is blocked" or "the last iterations did not say that they were blocked";
    done_sum: Sum, "iteration after iteration says that nothing is left to do" or "the last iterations did not say that nothing is left to do";
}

impl Feature {
    pub fn find(name: &str) -> Option<usize> {
        FEATURES.iter().position(|feature| feature.name == name)
    }

    /// What this value says, in words.
    pub fn tell(&self, value: f64) -> String {
        match self.told {
            _ if value < 0.0 => format!("nobody knows how many {}", self.words),
            Told::Share => format!("{:.0}% {}", 100.0 * value, self.words),
            Told::Count => format!("{value:.0} {}", self.words),
            Told::Flag | Told::Sum if value > 0.4 => self.words.to_owned(),
            Told::Flag | Told::Sum => self.otherwise.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_can_be_told_and_has_its_own_name() {
        for (at, feature) in FEATURES.iter().enumerate() {
            assert_eq!(Feature::find(feature.name), Some(at), "{}", feature.name);
            for value in [0.0, 1.0] {
                assert!(feature.tell(value).len() > 10, "{}", feature.name);
            }
        }
        let tell = |name: &str, value: f64| FEATURES[Feature::find(name).unwrap()].tell(value);
        assert_eq!(tell("text_last", 0.971), "97% of its text stood in the iteration before");
        assert_eq!(tell("new_names", 0.0), "0 new names, paths or codes");
        assert_eq!(tell("progress", 0.0), "no count, checkbox or result in it has moved on");
    }
}
