//! Hashes that stay the same for good: they go into journals, and a later version of ralph has to find them again.

/// FNV-1a, with its bits mixed at the end so that each of them can be used for sampling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hasher(u64);

impl Hasher {
    pub(super) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self
    }

    pub(super) fn number(self, n: u64) -> Self {
        self.bytes(&n.to_le_bytes())
    }

    pub(super) fn finish(self) -> u64 {
        let mut x = self.0;
        x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        x ^ (x >> 33)
    }
}

/// For lines of any length: eight bytes at a time. However the bytes are cut into pieces, the hash is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineHasher {
    state: u64,
    /// Bytes that do not make eight yet, and how many they are.
    rest: [u8; 8],
    waiting: usize,
    length: u64,
}

impl LineHasher {
    pub(super) fn new() -> Self {
        Self { state: 0xcbf2_9ce4_8422_2325, rest: [0; 8], waiting: 0, length: 0 }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.waiting > 0 {
            let (now, later) = bytes.split_at(bytes.len().min(8 - self.waiting));
            self.rest[self.waiting..self.waiting + now.len()].copy_from_slice(now);
            self.waiting += now.len();
            bytes = later;
            if self.waiting < 8 {
                return;
            }
            self.mix(u64::from_le_bytes(self.rest));
            self.waiting = 0;
        }
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        self.rest[..rest.len()].copy_from_slice(rest);
        self.waiting = rest.len();
    }

    fn mix(&mut self, word: u64) {
        let wide = u128::from(self.state ^ word) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
        self.state = (wide as u64 ^ (wide >> 64) as u64).rotate_left(23);
    }

    pub(super) fn finish(mut self) -> u64 {
        self.rest[self.waiting..].fill(0);
        self.mix(u64::from_le_bytes(self.rest));
        Hasher(self.state ^ self.length).finish()
    }
}

/// What is kept of a hash.
pub(super) fn short(hash: u64) -> u32 {
    (hash >> 32) as u32
}

pub(super) fn of(text: &str) -> u64 {
    Hasher::new().bytes(text.as_bytes()).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_of_an_old_journal_is_found_again() {
        assert_eq!(of("auth.ts"), 0xd88b_cfa8_adb2_d5ef);
        assert_eq!(short(of("auth.ts")), 0xd88b_cfa8);
        let mut line = LineHasher::new();
        line.push(b"test auth::login ... ok\n");
        assert_eq!(line.finish(), 0xc41c_4f53_dff8_5b34);
    }

    #[test]
    fn a_line_in_pieces_is_the_same_line_and_another_one_is_not() {
        let hash = |pieces: &[&[u8]]| {
            let mut hasher = LineHasher::new();
            pieces.iter().for_each(|piece| hasher.push(piece));
            hasher.finish()
        };
        let line = b"test auth::login ... ok, and more\n";
        for at in 0..line.len() {
            for to in at..line.len() {
                assert_eq!(hash(&[&line[..at], &line[at..to], &line[to..]]), hash(&[line]));
            }
        }
        let others: [&[u8]; 5] = [b"", b"\0", b"\0\0", b"x", b"x\0"];
        let hashes: std::collections::HashSet<u64> = others.iter().map(|line| hash(&[line])).collect();
        assert_eq!(hashes.len(), others.len());
    }
}
