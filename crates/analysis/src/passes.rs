//! Which detectors look at a series, and in which order: the two lists of the analysis.
//!
//! A new detector is one file and one line here. The first pass finds what the second needs to
//! know beforehand: the best pace, the bands, the extent.

use crate::availability::Windows;
use crate::best_pace::{Envelope, Stretch};
use crate::context::Context;
use crate::derive::Derived;
use crate::detector::Detector;
use crate::drift::Drift;
use crate::dwell::Dwell;
use crate::fold::Fold;
use crate::histogram::PaceHistogram;
use crate::inferred::Inferred;
use crate::ledger::Measured;
use crate::quantisation::Counts;
use crate::rasterise::Raster;
use crate::spectrum::Spectra;
use crate::survey::Survey;
use crate::totals::Totals;

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
        /// The lower envelope of pace.
        envelope: Envelope,
        /// The quanta against the nominal grid.
        drift: Drift,
    }
}

pass! {
    /// The second pass over a series.
    Second {
        /// Undisturbed stretches.
        stretch: Stretch,
        /// Worst availability.
        windows: Windows,
        /// Stays in bands.
        dwell: Dwell,
        /// Counts of the main band.
        counts: Counts,
        /// Losses where gaps are known.
        measured: Option<Measured>,
        /// Losses where they are not.
        inferred: Option<Inferred>,
        /// Periodograms.
        spectra: Spectra,
        /// Periods in quanta.
        fold: Fold,
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
            envelope: Envelope::new(),
            drift: Drift::new(context),
        }
    }
}

impl Second {
    /// Nothing seen yet; `extent` is the first and last tick of the whole recording.
    pub fn new(survey: &Survey, extent: (u64, u64), context: &Context) -> Second {
        let best = survey.best.map_or(0.0, |best| best.0);
        let levels = &survey.levels;
        // Where no unit completed there is no pace to book losses against.
        let bookable = survey.best.is_some();
        Second {
            stretch: Stretch::new(best),
            windows: Windows::new(context),
            dwell: Dwell::new(levels),
            counts: Counts::new(survey.main_band()),
            measured: (bookable && context.gaps_known).then(|| Measured::new(best)),
            inferred: (bookable && !context.gaps_known)
                .then(|| Inferred::new(best, levels.clone())),
            spectra: Spectra::new(survey.totals.longest_segment, context),
            fold: Fold::new(),
            raster: Raster::new(extent, survey.pace_range),
        }
    }
}
