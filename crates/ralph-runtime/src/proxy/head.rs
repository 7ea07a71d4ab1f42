//! The head of a request, read from bytes that may be anything. What could be understood in two ways is refused: who forwards a
//! request must see in it what the server behind sees.

use std::borrow::Cow;

/// Longer heads are refused.
pub const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub method: String,
    pub target: Target,
    /// In the order they came. Values are bytes without line ends.
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `CONNECT host:port`.
    Tunnel(Place),
    /// `GET http://host:port/path`.
    Elsewhere(Place, String),
    /// `GET /path`: the proxy itself.
    Here(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// A name, or an address without brackets.
    pub host: String,
    pub port: u16,
}

/// How much follows the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    Nothing,
    Length(u64),
    Chunked,
}

/// Why a head is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub &'static str);

const NO_REQUEST: Refused = Refused("this is no HTTP request");
const NO_TARGET: Refused = Refused("the address of the request cannot be read");
const NO_HEADER: Refused = Refused("a header of the request cannot be read");
const NO_LENGTH: Refused =
    Refused("the length of the request's body is said in two ways, or in one that cannot be read");

/// The end of the head in these bytes, if it is there: where the body begins. `seen` of them were looked at before.
pub fn end(bytes: &[u8], seen: usize) -> Result<Option<usize>, Refused> {
    let from = seen.saturating_sub(3);
    let found = bytes.get(from..).unwrap_or_default().windows(4).position(|four| four == b"\r\n\r\n");
    match found.map(|at| from + at + 4) {
        Some(end) if end <= MAX_HEAD => Ok(Some(end)),
        None if bytes.len() < MAX_HEAD => Ok(None),
        _ => Err(Refused("the head of the request is longer than 64 KiB")),
    }
}

/// Reads a whole head, its empty last line included.
pub fn parse(bytes: &[u8]) -> Result<Head, Refused> {
    let bytes = bytes.strip_suffix(b"\r\n\r\n").ok_or(NO_REQUEST)?;
    let mut lines = Lines(Some(bytes));
    let first = lines.next().ok_or(NO_REQUEST)??;
    let first = std::str::from_utf8(first).map_err(|_| NO_REQUEST)?;
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(NO_REQUEST);
    };
    if method.is_empty() || method.len() > 32 || !method.bytes().all(is_token) {
        return Err(NO_REQUEST);
    }
    let mut headers = Vec::new();
    for line in lines {
        if headers.len() == MAX_HEADERS {
            return Err(Refused("the request has more than 128 headers"));
        }
        headers.push(header(line?)?);
    }
    let body = body(&headers)?;
    Ok(Head { method: method.to_owned(), target: read_target(method, target)?, headers, body })
}

/// Lines that end as lines of a head do, and in no other way.
struct Lines<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Lines<'a> {
    type Item = Result<&'a [u8], Refused>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0?;
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n' | 0));
        let Some(end) = end else {
            self.0 = None;
            return Some(Ok(rest));
        };
        let (line, after) = rest.split_at(end);
        self.0 = after.strip_prefix(b"\r\n");
        Some(if self.0.is_some() { Ok(line) } else { Err(NO_HEADER) })
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn header(line: &[u8]) -> Result<(String, Vec<u8>), Refused> {
    let colon = line.iter().position(|byte| *byte == b':').ok_or(NO_HEADER)?;
    let (name, value) = line.split_at(colon);
    if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
        return Err(NO_HEADER);
    }
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    if value.iter().any(|byte| *byte < b' ' && *byte != b'\t' || *byte == 0x7f) {
        return Err(NO_HEADER);
    }
    Ok((String::from_utf8_lossy(name).into_owned(), value.to_vec()))
}

fn body(headers: &[(String, Vec<u8>)]) -> Result<Body, Refused> {
    let values = |name: &str| -> Vec<Cow<'_, str>> {
        let of_name = headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        of_name.map(|(_, value)| String::from_utf8_lossy(value)).collect()
    };
    match (&values("content-length")[..], &values("transfer-encoding")[..]) {
        ([], []) => Ok(Body::Nothing),
        ([length], []) if !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit()) => {
            length.parse().map(Body::Length).map_err(|_| NO_LENGTH)
        }
        ([], [coding]) if coding.eq_ignore_ascii_case("chunked") => Ok(Body::Chunked),
        _ => Err(NO_LENGTH),
    }
}

