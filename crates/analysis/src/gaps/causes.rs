//! Gaps by cause: number and time of each, and the time that was lost to it.

use crate::gaps::naming::{Key, Share};
use crate::series::totals::Measures;
use bandscope_report::Cause;
use std::collections::BTreeMap;

/// What the gaps of one cause come to. A gap may have several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseSum {
    /// Gaps in which it took part.
    pub number: u64,
    /// Gaps whose unit of work is in its time.
    pub units: u64,
    /// Its time in all of them, ticks.
    pub ticks: u128,
    /// Its longest part of one gap, ticks.
    pub longest: u64,
    /// The host's time in the gaps that it began, as far as that is its way there and back, ticks.
    pub host: u128,
}

impl CauseSum {
    /// Adds a gap to the sums of its causes, of which each share has its place by key; the first has the gap's unit.
    pub(crate) fn book(sums: &mut Vec<CauseSum>, shares: &[Share]) {
        for (place, share) in shares.iter().enumerate() {
            let index = share.key as usize;
            if index >= sums.len() {
                sums.resize(index + 1, CauseSum::default());
            }
            let cause = &mut sums[index];
            cause.number += 1;
            cause.units += u64::from(place == 0);
            cause.ticks += u128::from(share.ticks);
            cause.longest = cause.longest.max(share.ticks);
        }
    }

    /// Adds the host's time to what began a gap, where that has any time there itself.
    pub(crate) fn book_host(sums: &mut [CauseSum], short: Option<(Key, u64)>) {
        if let Some((key, ticks)) = short
            && let Some(cause) = sums.get_mut(key as usize)
        {
            cause.host += u128::from(ticks);
        }
    }

    /// Takes another one's gaps, too; a gap of both counts twice.
    pub fn add(&mut self, other: CauseSum) {
        self.number += other.number;
        self.units += other.units;
        self.ticks += other.ticks;
        self.longest = self.longest.max(other.longest);
        self.host += other.host;
    }
}

/// How many of so many there are each second; 0 of no time.
pub(crate) fn per_second(number: u64, seconds: f64) -> f64 {
    match seconds > 0.0 {
        true => number as f64 / seconds,
        false => 0.0,
    }
}

/// Sums by cause.
pub type Causes = BTreeMap<Cause, CauseSum>;

/// Splits `lost` over the causes by how long their gaps lasted. Each gap contains one unit of work, of the same length for all,
/// which is not lost. What no detailed gap accounts for is `unnamed`.
pub fn by_cause(lost: i128, totals: &Measures, causes: &Causes) -> BTreeMap<Cause, i128> {
    let mut booked = BTreeMap::new();
    if lost == 0 {
        return booked;
    }
    let unit = ((totals.gap_ticks as f64 - lost as f64) / totals.gaps.max(1) as f64).max(0.0);
    let losses: Vec<(&Cause, f64)> = causes
        .iter()
        .map(|(cause, sum)| (cause, (sum.ticks as f64 - sum.units as f64 * unit).max(0.0)))
        .collect();
    let claimed: f64 = losses.iter().map(|(_, loss)| loss).sum();
    let scale = if claimed > lost as f64 {
        lost as f64 / claimed
    } else {
        1.0
    };
    let mut rest = lost;
    for (cause, loss) in losses {
        let share = ((loss * scale).floor() as i128).min(rest);
        if share > 0 {
            booked.insert(cause.clone(), share);
            rest -= share;
        }
    }
    // Less than a tick for each cause is rounding; more was not detailed.
    let rounding = rest <= causes.len() as i128;
    match booked.values_mut().next() {
        Some(first) if rounding => *first += rest,
        _ => *booked.entry(Cause::Unnamed).or_default() += rest,
    }
    booked
}
