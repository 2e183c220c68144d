//! The second pass over a series, which knows what the first one found.

use crate::gaps::availability::Windows;
use crate::gaps::statistics::Event;
use crate::ledger::account::Measured;
use crate::ledger::inferred::Inferred;
use crate::pace::alternation::Sample;
use crate::pace::best_pace::Stretch;
use crate::pace::dwell::Dwell;
use crate::pace::edges::Edges;
use crate::pace::interrupted::Interrupted;
use crate::pace::quantisation::Counts;
use crate::pace::rise_at_gap::RisesAtGaps;
use crate::pace::store_bypass::Switched;
use crate::pace::whole_core::Handling;
use crate::passes::survey::Survey;
use crate::periods::kept::Kept;
use crate::periods::spectrum::Spectra;
use crate::periods::tripwire::Tripwire;
use crate::picture::rasterise::Raster;
use crate::series::context::Context;
use crate::series::derive::Derived;
use crate::series::detector::Detector;

pass! {
    /// The second pass over a series.
    Second {
        /// Undisturbed stretches, and what is faster than the reference pace.
        stretch: Stretch,
        /// The least that was available in windows of each length.
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
        /// Periodograms of all losses, and of the residual.
        spectra: Spectra,
        /// The residual, to look at lines again.
        kept: Kept,
        /// Changes of pace with and without gaps.
        rises: Option<RisesAtGaps>,
        /// Pace by the setting of store bypass, where that changed.
        switched: Option<Switched>,
        /// What handling gaps takes at each pace.
        handling: Option<Handling>,
        /// Quanta with a gap.
        interrupted: Option<Interrupted>,
        /// Interruptions without a gap.
        tripwire: Option<Tripwire>,
        /// Pixels of the pictures.
        raster: Raster,
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
            rises: RisesAtGaps::new(levels).filter(|_| context.gaps_known),
            switched: Switched::new(context),
            handling: Handling::new(levels).filter(|_| context.gaps_known),
            interrupted: main.and_then(|main| Interrupted::new(gaps, main.centre, main.half_width)),
            tripwire: Tripwire::new(context),
            raster: Raster::new(extent, survey.pace_range),
        }
    }
}
