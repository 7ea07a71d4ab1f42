//! The file and its settings.

use super::*;

#[test]
fn the_body_is_trimmed_at_both_ends() {
    let ralph = Ralph::new();
    assert_eq!(ralph.write("", "\nHello   \n\n").prompt(&[]), "Hello");
}

#[test]
fn credit_is_asked_for_unless_the_file_says_otherwise() {
    let ralph = Ralph::new();
    let agent = ralph.agent.clone();
    for credit in ["", "credit: true\n", "credit: yes\n"] {
        let prompt = ralph.file(&format!("---\nagent: {agent}\n{credit}---\nHello\n")).prompt(&[]);
        assert!(prompt.starts_with("Hello\n\n") && prompt.contains("\nCo-authored-by: ralph <"), "{prompt}");
    }
}

#[test]
fn credit_may_be_no_or_off_and_nothing_that_only_looks_like_it() {
    let ralph = Ralph::new();
    let agent = ralph.agent.clone();
    let with = |credit: &str| ralph.file(&format!("---\nagent: {agent}\ncredit: {credit}\n---\nHello\n"));
    for credit in ["no", "off", "No", "OFF", "false"] {
        assert_eq!(with(credit).prompt(&[]), "Hello", "{credit}");
    }
    let world = &ralph.world;
    std::fs::remove_dir_all(world.state()).expect("the state");
    for credit in ["\"false\"", "0", "sure", "'no'", ""] {
        with(credit).refuses(&[], &["r/RALPH.md:3:", "`credit`"]);
    }
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_accepted() {
    let ralph = Ralph::new();
    let text = format!("\u{feff}---\r\nagent: {}\r\ncredit: false\r\n---\r\n\r\none\r\ntwo\r\n", ralph.agent);
    assert_eq!(ralph.file(&text).prompt(&[]), "one\ntwo");
}

#[test]
fn only_the_first_line_opens_the_settings() {
    let ralph = Ralph::new();
    assert_eq!(ralph.write("", "one\n---\ntwo\n---\n").prompt(&[]), "one\n---\ntwo\n---");
    let ralph = Ralph::new();
    let agent = ralph.agent.clone();
    for text in [format!("\n---\nagent: {agent}\n---\nHello\n"), format!("---\nagent: {agent}\nHello\n")] {
        ralph.file(&text).refuses(&[], &["there is no agent to run"]);
        let prompt = ralph.run(&["-n", "1", "-a", &agent, "--set", "credit=no"]).expect(3);
        assert_eq!(prompt.stderr, format!("{NO_FINISH}{NO_NET}"));
        assert_eq!(ralph.world.read("prompt-1.txt"), text.trim());
        std::fs::remove_dir_all(ralph.world.state()).expect("the state");
    }
}

#[test]
fn an_agent_that_is_blank_or_not_text_is_an_error_at_its_line() {
    let ralph = Ralph::new();
    for agent in ["", "''", "'  '", "5", "[a, b]", "true"] {
        ralph.file(&format!("---\nagent: {agent}\n---\nHello\n")).refuses(&[], &["error", "RALPH.md:2:"]);
    }
    ralph.file("---\nagent: \"./x\n---\nHello\n").refuses(&[], &["invalid YAML", "RALPH.md:"]);
    ralph.file("---\nagent: './x \"y'\n---\nHello\n").refuses(&[], &["quote", "RALPH.md:2:"]);
}

#[test]
fn the_agent_is_looked_up_from_the_workspace_before_anything_starts() {
    let ralph = Ralph::new();
    script(&ralph.world, "r/agent.sh", "cat");
    let with = |agent: &str| ralph.file(&format!("---\nagent: {agent}\ncredit: no\n---\nHello\n"));
    with("./agent.sh").refuses(&[], &["`./agent.sh` was not found", "RALPH.md:2:8", "from the workspace"]);
    with("no-such-agent").refuses(&[], &["`no-such-agent` was not found"]);
    ralph.world.write("plain.txt", "x");
    with("./plain.txt").refuses(&[], &["not an executable file"]);
    with("FOO=1 ./agent.sh").refuses(&[], &["`env`", "env FOO=1"]);
    script(&ralph.world, "agent.sh", "cat > got.txt");
    with("./agent.sh").run(&["-n", "1"]).expect(3);
    assert_eq!(ralph.world.read("got.txt"), "Hello");
}

#[test]
fn a_file_that_cannot_be_read_is_one_error_with_its_place() {
    let ralph = Ralph::new();
    let files: [(&[u8], &str, &str); 4] = [
        (b"---\nagent: x\n  y: [\n---\nHello\n", "invalid YAML", "RALPH.md:3:"),
        (b"---\n- agent\n---\nHello\n", "expected a mapping", "RALPH.md:2:1"),
        (b"---\njust text\n---\nHello\n", "expected a mapping", "RALPH.md:2:1"),
        (b"---\nagent: x\n---\nab\xff\n", "not valid UTF-8", "RALPH.md:4:3"),
    ];
    ralph.file("");
    for (bytes, what, place) in files {
        std::fs::write(ralph.world.work("r/RALPH.md"), bytes).expect("write");
        let message = ralph.refuses(&[], &[what, place]);
        assert_eq!(message.matches("error").count(), 1, "{message}");
    }
}

#[test]
fn unknown_keys_are_errors_that_name_the_nearest_key() {
    let ralph = Ralph::new();
    ralph
        .write("comands: []", "x")
        .refuses(&[], &["unknown key `comands`", "did you mean `commands`?", ":4:1"]);
    let settings = "commands:\n  - name: a\n    run: echo\n    timeuot: 5";
    ralph.write(settings, "x").refuses(&[], &["unknown key `timeuot`", "`timeout`", "RALPH.md:7:5"]);
}

#[test]
fn commands_and_arguments_that_are_null_or_empty_are_as_if_absent() {
    for value in ["", "null", "~", "[]"] {
        let ralph = Ralph::new();
        let settings = format!("commands: {value}\nargs: {value}");
        assert_eq!(ralph.write(&settings, "x").prompt(&[]), "x", "{value}");
    }
}

#[test]
fn names_and_timeouts_of_commands_and_arguments_are_checked() {
    let ralph = Ralph::new();
    let command = |name: &str, more: &str| format!("commands:\n  - {{name: {name}, run: echo{more}}}");
    for name in ["a b", "a.b", "ä", "''", "a/b"] {
        ralph.write(&command(name, ""), "x").refuses(&[], &["letters, digits", "RALPH.md:5:"]);
        ralph.write(&format!("args: [{name}]"), "x").refuses(&[], &["letters, digits", "RALPH.md:4:"]);
    }
    let twice = "commands:\n  - {name: a, run: echo}\n  - {name: b, run: echo}\n  - {name: a, run: echo}";
    ralph.write(twice, "x").refuses(&[], &["`a` is there twice", "RALPH.md:7:"]);
    ralph.write("args: [a, b, a]", "x").refuses(&[], &["`a` is there twice", "RALPH.md:4:14"]);
    for timeout in ["0", "-1", ".inf", ".nan", "soon", "'5 apples'", "true"] {
        ralph
            .write(&command("a", &format!(", timeout: {timeout}")), "x")
            .refuses(&[], &["timeout", "RALPH.md:5:"]);
    }
    ralph.write("commands: [{name: a}]", "x").refuses(&[], &["run"]);
    ralph.write("commands: {a: echo}", "x").refuses(&[], &["expected a list"]);
    let fine = "commands:\n  - {name: A-b_2, run: echo, timeout: 5}\n  - {name: c, run: echo, timeout: 1m}\nargs: [A-b_2]";
    assert_eq!(ralph.write(fine, "x").prompt(&[]), "x");
}
