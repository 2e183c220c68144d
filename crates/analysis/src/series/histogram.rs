//! First pass: how often each pace was seen, and in what company.
//!
//! A pace that recurs is told from the mixed paces at an edge, and from a quantum that lost some time, by
//! its neighbours: a band *stays*, an edge quantum lies strictly between two levels ({2830, 2000} between 4174
//! and 780), and an interrupted quantum dips and returns. So every quantum is counted by pace and by
//! [`Company`]; [`crate::pace::bands`] finds the modes.
//!
//! The sum of paces stands beside the numbers of each bin, so a centre is not rounded to a bin.

use crate::series::bins::{BINS, bin_of};
use crate::series::context::Context;
use crate::series::derive::Derived;
use crate::series::detector::Detector;

/// What a quantum's neighbours in time say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// One neighbour has the same pace.
    Stays = 0,
    /// Slower than both neighbours.
    Dips = 1,
    /// Strictly between its neighbours, or at an end of a segment and unlike its only neighbour.
    Edge = 2,
    /// Faster than both neighbours, which no loss of time explains.
    Peaks = 3,
}

/// The quanta of one bin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bin {
    /// Quanta by [`Company`].
    pub by_company: [u64; 4],
    /// Sum of their paces.
    pub sum: f64,
}

impl Bin {
    /// Quanta of the bin, whatever lies beside them.
    pub fn quanta(&self) -> u64 {
        self.by_company.iter().sum()
    }
}

/// What a histogram held before quanta were added to it.
#[derive(Debug)]
pub struct Replaced {
    quanta: u64,
    bins: Vec<(usize, Bin)>,
}

/// Differences of successive paces by half octave, from 2^-24; what is needed is a quantile.
const STEP_BINS: usize = 64;
const STEP_FIRST: u64 = (1023 - 24) << 1;

/// Counts quanta by pace and company.
#[derive(Clone, Debug)]
pub struct PaceHistogram {
    bins: Vec<Bin>,
    steps: [u64; STEP_BINS],
    quanta: u64,
    quantised: bool,
    waiting: Waiting,
}

/// The last pace of the segment, which is not yet counted.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// Ticks per unit, and its bin; 0 where there is none.
    pace: f64,
    bin: u16,
    /// The pace before it; 0 where there is none.
    before: f64,
}

impl Waiting {
    #[inline]
    fn company(&self, next: f64, tolerance: f64) -> Company {
        let Waiting { pace, before, .. } = *self;
        let near = |other: f64| other > 0.0 && (other - pace).abs() <= tolerance * pace;
        if near(before) || near(next) {
            Company::Stays
        } else if before <= 0.0 || next <= 0.0 {
            Company::Edge
        } else if pace > before && pace > next {
            Company::Dips
        } else if pace < before && pace < next {
            Company::Peaks
        } else {
            Company::Edge
        }
    }
}

impl PaceHistogram {
    /// An empty histogram.
    pub fn new(context: &Context) -> PaceHistogram {
        PaceHistogram {
            bins: vec![Bin::default(); BINS],
            steps: [0; STEP_BINS],
            quanta: 0,
            quantised: !context.ends_known,
            waiting: Waiting::default(),
        }
    }

    /// An empty histogram in memory that was written to. Beside a measurement it matters: a page that was read before it is written is the kernel's
    /// page of zeros until then, and replacing it interrupts every CPU on which this process runs, 6.5 us each on Zen 4.
    pub fn in_memory(context: &Context) -> PaceHistogram {
        let mut histogram = PaceHistogram::new(context);
        histogram.bins.fill(std::hint::black_box(Bin::default()));
        histogram
    }

    /// As new, in the same memory.
    pub fn clear(&mut self) {
        for bin in self.bins.iter_mut().filter(|bin| bin.quanta() > 0) {
            *bin = Bin::default();
        }
        self.steps = [0; STEP_BINS];
        self.quanta = 0;
        self.waiting = Waiting::default();
    }

    /// The bins.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// Quanta that have a pace.
    pub fn quanta(&self) -> u64 {
        self.quanta
    }

    /// Adds `quanta` more whose paces are those of the bins `from` of `original`, times `ratio`, in long stays. What the bins held
    /// before is for [`PaceHistogram::put_back`]: a fresh copy of the table is 2 MB.
    pub fn add_copy_of(
        &mut self,
        original: &PaceHistogram,
        from: (usize, usize),
        ratio: f64,
        quanta: u64,
    ) -> Replaced {
        let members = &original.bins[from.0..=from.1];
        let all: u64 = members.iter().map(Bin::quanta).sum();
        let mut replaced = Replaced {
            quanta: self.quanta,
            bins: Vec::new(),
        };
        let (mut seen, mut placed) = (0, 0);
        for bin in members.iter().filter(|bin| bin.quanta() > 0) {
            seen += bin.quanta();
            let due = (seen as f64 / all as f64 * quanta as f64).round() as u64;
            let pace = bin.sum / bin.quanta() as f64 * ratio;
            let number = bin_of(pace);
            let target = &mut self.bins[number];
            replaced.bins.push((number, *target));
            target.by_company[Company::Stays as usize] += due - placed;
            target.sum += pace * (due - placed) as f64;
            placed = due;
        }
        self.quanta += placed;
        replaced
    }

