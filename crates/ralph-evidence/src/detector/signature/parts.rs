//! The parts of a signature as one line of text names them: a kind of error, a file, an edit, a search, a beginning.
//!
//! Apart from the reader, which chooses among them over a whole output.

pub(super) const MAX_PART: usize = 40;
const MAX_START: usize = 50;

/// The normalised beginning of a text.
pub(super) fn start(line: &str) -> Option<String> {
    let mut words = Vec::new();
    for word in line.split_whitespace() {
        let masked: String = word.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
        words.push(masked);
    }
    let text = slug(&words.join(" "), MAX_START);
    (!text.is_empty()).then_some(text)
}

/// Lower case, with single hyphens for what is no letter or digit.
pub(super) fn slug(text: &str, most: usize) -> String {
    let mut out = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if out.chars().count() >= most {
            break;
        }
        if c.is_alphanumeric() || matches!(c, '_' | '#' | '.') {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_end_matches(['-', '.']).to_owned()
}

pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '\'')).filter(|word| !word.is_empty())
}

/// What kind of error a line names: `TypeError-null`, `E0308`, `TS2322`.
pub(super) fn error_kind(line: &str, lower: &str) -> Option<String> {
    const HINTS: &[&str] = &[
        "null",
        "nil",
        "undefined",
        "timeout",
        "permission",
        "denied",
        "missing",
        "mismatched",
        "unresolved",
        "overflow",
        "refused",
        "syntax",
        "import",
        "unused",
    ];
    let hint = || words(line).map(str::to_lowercase).find(|word| HINTS.contains(&word.as_str()));
    let with = |kind: &str| match hint() {
        Some(hint) if !kind.to_lowercase().contains(&hint) => format!("{kind}-{hint}"),
        _ => kind.to_owned(),
    };
    let named = |word: &&str| {
        let stem = word.strip_suffix("Error").or_else(|| word.strip_suffix("Exception"));
        stem.is_some_and(|stem| stem.starts_with(|c: char| c.is_uppercase()))
    };
    if let Some(kind) = words(line).find(named) {
        return Some(with(kind));
    }
    let begins = ["error", "fatal", "panic", "failed to", "cannot ", "uncaught"];
    const MARKS: &[&str] =
        &["error:", "error[", " error ", "panicked at", "fatal:", "err!", "exception:", "panic:"];
    let marked = MARKS.iter().filter_map(|mark| lower.rfind(mark).map(|at| at + mark.len())).max();
    if marked.is_none() && !begins.iter().any(|begin| lower.starts_with(begin)) {
        return None;
    }
    let code = words(line).find(|word| {
        let letters = word.chars().take_while(char::is_ascii_uppercase).count();
        (1..=5).contains(&letters)
            && word.len() - letters >= 2
            && word[letters..].chars().all(|c| c.is_ascii_digit())
    });
    if let Some(code) = code {
        return Some(code.to_owned());
    }
    let said = marked.and_then(|at| line.get(at..)).unwrap_or(line);
    let said = words(said).filter(|word| word.len() > 3 && word.chars().all(char::is_alphabetic));
    let said: Vec<&str> = said.filter(|word| !word.eq_ignore_ascii_case("error")).take(3).collect();
    (!said.is_empty()).then(|| slug(&said.join(" "), MAX_PART))
}

/// The first file that a line names.
pub(super) fn file_in(line: &str) -> Option<&str> {
    let chunks = line.split(|c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '(' | ')' | '[' | ']' | ',' | ';' | '*' | '=' | '<' | '>' | '|')
    });
    chunks
        .map(|chunk| chunk.split(':').next().unwrap_or(chunk).trim_end_matches(['.', '!', '?']))
        .find(|chunk| is_file(chunk))
}

fn is_file(chunk: &str) -> bool {
    let name = base(chunk);
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let extension_fits = (1..=6).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.starts_with(|c: char| c.is_ascii_lowercase());
    // Not `e.g`.
    let letters = stem.chars().filter(|c| c.is_alphabetic()).count();
    let stem_fits = letters + extension.len() > 2
        && letters > 0
        && stem.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '@'));
    // `self.name` and `user.profile` look like files: what stands in code most often is no extension.
    const NO_FILES: &[&str] =
        &["com", "org", "io", "net", "length", "name", "id", "profile", "to", "value", "unwrap", "push"];
    extension_fits && stem_fits && !NO_FILES.contains(&extension) && !chunk.contains("//")
}

pub(super) fn base(path: &str) -> &str {
    path.trim_end_matches('/').rsplit(['/', '\\']).next().unwrap_or(path)
}

/// `Modified auth.ts, added null check for …` is `auth.ts:null-check`.
pub(super) fn edit(line: &str, file: &str) -> Option<String> {
    const DONE: &[&str] = &[
        "added",
        "removed",
        "fixed",
        "updated",
        "changed",
        "modified",
        "refactored",
        "renamed",
        "replaced",
        "rewrote",
        "wrote",
        "created",
        "edited",
        "extracted",
        "moved",
        "implemented",
        "deleted",
        "introduced",
        "simplified",
    ];
    const ENDS: &[&str] = &[
        "for", "to", "in", "of", "from", "with", "and", "so", "at", "the", "a", "an", "on", "line", "lines",
    ];
    let around = line.replacen(file, " ", 1);
    let said: Vec<&str> = words(&around).collect();
    let verbs = said.iter().enumerate().filter(|(_, word)| DONE.contains(&word.to_lowercase().as_str()));
    let verbs: Vec<usize> = verbs.map(|(at, _)| at).collect();
    let what = verbs.iter().rev().find_map(|at| {
        let what = said[at + 1..].iter().skip_while(|word| ENDS.contains(&word.to_lowercase().as_str()));
        let what = what.take_while(|word| !ENDS.contains(&word.to_lowercase().as_str()));
        let what: Vec<&str> = what.take(2).copied().collect();
        (!what.is_empty()).then(|| slug(&what.join(" "), MAX_PART))
    });
    let verb = said.get(*verbs.first()?)?.to_lowercase();
    Some(format!("{}:{}", base(file), what.unwrap_or(verb)))
}

/// `Searched GitHub for 'oauth2 refresh token'` is `search:oauth2-refresh-token`.
pub(super) fn search(line: &str, lower: &str) -> Option<String> {
    let searches = ["searched", "searching", "grepped", "looked for", "looking for", "googled"];
    let at = searches.iter().find_map(|word| lower.find(word))?;
    let rest = line.get(at..)?;
    let quoted = ['\'', '"', '`'].iter().find_map(|quote| {
        let mut parts = rest.split(*quote).skip(1);
        let inner = parts.next().filter(|inner| !inner.is_empty())?;
        parts.next().map(|_| inner)
    });
    let query = quoted.or_else(|| rest.split_once(" for ").map(|(_, query)| query))?;
    let query = query.split([',', '.', ';']).next().unwrap_or(query);
    Some(format!("search:{}", slug(query, MAX_PART)))
}
