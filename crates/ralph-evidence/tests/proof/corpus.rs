//! The corpus of cheats and of honest changes: small projects, and edits of them.
//!
//! A file of the corpus is a project: `%gate COMMAND`, `%file PATH` with its text, then cases. `%break` begins the edits that
//! put a bug into the project; `%cheat NAME KIND…` begins a case on the broken project, with the kinds of findings that it
//! must lead to (one of them); `%honest NAME` begins one on the sound project. A case is edits: `%file` writes, `%delete P`,
//! `%move A B`, `%sub P :: old :: new` (once), `%all P :: old :: new` (everywhere), `%edit P` with `%was` and `%now` (whole
//! lines). `%late`: the cases from here on were written when the rules stood.

use std::collections::BTreeMap;

pub type Tree = BTreeMap<String, String>;

#[derive(Debug, Clone, Default)]
pub struct Project {
    pub name: String,
    /// Empty: no runner of this language is asked for.
    pub gate: String,
    pub cases: Vec<Case>,
}

#[derive(Debug, Clone)]
pub struct Case {
    pub name: String,
    pub cheat: bool,
    pub late: bool,
    /// Of a cheat: what may be found, by the names on the wire. `-`: nothing can be read off it.
    pub kinds: Vec<String>,
    pub before: Tree,
    pub after: Tree,
}

impl Project {
    pub fn read(name: &str, text: &str) -> Result<Project, String> {
        let mut reader = Reader {
            project: Project { name: name.into(), gate: String::new(), cases: Vec::new() },
            ..Reader::default()
        };
        let mut lines = text.lines().enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            let Some(directive) = line.strip_prefix('%') else {
                if line.trim().is_empty() {
                    continue;
                }
                return Err(format!("{name}:{}: text outside of a file", at + 1));
            };
            let mut body = String::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| !line.starts_with('%')) {
                body.push_str(line);
                body.push('\n');
            }
            reader.directive(directive, &body).map_err(|error| format!("{name}:{}: {error}", at + 1))?;
        }
        reader.done()
    }
}

#[derive(Default)]
struct Reader {
    project: Project,
    sound: Tree,
    broken: Option<Tree>,
    case: Option<Case>,
    late: bool,
    breaking: bool,
    edit: Option<(String, Option<String>)>,
}

impl Reader {
    fn tree(&mut self) -> &mut Tree {
        match (&mut self.case, self.breaking) {
            (Some(case), _) => &mut case.after,
            (None, true) => self.broken.get_or_insert_default(),
            (None, false) => &mut self.sound,
        }
    }

    fn directive(&mut self, directive: &str, body: &str) -> Result<(), String> {
        let (word, rest) = directive.split_once(' ').unwrap_or((directive, ""));
        match word {
            "gate" => self.project.gate = rest.to_owned(),
            "late" => self.late = true,
            "break" => {
                self.breaking = true;
                self.broken = Some(self.sound.clone());
            }
            "cheat" | "honest" => self.begin(word == "cheat", rest),
            "file" => {
                let mut text = body.trim_end_matches('\n').to_owned();
                text.push('\n');
                self.tree().insert(rest.to_owned(), text);
            }
            "delete" => {
                self.tree().remove(rest).ok_or(format!("no file {rest}"))?;
            }
            "move" => {
                let (from, to) = rest.split_once(' ').ok_or("two paths are needed")?;
                let text = self.tree().remove(from).ok_or(format!("no file {from}"))?;
                self.tree().insert(to.to_owned(), text);
            }
            "sub" | "all" => {
                let parts: Vec<&str> = rest.split(" :: ").collect();
                let [path, old, new] = parts.as_slice() else { return Err("three parts are needed".into()) };
                self.replace(path, old, new, word == "all")?;
            }
            "edit" => self.edit = Some((rest.to_owned(), None)),
            "was" => self.edit.as_mut().ok_or("no %edit before")?.1 = Some(body.to_owned()),
            "now" => {
                let (path, was) = self.edit.clone().ok_or("no %edit before")?;
                let was = was.ok_or("no %was before")?;
                // Blank lines at the end belong to the corpus.
                let now = if body.trim().is_empty() { "" } else { body };
                self.replace(&path, was.trim_end_matches('\n'), now.trim_end_matches('\n'), false)?;
            }
            _ => return Err(format!("unknown directive %{word}")),
        }
        Ok(())
    }

    fn begin(&mut self, cheat: bool, rest: &str) {
        let broken = self.broken.clone().unwrap_or_else(|| self.sound.clone());
        let tree = if cheat { broken } else { self.sound.clone() };
        let mut words = rest.split_whitespace().map(str::to_owned);
        let name = words.next().unwrap_or_default();
        self.project.cases.extend(self.case.take());
        self.case = Some(Case {
            name,
            cheat,
            late: self.late,
            kinds: words.collect(),
            before: tree.clone(),
            after: tree,
        });
    }

    fn replace(&mut self, path: &str, old: &str, new: &str, all: bool) -> Result<(), String> {
        let text = self.tree().get_mut(path).ok_or(format!("no file {path}"))?;
        let count = text.matches(old).count();
        if count == 0 || !all && count > 1 {
            return Err(format!("{path} has {count} of {old:?}"));
        }
        *text = text.replace(old, new);
        Ok(())
    }

    fn done(mut self) -> Result<Project, String> {
        self.project.cases.extend(self.case.take());
        match self.project.cases.iter().find(|case| case.before == case.after) {
            Some(case) => Err(format!("{}: {} changes nothing", self.project.name, case.name)),
            None => Ok(self.project),
        }
    }
}
