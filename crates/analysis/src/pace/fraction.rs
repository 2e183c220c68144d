//! FTQ's fraction: mean count over a reference count.
//!
//! Over the highest count it is FTQ's own figure and an extreme-value statistic: a single lucky quantum, or a
//! faster band, sets it (0.990 on Milan against 0.997 on Sapphire Rapids says almost nothing of interference).

use crate::pace::bands::Mode;
use crate::series::context::Context;
use crate::series::totals::Totals;
use bandscope_report::Fraction;

/// The three fractions; `None` where nothing was counted.
pub fn report(totals: &Totals, bands: &[Mode], context: &Context) -> Option<Fraction> {
    let mean = totals.mean_count();
    let over = |reference: f64| {
        if reference > 0.0 {
            mean / reference
        } else {
            0.0
        }
    };
    let main = bands.iter().max_by_key(|band| band.quanta);
    (totals.quanta > 0).then(|| Fraction {
        of_max: over(totals.max_count() as f64),
        of_p999: over(totals.p999_count()),
        of_main_band: over(main.map_or(0.0, |band| context.quantum_ticks / band.centre)),
    })
}
