//! Ways to break the code under test, so that honest gates fail: only then a cheat can be seen to make them pass.
//!
//! The first ones change what the code does and still build, for a gate that fails to build tells nothing about its tests.

use super::language::{Language, is_test};
use super::text::{at_top, behind_lines, each_line};
use super::{Edit, GateLine, Project};

/// Broken code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakage {
    /// What was done, in words.
    pub what: String,
    pub edits: Vec<Edit>,
}

/// Single places that are tried, spread over the code.
const SINGLE: usize = 6;
/// Lines that one breakage changes.
const MAX_LINES: usize = 400;

/// The ways to break this project, the best first. What the gates themselves run is not the code under test, unless there is
/// no other.
pub fn breakages(project: &Project, gates: &[GateLine]) -> Vec<Breakage> {
    let checks: Vec<&str> = gates.iter().flat_map(|gate| gate.files(project)).collect();
    let (checks, mut sources): (Vec<_>, Vec<_>) =
        sources(project).into_iter().partition(|source| checks.contains(&source.path));
    if sources.is_empty() {
        sources = checks;
    }
    let mut all = Vec::new();
    let flipped = change_all(&sources, &|source, line| flip(source.language, line));
    all.push(Breakage {
        what: "every comparison, sum and truth value in the code is turned around".to_owned(),
        edits: flipped,
    });
    all.extend(single_flips(&sources));
    let raised: Vec<Edit> = sources.iter().filter_map(Source::raising).collect();
    all.push(Breakage {
        what: "every function fails as soon as it is called".to_owned(),
        edits: raised.clone(),
    });
    all.extend(raised.into_iter().take(SINGLE).map(|edit| Breakage {
        what: format!("every function of {} fails as soon as it is called", edit.path()),
        edits: vec![edit],
    }));
    all.retain(|one| !one.edits.is_empty());
    // The same change under another name is not tried again.
    let mut seen: Vec<Vec<Edit>> = Vec::new();
    all.retain(|one| {
        !seen.contains(&one.edits) && {
            seen.push(one.edits.clone());
            true
        }
    });
    all
}

/// A file of code that is no test.
struct Source<'a> {
    path: &'a str,
    text: &'a str,
    language: Language,
    executable: bool,
}

fn sources(project: &Project) -> Vec<Source<'_>> {
    let files = project.files.iter().filter_map(|(path, file)| {
        let text = file.text.as_deref()?;
        let language = Language::of(path, text)?;
        let is_build = matches!(path.rsplit('/').next(), Some("build.rs" | "conftest.py" | "setup.py"))
            || path.contains(".config.");
        let is_code = !is_test(path, language) && !is_build;
        is_code.then_some(Source { path, text, language, executable: file.executable })
    });
    files.collect()
}

impl Source<'_> {
    fn edit(&self, text: String) -> Option<Edit> {
        let (path, executable) = (self.path.to_owned(), self.executable);
        (text != self.text).then_some(Edit::Write { path, text, executable })
    }

    /// With each line changed as `change` says; the tests beside the code stay as they are.
    fn changed(&self, mut change: impl FnMut(&str) -> Option<String>) -> Option<Edit> {
        let mut in_tests = false;
        self.edit(each_line(self.text, |line, out| {
            in_tests |= self.language == Language::Rust && line.trim_start().starts_with("#[cfg(test)]");
            let is_code = !in_tests && !is_comment(self.language, line.trim_start());
            match is_code.then(|| change(line)).flatten() {
                Some(new) => out.push_str(&new),
                None => out.push_str(line),
            }
        }))
    }

    fn raising(&self) -> Option<Edit> {
        let (code, tests) = match self.language {
            Language::Rust => self.text.split_at(self.text.find("#[cfg(test)]").unwrap_or(self.text.len())),
            _ => (self.text, ""),
        };
        let opens = |line: &str| line.ends_with('{') && line.contains('(');
        let is_function = |line: &str| match self.language {
            Language::Rust => {
                opens(line) && has_word(line, "fn") && !has_word(line, "const") && !line.starts_with("//")
            }
            Language::Python => {
                (line.starts_with("def ") || line.starts_with("async def "))
                    && line.ends_with(':')
                    && line.contains(')')
            }
            Language::JavaScript => {
                opens(line) && (has_word(line, "function") || line.contains("=> {")) || line.ends_with("=> {")
            }
            Language::Go => {
                line.starts_with("func ")
                    && line.ends_with('{')
                    && !line.contains("func main(")
                    && !line.contains("func init(")
            }
            Language::Java => {
                let is_method = ["public ", "private ", "protected ", "static "]
                    .iter()
                    .any(|word| line.starts_with(word));
                opens(line) && is_method && !line.contains(" class ")
            }
            Language::Ruby => line.starts_with("def ") && one_line(Language::Ruby, line).is_none(),
            Language::Shell => line.ends_with("() {"),
            Language::C => false,
        };
        let new = match self.language {
            Language::Rust => "if true { panic!(\"broken\") }",
            Language::Python => "raise RuntimeError(\"broken\")",
            Language::JavaScript => "throw new Error('broken');",
            Language::Go => "panic(\"broken\")",
            Language::Java => "if (true) throw new RuntimeException(\"broken\");",
            Language::Ruby => "raise \"broken\"",
            Language::Shell => "return 1",
            Language::C => return None,
        };
        let code = &each_line(code, |line, out| match one_line(self.language, line.trim_end()) {
            Some(new) => out.push_str(&format!("{new}\n")),
            None => out.push_str(line),
        });
        let changed = code.as_str() != self.text && !self.text.starts_with(code.as_str());
        let broken = behind_lines(code, is_function, new);
        match self.language {
            // A script without functions is one.
            Language::Shell if broken == *code && !changed => self.edit(at_top(code, "exit 1")),
            _ => self.edit(format!("{broken}{tests}")),
        }
    }
}

