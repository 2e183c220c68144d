//! What the page holds of each series: a small description as JSON, and columns of numbers in [`super::codec`]'s form.
//!
//! The columns come one after the other in the order in which [`columns`] writes them and `script/model.js` reads them. Times are ticks since the start
//! of the recording. With all quanta ([`Detail::complete`]) the page draws every picture from them; without, it holds the pyramid beside them.

use super::codec::Columns;
use bandscope_analysis::detail::Detail;
use bandscope_analysis::pyramid::{Bin, Pyramid};
use bandscope_report::Cause;
use serde::Serialize;

/// Steps of the logarithm of power and pace that are kept apart: 0.23 % and 0.0023 %.
const PER_DECADE: f64 = 1000.0;
const PACE_PER_DECADE: f64 = 100_000.0;
/// Ticks that a quantum may differ from the nominal one in a signed column, which halves what a reader's doubles hold.
const MAX_DIFFERENCE: u64 = 1 << 52;
/// Power that is none.
const SILENT: i64 = -400_000;

/// What the page must know to read the columns of a series.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Description {
    label: String,
    ticks_per_ns: f64,
    quantum_ticks: i64,
    quanta: usize,
    stretches: usize,
    with_gaps: usize,
    with_measurement: usize,
    complete: bool,
    marks: usize,
    causes: Vec<Cause>,
    all_marks: bool,
    edges: usize,
    time_s: f64,
    spectrum: usize,
    step_hz: f64,
    windows: u64,
    /// Columns, rows and paces of the density; no columns where the quanta tell it.
    density: (usize, usize, f64, f64),
    cells: usize,
    bins: usize,
}

/// Describes a series and writes its columns.
pub(super) fn columns(
    label: String,
    detail: Option<&Detail>,
    pyramid: &Pyramid,
) -> (Description, Columns) {
    let nothing = Detail {
        ticks_per_ns: 1.0,
        marks: Vec::new(),
        ..Detail::default()
    };
    let marks_of_pyramid = detail.is_none();
    let detail = detail.unwrap_or(&nothing);
    let mut columns = Columns::default();
    let quantum_ticks = detail.quantum_ticks.round().min(1e15) as i64;
    let (marks, causes) = match marks_of_pyramid {
        true => pyramid_marks(pyramid, &mut columns),
        false => (marks(detail, &mut columns), detail.causes.clone()),
    };
    let (with_gaps, with_measurement) = quanta(detail, quantum_ticks, &mut columns);
    edges(pyramid, &mut columns);
    let silent = !pyramid.spectrum.step_hz.is_finite();
    let power: &[f64] = if silent { &[] } else { &pyramid.spectrum.power };
    logarithms(power, PER_DECADE, SILENT, &mut columns);
    let (cells, bins) = match detail.complete {
        true => (0, 0),
        false => coarse(pyramid, &mut columns),
    };
    let density = &pyramid.density;
    let description = Description {
        label,
        ticks_per_ns: detail.ticks_per_ns,
        quantum_ticks,
        quanta: detail.length.len(),
        stretches: detail.stretches.len(),
        with_gaps,
        with_measurement,
        complete: detail.complete,
        marks,
        causes,
        all_marks: detail.all_marks && !marks_of_pyramid,
        edges: pyramid.edges.len(),
        time_s: pyramid.time_s.1,
        spectrum: power.len(),
        step_hz: pyramid.spectrum.step_hz,
        windows: pyramid.spectrum.windows,
        density: (
            density.columns,
            density.rows,
            density.pace_ns.0,
            density.pace_ns.1,
        ),
        cells,
        bins,
    };
    (description, columns)
}