fn read_target(method: &str, target: &str) -> Result<Target, Refused> {
    if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(NO_TARGET);
    }
    if method == "CONNECT" {
        return Ok(Target::Tunnel(place(target, None)?));
    }
    if target.starts_with('/') {
        return Ok(Target::Here(target.to_owned()));
    }
    let scheme = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://")).ok_or(NO_TARGET)?;
    let rest = target.get(scheme.len()..).unwrap_or_default();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = path.split('#').next().unwrap_or_default();
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(Target::Elsewhere(place(authority, Some(80))?, path))
}

/// `host`, `host:port`, `[address]:port`.
fn place(text: &str, usual: Option<u16>) -> Result<Place, Refused> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(six) => six.split_once(']').ok_or(NO_TARGET)?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => port.parse().ok(),
        None if rest.is_empty() => usual,
        _ => None,
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    match port.filter(|port| *port > 0) {
        Some(port) if !host.is_empty() && host.len() <= 255 && host.bytes().all(is_name) => {
            Ok(Place { host: host.to_owned(), port })
        }
        _ => Err(NO_TARGET),
    }
}

/// Headers that are about one connection, and not for the server behind.
const OF_THE_CONNECTION: [&str; 9] = [
    "connection",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "keep-alive",
    "te",
    "upgrade",
    "host",
    "expect",
];

/// `host/path` of an address at the proxy itself.
pub fn behind(text: &str) -> Result<(Place, String), Refused> {
    let (authority, path) = text.split_at(text.find(['/', '?']).unwrap_or(text.len()));
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok((place(authority, Some(443))?, path))
}

impl Head {
    /// The head as the server behind gets it: one request, after which it closes.
    pub fn forwarded(&self, place: &Place, usual_port: u16, path: &str) -> Vec<u8> {
        let host = if place.host.contains(':') { format!("[{}]", place.host) } else { place.host.clone() };
        let port = if place.port == usual_port { String::new() } else { format!(":{}", place.port) };
        let first = format!("{} {path} HTTP/1.1\r\nHost: {host}{port}\r\n", self.method);
        let mut bytes = first.into_bytes();
        let listed = self.listed();
        for (name, value) in &self.headers {
            let is_own = |other: &str| name.eq_ignore_ascii_case(other);
            if OF_THE_CONNECTION.iter().any(|other| is_own(other)) || listed.iter().any(|other| is_own(other))
            {
                continue;
            }
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"Connection: close\r\n\r\n");
        bytes
    }

