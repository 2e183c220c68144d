//! A clock whose readings scatter.

use crate::disturbances::random::gaussian;

/// How far readings of the clock lie from the truth: Gaussian, and never backwards.
#[derive(Debug)]
pub(crate) struct Wobble {
    /// Drawn in advance, because a reading is a matter of nanoseconds.
    offsets: Box<[i64; OFFSETS]>,
    random: fastrand::Rng,
    last: u64,
}

/// Drawn offsets: their mean is then within 1/64 of a deviation of 0.
const OFFSETS: usize = 4096;

impl Wobble {
    /// Offsets of standard deviation `sigma`, in the unit of time of the readings.
    pub fn new(sigma: f64, mut random: fastrand::Rng) -> Wobble {
        let mut offsets = Box::new([0; OFFSETS]);
        for offset in offsets.iter_mut() {
            *offset = (gaussian(&mut random) * sigma).round() as i64;
        }
        Wobble {
            offsets,
            random,
            last: 0,
        }
    }

    /// The reading at `now`.
    #[inline(never)]
    pub fn read(&mut self, now: u64) -> u64 {
        let offset = self.offsets[usize::from(self.random.u16(..)) % OFFSETS];
        self.last = self.last.max(now.saturating_add_signed(offset));
        self.last
    }
}
