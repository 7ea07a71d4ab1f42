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
    }
}
