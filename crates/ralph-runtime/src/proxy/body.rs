//! The body of a request, passed on to its end and not further: what comes behind is no part of the request.

use std::io::{self, Read, Write};

use super::head::Body;

const PIECE: usize = 16 * 1024;
/// The line before a chunk: its size in hexadecimal, and what nobody uses.
const MAX_CHUNK_LINE: usize = 256;
/// All the headers that may follow the last chunk.
const MAX_TRAILERS: usize = 8 * 1024;

/// Passes the body on. An error of `from` or of `to` ends it.
pub fn pass(body: Body, from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    match body {
        Body::Nothing => Ok(()),
        Body::Length(length) => pass_bytes(length, from, to),
        Body::Chunked => pass_chunks(from, to),
    }
}

fn pass_bytes(mut left: u64, from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut piece = [0; PIECE];
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let got = match from.read(piece.get_mut(..most).unwrap_or_default()) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(piece.get(..got).unwrap_or_default())?;
        to.flush()?;
        left -= got as u64;
    }
    Ok(())
}

/// Chunks are written anew, so that the server behind sees the sizes that were read here.
fn pass_chunks(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    loop {
        let size = chunk_size(&line(from, MAX_CHUNK_LINE)?)?;
        if size == 0 {
            break;
        }
        write!(to, "{size:x}\r\n")?;
        pass_bytes(size, from, to)?;
        if !line(from, 0)?.is_empty() {
            return Err(wrong());
        }
        to.write_all(b"\r\n")?;
        to.flush()?;
    }
    // Trailers mean nothing to the server of a model, and could be taken for headers.
    let mut left = MAX_TRAILERS;
    loop {
        let trailer = line(from, left)?;
        if trailer.is_empty() {
            break;
        }
        left = left.saturating_sub(trailer.len());
    }
    to.write_all(b"0\r\n\r\n")?;
    to.flush()
}

fn wrong() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a chunk of the request cannot be read")
}

fn chunk_size(line: &[u8]) -> io::Result<u64> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
    // `from_str_radix` takes a sign.
    match digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => u64::from_str_radix(digits, 16).map_err(|_| wrong()),
        false => Err(wrong()),
    }
}

/// A line without its end, of at most so many bytes.
fn line(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        match byte {
            [b'\n'] => return if line.pop() == Some(b'\r') { Ok(line) } else { Err(wrong()) },
            _ if line.last() == Some(&b'\r') || line.len() > most => return Err(wrong()),
            [byte] => line.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(body: Body, text: &str) -> Result<(String, String), String> {
        let mut from = text.as_bytes();
        let mut to = Vec::new();
        pass(body, &mut from, &mut to).map_err(|error| error.to_string())?;
        Ok((String::from_utf8_lossy(&to).into_owned(), String::from_utf8_lossy(from).into_owned()))
    }

    #[test]
    fn a_body_ends_where_it_says() {
        let two = |sent: &str, left: &str| Ok((sent.to_owned(), left.to_owned()));
        assert_eq!(passed(Body::Nothing, "GET"), two("", "GET"));
        assert_eq!(passed(Body::Length(3), "abcGET"), two("abc", "GET"));
        let chunks = "3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: u\r\n\r\nGET";
        assert_eq!(passed(Body::Chunked, chunks), two("3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n", "GET"));
        assert!(passed(Body::Length(4), "abc").is_err());
    }

    #[test]
    fn chunks_that_could_be_read_in_two_ways_are_refused() {
        for text in [
            "+3\r\nabc\r\n0\r\n\r\n",
            "3\nabc\r\n0\r\n\r\n",
            "3\r\nabcd\r\n0\r\n\r\n",
            "\r\n\r\n",
            "x\r\n",
            "0x3\r\nabc\r\n",
            "11111111111111111\r\n",
            "3\r\nab",
            "3\r x\r\n",
        ] {
            assert!(passed(Body::Chunked, text).is_err(), "{text:?}");
        }
        assert!(passed(Body::Chunked, &format!("0\r\n{}", "A: b\r\n".repeat(2000))).is_err());
    }
}