    /// Puts back what was replaced.
    pub fn put_back(&mut self, replaced: Replaced) {
        self.quanta = replaced.quanta;
        // The first that was replaced is put back last: several may be of one bin.
        for (number, bin) in replaced.bins.into_iter().rev() {
            self.bins[number] = bin;
        }
    }

    /// Relative standard deviation of pace within a stay, from the lower quartile of successive
    /// differences: that quartile is inside stays even where every second quantum changes band. Of a
    /// Gaussian it is 0.45 standard deviations.
    pub fn noise(&self) -> f64 {
        let total: u64 = self.steps.iter().sum();
        let mut seen = 0;
        for (bin, &number) in self.steps.iter().enumerate() {
            seen += number;
            if seen * 4 > total {
                let step = f64::from_bits((STEP_FIRST + bin as u64) << 51);
                return if bin == 0 { 0.0 } else { step / 0.45 };
            }
        }
        0.0
    }

    /// How far two paces may be apart and still be one level, as a ratio: four standard deviations,
    /// within 0.1 % and 2 % (an interrupt of 300 ns is 0.3 % of 100 us, one of 2.5 us 2.5 %, and must not pass for a stay).
    /// Few quanta cannot tell close levels apart: 60 %/n is 3 % for the twenty rows of a published file.
    fn tolerance(&self) -> f64 {
        (4.0 * self.noise())
            .clamp(0.001, 0.02)
            .max(0.6 / self.quanta.max(1) as f64)
    }

    fn note_steps(&mut self, paces: &[f64]) {
        for pair in paces.windows(2) {
            if pair[0] > 0.0 && pair[1] > 0.0 {
                let step = (pair[1] - pair[0]).abs() / pair[0];
                let bin = (step.to_bits() >> 51).saturating_sub(STEP_FIRST) as usize;
                self.steps[bin.min(STEP_BINS - 1)] += 1;
            }
        }
    }

    /// Counts the pace that waits, now that its successor is known (0 where there is none).
    #[inline]
    fn settle(&mut self, waiting: Waiting, next: f64, tolerance: f64) {
        if waiting.pace > 0.0 {
            let bin = &mut self.bins[usize::from(waiting.bin)];
            bin.by_company[waiting.company(next, tolerance) as usize] += 1;
            bin.sum += waiting.pace;
        }
    }

    fn end_segment(&mut self) {
        self.settle(self.waiting, 0.0, self.tolerance());
        self.waiting = Waiting::default();
    }

    /// Adds what a histogram of a later time holds that was finished.
    pub fn add(&mut self, later: &PaceHistogram) {
        self.end_segment();
        for (bin, other) in self.bins.iter_mut().zip(&later.bins) {
            for company in 0..4 {
                bin.by_company[company] += other.by_company[company];
            }
            bin.sum += other.sum;
        }
        for (step, other) in self.steps.iter_mut().zip(&later.steps) {
            *step += other;
        }
        self.quanta += later.quanta;
    }

    /// Counts the last quantum; to be called before anything is read.
    pub fn finish(&mut self) {
        self.end_segment();
    }
}

impl Detector for PaceHistogram {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.end_segment();
        }
        // The noise of a block is known before its first quantum is judged.
        self.note_steps(chunk.pace);
        self.quanta += chunk.pace.iter().filter(|&&pace| pace > 0.0).count() as u64;
        let common = self.tolerance();
        let mut waiting = self.waiting;
        for ((&pace, &bin), &units) in chunk.pace.iter().zip(chunk.bin).zip(chunk.units) {
            if pace <= 0.0 {
                continue;
            }
            let tolerance = if self.quantised {
                common.max(1.5 / units)
            } else {
                common
            };
            self.settle(waiting, pace, tolerance);
            waiting = Waiting {
                pace,
                bin,
                before: waiting.pace,
            };
        }
        self.waiting = waiting;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::bins::pace_of;

    #[test]
    fn bins_are_a_thousandth_wide_and_hold_their_middle() {
        for bin in [0, 1, 5000, 20_000, BINS - 1] {
            assert_eq!(bin_of(pace_of(bin)), bin);
        }
        let ratio = pace_of(20_001) / pace_of(20_000);
        assert!(ratio > 1.000_4 && ratio < 1.001);
        assert_eq!(bin_of(1e-300), 0);
        assert_eq!(bin_of(1e300), BINS - 1);
    }

    #[test]
    fn what_was_cleared_counts_as_what_is_new() {
        let context = Context::of_10_khz(&bandscope_recording::Manifest::default());
        let mut used = PaceHistogram::in_memory(&context);
        used.settle(
            Waiting {
                pace: 100.0,
                bin: bin_of(100.0) as u16,
                before: 100.0,
            },
            100.0,
            0.01,
        );
        used.quanta = 1;
        let mut whole = PaceHistogram::new(&context);
        whole.add(&used);
        used.clear();
        whole.add(&used);
        let held =
            |histogram: &PaceHistogram| -> u64 { histogram.bins().iter().map(Bin::quanta).sum() };
        assert_eq!((held(&used), used.quanta(), used.noise()), (0, 0, 0.0));
        assert_eq!((held(&whole), whole.quanta()), (1, 1));
    }
}
