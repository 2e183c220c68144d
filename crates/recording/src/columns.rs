//! The columns of the part files: names, types, encodings, and how an error of the file library is told.
//!
//! Shared by `write` and `read`, so that what one writes the other expects.
//!
//! Encodings were chosen by size on a synthetic quiet series at 100 kHz (`examples/synthetic.rs` prints
//! it). Times grow by a nearly constant step, of which DELTA_BINARY_PACKED stores the jitter only: 1.15
//! bytes a row, plain times 2.6. All other columns repeat a few values, for which a dictionary costs as many
//! bits as their number needs, and nothing where one value goes on and on: counts take 0.16 bytes a row,
//! as deltas 0.34.

use crate::manifest::Counter;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::sync::Arc;

/// Rows of one row group of quanta: 3 MiB in memory.
pub const QUANTA_ROWS: usize = 65_536;
/// Rows of one row group of gaps: 1.4 MiB in memory.
pub const GAP_ROWS: usize = 16_384;

/// Rows of one row group of kernel events: 0.7 MiB in memory.
pub const EVENT_ROWS: usize = 16_384;

/// How a column is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// INT64 that grows steadily.
    Times,
    /// INT64 that takes few values.
    Ticks,
    /// INT32 that takes few values.
    Number,
    /// INT64 that uses all 64 bits.
    Counter,
    /// BOOLEAN that may be null.
    Flag,
    /// UTF-8 that takes few values.
    Text,
}

/// The columns of quanta, in the order in which they are stored.
pub const QUANTA: [(&str, Storage); 8] = [
    ("start_ticks", Storage::Times),
    ("end_ticks", Storage::Times),
    ("count", Storage::Number),
    ("gaps", Storage::Number),
    ("gap_ticks", Storage::Ticks),
    ("measurement_ticks", Storage::Ticks),
    // Not `cpu`: a Hive partition of that name would hide it.
    ("cpu_seen", Storage::Number),
    ("segment", Storage::Number),
];

/// The columns of gaps but for the counters, which come last.
pub const GAPS: [(&str, Storage); 6] = [
    ("start_ticks", Storage::Times),
    ("duration_ticks", Storage::Times),
    ("handling_ticks", Storage::Times),
    ("kind", Storage::Number),
    ("preempted", Storage::Flag),
    ("segment", Storage::Number),
];

/// The columns of kernel events.
pub const EVENTS: [(&str, Storage); 5] = [
    ("start_ticks", Storage::Times),
    ("duration_ticks", Storage::Times),
    ("kind", Storage::Number),
    ("number", Storage::Number),
    ("name", Storage::Text),
];

/// Further columns of kernel events, which recordings of before they were written lack.
pub const SENDERS: [(&str, Storage); 4] = [
    ("sender", Storage::Text),
    ("sender_cpu", Storage::Number),
    ("function", Storage::Text),
    ("waited_ticks", Storage::Ticks),
];

/// A further one, which recordings of before it was written lack.
pub const CALLERS: [(&str, Storage); 1] = [("sender_function", Storage::Text)];

/// Another one.
pub const SETTERS: [(&str, Storage); 1] = [("set_by", Storage::Text)];

/// Names and storage of the columns of quanta.
pub fn quanta_columns() -> Vec<(String, Storage)> {
    owned(&QUANTA)
}

/// Names and storage of the columns of kernel events that every part has.
pub fn event_columns() -> Vec<(String, Storage)> {
    owned(&EVENTS)
}

/// Those that tell the senders.
pub fn sender_columns() -> Vec<(String, Storage)> {
    owned(&SENDERS)
}

/// The one that tells by which function of the kernel a sender did so.
pub fn caller_columns() -> Vec<(String, Storage)> {
    owned(&CALLERS)
}

/// The one that tells who set a timer that is a sender.
pub fn setter_columns() -> Vec<(String, Storage)> {
    owned(&SETTERS)
}

fn owned(columns: &[(&str, Storage)]) -> Vec<(String, Storage)> {
    columns
        .iter()
        .map(|&(name, storage)| (name.to_owned(), storage))
        .collect()
}

/// Names and storage of the columns of gaps with these counters.
pub fn gap_columns(counters: &[Counter]) -> Vec<(String, Storage)> {
    let counter = |counter: &Counter| (format!("counter_{}", counter.name), Storage::Counter);
    GAPS.iter()
        .map(|&(name, storage)| (name.to_owned(), storage))
        .chain(counters.iter().map(counter))
        .collect()
}

impl Storage {
    /// The type in the file.
    pub fn physical(self) -> Physical {
        match self {
            Storage::Times | Storage::Ticks | Storage::Counter => Physical::INT64,
            Storage::Number => Physical::INT32,
            Storage::Flag => Physical::BOOLEAN,
            Storage::Text => Physical::BYTE_ARRAY,
        }
    }

    fn logical(self) -> Option<LogicalType> {
        match self {
            Storage::Counter => Some(LogicalType::integer(64, false)),
            Storage::Text => Some(LogicalType::String),
            _ => None,
        }
    }

    fn column(self, name: &str) -> Result<TypePtr, ParquetError> {
        let repetition = if self == Storage::Flag {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        let column = Type::primitive_type_builder(name, self.physical())
            .with_repetition(repetition)
            .with_logical_type(self.logical())
            .build()?;
        Ok(Arc::new(column))
    }
}

/// The schema of a file with these columns.
pub fn schema(columns: &[(String, Storage)]) -> Result<TypePtr, ParquetError> {
    let fields = columns
        .iter()
        .map(|(name, storage)| storage.column(name))
        .collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("bandscope")
        .with_fields(fields)
        .build()?;
    Ok(Arc::new(schema))
}

/// How files with these columns are written: one page a column and row group, and statistics for each,
/// so that a query for a stretch of time skips what it does not need.
pub fn properties(columns: &[(String, Storage)]) -> Result<WriterPropertiesPtr, ParquetError> {
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("bandscope ", env!("CARGO_PKG_VERSION")).to_owned())
        // Level 1: level 9 gains 1.3 % on the synthetic series and takes twice as long.
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_data_page_row_count_limit(QUANTA_ROWS)
        .set_write_batch_size(QUANTA_ROWS);
    for (name, storage) in columns {
        let path = ColumnPath::new(vec![name.clone()]);
        builder = match storage {
            Storage::Flag => builder.set_column_dictionary_enabled(path, false),
            // With a dictionary, as is the default.
            Storage::Text => builder,
            Storage::Times => builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            // The encoding that takes over where a dictionary grows too large.
            Storage::Ticks | Storage::Number | Storage::Counter => {
                builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
            }
        };
    }
    Ok(Arc::new(builder.build()))
}
