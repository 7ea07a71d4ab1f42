//! As much of HTTP/1.1 as the CLIs need: one request, one answer of known length.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Prompts are short here. A body longer than this is a mistake.
const MOST: usize = 64 << 20;

pub struct Request {
    pub method: String,
    pub path: String,
    pub body: Vec<u8>,
}

pub struct Response {
    status: u16,
    kind: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
    /// Bytes of the body that are announced and do not come.
    withheld: usize,
}

impl Response {
    pub fn json(status: u16, body: Value) -> Response {
        Response {
            status,
            kind: "application/json",
            headers: Vec::new(),
            body: body.to_string(),
            withheld: 0,
        }
    }

    pub fn events(body: String) -> Response {
        Response { status: 200, kind: "text/event-stream", headers: Vec::new(), body, withheld: 0 }
    }

    /// Ends behind the first place where this stands, in the middle of what was announced.
    pub fn cut_behind(mut self, text: &str) -> Response {
        if let Some(at) = self.body.find(text) {
            let rest = self.body.split_off(at + text.len());
            self.withheld = rest.len();
            // A whole event comes through.
            self.body.push_str(rest.split_inclusive("\n\n").next().unwrap_or_default());
            self.withheld = self.withheld.max(1);
        }
        self
    }

    pub fn header(mut self, name: &'static str, value: impl ToString) -> Response {
        self.headers.push((name, value.to_string()));
        self
    }
}

/// Nothing when the client hung up.
pub fn read(stream: &TcpStream) -> io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        let Some((name, value)) = header.split_once(':') else { continue };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "transfer-encoding" => chunked = value.contains("chunked"),
            "expect" => (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            _ => {}
        }
    }
    let body = if chunked { read_chunks(&mut reader)? } else { read_exactly(&mut reader, length)? };
    Ok(Some(Request { method, path, body }))
}

fn read_exactly(reader: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    if length > MOST {
        return Err(io::Error::other("the body is too long"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
        if size == 0 || body.len() + size > MOST {
            return Ok(body);
        }
        body.extend(read_exactly(reader, size)?);
        reader.read_line(&mut String::new())?;
    }
}

pub fn write(mut stream: &TcpStream, response: &Response) -> io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {} Answer\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n",
        response.status,
        response.kind,
        response.body.len() + response.withheld
    );
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    stream.write_all(response.body.as_bytes())?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_in_chunks_is_put_together() {
        let mut sent = &b"4\r\nabcd\r\n3;x=y\r\nefg\r\n0\r\n\r\n"[..];
        assert_eq!(read_chunks(&mut sent).unwrap(), b"abcdefg");
        assert!(read_chunks(&mut &b"zz\r\n"[..]).is_err());
        assert!(read_exactly(&mut &b""[..], MOST + 1).is_err());
    }
}
