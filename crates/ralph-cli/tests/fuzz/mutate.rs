//! Damage: of bytes, of lines and of structure. A seed always makes the same.

/// Words that get further into a reader than random bytes.
const WORDS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b":",
    b",",
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b"---\n",
    b"- ",
    b": ",
    b"&a ",
    b"*a",
    b"|\n",
    b"!!",
    b"{{",
    b"}}",
    b"{{ args.a }}",
    b"{{ commands.",
    b"<!--",
    b"-->",
    b"<ralph>COMPLETE</ralph>",
    b"<event topic=\"a.b\">",
    b"</event>",
    b"<!-- ralph:state idle -->",
    b"```",
    b"**/",
    b"[!a-",
    b"[[:alpha:]]",
    b"\\",
    b"*",
    b"?",
    b"DIRC",
    b"link",
    b"TREE",
    b"\x1b[31m",
    b"\x1b]0;",
    b"\"type\":\"",
    b"\"seq\":",
    b"\"crc\":\"00000000\"}",
    b"\"request\":\"",
    b"\"command\":\"",
    b"\"method\":\"",
    b"\"result\":",
    b"sk-ant-",
    b"eyJ",
];
/// Longer inputs show nothing that shorter ones do not, and take their time.
const MAX_INPUT: usize = 32 << 10;

pub struct Mutator(u64);

impl Mutator {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        if most == 0 { 0 } else { (self.next() % most as u64) as usize }
    }

    /// One of the corpus, damaged.
    pub fn input(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(6) {
            self.damage(&mut bytes, corpus);
        }
        bytes.truncate(MAX_INPUT);
        bytes
    }

    fn damage(&mut self, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let at = self.below(bytes.len() + 1);
        match self.below(10) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            2 if at < bytes.len() => bytes[at] = self.next() as u8,
            3 => self.cut_out(bytes),
            4 => {
                let range = self.range(bytes.len());
                let piece = bytes[range].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => {
                let other = &corpus[self.below(corpus.len())];
                let range = self.range(other.len());
                bytes.splice(at..at, other[range].iter().copied());
            }
            6 => {
                let (word, times) = (WORDS[self.below(WORDS.len())], 1 + self.below(200));
                bytes.splice(at..at, word.repeat(times));
            }
            7 => self.swap_lines(bytes),
            _ => {
                let word = WORDS[self.below(WORDS.len())];
                bytes.splice(at..at, word.iter().copied());
            }
        }
    }

    /// A short stretch most of the time.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let most = if self.below(8) == 0 { length } else { 64 };
        let end = (start + self.below(most + 1)).min(length);
        start..end
    }

    fn cut_out(&mut self, bytes: &mut Vec<u8>) {
        let range = self.range(bytes.len());
        bytes.drain(range);
    }

    fn swap_lines(&mut self, bytes: &mut Vec<u8>) {
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let (a, b) = (self.below(lines.len()), self.below(lines.len()));
        if a < lines.len() && b < lines.len() {
            lines.swap(a, b);
        }
        *bytes = lines.concat();
    }
}
