//! One number of nodes and one length of phase: what it costs, how that is known, and what it comes from.

use super::law::{Law, Settled};
use super::sample::{Absences, Followed, Sample, Without};
use super::windows::STARTS;
use super::{Basis, Cell, Cost, Saving};
use bandscope_statistics::maxima::RESOLUTION;
use bandscope_statistics::random::Random;
use bandscope_statistics::tail::Tail;
use rayon::prelude::*;

/// So many resamples give the ends of an interval of 95 % to a tenth of its width (Efron and Tibshirani 1993, chapter 13).
const RESAMPLES: u64 = 200;
/// The slowest of a third of the phases is seen three times in a recording, on average.
const PHASES_A_NODE: f64 = 3.0;
/// Fewest losses of the kind that a figure rests on: their number is then known to a third.
const MIN_EVENTS: f64 = 10.0;
/// Losses of a quarter of the typical length count: of an exponential law that is 3 in 5 of all.
const OF_TYPICAL: f64 = 4.0;
/// An extrapolation goes so many times beyond what was seen, at most, and its interval is no wider than this ratio.
const MAX_BEYOND: f64 = 100.0;
const MAX_RATIO: f64 = 4.0;
/// Less of a phase is not worth a refusal: it costs nothing.
const NOTHING: f64 = 1e-3;
/// What may come unseen three times in a recording, with 95 % (minus the logarithm of 0.05).
const UNSEEN: f64 = 2.996;
/// Length of what may come unseen.
const UNSEEN_NS: f64 = 1e6;

/// All that is known of phases of one length.
pub(super) struct Of<'a> {
    phase_ns: f64,
    total_s: f64,
    whole: Law,
    resampled: Vec<Law>,
    absences: Absences,
    tail: Option<Tail>,
    /// The same without each of several things.
    without: Vec<(Without, Law, Absences)>,
    name: &'a (dyn Fn(Without) -> String + Sync),
}

