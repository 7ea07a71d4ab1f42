use super::*;

fn sketch(chunks: &[&[u8]]) -> Sketch {
    let mut sketcher = Sketcher::new();
    chunks.iter().for_each(|chunk| sketcher.push(chunk));
    sketcher.finish()
}

const TEXT: &str = "Looking at src/auth.ts again.\n[Bash] npm test\nFAIL src/auth.test.ts\n\
    TypeError: x is undefined at auth.ts:45\n3 tests failing, 80 passed\n- [x] Write parse_line\n- [ ] Check it\n";

#[test]
fn a_sketch_does_not_depend_on_how_the_output_was_cut() {
    let whole = sketch(&[TEXT.as_bytes()]);
    let bytes: Vec<&[u8]> = TEXT.as_bytes().chunks(1).collect();
    assert_eq!(sketch(&bytes), whole);
    let odd: Vec<&[u8]> = TEXT.as_bytes().chunks(7).collect();
    assert_eq!(sketch(&odd), whole);
    assert_eq!(whole.signature, "test-fail:3-auth.test.ts");
    assert_eq!(whole.shown[0], "Looking at src/auth.ts again.");
    assert_eq!(whole.error.as_deref(), Some("FAIL src/auth.test.ts"));
}

#[test]
fn a_sketch_survives_the_journal() {
    let mut sketcher = Sketcher::new();
    sketcher.push(TEXT.as_bytes());
    let command = Some("npm test");
    sketcher.tool(&ToolUse {
        kind: ToolKind::Shell,
        name: "Bash",
        command,
        exit_code: Some(1),
        output: "no",
        ..ToolUse::default()
    });
    let mut sketch = sketcher.finish();
    sketch.state = Some("abc".to_owned());
    let text = serde_json::to_string(&sketch).unwrap();
    assert_eq!(serde_json::from_str::<Sketch>(&text).unwrap(), sketch);
    assert_eq!(serde_json::from_str::<Sketch>("{}").unwrap(), Sketch::default());
}

#[test]
fn whatever_is_printed_a_sketch_is_a_few_kilobytes() {
    let noise = |n: u64| {
        let each = |at: u64| {
            let hash = Hasher::new().number(n + at).finish();
            format!(
                "{} of {} tests failed in dir_{hash:x}/parse{}Line: error\n",
                hash % 97,
                hash % 89,
                hash % 1000
            )
        };
        (0..1_000).map(each).collect::<String>()
    };
    let mut sketcher = Sketcher::new();
    for n in 0..8 {
        sketcher.push(noise(n * 1_000).as_bytes());
        for at in 0..50 {
            let command = format!("cat file_{n}_{at}");
            sketcher.tool(&ToolUse {
                kind: ToolKind::Edit,
                name: "Edit",
                command: Some(&command),
                ..ToolUse::default()
            });
        }
    }
    let size = serde_json::to_string(&sketcher.finish()).unwrap().len();
    assert!(size < 10_000, "{size}");
}

#[test]
fn floods_need_no_memory_and_their_end_is_read() {
    let mut sketcher = Sketcher::new();
    let chunk = vec![b'x'; 1 << 16];
    for _ in 0..40 {
        sketcher.push(&chunk);
        assert!(sketcher.partial.capacity() <= 2 * MAX_LINE && sketcher.tail.capacity() <= 4 * TAIL);
    }
    sketcher.push(b"\nError: no space left on device\n");
    let sketch = sketcher.finish();
    assert_eq!(sketch.bytes, 40 * (1 << 16) + 32);
    assert_eq!(sketch.error.as_deref(), Some("Error: no space left on device"));
    let lines = sketch.lines.unwrap();
    assert_eq!(lines.total(), 2);
}

#[test]
fn lines_that_are_overwritten_count_as_the_last_state() {
    let spinner = sketch(&[b"working 10%\rworking 60%\rall 12 tests passed\n"]);
    assert_eq!(spinner.marks, sketch(&[b"all 12 tests passed\n"]).marks);
}

#[test]
fn the_same_call_is_found_again_whatever_is_volatile_in_it() {
    let call = |command: &str| {
        let mut sketcher = Sketcher::new();
        sketcher.tool(&ToolUse {
            kind: ToolKind::Shell,
            name: "Bash",
            command: Some(command),
            ..ToolUse::default()
        });
        sketcher.finish().calls
    };
    assert_eq!(call("cat /tmp/tmp.74848a8d/out").alike(&call("cat /tmp/tmp.24620997/out")), 1.0);
    assert_eq!(call("cat src/a.rs").alike(&call("cat src/b.rs")), 0.0);
}

#[test]
fn nothing_to_do_and_waiting_are_heard() {
    let idle = sketch(&[b"Everything is implemented. There is nothing left to do.\n"]).says;
    assert_eq!((idle.idle, idle.words), (9, 9));
    let busy = sketch(&[b"I added the parser and fixed all the tests.\n"]).says;
    assert_eq!((busy.idle, busy.waiting), (0, 0));
    assert!(sketch(&[b"Still waiting for the build.\n"]).says.waiting > 0);
}

#[test]
fn no_text_is_too_strange_to_be_read() {
    const CHARS: &[char] = &[
        'a',
        'Z',
        '7',
        ' ',
        '，',
        '。',
        '完',
        '✅',
        '…',
        '\u{301}',
        '\u{1f534}',
        ':',
        '/',
        '_',
        '-',
        '(',
        '[',
        '%',
        '\t',
        '\r',
        '\u{0}',
        'ß',
        'İ',
    ];
    let mut state = 7u64;
    for _ in 0..20_000 {
        let line: String = (0..12)
            .map(|at| {
                state = Hasher::new().number(state ^ at).finish();
                CHARS[state as usize % CHARS.len()]
            })
            .collect();
        sketch(&[line.as_bytes(), b" failed: 3\n", line.as_bytes()]);
    }
}

#[test]
fn a_flood_is_read_ever_more_thinly_and_its_lines_are_counted() {
    let block: String = (0..PIECE / 16).map(|n| format!("line {n:>10}\n")).collect();
    assert_eq!(block.len() as u64, PIECE);
    let mut sketcher = Sketcher::new();
    let blocks = 8 * WHOLE_PIECES;
    (0..blocks).for_each(|_| sketcher.push(block.as_bytes()));
    let one = sketcher.finish();
    assert_eq!(one.lines.as_ref().unwrap().total(), blocks * PIECE / 16);
    let mut sketcher = Sketcher::new();
    let all = block.repeat(blocks as usize);
    all.as_bytes().chunks(100_003).for_each(|chunk| sketcher.push(chunk));
    assert_eq!(sketcher.finish(), one, "however it was cut");
}

#[test]
fn whatever_is_printed_the_journal_can_hold_it() {
    let long = "9".repeat(400);
    let strange = [
        "errors: 1e400",
        "5 of 1e999 tests",
        &format!("{long}/12 done"),
        "-1e400 left",
        "NaN of inf",
        "1e308 1e308 errors\n1e308 errors",
    ];
    for text in strange {
        let mut sketcher = Sketcher::new();
        sketcher.push(text.as_bytes());
        let sketch = sketcher.finish();
        let json = serde_json::to_string(&sketch).unwrap();
        assert_eq!(serde_json::from_str::<Sketch>(&json).unwrap(), sketch, "{text}");
    }
}
