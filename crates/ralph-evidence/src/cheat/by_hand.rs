//! The commands with which a person makes the same edits, and sees the same.

use similar::TextDiff;

use super::{Edit, Project};

/// What the commands work on.
pub struct Copy<'a> {
    /// The workspace, which they copy and never touch.
    pub workspace: &'a str,
    pub project: &'a Project,
}

/// Lines for a POSIX shell: a copy of the workspace, the edits, and each gate with its exit code.
pub fn by_hand(copy: &Copy<'_>, edits: &[Edit], gates: &[(String, Vec<String>)]) -> String {
    let mut out = vec![
        "copy=$(mktemp -d)".to_owned(),
        format!("cp -a {}/. \"$copy\"", quote(copy.workspace)),
        "cd \"$copy\"".to_owned(),
    ];
    let mut patch = String::new();
    for edit in edits {
        match edit {
            Edit::Remove { path } => out.push(format!("rm -- {}", quote(path))),
            Edit::Write { path, text, executable } => {
                match copy.project.text(path).filter(|old| is_patchable(path, old, text)) {
                    Some(old) => patch.push_str(&diff(path, old, text)),
                    None => out.extend(written(path, text, *executable)),
                }
            }
        }
    }
    if !patch.is_empty() {
        let end = delimiter(&patch);
        out.push(format!("git apply - <<'{end}'\n{patch}{end}"));
    }
    let folders: Vec<String> =
        copy.project.path_folders.iter().map(|folder| format!("\"$copy\"/{}", quote(folder))).collect();
    if !folders.is_empty() {
        out.push(format!("export PATH={}:\"$PATH\"", folders.join(":")));
    }
    for (name, words) in gates {
        let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
        out.push(format!(
            "{}; echo \"gate {}: exit code $?\"",
            words.join(" "),
            name.replace(['"', '$', '`', '\\'], "")
        ));
    }
    out.join("\n")
}

/// git reads names with such characters in another way.
fn is_patchable(path: &str, old: &str, new: &str) -> bool {
    let plain = path.chars().all(|c| !c.is_control() && !"\"\\".contains(c)) && !path.contains(' ');
    plain && !old.is_empty() && !new.is_empty() && !old.contains('\r')
}

fn diff(path: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut diff = diff.unified_diff();
    let text = diff.context_radius(1).header(&format!("a/{path}"), &format!("b/{path}")).to_string();
    if text.ends_with('\n') { text } else { format!("{text}\n") }
}

fn written(path: &str, text: &str, executable: bool) -> Vec<String> {
    let mut out = Vec::new();
    if let Some((folder, _)) = path.rsplit_once('/') {
        out.push(format!("mkdir -p -- {}", quote(folder)));
    }
    let end = delimiter(text);
    // What is written over may be a link that leads away.
    out.push(format!("rm -f -- {0}\ncat > {0} <<'{end}'\n{1}{end}", quote(path), with_newline(text)));
    if executable {
        out.push(format!("chmod +x {}", quote(path)));
    }
    out
}

fn with_newline(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

/// A word that is no line of the text.
fn delimiter(text: &str) -> String {
    let mut end = "END".to_owned();
    while text.lines().any(|line| line == end) {
        end.push('_');
    }
    end
}

/// A word as a shell reads it.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
