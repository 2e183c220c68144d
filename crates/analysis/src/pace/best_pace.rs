//! The reference pace u0, against which everything is booked: that of the fastest band that lasts.
//!
//! It is one for all rates of a CPU and work kernel, because the core has one: the fastest band that holds 5 % of the time in
//! quanta without a gap. A thousandth of turbo is not what this CPU can be held to, so it sets no scale: what is faster than the
//! reference is a bonus, booked apart ([`crate::ledger::account`]).
//!
//! Quanta without a gap decide, because what a gap takes from the work beside it is known to some ns only. All quanta are asked
//! where too few are without a gap, or where a band that is faster by more than [`GAPS_FEIGN`] has gaps in each of its quanta.
//!
//! Storing a quantum makes it longer by some ns ([`Context::boundary_ticks`]), which is 1 % of a quantum of 1 us: it is taken off, so that
//! rates compare.

use crate::pace::bands::Mode;
use crate::series::bins::{BINS, pace_of};
use crate::series::context::Context;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use bandscope_report::{BestPace, PaceOrigin};

/// Share of the time that a band must hold to set the reference.
const MIN_BAND_SHARE: f64 = 0.05;
/// Quanta without a gap decide if they hold this share of the time.
const MIN_QUIET_SHARE: f64 = 0.05;
/// By so much gaps make the work beside them look faster at most: nine gaps that leave 33 us of work make it 2.4 %.
const GAPS_FEIGN: f64 = 0.04;
/// The reference is the mean between these shares of its band's time, so that tails do not move it.
const MIDDLE: (f64, f64) = (0.25, 0.75);
/// A quantum is faster than the reference's band if it is by this much faster than the middle of that band's first bin: half a bin and rounding.
const HALF_BIN: f64 = 5e-4;
/// A stretch is undisturbed if its quanta are all within 1 % of u0.
const UNDISTURBED: f64 = 0.01;
/// A series shorter than this is short.
const MAX_SHORT_QUANTA: u64 = 64;
/// Quanta of an undisturbed stretch, and in a short series.
const STRETCH: u64 = 10;
const SHORT_STRETCH: u64 = 3;

/// Time in ticks, and units done in it.
type Done = (f64, f64);

/// First pass: time and units by the bin of their pace.
#[derive(Clone, Debug)]
pub struct Paces {
    boundary_ticks: f64,
    /// Of quanta without a gap, and of those with one.
    quiet: Vec<Done>,
    beside_gaps: Vec<Done>,
}

impl Paces {
    /// Nothing seen yet.
    pub fn new(context: &Context) -> Paces {
        Paces {
            boundary_ticks: context.boundary_ticks(),
            quiet: vec![(0.0, 0.0); BINS],
            beside_gaps: vec![(0.0, 0.0); BINS],
        }
    }

    /// Nothing seen yet, in memory that was written to: see [`crate::series::histogram::PaceHistogram::in_memory`].
    pub fn in_memory(context: &Context) -> Paces {
        let mut paces = Paces::new(context);
        for bins in [&mut paces.quiet, &mut paces.beside_gaps] {
            bins.fill(std::hint::black_box((0.0, 0.0)));
        }
        paces
    }

    /// What choosing needs of a series whose bands are `modes`.
    pub fn candidate(&self, modes: &[Mode], context: &Context) -> Candidate {
        // The bins of modes are of paces that hold the storing of quanta.
        let storing = 1.0 - self.boundary_ticks / context.quantum_ticks;
        let edge = |bin: usize| pace_of(bin) * storing.max(0.5);
        let quanta: u64 = modes.iter().map(|mode| mode.quanta).sum();
        let lasting = |mode: &&Mode| mode.quanta as f64 >= MIN_BAND_SHARE * quanta as f64;
        Candidate {
            storing: storing.max(0.5),
            tested: context.self_test(),
            quiet: occupied(&self.quiet),
            beside_gaps: occupied(&self.beside_gaps),
            bands: modes
                .iter()
                .filter(lasting)
                .map(|mode| (edge(mode.bins.0), edge(mode.bins.1)))
                .collect(),
        }
    }
}