/// Stretches; lengths against the nominal one; what differs from what the gaps say; time spent on the measurement; counts.
fn quanta(detail: &Detail, quantum_ticks: i64, columns: &mut Columns) -> (usize, usize) {
    let mut last = 0;
    for stretch in &detail.stretches {
        columns.push(stretch.start.saturating_sub(last));
        columns.push(stretch.quanta as u64);
        last = stretch.start;
    }
    for &length in &detail.length {
        match length {
            1..MAX_DIFFERENCE => columns.push_signed(length as i64 - quantum_ticks),
            // As if it were 0 ticks long; then its length itself.
            _ => {
                columns.push_signed(-quantum_ticks);
                columns.push(length);
            }
        }
    }
    let away = detail.gap_ticks.iter().zip(&detail.gaps);
    let told = told_by_marks(detail);
    let differ = away.zip(told).enumerate();
    let differ = differ.filter(|(_, ((ticks, gaps), told))| (**ticks, **gaps) != *told);
    let differ: Vec<[u64; 3]> = differ
        .map(|(index, ((ticks, gaps), _))| [index as u64, *ticks, (*gaps).into()])
        .collect();
    sparse(&differ, columns);
    let own = detail.measurement_ticks.iter().enumerate();
    let own = own.filter(|(_, ticks)| **ticks > 0);
    let own: Vec<[u64; 2]> = own.map(|(index, ticks)| [index as u64, *ticks]).collect();
    sparse(&own, columns);
    counts(detail, columns);
    (differ.len(), own.len())
}

/// Ticks and number of gaps of each quantum by the marks that begin in it: all of them, but for gaps whose details were lost or not kept.
fn told_by_marks(detail: &Detail) -> Vec<(u64, u32)> {
    let mut told = vec![(0, 0); detail.length.len()];
    let mut marks = detail.marks.iter().peekable();
    let mut k = 0;
    for stretch in &detail.stretches {
        let mut start = stretch.start;
        for _ in 0..stretch.quanta {
            let end = start.saturating_add(detail.length[k]);
            while let Some(mark) = marks.next_if(|mark| mark.start < end) {
                if mark.start >= start {
                    told[k].0 += mark.duration;
                    told[k].1 += 1;
                }
            }
            start = end;
            k += 1;
        }
    }
    told
}

/// Rows of numbers, the first of which grows.
fn sparse<const N: usize>(rows: &[[u64; N]], columns: &mut Columns) {
    let mut last = 0;
    for row in rows {
        columns.push(row[0] - last);
        row[1..].iter().for_each(|&number| columns.push(number));
        last = row[0];
    }
}

/// Counts against what the pace of the quantum before would give. The reader computes in doubles as well, by the same steps.
fn counts(detail: &Detail, columns: &mut Columns) {
    let mut pace = 0.0;
    for k in 0..detail.length.len() {
        let away = detail.gap_ticks[k] as f64 + detail.measurement_ticks[k] as f64;
        let present = (detail.length[k] as f64 - away).max(0.0);
        let expected = match pace > 0.0 {
            true => (present / pace + 0.5).floor().min(4e9) as i64 + i64::from(detail.gaps[k]),
            false => 0,
        };
        columns.push_signed(i64::from(detail.count[k]) - expected);
        let units = i64::from(detail.count[k]) - i64::from(detail.gaps[k]);
        if units > 0 && present > 0.0 {
            pace = present / units as f64;
        }
    }
}

fn marks(detail: &Detail, columns: &mut Columns) -> usize {
    let mut last = 0;
    for mark in &detail.marks {
        columns.push(mark.start.saturating_sub(last));
        columns.push(mark.duration);
        columns.push(mark.cause.into());
        last = mark.start;
    }
    detail.marks.len()
}

/// The longest gaps, where those are all there is; a tick is a nanosecond then.
fn pyramid_marks(pyramid: &Pyramid, columns: &mut Columns) -> (usize, Vec<Cause>) {
    let mut causes: Vec<Cause> = Vec::new();
    let mut last = 0;
    let sound = |ns: f64| ns.is_finite() && ns >= 0.0;
    let marks = pyramid.gaps.iter();
    let marks = marks.filter(|gap| sound(gap.at_s) && sound(gap.ns));
    let mut number = 0;
    for gap in marks {
        let at = (gap.at_s * 1e9) as u64;
        let known = causes.iter().position(|cause| *cause == gap.cause);
        let cause = known.unwrap_or_else(|| {
            causes.push(gap.cause.clone());
            causes.len() - 1
        });
        columns.push(at.saturating_sub(last));
        columns.push(gap.ns as u64);
        columns.push(cause as u64);
        last = at;
        number += 1;
    }
    (number, causes)
}

/// Nanoseconds, and the bands before and after.
fn edges(pyramid: &Pyramid, columns: &mut Columns) {
    let mut last = 0;
    for edge in &pyramid.edges {
        // Two edges may be out of order by what they are known to.
        let at = (edge.at_s * 1e9) as i64;
        columns.push_signed(at - last);
        columns.push(edge.from.into());
        columns.push(edge.to.into());
        last = at;
    }
}

