//! Between the passes, and only where two bands lie so close: bands that take turns, quantum by quantum, are one.
//!
//! Something of f Hz that takes less than a gap each time is in n or n + 1 places of a quantum. If it takes 170 ns or more the quanta
//! of n and those of n + 1 are two modes of pace that stand apart in the histogram. As two bands each quantum would be at home, and
//! nothing of f would be left in the residual: the search for frequencies would be blind to just those that lie above the rate.
//! Such modes are told from paces by how they are held. The rarer of n and n + 1 comes alone: the numbers of equally spaced
//! events in successive intervals are a Sturmian word (Morse and Hedlund 1940), in which the rarer letter is isolated;
//! events that are not equally spaced make stays of 1 / (1 - share) quanta on the average, at most two. A pace is held.
//!
//! Counts of one mode do not say which follows which, so the quanta are read once more, where there is such a pair.

use crate::pace::bands::{self, Mode};
use crate::series::context::Context;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use crate::series::histogram::PaceHistogram;
use crate::series::levels::{MAX_BANDS, NO_BAND};

/// Quanta of a mean stay below which the rarer of two modes is not held: between 1, equally spaced, and 2, the most of others.
const MIN_STAY_QUANTA: f64 = 1.75;

/// Quanta and stays of each mode.
#[derive(Clone, Debug)]
pub struct BandMerge {
    quanta: [u64; MAX_BANDS],
    stays: [u64; MAX_BANDS],
    last: u8,
}

impl BandMerge {
    /// Ready to count, if two of `modes` are nearer to each other than what takes less than a gap could bring them.
    pub fn new(modes: &[Mode], context: &Context) -> Option<BandMerge> {
        let near = modes
            .windows(2)
            .any(|pair| are_near(&pair[0], &pair[1], context));
        near.then_some(BandMerge {
            quanta: [0; MAX_BANDS],
            stays: [0; MAX_BANDS],
            last: NO_BAND,
        })
    }

    /// `modes` with those that take turns made one.
    pub fn join(&self, modes: Vec<Mode>, paces: &PaceHistogram, context: &Context) -> Vec<Mode> {
        let mut joined: Vec<(Mode, usize)> = Vec::new();
        for (number, mode) in modes.into_iter().enumerate() {
            match joined.last_mut() {
                Some((before, last))
                    if are_near(before, &mode, context) && self.take_turns(*last, number) =>
                {
                    *before = bands::joined(before, &mode, paces);
                    *last = number;
                }
                _ => joined.push((mode, number)),
            }
        }
        joined.into_iter().map(|(mode, _)| mode).collect()
    }

    /// Whether the rarer of two modes is not held.
    fn take_turns(&self, a: usize, b: usize) -> bool {
        let rarer = if self.quanta[a] < self.quanta[b] {
            a
        } else {
            b
        };
        (self.quanta[rarer] as f64) < MIN_STAY_QUANTA * self.stays[rarer] as f64
    }
}

/// Whether what takes less than a gap, once in a quantum, makes the one of the other; never, where gaps were not measured.
fn are_near(fast: &Mode, slow: &Mode, context: &Context) -> bool {
    let kernel = context.kernel.as_ref().filter(|_| context.gaps_known);
    let threshold = kernel.map_or(0, |kernel| kernel.gap_threshold_ticks);
    (slow.centre / fast.centre - 1.0) * context.quantum_ticks < threshold as f64
}

impl Detector for BandMerge {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.last = NO_BAND;
        }
        for &band in chunk.band.iter().filter(|&&band| band != NO_BAND) {
            self.quanta[usize::from(band)] += 1;
            self.stays[usize::from(band)] += u64::from(band != self.last);
            self.last = band;
        }
    }
}
