//! Which band a pace belongs to: the bands of the first pass as a table for the second.

use crate::series::bins::{BINS, bin_of};

/// The band of a quantum that lies in none.
pub const NO_BAND: u8 = u8::MAX;

/// Most bands that a series can have; a series with more has none that mean anything.
pub const MAX_BANDS: usize = 32;

/// Bands by pace, fastest first.
#[derive(Clone, Debug)]
pub struct Levels {
    band: Vec<u8>,
    centres: Vec<f64>,
}

impl Levels {
    /// From the bins (first, last) and the centre, in ticks per unit, of each band.
    pub fn new(bands: impl IntoIterator<Item = (usize, usize, f64)>) -> Levels {
        let mut levels = Levels {
            band: vec![NO_BAND; BINS],
            centres: Vec::new(),
        };
        for (number, (first, last, centre)) in bands.into_iter().take(MAX_BANDS).enumerate() {
            levels.band[first..=last].fill(number as u8);
            levels.centres.push(centre);
        }
        levels
    }

    /// From the least and the largest pace and the centre of each band, in ticks per unit, fastest first; what two bands share is the faster one's.
    pub fn of_paces(bands: impl IntoIterator<Item = (f64, f64, f64)>) -> Levels {
        let mut next = 0;
        Levels::new(bands.into_iter().map(|(low, high, centre)| {
            let first = bin_of(low.max(f64::MIN_POSITIVE)).max(next).min(BINS - 1);
            let last = bin_of(high).max(first);
            next = last + 1;
            (first, last, centre)
        }))
    }

    /// The band of a pace in ticks per unit; a pace of 0 has none.
    pub fn band_of(&self, pace: f64) -> u8 {
        if pace > 0.0 {
            self.band[bin_of(pace)]
        } else {
            NO_BAND
        }
    }

    /// The band of the paces in a bin; a quantum without a pace is the caller's to sort out.
    #[inline]
    pub fn band_of_bin(&self, bin: u16) -> u8 {
        self.band[usize::from(bin).min(BINS - 1)]
    }

    /// Centre of a band in ticks per unit.
    pub fn centre(&self, band: u8) -> Option<f64> {
        self.centres.get(usize::from(band)).copied()
    }

    /// Centres of all bands, fastest first.
    pub fn centres(&self) -> &[f64] {
        &self.centres
    }
}
