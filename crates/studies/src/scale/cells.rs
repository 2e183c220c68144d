//! One number of nodes and one length of phase: what it costs, how that is known, and what it comes from.

use super::jobs::{Jobs, Laps};
use super::law::{Law, Settled};
use super::sample::{Absences, Followed, Lengths, Sample, Without, tail};
use super::{Basis, Cell, Cost, Saving};
use bandscope_statistics::NORMAL_95;
use bandscope_statistics::distributions::student_95;
use bandscope_statistics::maxima::RESOLUTION;
use bandscope_statistics::random::Random;
use bandscope_statistics::tail::Tail;
use rayon::prelude::*;
use std::sync::OnceLock;

/// So many resamples give the ends of an interval of 95 % to a tenth of its width (Efron and Tibshirani 1993, chapter 13).
const RESAMPLES: u64 = 200;
/// The slowest of a third of the phases is seen three times in a recording, on average.
const PHASES_A_NODE: f64 = 3.0;
/// A recording whose absences are short by chance says too little of the wait, and seems to have seen more.
const MOST_OFF: f64 = 2.0;
/// Fewest losses of the kind that a figure rests on: their number is then known to a third.
const MIN_EVENTS: f64 = 10.0;
/// Losses of a quarter of the typical length count: of an exponential law that is 3 in 5 of all.
const OF_TYPICAL: f64 = 4.0;
/// A variance of so many losses has a degree of freedom: of n that scatter as an exponential law, whose kurtosis is 9, 2 n / (9 - 1).
const LOSSES_A_DEGREE: f64 = 4.0;
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
    whole: Losses<'a>,
    /// The same without each of several things.
    without: Vec<(Without, Losses<'a>)>,
    /// What corrects the law.
    jobs: Jobs<'a>,
    name: &'a (dyn Fn(Without) -> String + Sync),
}

/// What is lost, all of it or without something.
struct Losses<'a> {
    phase_ns: f64,
    samples: Vec<&'a Sample>,
    law: Law,
    absences: Lengths,
    /// Fitted where it is asked for: it takes longer than all else.
    tail: OnceLock<Option<Tail>>,
}

impl<'a> Losses<'a> {
    /// Of phases with this index and length, without the thing with that place.
    fn new(cpus: &'a [Vec<Followed>], (phase, phase_ns): (usize, f64), place: usize) -> Losses<'a> {
        let followed = cpus.iter().map(|cpu| &cpu[place]);
        let mut absences = Absences::new();
        followed.clone().for_each(|one| absences.add(&one.absences));
        let samples: Vec<&Sample> = followed.map(|one| &one.samples[phase]).collect();
        let absences = absences.lengths();
        Losses {
            phase_ns,
            law: Law::whole(&samples, &absences),
            absences,
            samples,
            tail: OnceLock::new(),
        }
    }

    fn tail(&self) -> Option<&Tail> {
        let fitted = || tail(&self.samples, self.law.number());
        self.tail.get_or_init(fitted).as_ref()
    }

    /// What the slowest of so many loses, and the phases that are draws of it. What a rank carries over began in the wait: so a draw is of the phase and of
    /// as much of the wait.
    fn settle(&self, nodes: f64) -> (Settled, f64) {
        let slowest = self.law.settle(nodes);
        let wait_ns = MOST_OFF * slowest.loss_ns.max(0.0);
        let draw = 1.0 + slowest.carried * wait_ns / self.phase_ns;
        (slowest, self.law.number() / draw)
    }

    /// What a tail says that the slowest of so many loses, with its interval; `None` where none fits or it leaves too much open.
    fn beyond(&self, nodes: f64, independent: f64) -> Option<(f64, (f64, f64))> {
        let reach = MAX_BEYOND * independent / PHASES_A_NODE;
        let tail = self.tail().filter(|_| nodes <= reach)?;
        let most = tail.expected_maximum(nodes);
        let (low, high) = tail.interval(nodes);
        let (low, high) = (
            widened(low, most, tail.apart),
            widened(high, most, tail.apart),
        );
        let is_known = low > 0.0 && low < high && high / low <= MAX_RATIO;
        is_known.then_some((most, (low, high)))
    }

    /// What the slowest of so many loses, seen or by a tail; `None` where neither says.
    fn loss_ns(&self, nodes: f64) -> Option<f64> {
        let (slowest, independent) = self.settle(nodes);
        if !is_seen(nodes, independent) {
            return Some(self.beyond(nodes, independent)?.0);
        }
        let events = self.law.events(slowest.typical_ns / OF_TYPICAL);
        (events >= MIN_EVENTS || slowest.loss_ns <= NOTHING * self.phase_ns)
            .then_some(slowest.loss_ns)
    }
}

/// An end of the interval of `about`, by so many separate losses: how far it scatters was told by the same few.
fn widened(end: f64, about: f64, losses: f64) -> f64 {
    match about > 0.0 && end > 0.0 && end.is_finite() {
        true => about * (end / about).powf(student_95(losses / LOSSES_A_DEGREE) / NORMAL_95),
        false => end,
    }
}

/// Whether the slowest of so many was seen three times, on average.
fn is_seen(nodes: f64, independent: f64) -> bool {
    nodes <= (independent / PHASES_A_NODE).max(1.0)
}

impl<'a> Of<'a> {
    /// Of phases with this index and length; `cpus` has what each CPU lost, with and without things.
    pub(super) fn new(
        (cpus, laps): (&'a [Vec<Followed>], &'a Laps),
        phase: (usize, f64),
        total_s: f64,
        name: &'a (dyn Fn(Without) -> String + Sync),
    ) -> Of<'a> {
        let whole = Losses::new(cpus, phase, 0);
        let without = cpus.first().map_or(&[][..], |cpu| &cpu[1..]);
        let without = (1..).zip(without);
        let without = without.map(|(place, one)| (one.without, Losses::new(cpus, phase, place)));
        Of {
            phase_ns: phase.1,
            total_s,
            without: without.collect(),
            jobs: laps.jobs(phase.1),
            whole,
            name,
        }
    }

