//! What is masked, what is kept, and what each token is told to be.

use super::*;

fn read(line: &str) -> Vec<Token> {
    let mut out = Vec::new();
    tokens(&clean(line.as_bytes()), &mut out);
    out
}

fn kinds(line: &str) -> String {
    let letter = |token: &Token| match token.kind {
        Kind::Word => 'w',
        Kind::Fact => 'f',
        Kind::Number => 'n',
        Kind::Mask => '#',
    };
    read(line).iter().map(letter).collect()
}

fn same(a: &str, b: &str) -> bool {
    let hashes = |line| read(line).iter().map(|token| token.hash).collect::<Vec<_>>();
    hashes(a) == hashes(b)
}

#[test]
fn what_changes_with_every_run_is_masked() {
    for (a, b) in [
        ("done at 12:31:07.553", "done at 01:02:03.1"),
        ("[2026-03-21 04:28:11] start", "[2026-04-01 14:00:59] start"),
        ("2026-03-21T04:28:11Z", "2025-01-01T00:00:00Z"),
        ("(51.21s)", "(3.00s)"),
        ("took 350ms", "took 8ms"),
        ("in 1m30s", "in 2h5m"),
        ("commit 8f3ba7ef", "commit 1c2d3e4f5a"),
        ("session 648d4c45-30f5-8eec-6a23-69d606b76816", "session 8f3ba7ef-f7f6-37c3-eb3d-3cf9657b0649"),
        ("/tmp/tmp.74848a8d/out.log", "/tmp/tmp.24620997/out.log"),
        ("auth.ts:45:3 wrong", "auth.ts:7:12 wrong"),
        ("zsh:1: no such file", "zsh:7: no such file"),
        ("cost $1.43", "cost $0.02"),
        ("62,516 tokens", "9 tokens"),
        ("tokens used: 62516", "tokens used: 12"),
        ("=== Loop #5 ===", "=== Loop #6 ==="),
        ("Iteration 4/50", "Iteration 5/50"),
        ("duration_ms=832861", "duration_ms=9"),
        ("run-20260130-123401-iter-2.log", "run-20260131-003401-iter-3.log"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("at Tue, 03 Mar 2026 04:05:06 GMT", "at Fri, 27 Nov 2026 14:00:59 GMT"),
        ("on 3/13/2026, 4:05:06 PM", "on 11/2/2026, 11:15:59 AM"),
        ("am 13.03.2026 04:05", "am 1.12.2026 14:15"),
        ("2026年3月13日 完成", "2025年12月1日 完成"),
        ("after 1m 20s", "after 45 seconds"),
        ("after PT2M12S", "after 980 ms"),
        ("id 01ARZ3NDEKTSV4RRFFQ69G5FAV", "id 01BX5ZZKBKACTAV9WEVGEMMVRZ"),
        ("object at 0x12345678", "object at 0x7fc002c42b92"),
        ("toolu_01A09q90qw90lq917835lq9", "toolu_01WcBcqKpzdpLVp3zfnAXtHJ"),
        ("V1StGXR8_Z5jdHi6B-myT", "k3XyZ9aB_qQ7rT2uW-nOp"),
        ("workdir /tmp/tmp.GugKVBvonP", "workdir /tmp/tmp.noqAtAaWwi"),
        ("/tmp/go-build2025161/a.out", "/tmp/go-build99/a.out"),
        ("/var/folders/3k/ab12/T/tmp9043be", "/var/folders/zz/99ff/T/tmp1a"),
        ("C:\\Users\\dev\\AppData\\Local\\Temp\\tmpfa9a", "C:\\Users\\dev\\AppData\\Local\\Temp\\tmp01b2"),
        ("320:func main() {", "7:func main() {"),
        ("12→use std", "903→use std"),
        ("Context: 45% used", "Context: 81% used"),
    ] {
        assert!(same(a, b), "{a}: {:?}\n{b}: {:?}", read(a), read(b));
    }
}

#[test]
fn what_names_something_is_kept() {
    for (a, b) in [
        ("US-002", "US-003"),
        ("chapter-07.md", "chapter-08.md"),
        ("utf8", "utf16"),
        ("src/auth.rs", "src/login.rs"),
        ("getUser", "getUsers"),
        ("alpha", "beta"),
        ("2026-02-02-parser.md", "2026-02-02-lexer.md"),
        ("/tmp/check_parser.py", "/tmp/check_lexer.py"),
        ("E0308", "E0425"),
        ("getURLForID", "getURLForName"),
    ] {
        assert!(!same(a, b), "{a} {b}");
    }
}

#[test]
fn words_facts_and_numbers_are_told_apart() {
    assert_eq!(kinds("The parser reads src/lib.rs and calls parse_line in Vec<Token>"), "wwwfwwfwww");
    assert_eq!(kinds("up-to-date, e.g. not a fact"), "wwwwww".get(..5).unwrap_or_default());
    assert_eq!(kinds("14 of 83 tests still failing"), "nwnwww");
    assert_eq!(kinds("completed: 3/31 steps, 45%"), "wnwn");
    assert_eq!(kinds("failed:3"), "wn");
    assert_eq!(kinds("ETA 56 min, 54 chunks left"), "w#nww", "a comma parts");
    assert_eq!(kinds("Benchmark: 1957 ns/op"), "wnf");
    assert_eq!(kinds("two left"), "nw");
    assert_eq!(kinds("你好 parser"), "ww");
    assert_eq!(kinds("没有需要做的事情了。"), "wwwww");
    assert_eq!(kinds("2026年3月13日"), "#");
    let ratio = read("3/31")[0];
    assert_eq!((ratio.value, ratio.of), (3.0, Some(31.0)));
    assert_eq!(kinds("— … ***"), "");
}