/// Steps of the logarithm, each against the one before.
fn logarithms(values: &[f64], per_decade: f64, none: i64, columns: &mut Columns) {
    let mut last = 0;
    for &value in values {
        let step = if value > 0.0 && value.is_finite() {
            ((value.log10() * per_decade).round() as i64).max(none)
        } else {
            none
        };
        columns.push_signed(step - last);
        last = step;
    }
}

/// Density and the finest level of the pyramid: returns occupied cells, and bins.
fn coarse(pyramid: &Pyramid, columns: &mut Columns) -> (usize, usize) {
    let (mut last, mut cells) = (0, 0);
    for (cell, &count) in pyramid.density.counts.iter().enumerate() {
        if count > 0 {
            columns.push((cell - last) as u64);
            columns.push(count.into());
            last = cell;
            cells += 1;
        }
    }
    let bins: &[Bin] = pyramid.levels.first().map_or(&[], |level| &level.bins);
    for bin in bins {
        columns.push(bin.quanta);
    }
    for column in [|bin: &Bin| bin.pace_min, |bin: &Bin| bin.pace_max] {
        let occupied = bins.iter().filter(|bin| bin.quanta > 0);
        let values: Vec<f64> = occupied.map(column).collect();
        logarithms(&values, PACE_PER_DECADE, -1_000_000, columns);
    }
    for bin in bins.iter().filter(|bin| bin.quanta > 0) {
        columns.push(bin.count_min.into());
        columns.push(bin.count_max.into());
        columns.push(bin.gap_ns.max(0.0) as u64);
    }
    (cells, bins.len())
}

#[cfg(test)]
mod tests {
    use super::super::codec::tests::{decode, signed};
    use super::*;
    use crate::samples;
    use bandscope_analysis::detail::{Mark, Stretch};

    fn numbers(columns: &Columns) -> Vec<u64> {
        let mut text = Vec::new();
        columns.write(&mut text).unwrap();
        decode(&String::from_utf8(text).unwrap())
    }

    #[test]
    fn quanta_and_gaps_come_back() {
        let detail = Detail {
            ticks_per_ns: 2.0,
            quantum_ticks: 1000.4,
            gaps_known: true,
            stretches: vec![
                Stretch {
                    start: 7,
                    quanta: 2,
                },
                Stretch {
                    start: 90_000,
                    quanta: 1,
                },
            ],
            length: vec![1003, 998, 250_000],
            count: vec![50, 49, 3],
            gaps: vec![1, 0, 1],
            gap_ticks: vec![3, 0, 249_000],
            measurement_ticks: vec![0, 12, 0],
            complete: true,
            marks: vec![Mark {
                start: 90_100,
                duration: 249_000,
                cause: 0,
            }],
            causes: vec![Cause::Tick],
            all_marks: true,
        };
        let (description, columns) = columns("10 kHz".into(), Some(&detail), &Pyramid::default());
        let numbers = numbers(&columns);
        assert_eq!(numbers[..7], [90_100, 249_000, 0, 7, 2, 89_993, 1]);
        let signed = |range: std::ops::Range<usize>| -> Vec<i64> {
            numbers[range].iter().map(|&n| signed(n)).collect()
        };
        assert_eq!(signed(7..10), [3, -2, 249_000]);
        // The first quantum has a gap that no mark tells; that of the third is told.
        assert_eq!(numbers[10..13], [0, 3, 1]);
        assert_eq!(numbers[13..15], [1, 12]);
        // (1003 - 3) / 49 units; (998 - 12) / that is 48.3; (250,000 - 249,000) / (986 / 49) is 49.7, and one with the gap.
        assert_eq!(signed(15..18), [50, 49 - 48, 3 - 51]);
        assert_eq!(numbers.len(), 18);
        let with = (description.with_gaps, description.with_measurement);
        assert_eq!((with, description.marks), ((1, 1), 1));
    }

    #[test]
    fn every_sample_is_described_whatever_it_holds() {
        for (name, analysis) in samples::all() {
            for pyramid in &analysis.pyramids {
                let (description, columns) = columns(name.into(), None, pyramid);
                let expected = 3 * description.marks
                    + description.spectrum
                    + 2 * description.cells
                    + description.bins;
                assert!(numbers(&columns).len() >= expected, "{name}");
                assert!(!description.complete);
            }
        }
    }
}
