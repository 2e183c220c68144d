//! Second pass, of a tripwire's series alone: interruptions that left no gap.
//!
//! A tripwire's unit is long, and what is left of one that something interrupted goes at another pace (docs/method.md,
//! sections 4.6 and 9.4). So a quantum beside whose neighbours the pace lies to that side held an interruption, however
//! short that was, and whoever it was for: the host's tick, firmware. Quanta with a gap are left out, because they are
//! known to have been interrupted. When in its quantum an interruption came is not known, so its time is drawn at
//! random within it: the middle would give all of them the quanta's own period.

use crate::periods::events::{self, Periodic, Train};
use crate::periods::signals;
use crate::series::context::Context;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use bandscope_report::{self as report, Period};
use bandscope_statistics::order::{SIGMA_PER_MAD, median};
use bandscope_statistics::random::Random;

/// Quanta on either side that tell what the pace would have been.
const BESIDE: usize = 8;
/// Fewest of them.
const MIN_BESIDE: usize = 5;
/// An interruption is noticed from this part of what one at a unit's very start does to a quantum: what comes in the last tenth of a unit is not.
const MIN_PART_NOTICED: f64 = 0.1;
/// And from so many deviations of the pace from that beside it.
const DEVIATIONS: f64 = 5.0;
/// Deviations that are kept to know that: the first.
const SAMPLE: usize = 1 << 14;
/// Interruptions whose times are kept: the first, minutes of a busy machine.
const EVENTS: usize = 1 << 17;

/// Looks for quanta that something interrupted.
#[derive(Clone, Debug)]
pub struct Tripwire {
    /// Time of an operation after an interruption over that before.
    rest: f64,
    /// Quanta without a gap, and ticks in them.
    quanta: u64,
    ticks: f64,
    /// Deviations from the pace beside, as a ratio less 1: the first.
    sample: Vec<f64>,
    /// Quanta that may have been interrupted: start and end, and how far they are off.
    candidates: Vec<Candidate>,
    /// Those that were not kept.
    beyond: u64,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    start: u64,
    end: u64,
    /// Off the pace beside it, as a share of what an interruption at a unit's start does.
    part: f32,
}

impl Tripwire {
    /// For a work kernel whose pace something leaves at `rest` times what it was; `None` for others, and where ends of quanta are not known.
    pub fn new(context: &Context) -> Option<Tripwire> {
        let rest = context.kernel.as_ref()?.pace_after_interruption?;
        let usable = rest.is_finite() && rest > 0.0 && rest != 1.0;
        (usable && context.gaps_known && context.ends_known).then(|| Tripwire {
            rest,
            quanta: 0,
            ticks: 0.0,
            sample: Vec::new(),
            candidates: Vec::new(),
            beyond: 0,
        })
    }

    /// What was noticed; `segments` are their first and last ticks.
    pub fn finish(self, segments: &[(u64, u64)], context: &Context) -> report::Tripwire {
        let noise =
            SIGMA_PER_MAD * median(self.sample.iter().map(|part| part.abs())).unwrap_or(0.0);
        let least = MIN_PART_NOTICED.max(DEVIATIONS * noise);
        let interrupted: Vec<&Candidate> = (self.candidates.iter())
            .filter(|candidate| f64::from(candidate.part) >= least)
            .collect();
        // Of those that were not kept, the same share.
        let kept = self.candidates.len().max(1) as f64;
        let all = interrupted.len() as f64 * (1.0 + self.beyond as f64 / kept);
        let share = (all / self.quanta.max(1) as f64).min(1.0 - 1e-9);
        let length = context.seconds(self.ticks / self.quanta.max(1) as f64);
        report::Tripwire {
            interrupted_quanta: all.round() as u64,
            quanta: self.quanta,
            // Two in one quantum are one, and how often that is follows from how often there is none (Poisson).
            per_second: match self.quanta {
                0 => 0.0,
                _ => -(-share).ln_1p() / length,
            },
            periods: periods(&interrupted, segments, context),
        }
    }
}

fn periods(interrupted: &[&Candidate], segments: &[(u64, u64)], context: &Context) -> Vec<Period> {
    let (Some(&(origin, _)), Some(&(_, end))) = (segments.first(), segments.last()) else {
        return Vec::new();
    };
    // What comes after the segments whose extents are kept has no place there.
    let kept = interrupted.partition_point(|candidate| candidate.start < end);
    let interrupted = &interrupted[..kept];
    let seconds = |ticks: u64| context.seconds(ticks.saturating_sub(origin) as f64);
    let times = interrupted.iter().map(|candidate| {
        let (from, to) = (seconds(candidate.start), seconds(candidate.end));
        // Of its start alone, and so the same in every analysis.
        let number = candidate.start.wrapping_sub(1);
        from + (to - from) * Random::after(0, number).unit()
    });
    let found = events::search(&Train {
        times: times.collect(),
        losses: vec![1.0; interrupted.len()],
        segments: (segments.iter())
            .map(|&(from, to)| (seconds(from), seconds(to)))
            .collect(),
        tick_hz: context.tick_hz,
        ..Train::default()
    });
    let period = |found: &Periodic| Period {
        frequency_hz: found.frequency,
        uncertainty_hz: (found.uncertainty).hypot(signals::clock_error(found.frequency, context)),
        p_value: signals::p_value(found.log_p),
    };
    found.iter().map(period).collect()
}

impl Detector for Tripwire {
    fn push(&mut self, chunk: &Derived<'_>) {
        for at in 0..chunk.len() {
            let pace = chunk.pace[at];
            if pace <= 0.0 || chunk.chunk.gap_ticks[at] > 0 {
                continue;
            }
            let around = at.saturating_sub(BESIDE)..(at + BESIDE + 1).min(chunk.len());
            let beside = || {
                let paces = around.clone().filter(|&other| other != at);
                paces
                    .map(|other| chunk.pace[other])
                    .filter(|&pace| pace > 0.0)
            };
            let Some(usual) = median(beside()).filter(|_| beside().count() >= MIN_BESIDE) else {
                continue;
            };
            self.quanta += 1;
            self.ticks += chunk.length[at];
            // An interruption at the start of a unit changes the time of that unit by `rest`, and the quantum has so many.
            let most = (self.rest - 1.0) / chunk.units[at].max(1.0);
            let part = (pace / usual - 1.0) / most;
            if self.sample.len() < SAMPLE {
                self.sample.push(part);
            }
            if part >= MIN_PART_NOTICED {
                if self.candidates.len() < EVENTS {
                    self.candidates.push(Candidate {
                        start: chunk.chunk.start[at],
                        end: chunk.chunk.end[at],
                        part: part as f32,
                    });
                } else {
                    self.beyond += 1;
                }
            }
        }
    }
}
