//! FTQ's fraction beside the ledger's share of work, and the worst windows.

use super::table::{Cell, Page, Paint, Side, Table};
use super::{View, work_share};
use crate::numbers;

/// What the figures mean, as FTQ's fraction is what its users know.
const EXPLANATION: &str = "FTQ's fraction is the mean count over the highest count ever seen (max), so one \
lucky quantum lowers it; work is time at the best pace over wall time.";

pub(super) fn shares(view: &View<'_>, page: &mut Page<'_>) {
    let windows = windows(view);
    let mut table = Table::new("Share in %")
        .column("work", Side::Right)
        .column("FTQ max", Side::Right)
        .column("p99.9", Side::Right)
        .column("main band", Side::Right);
    for (index, window_s) in windows.iter().enumerate() {
        let window = numbers::duration_round(window_s * 1e9);
        let head = if index == 0 {
            format!("worst {window}")
        } else {
            window
        };
        table = table.column(head, Side::Right);
    }
    let percent = |share: Option<f64>| {
        let text = share.map_or(numbers::NONE.into(), |s| {
            numbers::percent(s).replace(" %", "")
        });
        Cell::from(text)
    };
    for (label, series) in view.labelled() {
        let fraction = series.fraction;
        let mut row = vec![
            Cell::from(label),
            percent(Some(work_share(&series.ledger))),
            percent(fraction.map(|f| f.of_max)),
            percent(fraction.map(|f| f.of_p999)),
            percent(fraction.map(|f| f.of_main_band)),
        ];
        row.extend(windows.iter().map(|&window_s| {
            let worst = series.availability.iter().find(|a| a.window_s == window_s);
            percent(worst.map(|a| a.worst))
        }));
        table.row(row);
    }
    if table.is_empty() {
        return;
    }
    page.blank();
    page.table(&table);
    page.wrapped(("  ", Paint::Plain), EXPLANATION, Paint::Dim);
}

/// The windows of all series, shortest first, no more than fit.
fn windows(view: &View<'_>) -> Vec<f64> {
    let mut windows: Vec<f64> = view
        .series
        .iter()
        .flat_map(|series| series.availability.iter().map(|a| a.window_s))
        .filter(|window| window.is_finite())
        .collect();
    windows.sort_by(f64::total_cmp);
    windows.dedup();
    windows.truncate(5);
    windows
}
