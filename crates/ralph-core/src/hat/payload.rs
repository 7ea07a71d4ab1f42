//! What an event carries: any bytes, unchanged.

use serde::{Deserialize, Serialize};

/// More is refused: it belongs into a file.
pub const MAX_PAYLOAD: usize = 2 << 20;

/// Text where the bytes are text; else they are kept as base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Payload {
    Text(String),
    Bytes { base64: String },
}

impl Default for Payload {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Payload {
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Bytes { base64: encode(error.as_bytes()) },
        }
    }

    /// The bytes that went in. Base64 that is none, as no ralph writes it, is taken as it stands.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Bytes { base64 } => decode(base64).unwrap_or_else(|| base64.clone().into_bytes()),
        }
    }

    /// The text, or the base64 of what is none.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Bytes { base64 } => base64,
        }
    }

    /// Bytes in memory and on disk, which is more than went in for what is not text.
    pub fn len(&self) -> usize {
        self.as_str().len()
    }

    pub fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }

    /// The first line that is not blank.
    pub fn first_line(&self) -> &str {
        match self {
            Self::Text(text) => text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default(),
            Self::Bytes { .. } => "(not text)",
        }
    }

    /// What it is about, so that two reports about the same thing are told from two about different ones: what a JSON
    /// object calls its task, else the first line.
    pub fn subject(&self) -> String {
        let json: Option<serde_json::Value> = match self {
            Self::Text(text) if text.trim_start().starts_with('{') => serde_json::from_str(text).ok(),
            _ => None,
        };
        let named = ["task", "task_id", "subject", "id", "title", "name"].iter().find_map(|key| {
            match json.as_ref()?.get(key)? {
                serde_json::Value::String(text) => Some(text.trim().to_owned()),
                serde_json::Value::Null => None,
                other => Some(other.to_string()),
            }
        });
        let whole = match self {
            Self::Text(_) => self.first_line(),
            Self::Bytes { base64 } => base64,
        };
        named.unwrap_or_else(|| whole.chars().take(200).collect())
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let at = |n: usize| u32::from(chunk.get(n).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for n in 0..4 {
            let index = (bits >> (18 - 6 * n)) & 0x3f;
            out.push(if n <= chunk.len() { char::from(ALPHABET[index as usize]) } else { '=' });
        }
    }
    out
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    for chunk in text.chunks(4) {
        let mut bits = 0u32;
        for n in 0..4 {
            let value = match chunk.get(n) {
                Some(byte) => ALPHABET.iter().position(|known| known == byte)?,
                None => 0,
            };
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        let [_, a, b, c] = bits.to_be_bytes();
        out.extend(&[a, b, c][..chunk.len() - 1]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back_as_they_went_in_through_the_journal_too() {
        let mut every: Vec<Vec<u8>> = (0..=255u8).map(|n| vec![0xff, n]).collect();
        every.extend((0..64usize).map(|n| (0..n).map(|i| (i * 37 + n) as u8 | 0x80).collect()));
        every.extend([b"".to_vec(), b"\0\"\n</event>\n## Task".to_vec(), "grün".as_bytes().to_vec()]);
        for bytes in every {
            let payload = Payload::from_bytes(bytes.clone());
            let json = serde_json::to_string(&payload).unwrap();
            let back: Payload = serde_json::from_str(&json).unwrap();
            assert_eq!((back.to_bytes(), &back), (bytes, &payload), "{json}");
        }
    }

    #[test]
    fn what_is_no_text_is_kept_as_common_base64() {
        let base64 = |bytes: &[u8]| encode(bytes);
        assert_eq!(base64(b"light work."), "bGlnaHQgd29yay4=");
        assert_eq!(base64(b"light work"), "bGlnaHQgd29yaw==");
        assert_eq!(base64(b"light wor"), "bGlnaHQgd29y");
        let json = serde_json::to_string(&Payload::from_bytes(vec![0xff])).unwrap();
        assert_eq!(json, r#"{"base64":"/w=="}"#);
    }

    #[test]
    fn the_subject_is_the_task_of_an_object_else_the_first_line() {
        let subject = |text: &str| Payload::Text(text.to_owned()).subject();
        assert_eq!(subject("\n  Task 3: no key \nmore"), "Task 3: no key");
        assert_eq!(subject(r#"{"why":"x","task":"T-1"}"#), "T-1");
        assert_eq!(subject(r#"{"id":7}"#), "7");
        assert_eq!(subject(r#"{"why":"x"}"#), r#"{"why":"x"}"#);
        assert_eq!(subject("{no json"), "{no json");
        assert_eq!(subject(""), "");
    }
}
