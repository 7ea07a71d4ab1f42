//! `quota`: how much of a plan's windows runs may use, where the agent says how much that is.

use super::section::section;
use super::value::{Limit, Share};

section! {
    pub struct Quota, changed by QuotaChange {
        /// Start no iteration before the reset while more than this share of the five-hour window is used, as the agent tells.
        five_hour: Limit<Share> = None,
        /// The same for the window of a week.
        week: Limit<Share> = None,
    }
}

impl Quota {
    /// The mark of a window, by the name that the agent's stream gives it.
    pub fn mark(&self, window: &str) -> Option<f64> {
        match window {
            "five_hour" => self.five_hour,
            week if week.starts_with("seven_day") || week.contains("week") => self.week,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_known_by_the_name_that_streams_use() {
        let quota = Quota { five_hour: Some(0.8), week: Some(0.9) };
        let marks =
            ["five_hour", "seven_day", "seven_day_opus", "weekly", "overage"].map(|one| quota.mark(one));
        assert_eq!(marks, [Some(0.8), Some(0.9), Some(0.9), Some(0.9), None]);
        let read = |yaml: &str| serde_json::from_str::<Quota>(yaml).map_err(|error| error.to_string());
        assert_eq!(read(r#"{"five_hour":"80%","week":0.9}"#), Ok(quota));
        assert!(read(r#"{"week":"120%"}"#).is_err_and(|error| error.contains("at most 100%")));
    }
}
