//! Which detectors look at a series, and in which order: the two lists of the analysis.
//!
//! A new detector is one file and one line here. The first pass finds what the second needs to
//! know beforehand: the best pace, the bands, the extent.

use crate::alternation::Sample;
use crate::availability::Windows;
use crate::bands::{self, Mode};
use crate::best_pace::{Paces, Stretch};
use crate::context::Context;
use crate::derive::Derived;
use crate::detector::Detector;
use crate::drift::Drift;
use crate::dwell::Dwell;
use crate::edges::Edges;
use crate::gaps::Event;
use crate::helps::Helps;
use crate::histogram::PaceHistogram;
use crate::inferred::Inferred;
use crate::interrupted::Interrupted;
use crate::kept::Kept;
use crate::ledger::Measured;
use crate::quantisation::Counts;
use crate::rasterise::Raster;
use crate::spectrum::Spectra;
use crate::survey::Survey;
use crate::totals::Totals;
use crate::tripwire::Tripwire;
use crate::warm_up::Start;

macro_rules! pass {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $detector:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $($(#[$doc])* pub $field: $detector,)*
        }

        impl Detector for $name {
            fn push(&mut self, chunk: &Derived<'_>) {
                $(self.$field.push(chunk);)*
            }

            fn merge(&mut self, later: $name) {
                $(self.$field.merge(later.$field);)*
            }
        }
    };
}

pass! {
    /// The first pass over a series.
    First {
        /// Sums and extremes.
        totals: Totals,
        /// Paces and their company.
        paces: PaceHistogram,
        /// Time by pace.
        pace_times: Paces,
        /// The quanta against the nominal grid.
        drift: Drift,
        /// The start of the run in blocks.
        start: Start,
    }
}

pass! {
    /// The second pass over a series.
    Second {
        /// Undisturbed stretches, and what is faster than the reference pace.
        stretch: Stretch,
        /// Worst availability.
        windows: Windows,
        /// Stays in bands.
        dwell: Dwell,
        /// Instants at which the pace changes.
        edges: Edges,
        /// Paces, for patterns that repeat within a few quanta.
        sample: Sample,
        /// Counts of the main band.
        counts: Counts,
        /// Losses where gaps are known.
        measured: Option<Measured>,
        /// Losses where they are not.
        inferred: Option<Inferred>,
        /// Periodograms.
        spectra: Spectra,
        /// The residual, to look at lines again.
        kept: Kept,
        /// Changes of pace with and without gaps.
        helps: Option<Helps>,
        /// Quanta with a gap.
        interrupted: Option<Interrupted>,
        /// Interruptions without a gap.
        tripwire: Option<Tripwire>,
        /// Pictures.
        raster: Raster,
    }
}

impl First {
    /// Nothing seen yet.
    pub fn new(context: &Context) -> First {
        First {
            totals: Totals::new(),
            paces: PaceHistogram::new(context),
            pace_times: Paces::new(context),
            drift: Drift::new(context),
            start: Start::new(context),
        }
    }

    /// The modes of pace, fastest first; to be called when all quanta were seen.
    pub fn modes(&mut self, context: &Context) -> Vec<Mode> {
        self.paces.finish();
        bands::find(&self.paces, context)
    }
}

