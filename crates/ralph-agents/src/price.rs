//! What tokens cost, for agents that report tokens only.
//!
//! The built-in table is `prices.json`, dated and with a source for each entry. It has only models with one price per
//! kind of token: where a long prompt costs more, a sum over a run would be wrong. Cache writes are at the price of the
//! short-lived cache.

use std::sync::LazyLock;

use ralph_core::usage::Usage;
use serde::{Deserialize, Serialize};

/// Dollars for a million tokens of each kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// A model's name. A `*` stands for any text.
    pub model: String,
    pub input: f64,
    pub cache_read: f64,
    #[serde(default)]
    pub cache_write: f64,
    pub output: f64,
    /// When it was looked up.
    #[serde(default)]
    pub date: String,
    #[serde(default)]
    pub source: String,
}

static BUILT_IN: LazyLock<Vec<Price>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../prices.json")).unwrap_or_default());

/// The built-in table.
pub fn built_in() -> &'static [Price] {
    &BUILT_IN
}

/// The price of a model. The user's entries come first; among equals the longest pattern wins. None: not known.
pub fn find<'a>(model: &str, user: &'a [Price]) -> Option<&'a Price> {
    let model = model.to_ascii_lowercase();
    // Gateways put a provider in front: `anthropic/claude-…`.
    let bare = model.rsplit('/').next().unwrap_or(&model);
    let best = |prices: &'a [Price]| {
        prices
            .iter()
            .filter(|price| {
                let pattern = price.model.to_ascii_lowercase();
                matches(&pattern, &model) || matches(&pattern, bare)
            })
            .max_by_key(|price| price.model.len())
    };
    best(user).or_else(|| best(&BUILT_IN))
}

/// What this usage costs.
pub fn cost_usd(usage: &Usage, price: &Price) -> f64 {
    let of = |tokens: u64, dollars: f64| tokens as f64 * dollars;
    let sum = of(usage.input, price.input)
        + of(usage.cache_read, price.cache_read)
        + of(usage.cache_write, price.cache_write)
        + of(usage.output, price.output);
    sum / 1e6
}

fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut last = None;
    for part in parts {
        last = Some(part);
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    match last {
        None => rest.is_empty(),
        // The last part must be the end; earlier matching may have taken it too soon.
        Some(last) => name.ends_with(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(model: &str, input: f64) -> Price {
        let (date, source) = (String::new(), String::new());
        Price {
            model: model.to_string(),
            input,
            cache_read: 0.0,
            cache_write: 0.0,
            output: 0.0,
            date,
            source,
        }
    }

    #[test]
    fn the_table_reads_and_every_entry_has_a_date_and_a_source() {
        assert!(built_in().len() > 10);
        for price in built_in() {
            assert!(price.date.len() == 10 && price.source.starts_with("https://"), "{price:?}");
            assert!(price.input > price.cache_read && price.output > price.input, "{price:?}");
        }
    }

    #[test]
    fn unknown_models_have_no_price() {
        assert_eq!(find("mock-model", &[]), None);
        assert_eq!(find("", &[]), None);
        assert_eq!(find("claude-opus-5-5", &[]), None, "a newer model is not its predecessor");
        assert!(find("anthropic/claude-sonnet-4-5-20250929", &[]).is_some());
    }

    #[test]
    fn the_users_price_wins_and_the_longest_pattern() {
        let user = [price("claude-*", 1.0), price("claude-sonnet-*", 2.0), price("*", 3.0)];
        assert_eq!(find("claude-sonnet-4-5", &user).unwrap().input, 2.0);
        assert_eq!(find("claude-opus-4-5", &user).unwrap().input, 1.0);
        assert_eq!(find("anything", &user).unwrap().input, 3.0);
    }

    #[test]
    fn patterns_are_anchored() {
        for (pattern, name, want) in [
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("a*c", "ac", true),
            ("abc", "abcd", false),
            ("*x*", "axb", true),
            ("*-mini", "gpt-mini-mini", true),
            ("a*bc*c", "abc", false),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} {name}");
        }
    }

    #[test]
    fn the_success_script_costs_what_the_cli_says() {
        let usage = Usage { input: 6050, cache_read: 15300, cache_write: 0, output: 160, reasoning: 0 };
        let price = find("claude-sonnet-4-5", &[]).unwrap();
        assert!((cost_usd(&usage, price) - 0.02514).abs() < 1e-12);
    }
}
