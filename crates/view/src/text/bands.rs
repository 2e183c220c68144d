//! Bands: the paces that recur.

use super::View;
use super::table::{Page, Paint, Side, Table};
use crate::numbers;

/// Share of the quanta of a series from which on it is said why they are in no band.
const WORTH_SAYING: f64 = 0.01;
/// Bands of one series that get a line; the analysis hands them out fastest first.
const MOST: usize = 6;

pub(super) fn bands(view: &View<'_>, page: &mut Page<'_>) {
    let mut table = Table::new("Bands")
        .column("ns/unit", Side::Right)
        .column("within", Side::Right)
        .column("count", Side::Right)
        .column("share", Side::Right)
        .column("median dwell", Side::Right)
        .column("stays", Side::Right)
        .column("nature", Side::Left);
    for (label, series) in view.labelled() {
        let mut bands: Vec<_> = series.bands.iter().collect();
        // The least frequent are left out first; those that stay keep their order.
        let mut shares: Vec<f64> = bands.iter().map(|band| band.share).collect();
        shares.sort_by(|a, b| b.total_cmp(a));
        if let Some(&least) = shares.get(MOST - 1) {
            bands.retain(|band| band.share >= least);
            bands.truncate(MOST);
        }
        for (index, band) in bands.iter().enumerate() {
            table.row(vec![
                if index == 0 { label } else { "" }.into(),
                numbers::pace(band.ns_per_unit).into(),
                format!("±{}", numbers::percent(band.half_width)).into(),
                numbers::significant(band.count, 4).into(),
                numbers::percent(band.share).into(),
                numbers::duration(band.median_dwell_s * 1e9).into(),
                numbers::count(band.stays).into(),
                band.nature.name().into(),
            ]);
        }
        let left = series.bands.len() - bands.len();
        if left > 0 {
            table.row(vec![format!("and {left} rarer").into()]);
        }
    }
    if !table.is_empty() {
        page.blank();
        page.table(&table);
        let in_none = view.series.iter().filter(|series| !series.bands.is_empty());
        let in_none =
            in_none.map(|series| 1.0 - (series.bands.iter()).map(|band| band.share).sum::<f64>());
        let most = in_none.fold(0.0, f64::max);
        if most >= WORTH_SAYING {
            let text = format!(
                "Share: of the quanta. Up to {} are in no band: they held a gap or a change of pace, or their pace did not recur.",
                numbers::percent(most)
            );
            page.wrapped(("  ", Paint::Plain), &text, Paint::Dim);
        }
    }
}