/// The bins in which there is something.
fn occupied(bins: &[Done]) -> Vec<Done> {
    bins.iter().copied().filter(|bin| bin.1 > 0.0).collect()
}

impl Detector for Paces {
    fn push(&mut self, chunk: &Derived<'_>) {
        let n = chunk.len();
        let (present, units) = (&chunk.present[..n], &chunk.units[..n]);
        let (bins, gap_ticks) = (&chunk.bin[..n], &chunk.chunk.gap_ticks[..n]);
        let paces = &chunk.pace[..n];
        for k in 0..n {
            if paces[k] > 0.0 {
                let of = if gap_ticks[k] == 0 {
                    &mut self.quiet
                } else {
                    &mut self.beside_gaps
                };
                let bin = &mut of[usize::from(bins[k]).min(BINS - 1)];
                bin.0 += (present[k] - self.boundary_ticks).max(0.0);
                bin.1 += units[k];
            }
        }
    }
}

/// What one series says of the reference pace.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// Pace without the storing of quanta over pace.
    storing: f64,
    /// The self-test's best pace, ticks per unit.
    tested: Option<f64>,
    quiet: Vec<Done>,
    beside_gaps: Vec<Done>,
    /// Fastest and slowest pace of each band that lasts.
    bands: Vec<(f64, f64)>,
}

/// The pace that counts as no loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// Ticks per unit.
    pub ticks: f64,
    /// What is faster than this, in ticks per unit of this series, is faster than the band.
    pub fastest: f64,
    /// Share of the time that its band holds.
    pub share: f64,
}

/// The reference of series of one CPU and work kernel, one for each; `None` if no unit completed.
pub fn choose(series: &[&Candidate]) -> Option<Vec<Reference>> {
    let bands = || series.iter().flat_map(|one| one.bands.iter().copied());
    let quiet = Spread::new(series.iter().flat_map(|one| &one.quiet));
    let everything = series
        .iter()
        .flat_map(|one| one.quiet.iter().chain(&one.beside_gaps));
    let all = Spread::new(everything);
    let of_all = all.reference(bands())?;
    // Faster than the self-test and never without a gap: no pace that the work kernel has.
    let tested = series.iter().filter_map(|one| one.tested);
    let possible = tested.fold(0.0, |_, tested| tested * (1.0 - GAPS_FEIGN));
    let chosen = quiet
        .reference(bands())
        .filter(|of_quiet| {
            let feigned = of_all.ticks >= of_quiet.ticks * (1.0 - GAPS_FEIGN);
            quiet.ticks >= MIN_QUIET_SHARE * all.ticks && (feigned || of_all.ticks < possible)
        })
        .unwrap_or(of_all);
    let of_each = |one: &&Candidate| Reference {
        fastest: chosen.fastest / one.storing,
        ..chosen
    };
    Some(series.iter().map(of_each).collect())
}

/// Time and units in order of pace.
struct Spread {
    by_pace: Vec<(f64, Done)>,
    ticks: f64,
}

