//! Small edits of source text, by its lines and brackets. No parser: an edit that does not fit leaves code that does not
//! build, and gates that notice.

/// The text with these lines put in front of each line that is meant, as deep as that line stands.
pub(super) fn before_lines(text: &str, is_meant: impl Fn(&str) -> bool, new: &str) -> String {
    each_line(text, |line, out| {
        if is_meant(line.trim_start()) {
            push(out, indent(line), new);
        }
        out.push_str(line);
    })
}

/// The same behind each line that is meant, one step deeper.
pub(super) fn behind_lines(text: &str, is_meant: impl Fn(&str) -> bool, new: &str) -> String {
    each_line(text, |line, out| {
        out.push_str(line);
        if is_meant(line.trim()) {
            if !line.ends_with('\n') {
                out.push('\n');
            }
            let deeper = if line.starts_with('\t') { "\t" } else { "    " };
            push(out, &format!("{}{deeper}", indent(line)), new);
        }
    })
}

/// Each line, its newline included, as `act` wants it.
pub(super) fn each_line(text: &str, mut act: impl FnMut(&str, &mut String)) -> String {
    let mut out = String::with_capacity(text.len() + 256);
    text.split_inclusive('\n').for_each(|line| act(line, &mut out));
    out
}

fn push(out: &mut String, indent: &str, new: &str) {
    for line in new.lines() {
        out.push_str(indent);
        out.push_str(line);
        out.push('\n');
    }
}

pub(super) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The text with these lines at its top: below a first line for the system, and below what Python wants first.
pub(super) fn at_top(text: &str, new: &str) -> String {
    let mut at = 0;
    if text.starts_with("#!") {
        at = text.find('\n').map_or(text.len(), |end| end + 1);
    }
    let mut lines = text[at..].split_inclusive('\n').scan(at, |from, line| {
        let start = *from;
        *from += line.len();
        Some((start, line))
    });
    if let Some((start, line)) = lines.find(|(_, line)| line.starts_with("from __future__ ")) {
        at = start + line.len();
    }
    let (above, below) = text.split_at(at);
    let gap = if above.is_empty() || above.ends_with('\n') { "" } else { "\n" };
    format!("{above}{gap}{}\n{below}", new.trim_end())
}

/// The text with these lines at its end.
pub(super) fn at_end(text: &str, new: &str) -> String {
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{gap}{}\n", new.trim_end())
}

/// Where the bracket that opens at `open` is closed: the place behind it. Brackets in quotes do not count.
pub(super) fn closing(text: &str, open: usize, quotes: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, open);
    while at < bytes.len() {
        match bytes[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            quote if quotes.as_bytes().contains(&quote) => at = quoted_end(bytes, at)?,
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where a quoted text ends, by the place of its first quote.
fn quoted_end(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            byte if byte == quote => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Every call of one of these names, brackets and what stands in them included, replaced. `tail`: also what is called on it.
pub(super) fn replace_calls(text: &str, names: &[&str], quotes: &str, tail: bool, new: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    while let Some((start, open)) = next_call(text, from, names) {
        let Some(mut end) = closing(text, open, quotes) else { break };
        while let Some(next) = tail.then(|| chained(text, end, quotes)).flatten() {
            end = next;
        }
        out.push_str(&text[from..start]);
        out.push_str(new);
        from = end;
    }
    out.push_str(&text[from..]);
    out
}

fn next_call(text: &str, from: usize, names: &[&str]) -> Option<(usize, usize)> {
    let found = names.iter().filter_map(|name| {
        let mut at = from;
        loop {
            let start = at + text[at..].find(name)?;
            let end = start + name.len();
            let before = text[..start].chars().next_back();
            let is_word =
                before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.' && !name.contains('.'));
            let open = end + (text[end..].len() - text[end..].trim_start_matches(' ').len());
            if !is_word && text[open..].starts_with('(') {
                return Some((start, open));
            }
            at = end;
        }
    });
    found.min_by_key(|(start, open)| (*start, std::cmp::Reverse(*open)))
}

/// The end of `.not.toBe(…)` behind a call.
fn chained(text: &str, from: usize, quotes: &str) -> Option<usize> {
    let rest = &text[from..];
    let dot = from + (rest.len() - rest.trim_start().len());
    let name = text[dot..].strip_prefix('.')?;
    let end = dot + 1 + name.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    if end == dot + 1 {
        return None;
    }
    if text[end..].starts_with('(') { closing(text, end, quotes) } else { Some(end) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_replaced_with_all_that_stands_in_their_brackets() {
        let rust = "assert_eq!(f(\")\"), 2);\n    assert!(x, \"no {}\", [1]);\ndebug_assert!(y);";
        let names = ["assert_eq!", "assert!"];
        let expected = "T;\n    T;\ndebug_assert!(y);";
        assert_eq!(replace_calls(rust, &names, "\"", false, "T"), expected);
        let js = "expect(add(1, ')')).not\n  .toBe({a: 1});\nunexpect(1)";
        assert_eq!(replace_calls(js, &["expect"], "\"'`", true, "void 0"), "void 0;\nunexpect(1)");
        assert_eq!(replace_calls("assert!(open", &names, "\"", false, "T"), "assert!(open");
    }

    #[test]
    fn a_line_at_the_top_leaves_what_has_to_be_first() {
        assert_eq!(at_top("#!/bin/sh\nx\n", "exit 0"), "#!/bin/sh\nexit 0\nx\n");
        assert_eq!(at_top("#!/bin/sh", "exit 0"), "#!/bin/sh\nexit 0\n");
        assert_eq!(
            at_top("\"\"\"doc\"\"\"\nfrom __future__ import a\nx\n", "y"),
            "\"\"\"doc\"\"\"\nfrom __future__ import a\ny\nx\n"
        );
        assert_eq!(at_top("x\n", "y"), "y\nx\n");
    }

    #[test]
    fn lines_are_put_before_and_behind_at_their_depth() {
        let python = "class A:\n    def test_a(self):\n        pass\n";
        let skipped = before_lines(python, |line| line.starts_with("def test"), "@skip");
        assert_eq!(skipped, "class A:\n    @skip\n    def test_a(self):\n        pass\n");
        let go = "func T() {\n\tx()\n}";
        assert_eq!(behind_lines(go, |line| line.ends_with('{'), "y()"), "func T() {\n    y()\n\tx()\n}");
    }
}