    /// Phases that do not overlap, of all CPUs.
    pub(super) fn number(&self) -> f64 {
        self.whole.law.number()
    }

    /// The largest number of nodes whose slowest was seen, by halving: the more nodes, the longer they wait, and the fewer draws there are.
    pub(super) fn seen_nodes(&self) -> u64 {
        let (mut seen, mut beyond) = (1, (self.number() / PHASES_A_NODE) as u64 + 1);
        while seen + 1 < beyond {
            let middle = seen + (beyond - seen) / 2;
            match is_seen(middle as f64, self.whole.settle(middle as f64).1) {
                true => seen = middle,
                false => beyond = middle,
            }
        }
        seen
    }

    /// How much longer a phase takes on so many nodes, as a share of its work; `None` where that is refused.
    pub(super) fn longer(&self, nodes: u64) -> Option<f64> {
        let nodes = nodes as f64;
        let longer = self.whole.loss_ns(nodes)? / self.phase_ns;
        match is_seen(nodes, self.whole.settle(nodes).1) {
            true => Some(self.jobs.correction(nodes).longer(longer, self.alone())),
            false => Some(longer),
        }
    }

    /// The same of a job on as many nodes as there are of these CPUs.
    pub(super) fn longer_on(
        (cpus, laps): (&[Vec<Followed>], &Laps),
        phase: (usize, f64),
    ) -> Option<f64> {
        let of = Of {
            phase_ns: phase.1,
            total_s: 0.0,
            whole: Losses::new(cpus, phase, 0),
            without: Vec::new(),
            jobs: laps.jobs(phase.1),
            name: &|_| String::new(),
        };
        of.longer(cpus.len() as u64)
    }

    /// What these numbers of nodes cost.
    pub(super) fn cells(&self, nodes: &[u64]) -> Vec<Cell> {
        let seen: Vec<f64> = (nodes.iter().map(|&nodes| nodes as f64))
            .filter(|&nodes| is_seen(nodes, self.whole.settle(nodes).1))
            .collect();
        let resampled = match seen.is_empty() {
            true => Vec::new(),
            false => self.resampled(&seen),
        };
        let cells = nodes.par_iter().map(|&nodes| {
            let place = seen.iter().position(|&seen| seen == nodes as f64);
            let resampled = resampled.iter().filter_map(|losses| losses.get(place?));
            self.cell(nodes, resampled.copied().collect())
        });
        cells.collect()
    }

    /// What so many nodes cost; `resampled` has what their slowest loses in each resample, where it was seen.
    fn cell(&self, nodes: u64, resampled: Vec<f64>) -> Cell {
        let draws = nodes as f64;
        let unseen_ns =
            UNSEEN_NS * (1.0 - (-UNSEEN * draws * self.phase_ns / 1e9 / self.total_s).exp());
        let (slowest, independent) = self.whole.settle(draws);
        let known = match is_seen(draws, independent) {
            true => self.observed(draws, slowest, resampled),
            false => self.extrapolated(draws, independent),
        };
        Cell {
            nodes,
            unseen: unseen_ns / self.phase_ns,
            ..known
        }
    }

