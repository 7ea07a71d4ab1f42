//! The engine's state is private to the core: every other crate sees a run through `observe` and the public model.

use super::tokens::Token;
use super::{Tree, Violation};

const CORE: &str = "crates/ralph-core/";
const STATE: &str = "RunState";

pub fn check(tree: &Tree) -> Vec<Violation> {
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
}
