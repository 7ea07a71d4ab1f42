//! What a run is likely to come to, in words.

use ralph_model::{Forecast, RunSnapshot};

use crate::format::{duration_short, limit_name, money};

/// `about 4m12s and $0.31 an iteration; room for 12 more until iterations, 58 until runtime`
pub(crate) fn sentence(run: &RunSnapshot) -> Option<String> {
    let forecast = run.forecast()?;
    let left: Vec<String> = forecast
        .left
        .iter()
        .take(3)
        .map(|left| format!("{} until {}", left.iterations, limit_name(&left.key)))
        .collect();
    let room = match left.is_empty() {
        true => String::new(),
        false => format!("; room for {}", left.join(", ")),
    };
    Some(format!("{} an iteration{room}", each(&forecast, " and ")))
}

/// `~4m12s $0.31 each, 12 left`
pub(crate) fn short(run: &RunSnapshot) -> Option<String> {
    let forecast = run.forecast()?;
    let left = forecast
        .left
        .first()
        .map(|left| format!(", {} left until {}", left.iterations, limit_name(&left.key)));
    Some(format!("{} each{}", each(&forecast, " "), left.unwrap_or_default()))
}

fn each(forecast: &Forecast, and: &str) -> String {
    let cost = forecast.cost_usd.map(|cost| format!("{and}{}", money(cost))).unwrap_or_default();
    format!("about {}{cost}", duration_short(forecast.time))
}
