//! No bytes whatsoever make the definition layer panic, and every error can be shown.

use proptest::prelude::*;

use super::*;

/// Pieces that get further into the parser than random bytes do.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "---\n",
        "\u{feff}",
        "\r\n",
        "\n",
        "  ",
        "\t",
        "- ",
        ": ",
        "? ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "#",
        "|\n",
        ">-\n",
        "&a ",
        "*a",
        "!!str ",
        "!x ",
        "<<",
        "'",
        "\"",
        "\\",
        "%YAML 1.2\n",
        "...",
        "~",
        "none",
        "yes",
        "1e999",
        "-1",
        "0x",
        "agent",
        "agent: ",
        "prompt: x\n",
        "event_loop:\n",
        "  max_iterations: ",
        "max_runtime: ",
        "delay: ",
        "cli: ",
        "args: ",
        "env: ",
        "é",
        "\u{1F600}",
        "\u{202e}",
        "\0",
        "\u{1b}[31m",
        "\u{85}",
        "\u{2028}",
    ]);
    let piece = prop_oneof![
        8 => word.prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn try_all(workspace: &Workspace, name: &str, bytes: &[u8]) {
    workspace.write(name, bytes);
    match workspace.load() {
        Ok(loaded) => drop((loaded.settings(), loaded.to_plan(None, false))),
        Err(error) => {
            assert!(!error.diagnostics().is_empty());
            let text = error.render(false);
            assert!(!text.contains('\u{1b}'), "{text:?}");
            assert!(!error.render(true).is_empty());
        }
    }
}

proptest! {
    // PROPTEST_CASES asks for more.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn on_any_ralph_yml(bytes in prop_oneof![pieces(), prop::collection::vec(any::<u8>(), 0..200)]) {
        try_all(&Workspace::new(&[]), "ralph.yml", &bytes);
    }

    #[test]
    fn on_any_ralph_md(bytes in prop_oneof![pieces(), prop::collection::vec(any::<u8>(), 0..200)]) {
        let bytes = [b"---\n".to_vec(), bytes].concat();
        try_all(&Workspace::new(&[]), "RALPH.md", &bytes);
    }

    #[test]
    fn on_any_set(bytes in pieces(), path in "[a-z_.=]{0,12}") {
        let item = format!("{path}={}", String::from_utf8_lossy(&bytes));
        let workspace = event_loop("delay: 1").set(&item);
        try_all(&workspace, "ralph.yml", b"agent: a\nprompt: x\n");
    }

    #[test]
    fn on_any_flag(bytes in pieces()) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let workspace = event_loop("delay: 1").flags(|flags| {
            flags.agent = Some(text.clone());
            flags.delay = Some(text.clone());
            flags.max_cost = Some(text.clone());
            flags.max_iterations = Some(text);
        });
        try_all(&workspace, "ralph.yml", b"agent: a\nprompt: x\n");
    }
}
