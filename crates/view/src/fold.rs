//! Folding: quanta by where in a period they begin, and the period to choose where none is named.

use crate::panels::Grid;
use bandscope_analysis::detail::Detail;
use bandscope_report::{Evidence, Report};

/// The period in seconds that the report's most consequential finding of one rests on, else that of its strongest signal, and whose it is.
pub(crate) fn period(report: &Report) -> Option<(f64, &'static str)> {
    let sound = |seconds: &f64| seconds.is_finite() && *seconds > 0.0;
    for finding in &report.findings {
        if let Evidence::MovingEdges(edges) = &finding.evidence
            && let Some(seconds) = [edges.period_s, edges.grid_s]
                .into_iter()
                .flatten()
                .find(sound)
        {
            return Some((seconds, finding.kind.name()));
        }
    }
    let signals = report.series.iter().flat_map(|series| &series.signals);
    let mut periods = signals.map(|signal| 1.0 / signal.frequency_hz);
    periods
        .find(sound)
        .map(|seconds| (seconds, "the first signal"))
}

/// Adds the quanta that are kept of a series to a grid of a period across and the paces of `pace_ns` (logarithmic) down. What is faster or slower is
/// in the first or last row.
pub(crate) fn add(mut grid: Grid, detail: &Detail, period_s: f64, pace_ns: (f64, f64)) -> Grid {
    let period = period_s * 1e9 * detail.ticks_per_ns;
    let span = (pace_ns.1 / pace_ns.0).ln();
    let mut k = 0;
    for stretch in &detail.stretches {
        let mut start = stretch.start;
        for index in k..(k + stretch.quanta).min(detail.length.len()) {
            let at = start as f64 / period;
            let column = (at.fract() * grid.columns as f64) as usize;
            let away = detail.gap_ticks[index] + detail.measurement_ticks[index];
            let units = detail.count[index].saturating_sub(detail.gaps[index]);
            if units > 0 {
                let present = detail.length[index].saturating_sub(away) as f64;
                let pace = present / f64::from(units) / detail.ticks_per_ns;
                let place = (pace / pace_ns.0).ln() / span * grid.rows as f64;
                // A cast takes what is no number, or below 0, as 0.
                let row = (place as usize).min(grid.rows - 1);
                let column = column.min(grid.columns - 1);
                grid.counts[row * grid.columns + column] += 1;
            }
            start += detail.length[index];
        }
        k += stretch.quanta;
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use bandscope_analysis::detail::Stretch;

    /// Quanta of 100 ticks at two ticks a nanosecond; every fourth is slow.
    #[test]
    fn what_recurs_falls_into_one_column() {
        let number = 400;
        let slow = |k: usize| k % 4 == 3;
        let detail = Detail {
            ticks_per_ns: 2.0,
            quantum_ticks: 100.0,
            stretches: [0, 100_000]
                .map(|start| Stretch {
                    start,
                    quanta: number / 2,
                })
                .to_vec(),
            length: vec![100; number],
            count: (0..number).map(|k| if slow(k) { 5 } else { 10 }).collect(),
            gaps: vec![0; number],
            gap_ticks: vec![0; number],
            measurement_ticks: vec![0; number],
            complete: true,
            ..Detail::default()
        };
        let grid = add(Grid::new(4, 2), &detail, 200e-9, (4.0, 16.0));
        assert_eq!(grid.counts, [100, 100, 100, 0, 0, 0, 0, 100]);
    }

    #[test]
    fn a_period_comes_from_what_was_found() {
        let (seconds, whose) = period(&samples::noisy().report).unwrap();
        assert!(seconds > 0.0 && !whose.is_empty());
        assert_eq!(period(&samples::empty().report), None);
    }
}
