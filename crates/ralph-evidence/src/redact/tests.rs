use super::*;

const KEY: &str = "hunter2/\"quoted\"+pass";

fn redactor() -> Redactor {
    Redactor::new([KEY, "hunter2/", "ABCDEFGH12345678"], []).expect("a redactor")
}

/// What comes out of pieces of so many bytes.
fn in_pieces(redactor: &Redactor, text: &[u8], size: usize) -> Vec<u8> {
    let mut stream = Stream::default();
    let mut out = Vec::new();
    for piece in text.chunks(size) {
        out.extend_from_slice(&stream.push(redactor, piece));
    }
    out.extend_from_slice(&stream.finish(redactor));
    out
}

#[test]
fn a_secret_is_replaced_in_every_form_and_in_pieces_of_any_size() {
    let redactor = redactor();
    let json = serde_json::json!({ "text": KEY }).to_string();
    let twice = serde_json::json!({ "line": json }).to_string();
    let token = format!("ghp_{}", "aB3".repeat(12));
    let jwt = format!("eyJ{}.{}.{}", "a".repeat(20), "b".repeat(30), "c".repeat(20));
    for (text, gone) in [
        (format!("key is {KEY}.\n"), KEY.to_owned()),
        (json.clone(), "pass\"".to_owned()),
        (twice, "pass".to_owned()),
        (percent(KEY), "pass".to_owned()),
        (format!("data:{}", base64(KEY.as_bytes())), base64(KEY.as_bytes())),
        (format!("token={token}\n"), token[4..].to_owned()),
        (format!("Bearer {jwt} end"), jwt[3..30].to_owned()),
        (format!("{KEY}{KEY}ABCDEFGH12345678"), "2345".to_owned()),
    ] {
        for size in (1..40).chain([1000]) {
            let out = String::from_utf8(in_pieces(&redactor, text.as_bytes(), size)).expect("text");
            assert!(out.contains(REDACTED) && !out.contains(&gone), "{size}: {text:?} -> {out:?}");
            assert_eq!(out, redactor.text(&text), "{size}");
        }
    }
}

#[test]
fn what_is_no_secret_comes_out_as_it_went_in_and_at_once_where_no_secret_begins() {
    let redactor = redactor();
    for text in [
        "hunter1/ sk-short task-force-of-many-people-in-one-very-long-word ghp_",
        "eyJhbGciOi",
        "ABCDEFG",
        "\u{e9}\n",
    ] {
        for size in 1..10 {
            assert_eq!(in_pieces(&redactor, text.as_bytes(), size), text.as_bytes(), "{text:?} {size}");
        }
    }
    let mut stream = Stream::default();
    assert_eq!(&*stream.push(&redactor, b"What is your name? "), b"What is your name? ");
    assert_eq!(&*stream.push(&redactor, b"hunt"), b"", "it may go on");
    assert_eq!(&*stream.push(&redactor, b"ing\n"), b"hunting\n");
}

#[test]
fn a_token_without_an_end_takes_no_memory() {
    let redactor = redactor();
    let mut stream = Stream::default();
    let mut out = stream.push(&redactor, b"ghp_").into_owned();
    for _ in 0..1000 {
        out.extend_from_slice(&stream.push(&redactor, &[b'a'; 1000]));
    }
    assert!(stream.held.len() <= MAX_VALUE && out == REDACTED.as_bytes());
    let mut stream = Stream::default();
    let mut length = stream.push(&redactor, b"eyJ").len();
    for _ in 0..1000 {
        length += stream.push(&redactor, &[b'a'; 1000]).len();
        assert!(stream.held.len() <= 16 << 10);
    }
    assert!(length > 900_000, "it is no token without its dots: {length}");
}

#[test]
fn what_begins_first_counts_however_it_is_cut() {
    let token = format!("ghp_{}/rest-of-it", "a".repeat(36));
    let long = "/+".repeat(4_000);
    let values = ["password-one-and-two", "one-and-", token.as_str(), "/+/+/+/+", long.as_str(), "ab"];
    let redactor = Redactor::new(values, []).expect("a redactor");
    let run = "eyJ-".repeat(2_500);
    for (text, expected) in [
        ("password-one-and-two!".to_owned(), "[redacted]!".to_owned()),
        ("password-one-and-three".to_owned(), "password-[redacted]three".to_owned()),
        (format!("{token}!"), "[redacted]!".to_owned()),
        (format!("{}/rest of", &token[..40]), "[redacted]/rest of".to_owned()),
        (format!("{run}{}.b.c d", "a".repeat(40)), {
            // No more is looked at than is ever held back: the dots are too far away from the first ones.
            let first = (0..run.len()).step_by(4).find(|at| run.len() + 43 - at <= 8 << 10).expect("one");
            format!("{}[redacted] d", &run[..first])
        }),
        (format!("{run} x"), format!("{run} x")),
    ] {
        let sizes = [1, 2, 7, 61, 4_096, 9_000, text.len()];
        for size in sizes.into_iter().filter(|size| text.len() / size < 1_000) {
            let out = in_pieces(&redactor, text.as_bytes(), size);
            assert_eq!(String::from_utf8(out).expect("text"), expected, "in pieces of {size}");
        }
    }
    let cut = in_pieces(&redactor, format!("{long}!").as_bytes(), 5);
    assert_eq!(cut, in_pieces(&redactor, format!("{long}!").as_bytes(), 1 << 20));
    assert!(cut.len() < 6_000);
}

#[test]
fn rules_of_the_user_see_whole_lines() {
    let redactor = Redactor::new([], [r"card \d{4}"]).expect("a redactor");
    for size in 1..12 {
        let out = in_pieces(&redactor, b"my card 1234\nno card 12\n", size);
        assert_eq!(out, b"my [redacted]\nno card 12\n", "{size}");
    }
    assert!(Redactor::new([], ["("]).expect_err("an error").contains("`(` is no pattern"));
}

#[test]
fn names_and_values_that_look_secret_are_told_from_those_that_do_not() {
    for name in
        ["ANTHROPIC_API_KEY", "GITHUB_TOKEN", "db_password", "AWS_SECRET_ACCESS_KEY", "MY.CREDENTIALS"]
    {
        assert!(is_secret_name(name), "{name}");
    }
    for name in ["PATH", "PWD", "SSH_AUTH_SOCK", "KEYBOARD", "MONKEY", "TOKENIZERS_PARALLELISM"] {
        assert!(!is_secret_name(name), "{name}");
    }
    for value in ["correct-horse", "12345678", "https://u:p@host/"] {
        assert!(is_secret_value(value), "{value}");
    }
    for value in ["short", "disabled", "/srv/me/.ssh/key", "https://host/path", "true"] {
        assert!(!is_secret_value(value), "{value}");
    }
}
