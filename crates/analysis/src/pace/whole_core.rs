//! Second pass: whether a slow pace is the work's alone, or the whole core's.
//!
//! After each gap bandscope reads its counters. That is work too: another code, other memory, and it runs at every pace that the work kernel
//! has. Where the core's clock falls, or the host slows it, that takes longer as the units do. A hidden state of the core that the work
//! kernel meets leaves it as it was. So one work kernel tells a slow core from a slow loop (docs/method.md, section 8.8).
//!
//! Counters read from cold caches take longer, whatever the pace, and a gap of another task leaves them cold. Most gaps leave them warm: the
//! lower quartile is compared.

use crate::pace::thinned::Thinned;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use crate::series::levels::{Levels, NO_BAND};
use bandscope_statistics::order::quartiles;

/// Fewer readings of either pace say nothing.
const FEWEST: usize = 20;
/// Units within this ratio of the fastest band are fast, and beyond that one slow. Turbo steps move less.
const FAST: f64 = 1.15;
const SLOW: f64 = 1.5;
/// Two threads of a core have half of it each: company slows less.
pub const COMPANY: f64 = 2.0;
/// Two quanta on end are at one pace if they differ by less.
const SAME_PACE: f64 = 1.05;
/// How far handling follows the pace: as a power of its ratio, 1 where it slows down as much. Raptor Cove, its clock held back: 0.62 to 1.08 in
/// 30 of 30 series. Store bypass switched, which slows `ftq-o2` five times: -0.43 to 0.19 in 20 of 20 (docs/method.md, section 8.8).
const FOLLOWS: f64 = 0.4;

/// Collects what handling a gap took, at the fastest pace and at slow ones.
#[derive(Clone, Debug)]
pub struct Handling {
    /// Longest of the fast paces and shortest of the slow ones, ticks per unit.
    limits: [f64; 2],
    /// Pace of the quantum before; 0 where it is not known.
    before: f64,
    fast: Readings,
    slow: Readings,
}

/// What the two kinds of work say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WholeCore {
    /// Ratio of the slow units to the fast ones: the medians.
    pub units: f64,
    /// Ratio of the time that handling a gap takes: the lower quartiles.
    pub handling: f64,
}

impl WholeCore {
    /// Whether handling slows down with the units.
    pub fn is_slow(&self) -> bool {
        self.handling.ln() >= FOLLOWS * self.units.ln()
    }

    /// Whether nothing within the core does that. Company on it slows a chain of registers hardly, and others below twice.
    pub fn is_from_outside(&self, registers_only: bool) -> bool {
        self.is_slow() && (registers_only || self.units >= COMPANY)
    }
}

/// Ticks per unit, and ticks of handling.
type Readings = Thinned<(f32, f32)>;

/// The median pace, and the lower quartile of handling.
fn typical(readings: &Readings) -> Option<(f64, f64)> {
    let kept = readings.kept();
    let [_, pace, _] = quartiles(kept.iter().map(|&(pace, _)| f64::from(pace)))?;
    let [handling, _, _] = quartiles(kept.iter().map(|&(_, handling)| f64::from(handling)))?;
    (kept.len() >= FEWEST).then_some((pace, handling))
}

impl Handling {
    /// `None` where no band is slow.
    pub fn new(levels: &Levels) -> Option<Handling> {
        let fastest = levels.centres().first()?;
        let limits = [fastest * FAST, fastest * SLOW];
        let is_slow = |centre: &f64| *centre > limits[1];
        levels.centres().iter().any(is_slow).then(|| Handling {
            limits,
            before: 0.0,
            fast: Readings::default(),
            slow: Readings::default(),
        })
    }

    /// `None` of too few readings.
    pub fn finish(&self) -> Option<WholeCore> {
        let (fast, slow) = (typical(&self.fast)?, typical(&self.slow)?);
        Some(WholeCore {
            units: slow.0 / fast.0,
            handling: slow.1 / fast.1,
        })
    }
}

impl Detector for Handling {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.before = 0.0;
        }
        for (k, _) in (chunk.chunk.gaps.iter().enumerate()).filter(|(_, gaps)| **gaps == 1) {
            let (pace, handling) = (chunk.pace[k], chunk.chunk.measurement_ticks[k]);
            let before = k.checked_sub(1).map_or(self.before, |k| chunk.pace[k]);
            // The pace changed in a quantum between two bands, or in one that differs from the one before.
            let one_pace =
                chunk.band[k] != NO_BAND && pace.max(before) < pace.min(before) * SAME_PACE;
            if handling == 0 || !one_pace {
                continue;
            }
            if pace < self.limits[0] {
                self.fast.push((pace as f32, handling as f32));
            } else if pace > self.limits[1] {
                self.slow.push((pace as f32, handling as f32));
            }
        }
        self.before = chunk.pace.last().copied().unwrap_or(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ratios of real recordings (docs/method.md, section 8.8).
    #[test]
    fn a_slow_core_slows_handling_and_a_slow_loop_does_not() {
        let is_slow = |units, handling| WholeCore { units, handling }.is_slow();
        assert!(is_slow(2.99, 1.96) && is_slow(2.11, 2.25));
        assert!(!is_slow(4.83, 1.35) && !is_slow(4.78, 0.98) && !is_slow(3.15, 0.61));
        let (little, much) = (1.6, 2.1);
        let company = |units, registers_only| {
            let handling = units;
            WholeCore { units, handling }.is_from_outside(registers_only)
        };
        assert!(!company(little, false) && company(little, true) && company(much, false));
    }
}
