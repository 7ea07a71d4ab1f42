//! What is said and what is only shown: marks around a marker, and blocks, quotations and sequences that hold one.

use super::super::{AgentState, Said, SpeechScanner, Unheard};
use super::*;

const DONE: &str = "<ralph>COMPLETE</ralph>";

fn with(template: &str) -> String {
    template.replace('@', DONE)
}

#[test]
fn marks_around_a_marker_and_things_that_have_ended_do_not_matter() {
    for template in [
        "`@`",
        "``@``",
        "**@**",
        "__@__",
        "*@*",
        "**`@`**",
        "- @",
        "* @",
        "+ @",
        "1. @",
        "10) @",
        "- `@`",
        "- [x] @",
        "- a\n  - @",
        "- item\n\n    @",
        "\u{feff}@",
        "\u{feff}`@`",
        "Done:\n\n`@`\n",
        "```\nx\n```\n@",
        "<!-- a -->\n@",
        "<!--\na\n-->\n@",
        "<pre>\nx\n</pre>\n@",
        "use ``` to fence\n@",
        "about ~~~ things\n@",
        "Use `<!--` to start\n@",
        "the `<pre>` tag\n@",
        "text <!-- c --> text\n@",
        "don`t\n@",
        "a < b\n@",
        "> said\n\n@",
        "   @   ",
        "\x1b[32m@\x1b[0m",
        "\x1b]0;title\x07x\n@",
        "\x1b[33m-\x1b[0m @",
        "cat <<'EOF'\nx\nEOF\n@",
        "x << y\n@",
        "50%\r\x1b[K@",
        "@\r\n",
        "<details>\n<pre>\nx\n</pre>\n</details>\n@",
        "@\n\n> bye",
        "`@`\nAll tests pass.",
        "a <pre> b\n@",
        "say <code>\n\n@",
        "Generic<q>\n@",
    ] {
        assert!(complete(&with(template)), "{template:?}");
    }
}

#[test]
fn what_is_shown_is_not_said() {
    for template in [
        "Say:\n\n    @",
        "Say:\n\n\t@",
        "- x\n\n      ```\n      @\n      ```\n",
        "1. a\n   ```\n   @\n   ```",
        "- ```\n  @\n  ```",
        "```\n      ```\n@\n",
        "<!--\n@\n-->",
        "<!-- note\n@ -->",
        "<!-- open\n\n@",
        "<pre>\n@\n</pre>",
        "<PRE class=\"x\">\n@\n</PRE>",
        "<pre><code>\n@\n</code></pre>",
        "see <pre>\n\n@\n</pre>",
        "<code>\n@\n</code>",
        "<samp>\n@\n</samp>",
        "<xmp>\n@\n</xmp>",
        "<script>\n@\n</script>",
        "<textarea>\n@\n</textarea>",
        "<details>\n<pre>\n@\n</pre>\n</details>",
        "<![CDATA[\n@\n]]>",
        "<blockquote>\n@\n</blockquote>",
        "<example>\n@\n</example>",
        "cat <<'EOF'\n@\nEOF",
        "cat > x <<EOF\n\n@\nEOF\n",
        "> He said\n@",
        "> @",
        "> ```\n> @\n> ```",
        "`\n@\n`",
        "see `code\n@\nmore` here",
        "not @\r@",
        "\x1b]0;\n@\n\x07",
        "\x1bP\n@\n\x1b\\",
        "\x1b_\n@\n\x1b\\",
        "\x1b^\n@\n\x1b\\",
        "\u{9d}0;\n@\n\u{9c}",
        "<ralph>COM\x1b[1mPLETE</ralph>",
        "\x1b[8m@\x1b[0m",
        "@\x1b[2K",
        "not done\x1b[1G@",
        "- [ ] @",
        "diff --git a/x b/x\n- @\n",
        "~~@~~",
        "\"@\"",
        "# @",
        "| @ |",
        "**do not say** **@**",
        "I end with\n`@`\nwhen it is done.",
        "-@",
        "a.md:3:@",
    ] {
        assert!(!complete(&with(template)), "{template:?}");
    }
    let cut = format!("{DONE}{} is not what I say", " ".repeat(9000));
    assert!(!tail(&cut).complete);
    assert!(tail(&format!("{DONE}{}\n", " ".repeat(9000))).complete, "nothing but blanks is behind it");
}

#[test]
fn a_line_that_was_almost_heard_is_told() {
    let misheard = |text: &str| {
        let found = tail(text);
        assert_eq!(scan(text, &Rules::default()).misheard, found.misheard, "{text:?}");
        found.misheard.map(|heard| heard.text)
    };
    for text in [
        "All done. <ralph>COMPLETE</ralph>",
        "<ralph>COMPLETE</ralph>.",
        "<ralph>DONE</ralph>",
        "<ralph>COMPLETE",
        "- <ralph>BLOCKED: no key",
        "&lt;ralph&gt;COMPLETE&lt;/ralph&gt;",
    ] {
        assert_eq!(misheard(text).as_deref(), Some(text));
    }
    assert_eq!(misheard("```\n<ralph>COMPLETE</ralph>\n```").as_deref(), Some(DONE));
    assert_eq!(misheard("I said <ralph>COMPLETE</ralph>\n<ralph>COMPLETE</ralph>"), None, "it was said then");
    assert_eq!(misheard("All is done."), None);
    let prompt = "End your answer with `<ralph>COMPLETE</ralph>` on a line of its own.";
    assert_eq!(tail_with(prompt, &rules_of(None, prompt)).misheard, None, "an echo");
}

fn said(text: &str) -> Said {
    let mut stream = SpeechScanner::new(Rules::default());
    text.bytes().for_each(|b| stream.push(&[b]));
    let mut message = SpeechScanner::new(Rules::default());
    message.message(text);
    let said = message.finish();
    assert_eq!(stream.finish(), said, "{text:?}");
    said
}

#[test]
fn states_and_delays_are_heard_and_told_in_the_same_way() {
    const IDLE: &str = "<!-- ralph:state idle -->";
    for text in [format!("`{IDLE}`"), format!("- {IDLE}"), format!("don`t\n{IDLE}\n")] {
        assert_eq!(said(&text).state, Some(AgentState::Idle), "{text:?}");
    }
    for text in [
        format!("    {IDLE}"),
        format!("<pre>\n{IDLE}\n</pre>"),
        format!("`\n{IDLE}\n`"),
        format!("> x\n{IDLE}"),
    ] {
        assert_eq!(said(&text).state, None, "{text:?}");
    }
    let why = |text: &str| said(text).misheard.map(|heard| heard.why);
    assert_eq!(why("<!-- ralph:state idel -->"), Some(Unheard::NoSuchState));
    assert_eq!(why("<!-- ralph:delay soon -->"), Some(Unheard::NoDelay));
    assert_eq!(why("<!-- ralph:delay -5 -->"), Some(Unheard::NoDelay));
    assert_eq!(why("<!-- ralph:state idle --> Nothing to do."), Some(Unheard::NotAlone));
    assert_eq!(why(IDLE), None);
    let cut = format!("{IDLE}{} is not what I say{}", " ".repeat(70_000), " ".repeat(1000));
    let mut stream = SpeechScanner::new(Rules::default());
    stream.push(cut.as_bytes());
    assert_eq!(stream.finish().state, None);
}
