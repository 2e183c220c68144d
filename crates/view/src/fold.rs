//! Folding: quanta by where in a period they begin, and the period to choose where none is named.

use crate::panels::Grid;
use bandscope_analysis::detail::Detail;
use bandscope_report::{Evidence, Report};

/// The period in seconds that the report's most consequential finding of one rests on, else that of its strongest signal, and whose it is.
pub(crate) fn period(report: &Report) -> Option<(f64, &'static str)> {
    let sound = |seconds: &f64| seconds.is_finite() && *seconds > 0.0;
    for finding in &report.findings {
        if let Some(seconds) = period_of(&finding.evidence).filter(sound) {
            return Some((seconds, finding.kind.name()));
        }
    }
    let signals = report.series.iter().flat_map(|series| &series.signals);
    let mut periods = signals.map(|signal| 1.0 / signal.frequency_hz);
    periods
        .find(sound)
        .map(|seconds| (seconds, "the first signal"))
}

/// The period in seconds of what a finding rests on, as the page takes it (`placeOf` of `places.js`).
fn period_of(evidence: &Evidence) -> Option<f64> {
    let frequency_hz = match evidence {
        Evidence::MovingEdges(edges) => return edges.period_s.or(edges.grid_s),
        Evidence::Alias(one) => Some(one.frequency_hz),
        Evidence::PeriodicInterference(one) => Some(one.frequency_hz),
        Evidence::SamplingArtefact(one) => Some(one.frequency_hz),
        Evidence::StolenTime(one) => one.frequency_hz,
        Evidence::SynchronousGaps(one) => one.frequency_hz,
        _ => None,
    };
    frequency_hz.map(|hertz| 1.0 / hertz)
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
            if let Some(pace) = detail.pace(index) {
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
    use bandscope_report::evidence::PeriodicInterference;

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
        let mut report = samples::noisy().report;
        report.findings.truncate(1);
        report.findings[0].evidence = Evidence::PeriodicInterference(PeriodicInterference {
            cause: None,
            cause_by: None,
            frequency_hz: 250.0,
            ns_per_event: 1.0,
            uncertainty_hz: 1.0,
        });
        let whose = report.findings[0].kind.name();
        assert_eq!(period(&report), Some((0.004, whose)));
        assert_eq!(period(&samples::empty().report), None);
    }
}
