//! Rows in memory and how they become the columns of a row group.

use crate::columns::{GAP_ROWS, QUANTA_ROWS, Storage, gap_columns, quanta_columns};
use crate::gaps::MAX_COUNTERS;
use crate::manifest::Counter;
use crate::write::part::RowGroup;
use crate::{Gap, GapKind, Quanta};
use parquet::data_type::{BoolType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;

/// Rows that wait for their row group.
pub trait Rows {
    /// Rows of a full row group.
    const ROW_GROUP: usize;

    /// Name and storage of each column, in the order in which they are encoded.
    fn columns(&self) -> Vec<(String, Storage)>;

    /// Number of rows.
    fn len(&self) -> usize;

    /// Start of the first row, in ticks, and its segment; `None` if there is no row.
    fn first(&self) -> Option<(u64, u32)>;

    /// Writes all columns.
    fn encode(&self, group: &mut RowGroup<'_>, scratch: &mut Scratch) -> Result<(), ParquetError>;

    /// Forgets the rows and keeps the memory.
    fn clear(&mut self);
}

/// Memory for columns in the types of the file, reused from row group to row group.
#[derive(Debug, Default)]
pub struct Scratch {
    wide: Vec<i64>,
    narrow: Vec<i32>,
}

impl Scratch {
    pub(super) fn put_wide(
        &mut self,
        group: &mut RowGroup<'_>,
        values: impl Iterator<Item = u64>,
    ) -> Result<(), ParquetError> {
        self.wide.clear();
        self.wide.extend(values.map(|value| value as i64));
        put::<Int64Type>(group, &self.wide, None)
    }

    pub(super) fn put_narrow(
        &mut self,
        group: &mut RowGroup<'_>,
        values: impl Iterator<Item = u32>,
    ) -> Result<(), ParquetError> {
        self.narrow.clear();
        self.narrow.extend(values.map(|value| value as i32));
        put::<Int32Type>(group, &self.narrow, None)
    }
}

/// Writes the next column.
pub(super) fn put<T: DataType>(
    group: &mut RowGroup<'_>,
    values: &[T::T],
    present: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group
        .next_column()?
        .ok_or_else(|| ParquetError::General("the schema has fewer columns".into()))?;
    column.typed::<T>().write_batch(values, present, None)?;
    column.close()
}

impl Rows for Quanta {
    const ROW_GROUP: usize = QUANTA_ROWS;

    fn columns(&self) -> Vec<(String, Storage)> {
        quanta_columns()
    }

    fn len(&self) -> usize {
        Quanta::len(self)
    }

    fn first(&self) -> Option<(u64, u32)> {
        Some((*self.start.first()?, *self.segment.first()?))
    }

    fn encode(&self, group: &mut RowGroup<'_>, scratch: &mut Scratch) -> Result<(), ParquetError> {
        scratch.put_wide(group, self.start.iter().copied())?;
        scratch.put_wide(group, self.end.iter().copied())?;
        scratch.put_narrow(group, self.count.iter().copied())?;
        scratch.put_narrow(group, self.gaps.iter().copied())?;
        scratch.put_wide(group, self.gap_ticks.iter().copied())?;
        scratch.put_wide(group, self.measurement_ticks.iter().copied())?;
        scratch.put_narrow(group, self.cpu.iter().copied())?;
        scratch.put_narrow(group, self.segment.iter().copied())
    }

    fn clear(&mut self) {
        Quanta::clear(self);
    }
}

/// Gaps and the counters that they carry.
#[derive(Debug, Default)]
pub struct GapRows {
    /// In order of time.
    pub gaps: Vec<Gap>,
    /// The counters of the recording, at most [`MAX_COUNTERS`].
    pub counters: Vec<Counter>,
}

impl Rows for GapRows {
    const ROW_GROUP: usize = GAP_ROWS;

    fn columns(&self) -> Vec<(String, Storage)> {
        gap_columns(&self.counters)
    }

    fn len(&self) -> usize {
        self.gaps.len()
    }

    fn first(&self) -> Option<(u64, u32)> {
        self.gaps.first().map(|gap| (gap.start, gap.segment))
    }

    fn encode(&self, group: &mut RowGroup<'_>, scratch: &mut Scratch) -> Result<(), ParquetError> {
        let gaps = &self.gaps;
        scratch.put_wide(group, gaps.iter().map(|gap| gap.start))?;
        scratch.put_wide(group, gaps.iter().map(|gap| gap.duration))?;
        scratch.put_wide(group, gaps.iter().map(|gap| gap.handling))?;
        scratch.put_narrow(group, gaps.iter().map(|gap| kind_number(gap.kind)))?;
        let preempted: Vec<bool> = gaps.iter().filter_map(|gap| gap.preempted).collect();
        let known: Vec<i16> = gaps
            .iter()
            .map(|gap| i16::from(gap.preempted.is_some()))
            .collect();
        put::<BoolType>(group, &preempted, Some(&known))?;
        scratch.put_narrow(group, gaps.iter().map(|gap| gap.segment))?;
        for counter in 0..self.counters.len().min(MAX_COUNTERS) {
            scratch.put_wide(group, gaps.iter().map(|gap| gap.counters[counter]))?;
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.gaps.clear();
    }
}

/// How a kind of gap stands in the file.
fn kind_number(kind: GapKind) -> u32 {
    match kind {
        GapKind::Gap => 0,
        GapKind::Checkpoint => 1,
    }
}
