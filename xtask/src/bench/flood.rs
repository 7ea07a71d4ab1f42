//! `xtask __flood KIND BYTES`: an agent that prints as fast as it can.

use crate::Result;
use std::io::Write;
use std::os::fd::AsFd;

pub const KINDS: &[&str] = &["lines", "line", "random", "stderr"];

pub fn flood(args: &[String]) -> Result<()> {
    let [kind, bytes] = args else { return Err("usage: __flood KIND BYTES".into()) };
    let bytes: u64 = bytes.parse().map_err(|_| format!("`{bytes}` is no number of bytes"))?;
    let block = block(kind)?;
    // Rust's own stdout looks for newlines; the file below it does not.
    let file = match kind.as_str() {
        "stderr" => std::io::stderr().as_fd().try_clone_to_owned(),
        _ => std::io::stdout().as_fd().try_clone_to_owned(),
    };
    let mut out = std::fs::File::from(file.map_err(|error| format!("flood: {error}"))?);
    let mut left = bytes;
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        out.write_all(&block[..now]).map_err(|error| format!("flood: {error}"))?;
        left -= now as u64;
    }
    Ok(())
}

const BLOCK: usize = 1 << 20;

fn block(kind: &str) -> Result<Vec<u8>> {
    Ok(match kind {
        "lines" | "stderr" => {
            (0..BLOCK).map(|at| if at % 80 == 79 { b'\n' } else { b'a' + (at % 26) as u8 }).collect()
        }
        "line" => vec![b'x'; BLOCK],
        "random" => {
            let mut state = 0x9e37_79b9_7f4a_7c15_u64;
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            (0..BLOCK / 8).flat_map(|_| next().to_le_bytes()).collect()
        }
        _ => return Err(format!("unknown kind `{kind}`; the kinds are: {}", KINDS.join(", "))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_are_what_they_say() {
        let lines = block("lines").unwrap();
        assert!(lines.split(|byte| *byte == b'\n').rev().skip(1).all(|line| line.len() == 79));
        assert!(!block("line").unwrap().contains(&b'\n'));
        assert!(std::str::from_utf8(&block("random").unwrap()).is_err());
        assert!(KINDS.iter().all(|kind| block(kind).is_ok_and(|block| block.len() == BLOCK)));
        assert!(block("x").unwrap_err().contains("lines, line"));
    }
}
