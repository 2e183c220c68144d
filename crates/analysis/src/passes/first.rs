//! The first pass over a series.

use crate::pace::bands::{self, Mode};
use crate::pace::best_pace::Paces;
use crate::pace::warm_up::Start;
use crate::series::context::Context;
use crate::series::derive::Derived;
use crate::series::detector::Detector;
use crate::series::drift::Drift;
use crate::series::histogram::PaceHistogram;
use crate::series::totals::Totals;

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