    /// By resample: what the slowest of each of these numbers loses, in nanoseconds.
    fn resampled(&self, nodes: &[f64]) -> Vec<Vec<f64>> {
        let Losses {
            samples,
            law,
            absences,
            ..
        } = &self.whole;
        let resamples = (0..RESAMPLES).into_par_iter().map(|seed| {
            let law = law.resampled(samples, absences, &mut Random::new(seed));
            nodes
                .iter()
                .map(|&nodes| law.settle(nodes).loss_ns)
                .collect()
        });
        resamples.collect()
    }

    fn observed(&self, nodes: f64, slowest: Settled, mut ends: Vec<f64>) -> Cell {
        let events = self.whole.law.events(slowest.typical_ns / OF_TYPICAL);
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
        let mut low = widened(least.min(reflected(most)).min(longer), longer, events);
        let mut high = widened(most.max(reflected(least)).max(longer), longer, events);
        let tail = self.whole.tail();
        if let Some(tail) = tail.filter(|tail| tail.rate * nodes >= TAIL_SEEN) {
            // The largest of a resample is never beyond what was seen; that of other recordings is.
            let interval = tail.interval(nodes);
            low = low.min(interval.0 / self.phase_ns);
            // Of a tail without a mean, the recording itself says more.
            if interval.1.is_finite() {
                high = high.max(interval.1 / self.phase_ns);
            }
        }
        let cost = Cost {
            longer,
            interval: (low * (1.0 - RESOLUTION), high * (1.0 + RESOLUTION)),
            at_most: (self.whole.law.slowest_exclusive(nodes, slowest.carried) / self.phase_ns)
                .max(longer),
        };
        let cost = self.jobs.correction(nodes).cost(cost, self.alone());
        // What is left without a cause is not corrected: so no more is said to be saved than by both.
        let whole_ns = slowest.loss_ns.min(cost.longer * self.phase_ns);
        Cell {
            basis: Basis::Observed,
            events: Some(events.round() as u64),
            cost: Some(cost),
            from: self.from(|losses| Some(whole_ns - losses.law.settle(nodes).loss_ns)),
            ..Cell::default()
        }
    }

    /// How much longer work takes on one node by itself, as a share.
    pub(super) fn alone(&self) -> f64 {
        self.whole.law.mean() / self.phase_ns
    }

    fn extrapolated(&self, nodes: f64, independent: f64) -> Cell {
        let refused = Cell {
            basis: Basis::Beyond,
            decided_by_s: Some(self.total_s * PHASES_A_NODE * nodes / independent)
                .filter(|seconds| seconds.is_finite()),
            ..Cell::default()
        };
        let Some((longer, (low, high))) = self.whole.beyond(nodes, independent) else {
            return refused;
        };
        Cell {
            basis: Basis::Extrapolated,
            cost: Some(Cost {
                longer: longer / self.phase_ns,
                interval: (low / self.phase_ns, high / self.phase_ns),
                at_most: longer / self.phase_ns
                    * (std::f64::consts::E / (std::f64::consts::E - 1.0)),
            }),
            from: self.from(|losses| {
                let left = losses.loss_ns(nodes)?;
                // Two tails differ by chance: what is left must lie below all that the whole may cost.
                Some(if left < low { longer - left } else { 0.0 })
            }),
            ..refused
        }
    }

    /// What it comes from: how much less it would be without each, in nanoseconds, the largest first; what cannot be said comes last.
    fn from(&self, less_ns: impl Fn(&Losses<'_>) -> Option<f64> + Sync) -> Vec<Saving> {
        let savings = self.without.par_iter().map(|(without, losses)| Saving {
            name: (self.name)(*without),
            less: less_ns(losses).map(|less| less / self.phase_ns),
        });
        let mut savings: Vec<Saving> = savings
            .filter(|saving| saving.less.is_none_or(|less| less > NOTHING / 10.0))
            .collect();
        let order = |saving: &Saving| saving.less.unwrap_or(f64::NEG_INFINITY);
        savings.sort_by(|a, b| order(b).total_cmp(&order(a)));
        savings
    }
}

/// Exceedances of the tail that the slowest is drawn from, from which on the tail says how far it scatters.
const TAIL_SEEN: f64 = 3.0;
