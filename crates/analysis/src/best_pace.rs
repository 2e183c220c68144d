//! The best pace u0, against which everything is booked.
//!
//! u0 is the lower envelope of pace: the self-test's own best where that is lower (an absolute baseline that a noisy
//! machine cannot flatter), otherwise the fastest 0.1 % of paces pooled over four adjacent quanta, so that the noise of one
//! quantum does not set it (adjacent pairs in a series of a few rows). Over four and not more, because a pace that lasts one millisecond at 10 kHz must
//! show, and a file of counts holds an interrupt every tenth quantum.
//!
//! Where there are enough of them, only quanta without a gap are asked, pooled as they follow each other. A core reads the clock ahead of the work that is
//! still in flight, and does so again only some units after whatever drained it: each gap seems longer and the work beside it shorter, by 50 to 110 ns of the
//! default work kernel on Zen 4. Nine gaps that leave 33 us of work make that look 2.4 % faster than the core can be. What is faster by more
//! than [`REACH`] is not that: a core whose fast quanta all have gaps.

use crate::context::Context;
use crate::derive::Derived;
use crate::detector::Detector;
use crate::histogram::{BINS, bin_of};
use crate::report::BestPace;

/// Adjacent quanta pooled.
const POOL: u32 = 4;
/// A series shorter than this is pooled by two: in fifteen rows a pace may stand twice.
const SHORT: u64 = 64;
/// Quanta without a gap set the envelope if they are at least this many pools, and this share of all.
const QUIET: u64 = SHORT / POOL as u64;
const QUIET_SHARE: f64 = 0.05;
/// By so much gaps make work look faster at most.
const REACH: f64 = 0.04;
/// Share of the pools that lies below the envelope.
const ENVELOPE: f64 = 0.001;
/// A stretch is undisturbed if its quanta are all within 1 % of u0.
const UNDISTURBED: f64 = 0.01;
/// Quanta of such a stretch, and in a series too short for that.
const STRETCH: u64 = 10;
const SHORT_STRETCH: u64 = 3;

/// First pass: paces pooled over two and over four quanta.
#[derive(Clone, Debug)]
pub struct Envelope {
    quanta: u64,
    /// Fastest single quantum and fastest pair of a short series, ticks per unit.
    single: f64,
    pair: f64,
    before: Option<(f64, f64)>,
    /// Of all quanta, and of those without a gap.
    all: Pools,
    quiet: Pools,
}

/// Paces pooled over adjacent quanta: number and sum by bin.
#[derive(Clone, Debug)]
struct Pools {
    bins: Vec<(u64, f64)>,
    /// Time, units and number of the quanta in the pool under way.
    open: (f64, f64, u32),
}

impl Pools {
    fn new() -> Pools {
        Pools {
            bins: vec![(0, 0.0); BINS],
            open: (0.0, 0.0, 0),
        }
    }

    /// Adds a quantum to the pool `open`, which the caller keeps in registers meanwhile.
    #[inline]
    fn push(&mut self, open: &mut (f64, f64, u32), present: f64, units: f64) {
        *open = (open.0 + present, open.1 + units, open.2 + 1);
        if open.2 == POOL {
            let pace = open.0 / open.1;
            let bin = &mut self.bins[bin_of(pace)];
            bin.0 += 1;
            bin.1 += pace;
            *open = (0.0, 0.0, 0);
        }
    }

    /// Mean of the lowest pools, to a bin, and how many pools there are.
    fn best(&self) -> (f64, u64) {
        let number: u64 = self.bins.iter().map(|bin| bin.0).sum();
        let wanted = (number as f64 * ENVELOPE).ceil() as u64;
        let (mut seen, mut sum) = (0, 0.0);
        for &(pools, paces) in &self.bins {
            seen += pools;
            sum += paces;
            if seen >= wanted.max(1) {
                break;
            }
        }
        (sum / seen.max(1) as f64, number)
    }

    fn merge(&mut self, later: &Pools) {
        for (bin, other) in self.bins.iter_mut().zip(&later.bins) {
            bin.0 += other.0;
            bin.1 += other.1;
        }
    }
}

impl Envelope {
    /// Nothing seen yet.
    pub fn new() -> Envelope {
        Envelope {
            quanta: 0,
            single: f64::INFINITY,
            pair: f64::INFINITY,
            before: None,
            all: Pools::new(),
            quiet: Pools::new(),
        }
    }

