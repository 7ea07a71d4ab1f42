//! The nearest known name to one that is not known.

use strsim::damerau_levenshtein;

/// The known name that was most likely meant, if one is near enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = plain(name);
    // A third of the letters may differ, one always.
    let reach = (name.chars().count() / 3).clamp(1, 4);
    known
        .into_iter()
        .map(|one| (damerau_levenshtein(&name, &plain(one)), one))
        .filter(|(distance, _)| *distance <= reach)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, one)| one)
}

/// "did you mean …", or the known names where nothing is near.
pub fn suggest(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(one) => format!("did you mean `{one}`?"),
        None => format!("known here: {}", known.join(", ")),
    }
}

/// Letter case and the kind of dash are never what was meant to differ.
fn plain(name: &str) -> String {
    name.chars().take(200).map(|c| if c == '-' || c == ' ' { '_' } else { c.to_ascii_lowercase() }).collect()
}
