//! Columns of a row group back into quanta and gaps, in batches of bounded size.

use crate::columns::QUANTA_ROWS;
use crate::gaps::MAX_COUNTERS;
use crate::read::column::{Column, Scratch};
use crate::{Error, Gap, GapKind, Quanta};
use std::path::Path;

/// Calls `visit` with the sizes of batches that make `rows` rows together: a foreign file may have row
/// groups of any size.
pub fn batches(
    rows: usize,
    mut visit: impl FnMut(usize) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut left = rows;
    while left > 0 {
        let batch = left.min(QUANTA_ROWS);
        visit(batch)?;
        left -= batch;
    }
    Ok(())
}

/// Reads a row group of quanta whose columns are in the order of [`crate::columns::QUANTA`].
pub fn quanta(
    columns: &mut [Column],
    rows: usize,
    scratch: &mut Scratch,
    quanta: &mut Quanta,
    visit: &mut dyn FnMut(&Quanta) -> Result<(), Error>,
) -> Result<(), Error> {
    let [
        start,
        end,
        count,
        gaps,
        gap_ticks,
        measurement_ticks,
        cpu,
        segment,
    ] = columns
    else {
        unreachable!("the caller opened these eight columns");
    };
    batches(rows, |rows| {
        start.wide(rows, scratch, &mut quanta.start)?;
        end.wide(rows, scratch, &mut quanta.end)?;
        count.narrow(rows, scratch, &mut quanta.count)?;
        gaps.narrow(rows, scratch, &mut quanta.gaps)?;
        gap_ticks.wide(rows, scratch, &mut quanta.gap_ticks)?;
        measurement_ticks.wide(rows, scratch, &mut quanta.measurement_ticks)?;
        cpu.narrow(rows, scratch, &mut quanta.cpu)?;
        segment.narrow(rows, scratch, &mut quanta.segment)?;
        visit(quanta)
    })
}

/// The columns of gaps before they become rows.
#[derive(Debug, Default)]
pub struct GapScratch {
    types: Scratch,
    wide: Vec<u64>,
    narrow: Vec<u32>,
    flags: Vec<Option<bool>>,
}

/// Reads a row group of gaps whose columns are in the order of [`crate::columns::gap_columns`].
pub fn gaps(
    path: &Path,
    columns: &mut [Column],
    rows: usize,
    scratch: &mut GapScratch,
    gaps: &mut Vec<Gap>,
    visit: &mut dyn FnMut(&[Gap]) -> Result<(), Error>,
) -> Result<(), Error> {
    let [
        start,
        duration,
        handling,
        kind,
        preempted,
        segment,
        counters @ ..,
    ] = columns
    else {
        unreachable!("the caller opened these columns");
    };
    batches(rows, |rows| {
        gaps.clear();
        gaps.resize(rows, Gap::default());
        let GapScratch {
            types,
            wide,
            narrow,
            flags,
        } = scratch;
        start.wide(rows, types, wide)?;
        set(gaps, wide, |gap, value| gap.start = value);
        duration.wide(rows, types, wide)?;
        set(gaps, wide, |gap, value| gap.duration = value);
        handling.wide(rows, types, wide)?;
        set(gaps, wide, |gap, value| gap.handling = value);
        kind.narrow(rows, types, narrow)?;
        set_kinds(path, gaps, narrow)?;
        preempted.flags(rows, types, flags)?;
        set(gaps, flags, |gap, value| gap.preempted = value);
        segment.narrow(rows, types, narrow)?;
        set(gaps, narrow, |gap, value| gap.segment = value);
        for (index, counter) in counters.iter_mut().enumerate().take(MAX_COUNTERS) {
            counter.wide(rows, types, wide)?;
            set(gaps, wide, |gap, value| gap.counters[index] = value);
        }
        visit(gaps)
    })
}

fn set<T: Copy>(gaps: &mut [Gap], values: &[T], set: impl Fn(&mut Gap, T)) {
    for (gap, &value) in gaps.iter_mut().zip(values) {
        set(gap, value);
    }
}

fn set_kinds(path: &Path, gaps: &mut [Gap], kinds: &[u32]) -> Result<(), Error> {
    for (gap, &kind) in gaps.iter_mut().zip(kinds) {
        gap.kind = match kind {
            0 => GapKind::Gap,
            1 => GapKind::Checkpoint,
            other => {
                return Err(Error::File {
                    path: path.into(),
                    found: format!("a gap of kind {other}"),
                    expected: "0 (gap) or 1 (checkpoint)".into(),
                });
            }
        };
    }
    Ok(())
}
