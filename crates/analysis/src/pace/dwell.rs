//! Second pass: how often and for how long a series stays in each band.
//!
//! Where one edge quantum lies between two stays, the instant of the change inside it follows from its pace
//! (docs/method.md, section 5.1): with rates r = 1/pace before (A) and after (B), the share f = (c/dt - rB) / (rA - rB)
//! of it belongs to A. So a dwell is known to well under a microsecond: 1003.6 us in the published fifteen rows.
//!
//! One or two quanta that leave a band and return to it are an interruption and end no stay. Stays cut off by the start or
//! end of a segment count in the median only where there are no others.

use crate::series::derive::Derived;
use crate::series::detector::Detector;
use crate::series::levels::{Levels, MAX_BANDS, NO_BAND};
use bandscope_statistics::quantiles::Distribution;

/// Quanta outside of a band that do not end a stay if it goes on after them.
const INTERRUPTION: u64 = 2;

/// Lengths of stays, in ticks; four digits, because a tick's cost shows in the dwell.
#[derive(Clone, Debug)]
struct Lengths {
    whole: Distribution,
    cut: Distribution,
    /// Quanta of stays, for "at least three quanta".
    quanta: Distribution,
}

impl Lengths {
    fn new() -> Lengths {
        Lengths {
            whole: Distribution::new(4),
            cut: Distribution::new(3),
            quanta: Distribution::new(2),
        }
    }
}

/// What is known of the stays in one band.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stays {
    /// Their number.
    pub number: u64,
    /// Median length, ticks.
    pub median_ticks: f64,
    /// Median number of whole quanta.
    pub median_quanta: f64,
    /// Whether all of them were cut off by the start or end of a segment, so that they may have lasted longer.
    pub cut: bool,
}

#[derive(Clone, Copy, Debug)]
struct Stay {
    band: u8,
    ticks: f64,
    quanta: u64,
    cut: bool,
}

/// Stays in all bands.
#[derive(Clone, Debug)]
pub struct Dwell {
    rates: Vec<f64>,
    lengths: Vec<Option<Box<Lengths>>>,
    stay: Option<Stay>,
    /// Quanta in no band since the stay: number, wall time, pace of the last.
    between: (u64, f64, f64),
    /// Changes of band, and those with at most one quantum between.
    changes: u64,
    sharp: u64,
}

impl Dwell {
    /// No stay yet.
    pub fn new(levels: &Levels) -> Dwell {
        Dwell {
            rates: levels.centres().iter().map(|centre| 1.0 / centre).collect(),
            lengths: (0..MAX_BANDS).map(|_| None).collect(),
            stay: None,
            between: (0, 0.0, 0.0),
            changes: 0,
            sharp: 0,
        }
    }

    /// Ends the stay under way; to be called before anything is read.
    pub fn finish(&mut self) {
        self.end_segment();
    }

    /// Stays in the band with this number.
    pub fn stays(&self, band: usize) -> Stays {
        let Some(lengths) = self.lengths.get(band).and_then(Option::as_deref) else {
            return Stays::default();
        };
        let judged = if lengths.whole.is_empty() {
            &lengths.cut
        } else {
            &lengths.whole
        };
        Stays {
            number: lengths.whole.len() + lengths.cut.len(),
            median_ticks: judged.quantile(0.5),
            median_quanta: lengths.quanta.quantile(0.5),
            cut: lengths.whole.is_empty(),
        }
    }

    /// Share of the changes of band that took at most one quantum; 1 where there was none.
    pub fn sharp_share(&self) -> f64 {
        if self.changes == 0 {
            1.0
        } else {
            self.sharp as f64 / self.changes as f64
        }
    }

    fn record(&mut self, stay: Stay) {
        let lengths =
            self.lengths[usize::from(stay.band)].get_or_insert_with(|| Box::new(Lengths::new()));
        let ticks = (stay.ticks.round() as u64).max(1);
        if stay.cut {
            lengths.cut.record(ticks, 1);
        } else {
            lengths.whole.record(ticks, 1);
        }
        lengths.quanta.record(stay.quanta, 1);
    }

    fn end_segment(&mut self) {
        if let Some(stay) = self.stay.take() {
            self.record(Stay { cut: true, ..stay });
        }
        self.between = (0, 0.0, 0.0);
    }

    /// Most quanta go on with the stay under way: takes those together, and says how many they were.
    fn go_on(&mut self, bands: &[u8], lengths: &[f64]) -> usize {
        let Some(stay) = self.stay.as_mut().filter(|_| self.between.0 == 0) else {
            return 0;
        };
        let mut taken = 0;
        let mut ticks = stay.ticks;
        for (&band, &length) in bands.iter().zip(lengths) {
            if band != stay.band || length <= 0.0 {
                break;
            }
            ticks += length;
            taken += 1;
        }
        stay.ticks = ticks;
        stay.quanta += taken as u64;
        taken
    }

    #[inline]
    fn quantum(&mut self, band: u8, ticks: f64, pace: f64) {
        if band == NO_BAND {
            self.between.0 += 1;
            self.between.1 += ticks;
            self.between.2 = pace;
            return;
        }
        match &mut self.stay {
            Some(stay) if stay.band == band && self.between.0 <= INTERRUPTION => {
                stay.ticks += ticks + self.between.1;
                stay.quanta += 1;
            }
            _ => self.change(band, ticks),
        }
        self.between = (0, 0.0, 0.0);
    }

    fn change(&mut self, band: u8, ticks: f64) {
        let mut next = Stay {
            band,
            ticks,
            quanta: 1,
            cut: self.stay.is_none(),
        };
        if let Some(mut stay) = self.stay.take() {
            if stay.band != band {
                self.changes += 1;
                self.sharp += u64::from(self.between.0 <= 1);
            }
            if let Some(share) = self.share_before(stay.band, band) {
                stay.ticks += share * self.between.1;
                next.ticks += (1.0 - share) * self.between.1;
            }
            self.record(stay);
        }
        self.stay = Some(next);
    }

    /// The share of a single edge quantum that belongs to the band before it.
    fn share_before(&self, before: u8, after: u8) -> Option<f64> {
        if self.between.0 != 1 || self.between.2 <= 0.0 {
            return None;
        }
        let (a, b) = (
            self.rates[usize::from(before)],
            self.rates[usize::from(after)],
        );
        let share = (1.0 / self.between.2 - b) / (a - b);
        (0.0..=1.0).contains(&share).then_some(share)
    }
}

impl Detector for Dwell {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.end_segment();
        }
        let mut k = 0;
        while k < chunk.len() {
            k += self.go_on(&chunk.band[k..], &chunk.length[k..]);
            if k < chunk.len() {
                if chunk.length[k] > 0.0 {
                    self.quantum(chunk.band[k], chunk.length[k], chunk.pace[k]);
                }
                k += 1;
            }
        }
    }
}
