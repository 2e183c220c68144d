//! Detection limit of bands: what this very recording would have shown.
//!
//! A second band is added to the histogram of pace, ever closer to the main one, until [`crate::pace::bands`] no longer tells them apart
//! (docs/method.md, section 6.9).

use crate::pace::bands::{self, Mode};
use crate::series::bins::bin_of;
use crate::series::context::Context;
use crate::series::histogram::PaceHistogram;
use bandscope_report::BandLimit;
use rayon::prelude::*;

/// Distances that are tried, as a ratio of pace less 1: six to a decade, from 0.01 % to 100 %.
const DISTANCES: u32 = 24;
const PER_DECADE: f64 = 6.0;
const CLOSEST: f64 = 1e-4;
/// Distances that are tried at a time, side by side; the second in vain where the first does not show.
const AT_A_TIME: usize = 2;
/// How long the added band lasts altogether (docs/method.md, section 6.9).
const LASTING_S: f64 = 10e-3;

/// The closest slower band that would have been seen beside the main one, if it lasted for a time that the answer names.
pub fn band(paces: &PaceHistogram, modes: &[Mode], context: &Context) -> Option<BandLimit> {
    let main = modes.iter().max_by_key(|mode| mode.quanta)?;
    let least = bands::smallest(paces.quanta()).ceil() * 2.0;
    let quanta = (LASTING_S * context.rate_hz).max(least).ceil() as u64;
    let is_shown = |with: &mut PaceHistogram, distance: f64| {
        let replaced = with.add_copy_of(paces, main.bins, 1.0 + distance, quanta);
        let shows = shows(with, main, distance, context);
        with.put_back(replaced);
        shows.then_some(distance)
    };
    // From far to near: what is found near by chance, with nothing found beyond it, is no limit.
    let steps: Vec<u32> = (0..=DISTANCES).rev().collect();
    let closest = steps
        .chunks(AT_A_TIME)
        .flat_map(|steps| {
            let distances = steps
                .par_iter()
                .map(|&step| CLOSEST * 10f64.powf(f64::from(step) / PER_DECADE));
            let shown = distances.map_init(|| paces.clone(), is_shown);
            shown.collect::<Vec<Option<f64>>>()
        })
        .map_while(|distance| distance)
        .last()?;
    Some(BandLimit {
        distance: closest,
        lasting_s: quanta as f64 / context.rate_hz,
    })
}

/// Whether the band that was added `distance` slower than `main`, with the same spread, is told from it.
fn shows(with: &PaceHistogram, main: &Mode, distance: f64, context: &Context) -> bool {
    let (old, new) = (bin_of(main.centre), bin_of(main.centre * (1.0 + distance)));
    bands::find(with, context).iter().any(|mode| {
        (mode.bins.0..=mode.bins.1).contains(&new) && !(mode.bins.0..=mode.bins.1).contains(&old)
    })
}
