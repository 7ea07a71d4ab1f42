//! What a program printed on a stream, within bounds: the beginning and the end of it.

const HEAD: usize = 512 * 1024;
const TAIL: usize = 512 * 1024;

#[derive(Debug, Default)]
pub(crate) struct BothEnds {
    head: Vec<u8>,
    tail: Vec<u8>,
    pub(crate) total: u64,
}

impl BothEnds {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = HEAD - self.head.len();
        let (head, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(&rest[rest.len().saturating_sub(TAIL)..]);
        // Cutting at twice the size moves each byte once on average.
        if self.tail.len() >= 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }

    pub(crate) fn text(&self) -> String {
        let tail = &self.tail[self.tail.len().saturating_sub(TAIL)..];
        let left_out = self.total - (self.head.len() + tail.len()) as u64;
        if left_out == 0 {
            return String::from_utf8_lossy(&[&self.head, tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(tail));
        format!("{head}\n[… {left_out} bytes left out …]\n{tail}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_kept_whole_or_at_its_two_ends() {
        let mut kept = BothEnds::default();
        kept.push(b"one\xff\n");
        kept.push(b"two");
        assert_eq!(kept.text(), "one\u{fffd}\ntwo");
        let mut kept = BothEnds::default();
        kept.push(b"begin ");
        (0..1000).for_each(|_| kept.push(&[b'x'; 10_000]));
        kept.push(b" end");
        assert!(kept.head.len() + kept.tail.len() <= HEAD + 2 * TAIL);
        let text = kept.text();
        assert!(text.starts_with("begin x") && text.ends_with("x end"));
        assert!(text.contains(&format!("{} bytes left out", 10_000_010 - HEAD - TAIL)));
        let mut whole = BothEnds::default();
        let bytes: Vec<u8> = (0..HEAD + TAIL).map(|i| b'a' + (i % 26) as u8).collect();
        bytes.chunks(7777).for_each(|chunk| whole.push(chunk));
        assert_eq!(whole.text().as_bytes(), bytes, "as much as is kept is kept whole");
    }
}
