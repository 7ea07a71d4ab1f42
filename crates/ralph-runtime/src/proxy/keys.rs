//! Keys that a program has placeholders for: put into what goes to their hosts, and taken out of what comes back.

use std::io::{self, Write};

use memchr::memmem;
use ralph_core::plan::Host;

use super::head::{Head, Place};

/// A shorter one could be guessed, and would be found in other text.
const LEAST: usize = 16;

/// A key and what stands for it. Both are equally long, so that no length that a server tells is wrong.
#[derive(Clone, PartialEq)]
pub(crate) struct Key {
    value: String,
    placeholder: String,
    hosts: Vec<Host>,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key")
            .field("placeholder", &self.placeholder)
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}

impl Key {
    /// `random`: text that nobody can guess.
    pub(crate) fn new(value: &str, hosts: &[Host], random: &str) -> Result<Self, String> {
        if value.len() < LEAST {
            return Err(format!("a key of fewer than {LEAST} characters is none"));
        }
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a key is one line of plain characters".to_owned());
        }
        let placeholder: String = "ralph-".chars().chain(random.chars().cycle()).take(value.len()).collect();
        Ok(Self { value: value.to_owned(), placeholder, hosts: hosts.to_vec() })
    }

    pub(crate) fn placeholder(&self) -> &str {
        &self.placeholder
    }

    pub(super) fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    pub(super) fn is_for(&self, place: &Place) -> bool {
        self.hosts.iter().any(|host| host.is_asked(&place.host, place.port))
    }
}

/// Puts the keys into a request: its headers, and its path, where some services look for a key.
pub(super) fn put_in(head: &mut Head, path: &str, keys: &[&Key]) -> String {
    // What is compressed cannot be looked through on its way back.
    head.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("accept-encoding"));
    head.headers.push(("Accept-Encoding".to_owned(), b"identity".to_vec()));
    let mut path = path.to_owned();
    for key in keys {
        let (from, to) = (key.placeholder.as_bytes(), key.value.as_bytes());
        for (_, value) in &mut head.headers {
            *value = replaced(value, from, to);
        }
        path = path.replace(&key.placeholder, &escaped(&key.value));
    }
    path
}

/// As it may stand in a path.
fn escaped(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = memmem::find(rest, from) {
        let (before, behind) = rest.split_at(at);
        out.extend_from_slice(before);
        out.extend_from_slice(to);
        rest = behind.get(from.len()..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}

/// Takes keys out of an answer while it passes: a service that repeats what it was sent tells no key. Only an end that may be
/// the beginning of a key waits for what comes next.
pub(super) struct TakeOut<'a, W: Write> {
    keys: &'a [&'a Key],
    held: Vec<u8>,
    to: W,
}

impl<'a, W: Write> TakeOut<'a, W> {
    pub(super) fn new(keys: &'a [&'a Key], to: W) -> Self {
        Self { keys, held: Vec::new(), to }
    }

    /// What was held back: there is no more.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.to.write_all(&self.held)?;
        self.to.flush()
    }

    /// How much of the end may be the beginning of a key.
    fn unsure(&self) -> usize {
        let longest = |key: &&Key| {
            let value = key.value.as_bytes();
            let most = value.len().saturating_sub(1).min(self.held.len());
            (1..=most)
                .rev()
                .find(|length| self.held.ends_with(value.get(..*length).unwrap_or_default()))
                .unwrap_or(0)
        };
        self.keys.iter().map(longest).max().unwrap_or(0)
    }
}

impl<W: Write> Write for TakeOut<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        for key in self.keys {
            self.held = replaced(&self.held, key.value.as_bytes(), key.placeholder.as_bytes());
        }
        let sure = self.held.len() - self.unsure();
        self.to.write_all(self.held.get(..sure).unwrap_or_default())?;
        self.held.drain(..sure);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::super::head;
    use super::*;

    const VALUE: &str = "sk-0123456789/abcdef";

    fn key() -> Key {
        Key::new(VALUE, &["a.b".parse().expect("a host")], "00ff").expect("a key")
    }

    #[test]
    fn a_key_stands_where_its_placeholder_stood_and_the_rest_stays() {
        let key = key();
        assert_eq!((key.placeholder(), key.placeholder().len()), ("ralph-00ff00ff00ff00", VALUE.len()));
        let mark = key.placeholder();
        let text = format!(
            "GET /x HTTP/1.1\r\nX-Api-Key: {mark}\r\nAuthorization: Bearer {mark}\r\nAccept-Encoding: gzip\r\n\r\n"
        );
        let mut head = head::parse(text.as_bytes()).expect("a head");
        let path = put_in(&mut head, &format!("/v1?key={mark}&x=1"), &[&key]);
        assert_eq!(path, "/v1?key=sk-0123456789%2Fabcdef&x=1");
        let place = Place { host: "a.b".to_owned(), port: 443 };
        let bytes = head.forwarded(&place, 443, &path);
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains(&format!("X-Api-Key: {VALUE}\r\nAuthorization: Bearer {VALUE}\r\n")), "{text}");
        assert!(text.contains("Accept-Encoding: identity") && !text.contains("gzip") && !text.contains(mark));
        assert!(key.is_for(&place) && !key.is_for(&Place { host: "a.b".to_owned(), port: 22 }));
        assert!(!format!("{key:?}").contains(VALUE));
    }

    #[test]
    fn what_comes_back_has_no_key_however_it_is_cut_and_nothing_else_waits() {
        let key = key();
        let text = format!("data: {VALUE} sk-0123 {VALUE}{VALUE}sk-");
        for size in 1..=text.len() {
            let (keys, mut out) = ([&key], Vec::new());
            let mut filter = TakeOut::new(&keys, &mut out);
            for piece in text.as_bytes().chunks(size) {
                filter.write_all(piece).expect("written");
            }
            filter.finish().expect("written");
            assert_eq!(String::from_utf8_lossy(&out), text.replace(VALUE, key.placeholder()), "{size}");
        }
        let (keys, mut out) = ([&key], Vec::new());
        TakeOut::new(&keys, &mut out).write_all(b"data: hello\n\n").expect("written");
        assert_eq!(out, b"data: hello\n\n");
    }

    #[test]
    fn what_is_no_key_is_told() {
        for text in ["short", "with a space in it", "two\nlines of sixteen", "not-ascii-ééééééééé"] {
            assert!(Key::new(text, &[], "0").is_err(), "{text}");
        }
    }
}
