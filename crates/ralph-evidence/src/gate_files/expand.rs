//! A script's own folder and its plain variables, put where its text names them: `D=$(dirname "$0"); . "$D/lib.sh"`.

use regex::{NoExpand, Regex};
use std::sync::LazyLock;

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).expect("a pattern of this file"));
    };
}

pattern!(
    FOLDER,
    r#"\$\(\s*dirname\s+(?:--\s+)?"?\$\{?(?:0|BASH_SOURCE(?:\[0\])?)\}?"?\s*\)|\$\{0%/\*\}|\$\{BASH_SOURCE(?:\[0\])?%/\*\}"#
);
pattern!(
    GONE_TO,
    r#"\$\(\s*(?:CDPATH=\S*\s+)?cd\s+(?:-P\s+)?(?:--\s+)?"?([\w./-]+)"?\s*(?:>\s*/dev/null(?:\s*2>&1)?\s*)?(?:&&|;)\s*pwd(?:\s+-P)?\s*\)"#
);
pattern!(
    TOP,
    r"\$\(\s*git rev-parse --show-toplevel\s*\)|\$\{?(?:PWD|RALPH_WORKSPACE)\}?|\$\(\s*pwd\s*\)|`pwd`"
);
pattern!(
    ASSIGNED,
    r#"(?m)(?:^|[;&]\s*|\bexport\s+|\breadonly\s+|\blocal\s+)\s*([A-Za-z_]\w*)=["']?([\w./-]+)["']?\s*(?:$|[;&#])"#
);
pattern!(FUNCTION, r"(?m)^(\s*)(?:function\s+[\w:.-]+\s*(?:\(\s*\))?|[\w:.-]+\s*\(\s*\))\s*\{");
pattern!(SYNTAX, r"\b(?:ba|da|z|k)?sh\s+(?:-\w+\s+)*(?:-[a-bd-z]*n[a-bd-z]*|-o\s+noexec)\s+(?:-\w+\s+)*\S+");
pattern!(LOOP, r#"\bfor\s+(\w+)\s+in\s+([^;\n]+?)\s*(?:;|\n)\s*do\b"#);
pattern!(PARTS, r"\brun-parts\s+(?:-\S+\s+)*([\w./-]+)");

/// At most so many variables are followed.
const MAX_NAMES: usize = 32;

pub(super) fn expanded(text: &str, folder: &str) -> String {
    let folder = if folder.is_empty() { "." } else { folder };
    let mut text = without_syntax_checks(text);
    text = FOLDER.replace_all(&text, NoExpand(folder)).into_owned();
    text = TOP.replace_all(&text, NoExpand(".")).into_owned();
    // What a function starts is started when it is called.
    text = FUNCTION.replace_all(&text, "$1{").into_owned();
    for _ in 0..2 {
        text = GONE_TO.replace_all(&text, "$1").into_owned();
        let known: Vec<(String, String)> = ASSIGNED
            .captures_iter(&text)
            .map(|found| (found[1].to_owned(), found[2].to_owned()))
            .filter(|(_, value)| {
                value.contains(['/', '.']) || value.chars().all(|c| c.is_alphabetic() || c == '_' || c == '-')
            })
            .take(MAX_NAMES)
            .collect();
        for (name, value) in known {
            text = text.replace(&format!("${{{name}}}"), &value);
            if let Ok(plain) = Regex::new(&format!(r"\${name}\b")) {
                text = plain.replace_all(&text, NoExpand(&value)).into_owned();
            }
        }
    }
    text
}

/// `bash -n deploy.sh` reads a file and runs none of it.
pub(super) fn without_syntax_checks(text: &str) -> String {
    SYNTAX.replace_all(text, "true").into_owned()
}

/// The globs of loops that run each file they find.
pub(super) fn loops(text: &str) -> Vec<String> {
    let mut found: Vec<String> =
        PARTS.captures_iter(text).map(|one| format!("{}/*", one[1].trim_end_matches('/'))).collect();
    for one in LOOP.captures_iter(text) {
        let name = &one[1];
        let runs = Regex::new(&format!(
            r#"(?m)(?:\b(?:ba|da|z|k)?sh|\bsource|\bnode|\bpython3?|\bruby|\bperl|\.|\bexec|\btimeout\s+\S+|^|[;&|]|\bdo|\bif|!|\bthen|\()\s+(?:-\w+\s+)*"?(?:\./)?\$\{{?{name}\}}?"?"#
        ));
        if runs.is_ok_and(|runs| runs.is_match(&text[one.get(0).map_or(0, |all| all.end() - 2)..])) {
            let globs = one[2].split_whitespace().map(|word| word.trim_matches(['"', '\'']));
            found.extend(
                globs.filter(|word| !word.contains('$')).map(|word| word.trim_start_matches("./").to_owned()),
            );
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_knows_its_folder_by_many_names() {
        for text in [
            "D=$(dirname \"$0\")\n. \"$D/lib.sh\"",
            ". \"$(dirname \"$0\")/lib.sh\"",
            ". \"${0%/*}/lib.sh\"",
            "HERE=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\n. \"${HERE}/lib.sh\"",
            "D=$(dirname -- \"$0\"); L=$D/lib.sh; . $L",
        ] {
            assert!(expanded(text, "ci").contains("ci/lib.sh"), "{text}: {}", expanded(text, "ci"));
        }
        assert!(expanded("D=$(dirname \"$0\")\n. $D/lib.sh", "").contains("./lib.sh"));
    }

    #[test]
    fn a_loop_that_runs_what_it_finds_is_told_from_one_that_reads_it() {
        for text in [
            "for f in checks/*.sh; do bash \"$f\" || exit 1; done",
            "for f in ./checks/*.sh; do\n  [ -e \"$f\" ] || continue\n  \"$f\" || exit 1\ndone",
            "for f in checks/*.sh\ndo . $f; done",
        ] {
            assert_eq!(loops(text), ["checks/*.sh"], "{text}");
        }
        for text in ["for f in src/*.c; do gcc -c \"$f\"; done", "for f in src/*.c; do wc -l $f; done"] {
            assert_eq!(loops(text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(loops("run-parts --exit-on-error ci.d"), ["ci.d/*"]);
    }

    #[test]
    fn a_syntax_check_runs_nothing() {
        assert_eq!(without_syntax_checks("bash -n deploy.sh && sh check.sh"), "true && sh check.sh");
        assert_eq!(without_syntax_checks("sh -en x.sh"), "true");
        assert_eq!(without_syntax_checks("bash -c 'x -n y'"), "bash -c 'x -n y'");
    }
}