impl Spread {
    fn new<'a>(done: impl Iterator<Item = &'a Done>) -> Spread {
        let paced = done.map(|&(ticks, units)| (ticks / units, (ticks, units)));
        let mut by_pace: Vec<(f64, Done)> = paced
            .filter(|(pace, _)| pace.is_finite() && *pace > 0.0)
            .collect();
        by_pace.sort_by(|a, b| a.0.total_cmp(&b.0));
        Spread {
            ticks: by_pace.iter().map(|one| one.1.0).sum(),
            by_pace,
        }
    }

    /// The fastest of `bands` that lasts; without one, what is reached for so much of the time.
    fn reference(&self, bands: impl Iterator<Item = (f64, f64)>) -> Option<Reference> {
        let mut bands: Vec<(f64, f64)> = bands.collect();
        bands.sort_by(|a, b| a.0.total_cmp(&b.0));
        let lasting = bands.into_iter().find_map(|(fastest, slowest)| {
            let fastest = fastest * (1.0 - HALF_BIN);
            let within = self.between(fastest, slowest * (1.0 + HALF_BIN));
            let ticks: f64 = within.iter().map(|one| one.1.0).sum();
            let share = ticks / self.ticks;
            (share >= MIN_BAND_SHARE).then(|| Reference {
                ticks: middle(within, ticks, MIDDLE),
                fastest,
                share,
            })
        });
        lasting.or_else(|| {
            (self.ticks > 0.0).then(|| {
                let ticks = middle(&self.by_pace, self.ticks, (0.0, MIN_BAND_SHARE));
                Reference {
                    ticks,
                    fastest: ticks,
                    share: MIN_BAND_SHARE,
                }
            })
        })
    }

    fn between(&self, fastest: f64, slowest: f64) -> &[(f64, Done)] {
        let from = self.by_pace.partition_point(|one| one.0 < fastest);
        let to = self.by_pace.partition_point(|one| one.0 <= slowest);
        &self.by_pace[from..to.max(from)]
    }
}

/// Mean pace of the part of `by_pace`, which lasts `ticks`, between two shares of that.
fn middle(by_pace: &[(f64, Done)], ticks: f64, (from, to): (f64, f64)) -> f64 {
    let (mut before, mut time, mut units) = (0.0, 0.0, 0.0);
    for &(_, done) in by_pace {
        let end = before + done.0;
        let inside = end.min(to * ticks) - before.max(from * ticks);
        if inside > 0.0 {
            time += inside;
            units += done.1 * inside / done.0;
        }
        before = end;
    }
    time / units
}

/// Second pass: the longest stretch of quanta at the reference pace, and what was gained where it was faster.
#[derive(Clone, Debug)]
pub struct Stretch {
    best: f64,
    limit: f64,
    fastest: f64,
    run: u64,
    longest: u64,
    bonus: f64,
}

impl Stretch {
    /// Against a reference; without one nothing is at it.
    pub fn new(reference: Option<Reference>) -> Stretch {
        let best = reference.map_or(0.0, |reference| reference.ticks);
        Stretch {
            best,
            limit: best * (1.0 + UNDISTURBED),
            fastest: reference.map_or(0.0, |reference| reference.fastest),
            run: 0,
            longest: 0,
            bonus: 0.0,
        }
    }

    /// Ticks by which quanta that were faster than the reference's band did more than units of the reference pace.
    pub fn bonus(&self) -> f64 {
        self.bonus
    }

    /// What the report says of the reference.
    pub fn report(&self, reference: Reference, quanta: u64, context: &Context) -> BestPace {
        let needed = if quanta < MAX_SHORT_QUANTA {
            SHORT_STRETCH
        } else {
            STRETCH
        };
        let tested = context.self_test();
        BestPace {
            ns_per_unit: context.ns(reference.ticks),
            origin: PaceOrigin::Series,
            undisturbed: self.longest >= needed
                || tested.is_some_and(|tested| (tested / self.best - 1.0).abs() <= UNDISTURBED),
            share: reference.share,
            self_test_ns_per_unit: tested.map(|tested| context.ns(tested)),
        }
    }
}

impl Detector for Stretch {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.run = 0;
        }
        let n = chunk.len();
        let (paces, present) = (&chunk.pace[..n], &chunk.present[..n]);
        let units = &chunk.units[..n];
        let mut bonus = 0.0;
        for k in 0..n {
            let gained = units[k] * self.best - present[k];
            bonus += if paces[k] > 0.0 && paces[k] < self.fastest {
                gained.max(0.0)
            } else {
                0.0
            };
        }
        self.bonus += bonus;
        for &pace in paces {
            self.run = if pace > 0.0 && pace <= self.limit {
                self.run + 1
            } else {
                0
            };
            self.longest = self.longest.max(self.run);
        }
    }
}