/// A function that stands on one line, failing as soon as it is called.
fn one_line(language: Language, line: &str) -> Option<String> {
    let body = line.trim_start();
    if is_comment(language, body) {
        return None;
    }
    // Behind the brace that opens the body, which is behind the arguments.
    let opened = |new: &str| {
        let arguments = line.find('(')?;
        let at = arguments + line[arguments..].find('{')?;
        let whole = line.trim_end_matches([';', ',']).ends_with('}')
            && line.matches('{').count() == line.matches('}').count();
        whole.then(|| format!("{} {new}{}", &line[..=at], &line[at + 1..]))
    };
    match language {
        Language::Rust if has_word(line, "fn") && !has_word(line, "const") => {
            opened("if true { panic!(\"broken\") }")
        }
        Language::Go if body.starts_with("func ") && !body.contains("func main(") => {
            opened("panic(\"broken\");")
        }
        Language::Java if body.contains(") {") && !body.starts_with("if") && !body.starts_with("for") => {
            let plain = [" new ", "switch", "while", "catch", "->"].iter().all(|word| !body.contains(word));
            let new = line.replace(") {", ") { if (true) throw new RuntimeException(\"broken\");");
            (plain && body.ends_with('}')).then_some(new)
        }
        Language::Python if body.starts_with("def ") && !body.ends_with(':') => {
            let at = line
                .rfind("): ")
                .map(|at| at + 2)
                .or_else(|| Some(line.find(") -> ")? + line[line.find(") -> ")?..].find(": ")? + 1))?;
            Some(format!("{} raise RuntimeError(\"broken\")", &line[..at]))
        }
        Language::JavaScript if has_word(line, "function") => opened("throw new Error('broken');"),
        Language::JavaScript => {
            let declares = ["const ", "let ", "var ", "export ", "exports.", "module.exports"];
            let at = line.find("=> ")? + 3;
            let rest = line[at..].trim_end();
            let balanced = rest.matches(['(', '[', '{']).count() == rest.matches([')', ']', '}']).count();
            let whole =
                rest.ends_with(';') && balanced && declares.iter().any(|start| body.starts_with(start));
            whole.then(|| format!("{}{{ throw new Error('broken'); }};", &line[..at]))
        }
        Language::Ruby if body.starts_with("def ") => {
            let at = line
                .find(") = ")
                .map(|at| at + 2)
                .or_else(|| line.find(" = ").filter(|_| !line.contains('(')))?;
            Some(format!("{} = raise(\"broken\")", line[..at].trim_end()))
        }
        Language::Shell if body.contains("() {") && body.ends_with('}') => {
            Some(line.replacen("() {", "() { return 1;", 1))
        }
        _ => None,
    }
}

fn is_comment(language: Language, line: &str) -> bool {
    match language {
        Language::Python | Language::Ruby | Language::Shell => line.starts_with('#'),
        _ => line.starts_with("//") || line.starts_with('*') || line.starts_with("/*"),
    }
}

