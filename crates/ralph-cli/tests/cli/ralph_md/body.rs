//! The body: how the prompt is made of it.

use super::*;

#[test]
fn comments_are_removed_before_placeholders_are_resolved() {
    let ralph = Ralph::new();
    let body = "a <!-- {{ commands.c }} -->b\n<!--\nnote\n-->\n```\n<!-- kept -->\n```\n~~~\n<!-- kept -->\n~~~\n{{ commands.c }}";
    let settings = "commands: [{name: c, run: echo '<!-- printed -->'}]";
    let prompt = ralph.write(settings, body).prompt(&[]);
    assert_eq!(prompt, "a b\n\n```\n<!-- kept -->\n```\n~~~\n<!-- kept -->\n~~~\n<!-- printed -->\n");
}

#[test]
fn markers_of_ralph_stay_in_the_prompt() {
    let ralph = Ralph::new();
    let body = "Nothing to do? Print\n<!-- ralph:state idle -->\n<!-- note -->\nand stop.";
    assert_eq!(
        ralph.write("", body).prompt(&[]),
        "Nothing to do? Print\n<!-- ralph:state idle -->\n\nand stop."
    );
}

#[test]
fn placeholders_have_the_values_of_each_iteration() {
    let ralph = Ralph::new();
    let body = "{{ralph.name}} {{ ralph.iteration }}/{{ ralph.max_iterations }} [{{\n args.x }}{{ commands.x }}{{ ralph.x }}] {{ other }} {{ x.y }}";
    ralph.write("", body).run(&["-n", "2"]).expect(3);
    assert_eq!(ralph.world.read("prompt-1.txt"), "r 1/2 [] {{ other }} {{ x.y }}");
    assert_eq!(ralph.world.read("prompt-2.txt"), "r 2/2 [] {{ other }} {{ x.y }}");
    let ralph = Ralph::of("save-prompt prompt-%i.txt\nsay <ralph>COMPLETE</ralph>");
    ralph.write("event_loop: {max_iterations: none}", "[{{ ralph.max_iterations }}]").run(&[]).expect(0);
    assert_eq!(ralph.world.read("prompt-1.txt"), "[]");
}

#[test]
fn text_of_arguments_and_commands_is_not_expanded_again() {
    let ralph = Ralph::new();
    let settings = "args: [a]\ncommands:\n  - name: c\n    run: printf %s '{{ ralph.name }}{{ commands.c }}'";
    let prompt =
        ralph.write(settings, "{{ args.a }}|{{ commands.c }}").prompt(&["{{ ralph.name }}{{ commands.c }}"]);
    assert_eq!(prompt, "{{ ralph.name }}{{ commands.c }}|{{ ralph.name }}{{ commands.c }}");
}

#[test]
fn placeholders_in_fenced_blocks_are_resolved() {
    let ralph = Ralph::new();
    assert_eq!(ralph.write("", "```\n{{ ralph.name }}\n```").prompt(&[]), "```\nr\n```");
}

#[test]
fn the_output_of_a_command_keeps_its_final_newline() {
    let ralph = Ralph::new();
    let settings = "commands: [{name: c, run: printf 'x \\n\\n'}]";
    assert_eq!(ralph.write(settings, "[{{ commands.c }}]").prompt(&[]), "[x \n\n]");
    assert_eq!(ralph.write(settings, "{{ commands.c }}").prompt(&[]), "x \n\n", "also at the end");
}

#[test]
fn the_body_is_read_before_every_iteration_and_the_settings_once() {
    let ralph = Ralph::of("save-prompt prompt-%i.txt\non 1: sh cp next.md r/RALPH.md");
    ralph.world.write("next.md", "---\nagent: nobody\ncredit: true\n---\nSecond {{ ralph.iteration }}");
    ralph.write("", "First").run(&["-n", "2"]).expect(3);
    assert_eq!(ralph.world.read("prompt-1.txt"), "First");
    assert_eq!(ralph.world.read("prompt-2.txt"), "Second 2");
}

#[test]
fn a_file_that_is_deleted_or_damaged_during_the_run_stops_the_run_as_failed() {
    let ralph = Ralph::of("sh rm r/RALPH.md");
    let done = ralph.write("", "Hello").run(&["-n", "3"]).expect(1);
    assert!(
        done.stdout.contains("cannot read the prompt") && done.stdout.contains("RALPH.md"),
        "{}",
        done.stdout
    );
    assert_eq!(ralph.world.stopped(), ("error".to_owned(), 1));
    let ralph = Ralph::of("sh printf 'ab\\n\\377' > r/RALPH.md");
    let done = ralph.write("", "Hello").run(&["-n", "3"]).expect(1);
    // The folder's name decides where the line is broken.
    let words: Vec<&str> = done.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("is not UTF-8 at line 2,"), "{}", done.stdout);
}