    /// Names that the client says are of this connection. Its length is not for it to take away.
    fn listed(&self) -> Vec<String> {
        let of_name = self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("connection"));
        let words = of_name.flat_map(|(_, value)| value.split(|byte| *byte == b','));
        let words = words.map(|word| String::from_utf8_lossy(word.trim_ascii()).to_ascii_lowercase());
        words.filter(|word| !matches!(word.as_str(), "content-length" | "transfer-encoding")).collect()
    }

    /// The client waits for a word before it sends the body.
    pub fn expects_word(&self) -> bool {
        self.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("expect") && value.eq_ignore_ascii_case(b"100-continue")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Head, Refused> {
        parse(text.as_bytes())
    }

    fn place(host: &str, port: u16) -> Place {
        Place { host: host.to_owned(), port }
    }

    #[test]
    fn targets_are_read_and_what_could_mean_two_things_is_refused() {
        let target = |line: &str| read(&format!("{line} HTTP/1.1\r\nA: b\r\n\r\n")).map(|head| head.target);
        assert_eq!(target("CONNECT a.b:443"), Ok(Target::Tunnel(place("a.b", 443))));
        assert_eq!(target("CONNECT [::1]:443"), Ok(Target::Tunnel(place("::1", 443))));
        let elsewhere = |host, port, path: &str| Ok(Target::Elsewhere(place(host, port), path.to_owned()));
        assert_eq!(target("GET http://a.b/c?d#e"), elsewhere("a.b", 80, "/c?d"));
        assert_eq!(target("GET HTTP://a.b:81?d"), elsewhere("a.b", 81, "/?d"));
        assert_eq!(target("GET http://a.b"), elsewhere("a.b", 80, "/"));
        assert_eq!(target("POST /x"), Ok(Target::Here("/x".to_owned())));
        for line in [
            "CONNECT a.b",
            "CONNECT a.b:0",
            "CONNECT a.b:99999",
            "CONNECT user@a.b:443",
            "CONNECT a.b:443:1",
            "CONNECT [::1",
            "CONNECT :443",
            "GET https://a.b/",
            "GET ftp://a.b/",
            "GET http://u:p@a.b/",
            "GET *",
            "GET http:///x",
            "GET a.b",
            "GET",
            "GET /a b",
            " GET /",
            "G\tT /",
            "GET  /",
            "GET http://a%2eb/",
            "GET http://a\\b/",
        ] {
            assert!(target(line).is_err(), "{line}");
        }
    }

    #[test]
    fn lines_and_lengths_have_one_meaning_or_are_refused() {
        let head = |rest: &str| read(&format!("POST / HTTP/1.1\r\n{rest}\r\n"));
        assert_eq!(head("Content-Length: 7\r\n").map(|head| head.body), Ok(Body::Length(7)));
        assert_eq!(head("Transfer-Encoding: Chunked\r\n").map(|head| head.body), Ok(Body::Chunked));
        assert_eq!(head("").map(|head| head.body), Ok(Body::Nothing));
        for rest in [
            "Content-Length: 7\r\nContent-Length: 7\r\n",
            "Content-Length: 7\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: +7\r\n",
            "Content-Length: -1\r\n",
            "Content-Length:\r\n",
            "Content-Length: 7, 7\r\n",
            "Content-Length: 99999999999999999999999\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "A: b\nC: d\r\n",
            "A: b\r C: d\r\n",
            "A : b\r\n",
            " folded\r\n",
            ": b\r\n",
            "no colon\r\n",
            "A: b\0\r\n",
            "A: \u{1}\r\n",
        ] {
            assert!(head(rest).is_err(), "{rest:?}");
        }
        assert!(read("GET / HTTP/2\r\n\r\n").is_err() && read("GET /\r\n\r\n").is_err());
        assert!(head(&"A: b\r\n".repeat(129)).is_err() && head(&"A: b\r\n".repeat(128)).is_ok());
    }

    #[test]
    fn what_is_forwarded_has_the_place_that_was_looked_at_and_nothing_of_the_connection() {
        let text = "GET http://a.b/c HTTP/1.1\r\nHost: evil.org\r\nConnection: keep-alive, X-Own, Content-Length\r\n\
                    X-Own: 1\r\nAccept: x\r\nProxy-Authorization: y\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n";
        let head = read(text).expect("a head");
        let bytes = head.forwarded(&place("a.b", 80), 80, "/c");
        let expected =
            "GET /c HTTP/1.1\r\nHost: a.b\r\nAccept: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n";
        assert_eq!(String::from_utf8_lossy(&bytes), expected);
        let bytes = head.forwarded(&place("::1", 81), 80, "/");
        assert!(String::from_utf8_lossy(&bytes).contains("Host: [::1]:81\r\n"));
    }

    #[test]
    fn the_end_of_a_head_is_found_across_pieces_and_not_looked_for_without_end() {
        let text = b"GET / HTTP/1.1\r\n\r\nbody";
        for seen in 0..18 {
            for more in 1..=text.len() - seen {
                let whole = end(text.get(..seen + more).unwrap_or_default(), seen).expect("short");
                assert_eq!(whole, (seen + more >= 18).then_some(18), "{seen} and {more}");
            }
        }
        assert!(end(&[b'a'; MAX_HEAD], 0).is_err());
    }
}