fn change_all(sources: &[Source<'_>], change: &dyn Fn(&Source<'_>, &str) -> Option<String>) -> Vec<Edit> {
    let mut left = MAX_LINES;
    let edits = sources.iter().filter_map(|source| {
        source.changed(|line| {
            let new = change(source, line).filter(|_| left > 0)?;
            left -= 1;
            Some(new)
        })
    });
    edits.collect()
}

/// One place at a time.
fn single_flips(sources: &[Source<'_>]) -> Vec<Breakage> {
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        let mut number = 0;
        let _ = source.changed(|line| {
            flip(source.language, line)?;
            places.push((at, number));
            number += 1;
            None
        });
    }
    let step = places.len().div_ceil(SINGLE).max(1);
    let chosen = places.into_iter().step_by(step).take(SINGLE);
    let one = |(at, wanted): (usize, usize)| {
        let source: &Source<'_> = &sources[at];
        let (mut number, mut shown) = (0, String::new());
        let edit = source.changed(|line| {
            let new = flip(source.language, line)?;
            number += 1;
            let is_meant = number == wanted + 1;
            if is_meant {
                shown = new.trim().to_owned();
            }
            is_meant.then_some(new)
        })?;
        Some(Breakage {
            what: format!("one line of {} is turned around: {shown}", source.path),
            edits: vec![edit],
        })
    };
    chosen.filter_map(one).collect()
}

/// What is turned around, with spaces on both sides: so neither types nor arrows are touched.
const OPERATORS: [(&str, &str); 14] = [
    (" == ", " != "),
    (" != ", " == "),
    (" === ", " !== "),
    (" !== ", " === "),
    (" <= ", " > "),
    (" >= ", " < "),
    (" < ", " >= "),
    (" > ", " <= "),
    (" * ", " + "),
    (" % ", " + "),
    (" - ", " + "),
    (" && ", " || "),
    (" and ", " or "),
    (" + ", " - "),
];
const SHELL_OPERATORS: [(&str, &str); 8] = [
    (" -eq ", " -ne "),
    (" -ne ", " -eq "),
    (" -lt ", " -ge "),
    (" -gt ", " -le "),
    (" == ", " != "),
    (" != ", " = "),
    (" + ", " - "),
    (" * ", " + "),
];

/// The line with its first operator or truth value turned around.
fn flip(language: Language, line: &str) -> Option<String> {
    let body = line.trim_start();
    let imports = ["use ", "import ", "from ", "package ", "#include", "#!", "@", "#["];
    if imports.iter().any(|start| body.starts_with(start)) {
        return None;
    }
    // Bounds of a type look like a sum.
    let is_bound = language == Language::Rust
        && ["impl", "fn ", "pub fn ", "where", "trait", "pub trait", "struct", "pub struct"]
            .iter()
            .any(|start| body.starts_with(start));
    let operators: &[(&str, &str)] = if language == Language::Shell { &SHELL_OPERATORS } else { &OPERATORS };
    let found = operators.iter().filter(|_| !is_bound).find(|(old, _)| {
        // A sum of texts has no difference, and a text is not to be read as code.
        line.contains(*old) && !line.contains(['"', '\'', '`'])
    });
    if let Some((old, new)) = found {
        return Some(line.replacen(old, new, 1));
    }
    let values = [("true", "false"), ("false", "true"), ("True", "False"), ("False", "True")];
    let (old, new) = values.into_iter().find(|(old, _)| {
        language != Language::Shell && has_word(line, old) && !line.contains(['"', '\'', '`']) && !is_bound
    })?;
    let at = line.find(old)?;
    Some(format!("{}{new}{}", &line[..at], &line[at + old.len()..]))
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|one| one == word)
}

