//! Signals: what is periodic.

use super::View;
use super::table::{Page, Side, Table};
use crate::numbers;

/// Signals of one series that get a line; the analysis hands them out strongest first.
const MOST: usize = 4;

pub(super) fn signals(view: &View<'_>, page: &mut Page<'_>) {
    let mut table = Table::new("Signals")
        .column("frequency", Side::Right)
        .column("per event", Side::Right)
        .column("of time", Side::Right)
        .column("origin", Side::Left)
        .column("seen in", Side::Left);
    // The kernel's name for it says more than where it was seen.
    for (label, series) in view.labelled() {
        for (index, signal) in series.signals.iter().take(MOST).enumerate() {
            table.row(vec![
                if index == 0 { label } else { "" }.into(),
                numbers::frequency(signal.frequency_hz, signal.uncertainty_hz).into(),
                numbers::duration(signal.ns_per_event).into(),
                numbers::percent(signal.ns_per_event * signal.frequency_hz / 1e9).into(),
                signal.origin.name().into(),
                (signal.cause.as_ref())
                    .map_or_else(|| signal.seen_in.to_string(), ToString::to_string)
                    .into(),
            ]);
        }
        if let Some(left) = series.signals.len().checked_sub(MOST).filter(|&n| n > 0) {
            table.row(vec![format!("and {left} weaker").into()]);
        }
    }
    if !table.is_empty() {
        page.blank();
        page.table(&table);
    }
}
