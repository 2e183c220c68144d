//! A row of figures for each histogram.

use super::label;
use crate::numbers;
use crate::text::table::{Cell, Page, Paint, Side, Table};
use bandscope_studies::histogram::{Described, Report};

/// From this width on, more columns fit.
const WIDE: usize = 100;

/// The table, and how many histograms are not in it.
pub(super) fn table(report: &Report, shown: &[&Described], page: &mut Page<'_>) {
    let mut table = Table::new("Fixed work").column("samples", Side::Right);
    // The ends of the body, where there is room for them.
    let wide = page.width() >= WIDE;
    let heads: &[&str] = match wide {
        true => &[
            "best",
            "50 %",
            "99 %",
            "99.9 %",
            "99.99 %",
            "longest",
            "slow from",
            "slow",
            "ticks",
        ],
        false => &["50 %", "99.9 %", "longest", "slow from", "slow", "ticks"],
    };
    for head in heads {
        table = table.column(*head, Side::Right);
    }
    table.first_width = 26;
    for it in shown {
        let summary = &it.summary;
        let duration = |ns: f64| numbers::duration(ns);
        let at = |percent: f64| {
            let found = summary.percentiles.iter().find(|p| p.percent == percent);
            found.map_or(numbers::NONE.into(), |p| numbers::duration(p.ns))
        };
        let ticks = summary
            .ticks
            .map(|ticks| numbers::count(ticks.round() as u64));
        let cell = |head: &str| match head {
            "best" => duration(summary.best_ns),
            "longest" => duration(summary.longest_ns),
            "slow from" => duration(summary.slow_from_ns),
            "slow" => numbers::count(summary.slow_samples),
            "ticks" => ticks.clone().unwrap_or(numbers::NONE.into()),
            percent => percent
                .trim_end_matches(" %")
                .parse()
                .map_or(String::new(), at),
        };
        let mut row = vec![
            Cell::from(label(it)),
            numbers::count(it.histogram.samples).into(),
        ];
        row.extend(heads.iter().map(|head| Cell::from(cell(head))));
        table.row(row);
    }
    page.table(&table);
    if let Some(more) = report
        .histograms
        .len()
        .checked_sub(shown.len())
        .filter(|more| *more > 0)
    {
        page.line(&[(
            &format!("  and {more} with fewer slow samples: --format json"),
            Paint::Dim,
        )]);
    }
}
