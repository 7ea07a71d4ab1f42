//! What `RUST_LOG` asks for: `warn`, or `ralph=debug,ralph::event=off,info`.

use tracing::level_filters::LevelFilter;

/// All that ralph tells has a target that begins so.
const OURS: &str = "ralph";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Directives {
    /// A target and its level, the longest target first.
    targets: Vec<(String, LevelFilter)>,
    others: LevelFilter,
}

impl Directives {
    /// What is no directive asks for nothing: the variable belongs to all programs, and some have more in it.
    pub(super) fn of(text: &str) -> Self {
        let mut found = Self { targets: Vec::new(), others: LevelFilter::OFF };
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some((target, level)) => {
                    found
                        .targets
                        .extend(level.trim().parse().ok().map(|level| (target.trim().to_owned(), level)));
                }
                None => match part.parse() {
                    Ok(level) => found.others = level,
                    // As elsewhere a target by itself means everything of it.
                    Err(_) => found.targets.push((part.to_owned(), LevelFilter::TRACE)),
                },
            }
        }
        found.targets.sort_by_key(|(target, _)| std::cmp::Reverse(target.len()));
        found
    }

    pub(super) fn of_target(&self, target: &str) -> LevelFilter {
        let named = self.targets.iter().find(|(named, _)| is_within(target, named));
        named.map_or(self.others, |(_, level)| *level)
    }

    /// The most that is asked of anything that ralph tells.
    pub(super) fn most(&self) -> LevelFilter {
        let ours = self.targets.iter().filter(|(target, _)| is_within(target, OURS));
        ours.map(|(_, level)| *level).chain([self.of_target(OURS)]).max().unwrap_or(LevelFilter::OFF)
    }
}

/// `ralph::stuck` is within `ralph`, `ralphs` is not.
fn is_within(target: &str, named: &str) -> bool {
    target.strip_prefix(named).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_target_that_fits_decides() {
        let asked = Directives::of("info, ralph=warn ,ralph::stuck=debug,hyper=trace");
        assert_eq!(asked.of_target("ralph::event"), LevelFilter::WARN);
        assert_eq!(asked.of_target("ralph::stuck"), LevelFilter::DEBUG);
        assert_eq!(asked.of_target("ralphs"), LevelFilter::INFO);
        assert_eq!(asked.most(), LevelFilter::DEBUG);
        assert_eq!(Directives::of("ralph").most(), LevelFilter::TRACE);
        assert_eq!(Directives::of("WARN").most(), LevelFilter::WARN);
    }

    #[test]
    fn what_others_are_asked_for_opens_no_log() {
        for other in ["", "hyper=debug", "off", "ralph=off", "my crate=debug,[span]=x,,=", "debug,ralph=off"]
        {
            assert_eq!(Directives::of(other).most(), LevelFilter::OFF, "{other}");
        }
    }
}
