//! Random numbers that a seed repeats (SplitMix64).

use std::time::Duration;

pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A time below this.
    pub fn time(&mut self, below: Duration) -> Duration {
        let micros = u64::try_from(below.as_micros()).unwrap_or(u64::MAX).max(1);
        Duration::from_micros(self.next() % micros)
    }

    pub fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_numbers() {
        let of = |seed| {
            let mut rng = Rng(seed);
            [rng.next(), rng.next()]
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let below = Duration::from_millis(3);
        let mut rng = Rng(5);
        assert!((0..1000).all(|_| rng.time(below) < below));
    }
}
