//! Quantisation: neighbouring counts, {710, 711}, that alternate at one and the same pace.
//!
//! A quantum ends with a unit, so its count is a whole number though its time is not: the counts make two
//! bands where the pace has one. Second pass; looks at the counts of the main band.

use crate::series::context::Context;
use crate::series::derive::Derived;
use crate::series::detector::Detector;

/// Counts that are told apart; a band with more is not quantised.
const COUNTS: usize = 16;
/// Share of the band that two neighbouring counts must hold, and the lesser of them alone.
const BOTH: f64 = 0.95;
const LESSER: f64 = 0.01;
/// Their paces may differ by this share of 1/count, what they would differ by if their times were the same.
const SAME_PACE: f64 = 0.25;

/// Quanta with one count.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    count: u32,
    quanta: u64,
    ticks: f64,
}

/// Counts of one band.
#[derive(Clone, Debug)]
pub struct Counts {
    band: u8,
    table: Vec<Counted>,
    /// Place of the last one counted.
    last: usize,
    others: u64,
}

/// Quanta of which a chance agreement of two paces is out of the question.
const ENOUGH: u64 = 100;

/// Two neighbouring counts at one pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantisation {
    /// The lower count.
    pub count: u32,
    /// Share of the band that has it.
    pub share: f64,
    /// Relative difference of their paces.
    pub difference: f64,
    /// Whether times, of enough quanta, show that the pace is the same.
    pub times_decide: bool,
}

impl Counts {
    /// Of the band with this number.
    pub fn new(band: u8) -> Counts {
        Counts {
            band,
            table: Vec::with_capacity(COUNTS),
            last: 0,
            others: 0,
        }
    }

    fn add(&mut self, counted: Counted) {
        // Most often it is the count before once more.
        let found = match self.table.get(self.last) {
            Some(entry) if entry.count == counted.count => Some(self.last),
            _ => self
                .table
                .iter()
                .position(|entry| entry.count == counted.count),
        };
        if let Some(place) = found {
            self.last = place;
            let entry = &mut self.table[place];
            entry.quanta += counted.quanta;
            entry.ticks += counted.ticks;
        } else if self.table.len() < COUNTS {
            self.table.push(counted);
        } else {
            self.others += counted.quanta;
        }
    }

    fn put_back(&mut self, at: usize, entry: Counted) {
        if let Some(place) = self.table.get_mut(at) {
            *place = entry;
        }
    }

    /// The two counts, if this is all there is to the band.
    pub fn finish(mut self, context: &Context) -> Option<Quantisation> {
        self.table.sort_by_key(|entry| entry.count);
        let pair = self
            .table
            .windows(2)
            .filter(|pair| pair[1].count - pair[0].count == 1 && pair[0].count > 0)
            .max_by_key(|pair| pair[0].quanta + pair[1].quanta)?;
        let all = self.others + self.table.iter().map(|entry| entry.quanta).sum::<u64>();
        let share = |quanta: u64| quanta as f64 / all as f64;
        let lesser = share(pair[0].quanta.min(pair[1].quanta));
        let length = |entry: &Counted| entry.ticks / entry.quanta as f64;
        let (low, high) = (length(&pair[0]), length(&pair[1]));
        let (low_pace, high_pace) = (
            low / f64::from(pair[0].count),
            high / f64::from(pair[1].count),
        );
        let difference = (high_pace / low_pace - 1.0).abs();
        let same = difference * f64::from(pair[0].count) <= SAME_PACE;
        // Starts printed on the nominal grid say nothing of when a unit ended.
        let nominal = !context.ends_known && (high / low - 1.0).abs() < 1e-9;
        let both = share(pair[0].quanta + pair[1].quanta) >= BOTH;
        (both && lesser >= LESSER && (same || nominal)).then(|| Quantisation {
            count: pair[0].count,
            share: share(pair[0].quanta),
            difference,
            times_decide: same && all >= ENOUGH,
        })
    }
}

impl Detector for Counts {
    fn push(&mut self, chunk: &Derived<'_>) {
        let n = chunk.len();
        let (bands, gap_ticks) = (&chunk.band[..n], &chunk.chunk.gap_ticks[..n]);
        let (units, present) = (&chunk.units[..n], &chunk.present[..n]);
        let counts = &chunk.chunk.count[..n];
        // Most often it is the count before once more, whose sums stay at hand.
        let mut at = self.last;
        let mut entry = self.table.get(at).copied().unwrap_or_default();
        for k in 0..n {
            if bands[k] != self.band || gap_ticks[k] > 0 || units[k] <= 0.0 {
                continue;
            }
            if entry.quanta > 0 && entry.count == counts[k] {
                entry.quanta += 1;
                entry.ticks += present[k];
                continue;
            }
            self.put_back(at, entry);
            self.add(Counted {
                count: counts[k],
                quanta: 1,
                ticks: present[k],
            });
            at = self.last;
            entry = self.table.get(at).copied().unwrap_or_default();
        }
        self.put_back(at, entry);
    }
}
