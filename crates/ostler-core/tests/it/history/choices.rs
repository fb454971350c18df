//! Where a history's decisions come from: a list of numbers, so that a failing one can be made shorter.

/// Deterministic numbers from a seed (SplitMix64).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// One step of a history: what is done, and a number for whatever has to be chosen while it is done.
pub(super) type Step = (u8, u32);

/// A history: the seed of its fixed properties, and its steps.
#[derive(Clone, Debug)]
pub(super) struct History {
    pub(super) setting: u8,
    pub(super) steps: Vec<Step>,
}

impl History {
    pub(super) fn of_seed(seed: u64) -> Self {
        let mut numbers = Numbers(seed);
        let setting = numbers.next() as u8;
        let len = 20 + numbers.next() % 180;
        let steps = (0..len).map(|_| ((numbers.next() % 100) as u8, numbers.next() as u32)).collect();
        Self { setting, steps }
    }

    /// A shorter history that fails as well: steps are left out, in chunks and then one by one, while it still fails.
    pub(super) fn shrunk(&self, fails: impl Fn(&Self) -> bool) -> Self {
        let mut best = self.clone();
        let mut chunk = best.steps.len().max(1) / 2;
        while chunk > 0 {
            let mut at = 0;
            while at < best.steps.len() {
                let mut shorter = best.clone();
                let end = (at + chunk).min(shorter.steps.len());
                shorter.steps.drain(at..end);
                if fails(&shorter) {
                    best = shorter;
                } else {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
        best
    }
}
