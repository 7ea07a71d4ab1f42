//! Small changes, and what is said about them.

use super::*;

fn file(path: &str, before: &str, after: &str) -> SourceFile {
    let some = |text: &str| (text != "-").then(|| text.to_owned());
    SourceFile { path: path.into(), before: some(before), after: some(after) }
}

fn kinds(files: &[SourceFile]) -> Vec<Tampering> {
    review(files).into_iter().map(|finding| finding.kind).collect()
}

#[test]
fn a_change_of_nothing_says_nothing() {
    assert_eq!(review(&[]), []);
    assert_eq!(
        review(&[file(
            "tests/test_a.py",
            "def test_a():\n    assert f() == 1\n",
            "def test_a():\n    assert f() == 1\n"
        )]),
        []
    );
}

#[test]
fn a_test_that_is_commented_out_is_gone() {
    let before = "def test_a():\n    assert f() == 1\n\ndef test_b():\n    assert g() == 2\n";
    let after = "def test_a():\n    assert f() == 1\n\n# def test_b():\n#     assert g() == 2\n";
    let found = review(&[file("tests/test_a.py", before, after)]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].line), (Tampering::TestRemoved, Some(4)));
}

#[test]
fn the_word_skip_in_strings_comments_and_names_is_nothing() {
    let before = "def test_a():\n    assert f('a') == 1\n";
    let after = "# pytest.skip\ndef test_a():\n    # pytest.skip('x')\n    skip_first = 'pytest.skip()'\n    assert f('a', skip_first) == 1\n    assert f.skip(1) == 2\n";
    assert_eq!(kinds(&[file("tests/test_a.py", before, after)]), []);
}