impl Second {
    /// Nothing seen yet; `extent` is the first and last tick of the whole recording, `gaps` are in order of time.
    pub fn new(survey: &Survey, extent: (u64, u64), gaps: &[Event], context: &Context) -> Second {
        let best = survey.best.map_or(0.0, |best| best.ticks);
        let levels = &survey.levels;
        // Where no unit completed there is no pace to book losses against.
        let bookable = survey.best.is_some();
        let main = survey.modes.get(usize::from(survey.main_band()));
        Second {
            stretch: Stretch::new(survey.best),
            windows: Windows::new(context),
            dwell: Dwell::new(levels),
            edges: Edges::new(&survey.modes, context),
            sample: Sample::new(),
            counts: Counts::new(survey.main_band()),
            measured: (bookable && context.gaps_known).then(|| Measured::new(best)),
            inferred: (bookable && !context.gaps_known)
                .then(|| Inferred::new(best, levels.clone())),
            spectra: Spectra::new(survey.totals.longest_segment, context),
            kept: Kept::new(context),
            helps: Helps::new(levels).filter(|_| context.gaps_known),
            interrupted: main.and_then(|main| Interrupted::new(gaps, main.centre, main.half_width)),
            tripwire: Tripwire::new(context),
            raster: Raster::new(extent, survey.pace_range),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::best_pace::choose;
    use crate::derive::Deriver;
    use crate::ledger::Account;
    use bandscope_recording::source::Series;
    use bandscope_recording::{Manifest, Quanta, Quantum};

    /// Three segments of two paces with a gap now and then.
    fn quanta(segments: std::ops::Range<u32>) -> Quanta {
        let mut quanta = Quanta::default();
        for segment in segments {
            let mut now = u64::from(segment) * 1_000_000_000;
            for k in 0..2000u64 {
                let slow = k / 20 % 3 == 0;
                let gap = if k % 11 == 0 { 5000 } else { 0 };
                let length = 100_000 + k * 7919 % 13 + gap;
                quanta.push(Quantum {
                    start: now,
                    end: now + length,
                    count: if slow { 780 } else { 4174 },
                    gaps: u32::from(gap > 0),
                    gap_ticks: gap,
                    segment,
                    ..Quantum::default()
                });
                now += length;
            }
        }
        quanta
    }

    fn context(gaps_known: bool) -> Context {
        let mut manifest = Manifest::default();
        manifest.clock.ticks_per_ns = 1.0;
        let series = Series {
            cpu: None,
            rate_hz: 1e4,
            kernel: String::new(),
            gaps_known,
            ends_known: true,
            origin: String::new(),
        };
        Context::new(&manifest, &series)
    }

    fn feed<D: Detector>(
        mut detector: D,
        segments: std::ops::Range<u32>,
        levels: Option<&crate::levels::Levels>,
    ) -> D {
        let mut deriver = Deriver::new(&context(true));
        quanta(segments).for_each_chunk(&mut |chunk| {
            deriver.feed(chunk, levels, |derived| detector.push(derived));
        });
        detector
    }

    fn survey(mut pass: First, context: &Context) -> Survey {
        let modes = pass.modes(context);
        let mut survey = Survey::new(pass, modes, context);
        survey.best = choose(&[&survey.candidate]).map(|best| best[0]);
        survey
    }

    #[test]
    fn parts_merge_into_the_whole() {
        for gaps_known in [true, false] {
            let context = context(gaps_known);
            let whole = survey(feed(First::new(&context), 0..3, None), &context);
            let mut parts = feed(First::new(&context), 0..1, None);
            parts.merge(feed(First::new(&context), 1..3, None));
            let merged = survey(parts, &context);
            assert_eq!(merged.modes.len(), whole.modes.len());
            for (a, b) in merged.modes.iter().zip(&whole.modes) {
                assert_eq!((a.bins, a.quanta), (b.bins, b.quanta));
                assert!((a.centre / b.centre - 1.0).abs() < 1e-12);
            }
            let best = |survey: &Survey| survey.best.map_or(0.0, |best| best.ticks);
            assert!((best(&merged) / best(&whole) - 1.0).abs() < 1e-12);
            assert_eq!(merged.totals.wall, whole.totals.wall);
            assert_eq!(merged.totals.max_count(), whole.totals.max_count());
            assert_eq!(merged.totals.extents, whole.totals.extents);

            let extent = (0, 3_000_000_000);
            let pass = || Second::new(&whole, extent, &[], &context);
            let mut one = feed(pass(), 0..3, Some(&whole.levels));
            let mut two = feed(pass(), 0..1, Some(&whole.levels));
            two.merge(feed(pass(), 1..3, Some(&whole.levels)));
            one.dwell.finish();
            two.dwell.finish();
            one.edges.finish(&[]);
            two.edges.finish(&[]);
            compare(&one, &two, &whole, &context);
        }
    }

    fn compare(one: &Second, two: &Second, survey: &Survey, context: &Context) {
        assert_eq!(
            two.windows.report(24.0, 0, context),
            one.windows.report(24.0, 0, context)
        );
        for band in 0..survey.modes.len() {
            assert_eq!(two.dwell.stays(band), one.dwell.stays(band));
        }
        assert!(one.dwell.stays(0).number > 10);
        assert!(one.edges.kept().len() > 10);
        assert_eq!(two.edges.kept(), one.edges.kept());
        let account = |pass: &Second| {
            let books = match (pass.measured.clone(), pass.inferred.clone()) {
                (Some(measured), _) => measured.finish(),
                (None, Some(inferred)) => inferred.finish(),
                (None, None) => panic!("one of them keeps the books"),
            };
            let best = survey.best.map(|best| best.ticks);
            Account::close(
                &survey.totals.measures(),
                books,
                &Default::default(),
                best,
                context,
            )
        };
        let (a, b) = (account(one), account(two));
        assert!(
            a.pace > 0 && a.pace.abs_diff(b.pace) <= 1 && a.work == b.work,
            "{a:?} {b:?}"
        );
        assert_eq!(
            a.wall,
            a.work + a.pace + a.lost_to_gaps() + a.measurement + a.unexplained
        );
        let (a, b) = (one.spectra.report(context).1, two.spectra.report(context).1);
        assert_eq!(a.windows, b.windows);
        let pictures = [one, two].map(|pass| pass.raster.clone().finish(context));
        assert_eq!(pictures[0].density, pictures[1].density);
        assert_eq!(pictures[0].levels.len(), pictures[1].levels.len());
    }
}