    /// Nothing seen yet, in memory that was written to: see [`crate::histogram::PaceHistogram::in_memory`].
    pub fn in_memory() -> Envelope {
        let mut envelope = Envelope::new();
        for pools in [&mut envelope.all, &mut envelope.quiet] {
            pools.bins.fill(std::hint::black_box((0, 0.0)));
        }
        envelope
    }

    /// Best pace of the series in ticks per unit; `None` if no unit completed.
    pub fn best(&self) -> Option<f64> {
        let (all, quiet) = (self.all.best(), self.quiet.best());
        let best = if self.quanta < SHORT || all.1 == 0 {
            self.pair.min(self.single_if_alone())
        } else if quiet.1 >= QUIET
            && quiet.1 as f64 >= QUIET_SHARE * all.1 as f64
            && quiet.0 <= all.0 * (1.0 + REACH)
        {
            quiet.0
        } else {
            all.0
        };
        Some(best).filter(|best| best.is_finite() && *best > 0.0)
    }

    fn end_segment(&mut self) {
        self.before = None;
        self.all.open = (0.0, 0.0, 0);
        self.quiet.open = (0.0, 0.0, 0);
    }

    fn single_if_alone(&self) -> f64 {
        if self.pair.is_finite() {
            f64::INFINITY
        } else {
            self.single
        }
    }
}

impl Detector for Envelope {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.end_segment();
        }
        let (mut all, mut quiet, mut quanta) = (self.all.open, self.quiet.open, self.quanta);
        let columns = chunk.present.iter().zip(chunk.units);
        for ((&present, &units), &gap) in columns.zip(chunk.chunk.gap_ticks) {
            if units <= 0.0 || present <= 0.0 {
                continue;
            }
            quanta += 1;
            if quanta < SHORT {
                self.single = self.single.min(present / units);
                if let Some(before) = self.before.replace((present, units)) {
                    self.pair = self.pair.min((before.0 + present) / (before.1 + units));
                }
            }
            self.all.push(&mut all, present, units);
            if gap == 0 {
                self.quiet.push(&mut quiet, present, units);
            }
        }
        (self.all.open, self.quiet.open, self.quanta) = (all, quiet, quanta);
    }

    fn merge(&mut self, later: Envelope) {
        self.end_segment();
        self.quanta += later.quanta;
        self.single = self.single.min(later.single);
        self.pair = self.pair.min(later.pair);
        self.all.merge(&later.all);
        self.quiet.merge(&later.quiet);
    }
}

/// Best pace in ticks per unit, and whether the self-test set it.
pub fn choose(envelope: &Envelope, context: &Context) -> Option<(f64, bool)> {
    match (envelope.best(), context.self_test()) {
        (Some(seen), Some(tested)) if tested <= seen => Some((tested, true)),
        (Some(seen), _) => Some((seen, false)),
        // Nothing completed: the self-test says nothing of this series.
        (None, _) => None,
    }
}

/// Second pass: the longest stretch of quanta at the best pace.
#[derive(Clone, Debug)]
pub struct Stretch {
    limit: f64,
    run: u64,
    longest: u64,
}

impl Stretch {
    /// A stretch at `best` ticks per unit.
    pub fn new(best: f64) -> Stretch {
        Stretch {
            limit: best * (1.0 + UNDISTURBED),
            run: 0,
            longest: 0,
        }
    }

    /// What the report says of the best pace.
    pub fn report(&self, best: (f64, bool), quanta: u64, context: &Context) -> BestPace {
        let needed = if quanta < SHORT {
            SHORT_STRETCH
        } else {
            STRETCH
        };
        BestPace {
            ns_per_unit: context.ns(best.0),
            origin: if best.1 { "self-test" } else { "series" },
            undisturbed: context.self_test().is_some() || self.longest >= needed,
        }
    }
}

impl Detector for Stretch {
    fn push(&mut self, chunk: &Derived<'_>) {
        if chunk.opens_segment {
            self.run = 0;
        }
        for &pace in chunk.pace {
            self.run = if pace > 0.0 && pace <= self.limit {
                self.run + 1
            } else {
                0
            };
            self.longest = self.longest.max(self.run);
        }
    }

    fn merge(&mut self, later: Stretch) {
        self.longest = self.longest.max(later.longest);
        self.run = 0;
    }
}
