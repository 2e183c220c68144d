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
    let columns: Vec<Column> = match wide {
        true => [Column::Best]
            .into_iter()
            .chain([50.0, 99.0, 99.9, 99.99].map(Column::Percentile))
            .chain(LAST_COLUMNS)
            .collect(),
        false => [50.0, 99.9]
            .map(Column::Percentile)
            .into_iter()
            .chain(LAST_COLUMNS)
            .collect(),
    };
    for column in &columns {
        table = table.column(column.head(), Side::Right);
    }
    table.first_width = 26;
    for it in shown {
        let mut row = vec![
            Cell::from(label(it)),
            numbers::count(it.histogram.samples).into(),
        ];
        row.extend(columns.iter().map(|column| Cell::from(column.cell(it))));
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

/// A figure of a histogram.
#[derive(Clone, Copy)]
enum Column {
    Best,
    /// Percent of the samples.
    Percentile(f64),
    Longest,
    SlowFrom,
    Slow,
    Ticks,
}

/// The columns that there is always room for, after the percentiles.
const LAST_COLUMNS: [Column; 4] = [
    Column::Longest,
    Column::SlowFrom,
    Column::Slow,
    Column::Ticks,
];

impl Column {
    fn head(self) -> String {
        match self {
            Column::Best => "best".into(),
            Column::Percentile(percent) => format!("{percent} %"),
            Column::Longest => "longest".into(),
            Column::SlowFrom => "slow from".into(),
            Column::Slow => "slow".into(),
            Column::Ticks => "ticks".into(),
        }
    }

    fn cell(self, histogram: &Described) -> String {
        let summary = &histogram.summary;
        match self {
            Column::Best => numbers::duration(summary.best_ns),
            Column::Percentile(percent) => {
                let mut known = summary.percentiles.iter();
                let found = known.find(|known| known.percent == percent);
                found.map_or(numbers::NONE.into(), |found| numbers::duration(found.ns))
            }
            Column::Longest => numbers::duration(summary.longest_ns),
            Column::SlowFrom => numbers::duration(summary.slow_from_ns),
            Column::Slow => numbers::count(summary.slow_samples),
            Column::Ticks => summary.ticks.map_or(numbers::NONE.into(), |ticks| {
                numbers::count(ticks.round() as u64)
            }),
        }
    }
}