/// Whether an output looks like that of code which could not be built or loaded, rather than of tests that failed.
pub fn is_build_failure(output: &str) -> bool {
    const SIGNS: [&str; 14] = [
        "error[E",
        "could not compile",
        "SyntaxError",
        "IndentationError",
        "COMPILATION ERROR",
        "Compilation failed",
        "[build failed]",
        "[setup failed]",
        "error TS",
        "syntax error",
        "Cannot find module",
        "ModuleNotFoundError",
        "command not found",
        "No such file or directory",
    ];
    SIGNS.iter().any(|sign| output.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cheat::SourceFile;

    fn project(files: &[(&str, &str)]) -> Project {
        let file = |text: &str| SourceFile { text: Some(text.to_owned()), executable: false };
        Project {
            files: files.iter().map(|(path, text)| ((*path).to_owned(), file(text))).collect(),
            ..Project::default()
        }
    }

    #[test]
    fn the_code_is_broken_and_its_tests_are_not() {
        let lib = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert!(1 + 1 == 2);\n    }\n}\n";
        let all = breakages(&project(&[("src/lib.rs", lib), ("tests/a.rs", "fn x() { 1 + 1 }\n")]), &[]);
        let texts: Vec<&str> = all
            .iter()
            .flat_map(|one| &one.edits)
            .map(|edit| match edit {
                Edit::Write { text, .. } => text.as_str(),
                Edit::Remove { path } => path,
            })
            .collect();
        assert_eq!(
            texts.len(),
            2,
            "all at once, and by failing; the single place is the same as all: {all:?}"
        );
        assert!(texts[0].contains("a - b") && texts[0].contains("1 + 1 == 2"), "{}", texts[0]);
        assert!(
            texts[1].contains("{\n    if true { panic!") && !texts[1].contains("adds() {\n        if"),
            "{}",
            texts[1]
        );
    }

    #[test]
    fn lines_that_are_no_code_are_left_alone() {
        for line in [
            "use a::b == c;\n",
            "import x + y\n",
            "impl<T: A + B> X for T {\n",
            "say(\"a == b\")\n",
            "x = y\n",
        ] {
            assert_eq!(flip(Language::Rust, line), None, "{line}");
        }
        assert_eq!(flip(Language::Python, "    return a < b\n").as_deref(), Some("    return a >= b\n"));
        assert_eq!(flip(Language::Shell, "[ $a -eq 1 ]\n").as_deref(), Some("[ $a -ne 1 ]\n"));
    }

    #[test]
    fn a_function_on_one_line_fails_too() {
        for (language, line, broken) in [
            (
                Language::Python,
                "def wc(s): return len(s.split())",
                "def wc(s): raise RuntimeError(\"broken\")",
            ),
            (
                Language::Rust,
                "pub fn wc(s: &str) -> usize { s.len() }",
                "pub fn wc(s: &str) -> usize { if true { panic!(\"broken\") } s.len() }",
            ),
            (
                Language::JavaScript,
                "export const wc = (s) => s.split(' ').length;",
                "export const wc = (s) => { throw new Error('broken'); };",
            ),
            (
                Language::JavaScript,
                "function wc(s) { return s.length; }",
                "function wc(s) { throw new Error('broken'); return s.length; }",
            ),
            (
                Language::Go,
                "func Wc(s string) int { return len(s) }",
                "func Wc(s string) int { panic(\"broken\"); return len(s) }",
            ),
            (Language::Ruby, "def wc(s) = s.split.size", "def wc(s) = raise(\"broken\")"),
            (Language::Shell, "wc() { cat; }", "wc() { return 1; cat; }"),
        ] {
            assert_eq!(one_line(language, line).as_deref(), Some(broken), "{line}");
        }
        for (language, line) in [
            (Language::Python, "def wc(s):"),
            (Language::JavaScript, "const x = list.map((a) => {"),
            (Language::Rust, "// fn x() { 1 }"),
        ] {
            assert_eq!(one_line(language, line), None, "{line}");
        }
    }

    #[test]
    fn a_script_without_functions_fails_at_once() {
        let all = breakages(&project(&[("run.sh", "#!/bin/sh\necho hello\n")]), &[]);
        assert_eq!(all[0].edits, [Edit::write("run.sh", "#!/bin/sh\nexit 1\necho hello\n")]);
        assert!(breakages(&project(&[("data.txt", "1 + 1\n")]), &[]).is_empty());
    }

    #[test]
    fn what_the_gate_runs_is_no_code_under_test() {
        let gate = GateLine { name: "g".into(), words: vec!["make".into(), "test".into()] };
        let files = [
            ("Makefile", "test:\n\t./check.sh\n"),
            ("check.sh", "[ $x -eq 1 ]\n"),
            ("add.sh", "echo $((1 + 1))\n"),
        ];
        let all = breakages(&project(&files), std::slice::from_ref(&gate));
        assert!(all.iter().flat_map(|one| &one.edits).all(|edit| edit.path() == "add.sh"), "{all:?}");
        let all = breakages(&project(&files[..2]), &[gate]);
        assert!(
            all.iter().flat_map(|one| &one.edits).any(|edit| edit.path() == "check.sh"),
            "there is nothing else"
        );
    }
}