impl<'a> Of<'a> {
    /// Of the length with index `phase`; `cpus` has what each CPU lost, with and without things.
    pub(super) fn new(
        cpus: &[Vec<Followed>],
        (phase, phase_ns): (usize, f64),
        total_s: f64,
        name: &'a (dyn Fn(Without) -> String + Sync),
    ) -> Of<'a> {
        let of = |place: usize| -> (Vec<&Sample>, Absences) {
            let followed: Vec<&Followed> = cpus.iter().map(|cpu| &cpu[place]).collect();
            let mut absences = Absences::new();
            followed.iter().for_each(|one| absences.add(&one.absences));
            (
                followed.iter().map(|one| &one.samples[phase]).collect(),
                absences,
            )
        };
        let (samples, absences) = of(0);
        let whole = Law::whole(&samples);
        let seeds = 0..RESAMPLES;
        let resampled = seeds
            .into_par_iter()
            .map(|seed| Law::resampled(&samples, &mut Random::new(seed)));
        let without = cpus.first().map_or(&[][..], |cpu| &cpu[1..]);
        let without = without.iter().enumerate().map(|(place, one)| {
            let (samples, absences) = of(place + 1);
            (one.without, Law::whole(&samples), absences)
        });
        Of {
            phase_ns,
            total_s,
            resampled: resampled.collect(),
            tail: tail(&samples, whole.number()),
            without: without.collect(),
            whole,
            absences,
            name,
        }
    }

    /// Phases that do not overlap, of all CPUs.
    pub(super) fn number(&self) -> f64 {
        self.whole.number()
    }

    /// The largest number of nodes whose slowest was seen.
    pub(super) fn seen_nodes(&self) -> u64 {
        (self.number() / PHASES_A_NODE) as u64
    }

    /// What so many nodes cost.
    pub(super) fn cell(&self, nodes: u64) -> Cell {
        let draws = nodes as f64;
        let unseen_ns =
            UNSEEN_NS * (1.0 - (-UNSEEN * draws * self.phase_ns / 1e9 / self.total_s).exp());
        let slowest = self.whole.settle(draws, &self.absences);
        // A phase that begins within an absence is not one more draw of it.
        let independent = self.number()
            / self
                .whole
                .together(slowest.typical_ns / OF_TYPICAL, slowest.carried);
        let known = match draws <= (independent / PHASES_A_NODE).max(1.0) {
            true => self.observed(draws, slowest),
            false => self.extrapolated(draws, independent),
        };
        Cell {
            nodes,
            unseen: unseen_ns / self.phase_ns,
            ..known
        }
    }

    fn observed(&self, nodes: f64, slowest: Settled) -> Cell {
        let events = self.whole.events(slowest.typical_ns / OF_TYPICAL);
        let longer = slowest.loss_ns / self.phase_ns;
        if events < MIN_EVENTS && longer > NOTHING {
            let wanted_s = self.total_s * MIN_EVENTS / events.max(1.0);
            return Cell {
                basis: Basis::TooRare,
                events: Some(events.round() as u64),
                decided_by_s: Some(wanted_s),
                ..Cell::default()
            };
        }
        let ends = self
            .resampled
            .par_iter()
            .map(|law| law.settle(nodes, &self.absences).loss_ns);
        let mut ends: Vec<f64> = ends.collect();
        ends.sort_by(f64::total_cmp);
        let end =
            |share: f64| ends[((ends.len() - 1) as f64 * share).round() as usize] / self.phase_ns;
        // An estimate that is a half of the truth scatters half as much: reflected on a scale of ratios, its interval reaches up to it. That of the
        // largest scatters downwards, whatever the truth. So the wider end of both.
        let reflected = |end: f64| {
            if longer > 0.0 && end > 0.0 {
                longer * longer / end
            } else {
                end
            }
        };
        let (least, most) = (end(0.025), end(0.975));
        let mut low = least.min(reflected(most)).min(longer);
        let mut high = most.max(reflected(least)).max(longer);
        if let Some(tail) = self
            .tail
            .as_ref()
            .filter(|tail| tail.rate * nodes >= TAIL_SEEN)
        {
            // The largest of a resample is never beyond what was seen; that of other recordings is.
            let interval = tail.interval(nodes);
            low = low.min(interval.0 / self.phase_ns);
            high = high.max(interval.1 / self.phase_ns);
        }
        Cell {
            basis: Basis::Observed,
            events: Some(events.round() as u64),
            cost: Some(Cost {
                longer,
                interval: (low * (1.0 - RESOLUTION), high * (1.0 + RESOLUTION)),
                at_most: self.whole.slowest_exclusive(nodes, slowest.carried) / self.phase_ns,
            }),
            from: self.from(nodes, slowest.loss_ns),
            ..Cell::default()
        }
    }

    fn extrapolated(&self, nodes: f64, independent: f64) -> Cell {
        let refused = Cell {
            basis: Basis::Beyond,
            decided_by_s: Some(self.total_s * PHASES_A_NODE * nodes / independent),
            ..Cell::default()
        };
        let (Some(tail), true) = (
            &self.tail,
            nodes <= MAX_BEYOND * independent / PHASES_A_NODE,
        ) else {
            return refused;
        };
        let (longer, (low, high)) = (tail.expected_maximum(nodes), tail.interval(nodes));
        if !(low > 0.0 && high / low <= MAX_RATIO) {
            return refused;
        }
        Cell {
            basis: Basis::Extrapolated,
            cost: Some(Cost {
                longer: longer / self.phase_ns,
                interval: (low / self.phase_ns, high / self.phase_ns),
                at_most: longer / self.phase_ns
                    * (std::f64::consts::E / (std::f64::consts::E - 1.0)),
            }),
            ..refused
        }
    }

    /// What it comes from: how much less it would be without each, the largest first.
    fn from(&self, nodes: f64, loss_ns: f64) -> Vec<Saving> {
        let savings = self
            .without
            .par_iter()
            .map(|(without, law, absences)| Saving {
                name: (self.name)(*without),
                less: (loss_ns - law.settle(nodes, absences).loss_ns) / self.phase_ns,
            });
        let mut savings: Vec<Saving> = savings
            .filter(|saving| saving.less > NOTHING / 10.0)
            .collect();
        savings.sort_by(|a, b| b.less.total_cmp(&a.less));
        savings
    }
}

/// Exceedances of the tail that the slowest is drawn from, from which on the tail says how far it scatters.
const TAIL_SEEN: f64 = 3.0;

/// The tail of the losses of all CPUs.
fn tail(samples: &[&Sample], number: f64) -> Option<Tail> {
    let mut largest: Vec<(f64, usize, u64)> = Vec::new();
    for (cpu, sample) in samples.iter().enumerate() {
        largest.extend(
            sample
                .largest
                .iter()
                .map(|&(loss, number)| (loss, cpu, number)),
        );
    }
    largest.sort_by(|a, b| b.0.total_cmp(&a.0));
    // Below the shortest list's end others may be missing.
    let full = samples
        .iter()
        .filter(|sample| sample.largest.len() as f64 + 1.0 < sample.number);
    let least = full
        .filter_map(|sample| sample.largest.last())
        .map(|one| one.0)
        .fold(f64::NEG_INFINITY, f64::max);
    largest.retain(|one| one.0 >= least);
    let values: Vec<f64> = largest.iter().map(|one| one.0).collect();
    // Phases in a row that exceed a threshold met the same absence.
    let together = |threshold: f64| {
        let mut places: Vec<(usize, u64)> = largest
            .iter()
            .filter(|one| one.0 > threshold)
            .map(|one| (one.1, one.2))
            .collect();
        places.sort_unstable();
        let in_a_row = |pair: &&[(usize, u64)]| {
            pair[0].0 == pair[1].0 && pair[1].1 - pair[0].1 <= STARTS as u64
        };
        let others = places.windows(2).filter(in_a_row).count();
        places.len() as f64 / (places.len() - others).max(1) as f64
    };
    Tail::new(&values, number, together)
}
