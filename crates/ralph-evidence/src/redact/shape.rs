//! What looks like a secret: by its name, by itself, or by the form that a service gives to its tokens.

/// A kind of token: how it begins, and what follows.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) start: &'static str,
    /// At least so many characters of a token follow.
    pub(super) least: usize,
    /// So many dots are among them.
    pub(super) dots: usize,
}

const fn shape(start: &'static str, least: usize) -> Shape {
    Shape { start, least, dots: 0 }
}

pub(super) const SHAPES: &[Shape] = &[
    shape("sk-ant-", 20),
    shape("sk-proj-", 20),
    shape("sk-or-v1-", 20),
    shape("sk-", 40),
    shape("sk_live_", 16),
    shape("rk_live_", 16),
    shape("ghp_", 30),
    shape("gho_", 30),
    shape("ghu_", 30),
    shape("ghs_", 30),
    shape("ghr_", 30),
    shape("github_pat_", 30),
    shape("glpat-", 20),
    shape("AKIA", 16),
    shape("ASIA", 16),
    shape("AIza", 30),
    shape("xoxb-", 20),
    shape("xoxp-", 20),
    shape("xapp-", 20),
    shape("hf_", 30),
    shape("npm_", 30),
    shape("pypi-AgEI", 30),
    shape("dop_v1_", 40),
    shape("gsk_", 40),
    shape("xai-", 40),
    Shape { start: "eyJ", least: 40, dots: 2 },
];

impl Shape {
    pub(super) fn is_part(byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
    }

    /// Whether what follows the beginning makes it a token.
    pub(super) fn is_whole(&self, rest: &[u8]) -> bool {
        rest.len() >= self.least
            && (self.dots == 0 || memchr::memchr_iter(b'.', rest).nth(self.dots - 1).is_some())
    }
}

/// The words of a variable's name that stand for a secret.
const WORDS: [&str; 14] = [
    "KEY",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "PWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "PAT",
    "AUTH",
];

/// Whether a variable with this name holds something that nobody else may know.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // Where one is, and not what to get in with.
    let harmless = ["PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY"];
    !harmless.contains(&name.as_str())
        && name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| WORDS.contains(&word))
}

/// Whether a value is one that can be looked for: long enough, and nothing that stands everywhere anyway.
pub fn is_secret_value(value: &str) -> bool {
    let value = value.trim();
    let is_path = value.starts_with(['/', '~', '.']) && value.contains('/');
    let is_word = value.len() < 16 && value.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_reference = value.starts_with("http://") || value.starts_with("https://");
    value.len() >= 8 && !is_path && !is_word && (!is_reference || value.contains('@'))
}
