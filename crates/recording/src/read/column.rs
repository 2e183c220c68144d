//! A column of a part, decoded batch by batch.

use super::part::damaged;
use crate::Error;
use crate::read::guard::guarded;
use crate::text::quoted;
use parquet::basic::LogicalType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A column of one row group, read from its beginning.
pub struct Column {
    path: PathBuf,
    name: String,
    unsigned: bool,
    reader: ColumnReader,
}

/// Memory for columns in the types of the file, reused from batch to batch.
#[derive(Debug, Default)]
pub struct Scratch {
    wide: Vec<i64>,
    narrow: Vec<i32>,
    flags: Vec<bool>,
    present: Vec<i16>,
}

impl Column {
    /// Column `name` of the part at `path`, as its schema describes it.
    pub fn new(
        path: &Path,
        name: &str,
        description: &ColumnDescriptor,
        reader: ColumnReader,
    ) -> Column {
        let logical = description.logical_type_ref();
        Column {
            path: path.into(),
            name: name.into(),
            unsigned: matches!(logical, Some(LogicalType::Integer(int)) if !int.is_signed),
            reader,
        }
    }

    /// Reads the next `rows` values of an INT64 column in place of what `values` holds.
    pub fn wide(
        &mut self,
        rows: usize,
        scratch: &mut Scratch,
        values: &mut Vec<u64>,
    ) -> Result<(), Error> {
        if let ColumnReader::Int64ColumnReader(reader) = &mut self.reader {
            let read = fill::<Int64Type>(reader, rows, &mut scratch.wide, None);
            read.map_err(|error| damaged(&self.path, error))?;
        }
        self.check_sign(scratch.wide.iter().fold(0, |all, value| all | value) < 0)?;
        values.clear();
        values.extend(scratch.wide.iter().map(|&value| value as u64));
        Ok(())
    }

    /// Reads the next `rows` values of an INT32 column in place of what `values` holds.
    pub fn narrow(
        &mut self,
        rows: usize,
        scratch: &mut Scratch,
        values: &mut Vec<u32>,
    ) -> Result<(), Error> {
        if let ColumnReader::Int32ColumnReader(reader) = &mut self.reader {
            let read = fill::<Int32Type>(reader, rows, &mut scratch.narrow, None);
            read.map_err(|error| damaged(&self.path, error))?;
        }
        self.check_sign(scratch.narrow.iter().fold(0, |all, value| all | value) < 0)?;
        values.clear();
        values.extend(scratch.narrow.iter().map(|&value| value as u32));
        Ok(())
    }

    /// Reads the next `rows` values of a BOOLEAN column in place of what `values` holds.
    pub fn flags(
        &mut self,
        rows: usize,
        scratch: &mut Scratch,
        values: &mut Vec<Option<bool>>,
    ) -> Result<(), Error> {
        scratch.present.clear();
        if let ColumnReader::BoolColumnReader(reader) = &mut self.reader {
            let read =
                fill::<BoolType>(reader, rows, &mut scratch.flags, Some(&mut scratch.present));
            read.map_err(|error| damaged(&self.path, error))?;
        }
        values.clear();
        if scratch.present.is_empty() {
            // A foreign file may have the column without nulls.
            values.extend(scratch.flags.iter().copied().map(Some));
        } else {
            let mut flags = scratch.flags.iter().copied();
            values.extend(
                scratch
                    .present
                    .iter()
                    .map(|&known| (known != 0).then(|| flags.next()).flatten()),
            );
        }
        Ok(())
    }

    /// Reads the next `rows` values of a BYTE_ARRAY column of text in place of what `values` holds; one copy of each
    /// text is kept in `known`.
    pub fn texts(
        &mut self,
        rows: usize,
        known: &mut BTreeSet<Arc<str>>,
        values: &mut Vec<Arc<str>>,
    ) -> Result<(), Error> {
        let mut bytes: Vec<ByteArray> = Vec::new();
        if let ColumnReader::ByteArrayColumnReader(reader) = &mut self.reader {
            let read = fill::<ByteArrayType>(reader, rows, &mut bytes, None);
            read.map_err(|error| damaged(&self.path, error))?;
        }
        values.clear();
        for bytes in &bytes {
            let text = std::str::from_utf8(bytes.data()).map_err(|_| Error::File {
                path: self.path.clone(),
                found: format!(
                    "{} in column {}",
                    quoted(bytes.data()),
                    quoted(self.name.as_bytes())
                ),
                expected: "text in UTF-8".into(),
            })?;
            if let Some(text) = known.get(text) {
                values.push(text.clone());
            } else {
                let text: Arc<str> = text.into();
                known.insert(text.clone());
                values.push(text);
            }
        }
        Ok(())
    }

    fn check_sign(&self, any_negative: bool) -> Result<(), Error> {
        if any_negative && !self.unsigned {
            return Err(Error::File {
                path: self.path.clone(),
                found: format!(
                    "a negative value in column {}",
                    quoted(self.name.as_bytes())
                ),
                expected: "ticks, counts and numbers from 0".into(),
            });
        }
        Ok(())
    }
}

/// Reads exactly `rows` rows.
fn fill<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    values: &mut Vec<T::T>,
    present: Option<&mut Vec<i16>>,
) -> Result<(), ParquetError> {
    values.clear();
    let (read, _, _) = guarded(|| reader.read_records(rows, present, None, values))?;
    if read != rows {
        return Err(ParquetError::EOF(format!(
            "{read} of {rows} rows of a column"
        )));
    }
    Ok(())
}
