//! What the first pass over a series found: small, so that a machine of many CPUs fits.

use crate::pace::bands::{self, Mode};
use crate::pace::best_pace::{Candidate, Reference};
use crate::pace::limits;
use crate::pace::warm_up::Observed;
use crate::passes::first::First;
use crate::series::bins::pace_of;
use crate::series::context::Context;
use crate::series::drift::Slope;
use crate::series::histogram::{Bin, PaceHistogram};
use crate::series::levels::{Levels, NO_BAND};
use crate::series::totals::Totals;
use bandscope_report::BandLimit;

/// Share of the quanta on each side that a picture may leave out: the 0.01th and 99.99th percentile.
const OUTSIDE: f64 = 1e-4;
/// Room around the paces in a picture.
const MARGIN: f64 = 1.05;

/// The first pass, finished.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Sums and extremes.
    pub totals: Totals,
    /// Bands, fastest first.
    pub modes: Vec<Mode>,
    /// The same as a table.
    pub levels: Levels,
    /// What the reference pace is chosen from; empty once it was.
    pub candidate: Candidate,
    /// The reference pace, which is common to all rates; `None` if no unit completed.
    pub best: Option<Reference>,
    /// Drift of the quanta against the nominal grid.
    pub drift: Option<Slope>,
    /// The start of the series in blocks.
    pub start: Vec<Observed>,
    /// Paces that a picture shows, ticks per unit.
    pub pace_range: (f64, f64),
    /// The closest band that would have been seen.
    pub band_limit: Option<BandLimit>,
}

impl Survey {
    /// Draws the conclusions of the first pass, of which `modes` are the bands.
    pub fn new(first: First, modes: Vec<Mode>, context: &Context) -> Survey {
        let slowest = modes.last().map_or(0.0, |mode| mode.centre);
        Survey {
            levels: bands::levels(&modes),
            candidate: first.pace_times.candidate(&modes, context),
            best: None,
            drift: first.drift.finish(slowest),
            start: first.start.finish(),
            pace_range: pace_range(&first.paces, &modes),
            band_limit: limits::band(&first.paces, &modes, context),
            totals: first.totals,
            modes,
        }
    }

    /// Number of the band with the most quanta.
    pub fn main_band(&self) -> u8 {
        let numbered = self.modes.iter().enumerate();
        numbered
            .max_by_key(|(_, mode)| mode.quanta)
            .map_or(NO_BAND, |(number, _)| number as u8)
    }
}

fn pace_range(paces: &PaceHistogram, modes: &[Mode]) -> (f64, f64) {
    let occupied = paces
        .bins()
        .iter()
        .enumerate()
        .filter(|(_, bin)| bin.quanta() > 0);
    let (mut low, mut high, mut seen) = (f64::INFINITY, 0.0f64, 0);
    let quanta = paces.quanta() as f64;
    for (number, bin) in occupied {
        seen += Bin::quanta(bin);
        if seen as f64 > OUTSIDE * quanta {
            low = low.min(pace_of(number));
        }
        let left = quanta - (seen - bin.quanta()) as f64;
        if left > OUTSIDE * quanta {
            high = pace_of(number);
        }
    }
    for mode in modes {
        low = low.min(mode.centre * (1.0 - mode.half_width));
        high = high.max(mode.centre * (1.0 + mode.half_width));
    }
    if low.is_finite() && low > 0.0 && high >= low {
        (low / MARGIN, high * MARGIN)
    } else {
        (1.0, 2.0)
    }
}
