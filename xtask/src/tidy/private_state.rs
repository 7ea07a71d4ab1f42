//! The engine's state is private to the core: every other crate sees a run through `observe` and the public model.
//!
//! The compiler holds this as long as nobody switches on the core's feature `testing`. Cargo builds all tests of a workspace
//! with the features of all of them, so that the tests of other crates could reach the state then; the names are looked for, too.

use super::arrows::line_of;
use super::tokens::Token;
use super::{Tree, Violation};

const CORE: &str = "crates/ralph-core/";
const FEATURE: &str = "testing";
const STATE: &str = "RunState";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = switched_on(tree);
    found.extend(named(tree));
    found
}

/// Manifests that switch the feature on; only the core's own tests may.
fn switched_on(tree: &Tree) -> Vec<Violation> {
    let packages = tree.metadata.packages.iter();
    let all = packages.flat_map(|package| package.dependencies.iter().map(move |it| (package, it)));
    let wrong = all.filter(|(package, it)| {
        let own = package.name == it.name && it.is_dev();
        it.name == "ralph-core" && it.features.iter().any(|feature| feature == FEATURE) && !own
    });
    wrong
        .map(|(package, it)| {
            let what = "switches on `testing` of ralph-core, which opens the engine's state; only the core's own \
                        tests may";
            let line = line_of(tree.text(&package.manifest_path), it);
            Violation::new(&package.manifest_path, line, what)
        })
        .collect()
}

fn named(tree: &Tree) -> Vec<Violation> {
    let outside = tree.sources.files.iter().filter(|(path, _)| !path.starts_with(CORE));
    let mut found = Vec::new();
    for (path, source) in outside {
        let names = source.tokens.iter().filter(|token| Token::ident(token) == Some(STATE));
        // Its methods that hand the state out have no other name for it.
        let calls = source.tokens.windows(3).filter(|three| {
            let words = [three[0].ident(), three[2].ident()];
            words == [Some("engine"), Some("state")] && three[1].is('.')
        });
        found.extend(names.chain(calls.map(|three| &three[0])).map(|token| {
            let what = "uses the engine's state; ask `Engine::observe` or ralph-model for what is needed";
            Violation::new(path, token.line, what)
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{places, tree};

    #[test]
    fn nothing_outside_the_core_names_the_state_or_asks_the_engine_for_it() {
        let text = "use a::RunState;\nfn f() {\n    engine.state().plan;\n    engine.observe();\n}\n";
        let found = check(&tree(&[("crates/ralph-ui/src/lib.rs", text)]));
        assert_eq!(places(&found), ["crates/ralph-ui/src/lib.rs:1", "crates/ralph-ui/src/lib.rs:3"]);
        assert_eq!(check(&tree(&[("crates/ralph-core/src/lib.rs", text)])), []);
    }

    #[test]
    fn only_the_cores_own_tests_switch_its_testing_on() {
        let found = |folder: &str, line: &str| {
            let manifest = format!("[dev-dependencies]\n{line}\n[dependencies]\n");
            places(&check(&tree(&[(&format!("crates/{folder}/Cargo.toml"), manifest.as_str())])))
        };
        assert_eq!(found("ralph-core", "ralph-core = dev+testing"), Vec::<String>::new());
        assert_eq!(found("ralph-core", "ralph-core = normal+testing"), ["crates/ralph-core/Cargo.toml:2"]);
        assert_eq!(found("ralph-ui", "ralph-core = dev+testing"), ["crates/ralph-ui/Cargo.toml:2"]);
        assert_eq!(found("ralph-ui", "ralph-core = dev+other"), Vec::<String>::new());
        assert_eq!(found("ralph-ui", "ralph-model = dev+testing"), Vec::<String>::new());
    }
}
