//! A recipe of a justfile, with the recipes that it stands on.

use std::collections::BTreeSet;

struct Recipe<'a> {
    name: &'a str,
    needs: Vec<&'a str>,
    text: String,
}

pub(super) fn first_recipe(text: &str) -> Option<String> {
    recipes(text).0.first().map(|recipe| recipe.name.to_owned())
}

/// What defines the recipe; nothing if there is none of that name.
pub(super) fn recipe(text: &str, name: &str) -> Option<String> {
    let (all, frame) = recipes(text);
    let mut out = String::new();
    let (mut open, mut seen) = (vec![name], BTreeSet::new());
    while let Some(next) = open.pop() {
        if !seen.insert(next) {
            continue;
        }
        for recipe in all.iter().filter(|recipe| recipe.name == next) {
            out.push_str(&recipe.text);
            open.extend(recipe.needs.iter().copied());
        }
    }
    if out.is_empty() {
        return None;
    }
    // Settings and the variables that the recipes show.
    for line in frame {
        let variable = line.split_once(":=").filter(|_| !line.starts_with("set "));
        let variable = variable.map(|(name, _)| name.trim_start_matches("export ").trim());
        let is_used = variable.is_none_or(|name| out.contains(name));
        if is_used {
            out.push_str(line);
            out.push('\n');
        }
    }
    Some(out)
}

/// The commands of the recipes.
pub(super) fn body_lines(recipe: &str) -> String {
    let lines = recipe.lines().filter(|line| line.starts_with([' ', '\t']));
    lines.map(|line| format!("{}\n", line.trim_start().trim_start_matches(['@', '-']))).collect()
}

/// The recipes, and the lines outside of them that matter: settings, variables, imports.
fn recipes(text: &str) -> (Vec<Recipe<'_>>, Vec<&str>) {
    let (mut all, mut frame): (Vec<Recipe>, Vec<&str>) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some(recipe) = all.last_mut() {
                recipe.text.push_str(&format!("{line}\n"));
            }
            continue;
        }
        let plain = line.trim();
        if plain.is_empty() || plain.starts_with(['#', '[']) {
            continue;
        }
        if plain.contains(":=")
            || ["set ", "import ", "mod ", "alias "].iter().any(|word| plain.starts_with(word))
        {
            frame.push(line);
            continue;
        }
        let Some((head, needs)) = plain.split_once(':') else { continue };
        let Some(name) = head.trim_start_matches('@').split_whitespace().next() else { continue };
        let needs =
            needs.split(['&', ' ', '(', ')']).map(str::trim).filter(|word| !word.is_empty()).collect();
        all.push(Recipe { name, needs, text: format!("{line}\n") });
    }
    (all, frame)
}
