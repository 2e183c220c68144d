//! Gaps with what they were, as one Parquet file for SQL: a row for each cause of each gap (docs/export.md). What they were takes the analysis to
//! say, so `view` hands the rows over.
//!
//! Rows wait for their row group and the bytes for the output, so memory does not grow with the number of gaps, and a pipe will do.

use crate::Error;
use crate::columns::{GAP_ROWS, Storage, properties};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use std::io::Write;
use std::sync::Arc;

/// What one cause took of one gap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GapPart {
    /// Index of the series in the report.
    pub series: u32,
    /// The CPU to be measured; `None` where it is not known.
    pub cpu: Option<u32>,
    /// Nominal rate of the series.
    pub rate_hz: f64,
    /// Its work kernel.
    pub kernel: Arc<str>,
    /// Segment of the run.
    pub segment: u32,
    /// Number of the gap in its series, and of the part in the gap, from 0.
    pub gap: u64,
    /// In the order of time in which each came up.
    pub part: u32,
    /// When the unit of work that contains the gap began, since the recording's origin.
    pub start_ns: u64,
    /// How long that unit took.
    pub duration_ns: u64,
    /// How much of it the cause took; those of a gap add up to its duration.
    pub cause_ns: u64,
    /// What the ledger books for it.
    pub lost_ns: u64,
    /// Line of the ledger: a key of `gaps_ns`.
    pub cause: String,
    /// What it is, without its name.
    pub kind: &'static str,
    /// Name of the process, interrupt, and the like; `None` where the cause has none. Untrusted.
    pub name: Option<String>,
    /// Whether the data decide the cause.
    pub certainty: &'static str,
    /// Id of the task, where it was one.
    pub pid: Option<u32>,
    /// Whether the kernel reported a preemption or a signal; `None` where it cannot be known.
    pub preempted: Option<bool>,
    /// What made the task or softirq run, sent the interrupt or set the timer, with its CPU.
    pub sender: Option<(Arc<str>, u32)>,
    /// Functions that a kernel worker or a softirq ran, or another CPU asked for.
    pub function: Option<Arc<str>>,
    /// From then until it ran.
    pub waited_ns: Option<u64>,
    /// Function of the kernel in which the sender did so, or in which the timer that it is was set.
    pub sender_function: Option<Arc<str>>,
    /// Who set the timer that the sender is.
    pub set_by: Option<Arc<str>>,
}

/// Name, type and whether it may be null, in the order in which they are stored.
const COLUMNS: [(&str, Physical, bool); 23] = [
    ("series", Physical::INT32, false),
    ("cpu", Physical::INT32, true),
    ("rate_hz", Physical::DOUBLE, false),
    ("kernel", Physical::BYTE_ARRAY, false),
    ("segment", Physical::INT32, false),
    ("gap", Physical::INT64, false),
    ("part", Physical::INT32, false),
    ("start_ns", Physical::INT64, false),
    ("duration_ns", Physical::INT64, false),
    ("cause_ns", Physical::INT64, false),
    ("lost_ns", Physical::INT64, false),
    ("cause", Physical::BYTE_ARRAY, false),
    ("kind", Physical::BYTE_ARRAY, false),
    ("name", Physical::BYTE_ARRAY, true),
    ("certainty", Physical::BYTE_ARRAY, false),
    ("pid", Physical::INT32, true),
    ("preempted", Physical::BOOLEAN, true),
    ("sender", Physical::BYTE_ARRAY, true),
    ("sender_cpu", Physical::INT32, true),
    ("function", Physical::BYTE_ARRAY, true),
    ("waited_ns", Physical::INT64, true),
    ("sender_function", Physical::BYTE_ARRAY, true),
    ("set_by", Physical::BYTE_ARRAY, true),
];

/// Columns that grow, for which a dictionary is of no use.
const TIMES: [&str; 2] = ["gap", "start_ns"];

/// Writes the table.
pub struct GapTable<'a> {
    file: SerializedFileWriter<Vec<u8>>,
    out: &'a mut dyn Write,
    waiting: Vec<GapPart>,
}

impl<'a> GapTable<'a> {
    /// A table without rows.
    ///
    /// # Errors
    /// If the file library refuses.
    pub fn new(out: &'a mut dyn Write) -> Result<GapTable<'a>, Error> {
        let times = TIMES.map(|name| (name.to_owned(), Storage::Times));
        let file = schema()
            .and_then(|schema| SerializedFileWriter::new(Vec::new(), schema, properties(&times)?));
        Ok(GapTable {
            file: file.map_err(refused)?,
            out,
            waiting: Vec::new(),
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn push(&mut self, part: GapPart) -> Result<(), Error> {
        self.waiting.push(part);
        match self.waiting.len() < GAP_ROWS {
            true => Ok(()),
            false => self.row_group(),
        }
    }

    /// Writes what waits, and the end of the file.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        if !self.waiting.is_empty() {
            self.row_group()?;
        }
        self.file.finish().map_err(refused)?;
        self.drain()
    }

    fn row_group(&mut self) -> Result<(), Error> {
        let written = self.file.next_row_group().and_then(|mut group| {
            encode(&self.waiting, &mut group)?;
            group.close().map(|_| ())
        });
        written
            .and_then(|()| self.file.flush().map_err(ParquetError::from))
            .map_err(refused)?;
        self.waiting.clear();
        self.drain()
    }

    /// Hands over the bytes that are written; the library counts them, and never goes back.
    fn drain(&mut self) -> Result<(), Error> {
        let bytes = std::mem::take(self.file.inner_mut());
        let written = self.out.write_all(&bytes);
        written.map_err(Error::io("output", "cannot write"))
    }
}

/// Writing to memory does not fail; whatever the library has against it is told as it is.
fn refused(error: ParquetError) -> Error {
    Error::io("output", "cannot write")(std::io::Error::other(error))
}

fn schema() -> Result<TypePtr, ParquetError> {
    let column = |(name, physical, may_be_null): (&str, Physical, bool)| {
        let repetition = match may_be_null {
            true => Repetition::OPTIONAL,
            false => Repetition::REQUIRED,
        };
        let column = Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type((physical == Physical::BYTE_ARRAY).then_some(LogicalType::String))
            .build()?;
        Ok(Arc::new(column))
    };
    let fields: Result<Vec<TypePtr>, ParquetError> = COLUMNS.into_iter().map(column).collect();
    let schema = Type::group_type_builder("bandscope_gaps").with_fields(fields?);
    Ok(Arc::new(schema.build()?))
}

/// Columns of a row group, in order.
struct Columns<'a, 'b> {
    rows: &'a [GapPart],
    group: &'a mut SerializedRowGroupWriter<'b, Vec<u8>>,
}

impl Columns<'_, '_> {
    /// Writes the next column: a value of each row, or null.
    fn put<T: DataType>(
        &mut self,
        value: impl Fn(&GapPart) -> Option<T::T>,
    ) -> Result<(), ParquetError> {
        let all: Vec<Option<T::T>> = self.rows.iter().map(value).collect();
        let present: Vec<i16> = all.iter().map(|one| i16::from(one.is_some())).collect();
        let values: Vec<T::T> = all.into_iter().flatten().collect();
        let mut column = (self.group.next_column()?)
            .ok_or_else(|| ParquetError::General("the schema has fewer columns".into()))?;
        // Of a column that is never null they are not looked at.
        column
            .typed::<T>()
            .write_batch(&values, Some(&present), None)?;
        column.close()
    }

    fn narrow(&mut self, value: impl Fn(&GapPart) -> Option<u32>) -> Result<(), ParquetError> {
        self.put::<Int32Type>(|row| value(row).map(|value| value as i32))
    }

    fn wide(&mut self, value: impl Fn(&GapPart) -> Option<u64>) -> Result<(), ParquetError> {
        self.put::<Int64Type>(|row| value(row).map(|value| value as i64))
    }

    fn text(&mut self, value: impl Fn(&GapPart) -> Option<&str>) -> Result<(), ParquetError> {
        self.put::<ByteArrayType>(|row| value(row).map(ByteArray::from))
    }
}

fn encode(
    rows: &[GapPart],
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
) -> Result<(), ParquetError> {
    let mut columns = Columns { rows, group };
    columns.narrow(|row| Some(row.series))?;
    columns.narrow(|row| row.cpu)?;
    columns.put::<DoubleType>(|row| Some(row.rate_hz))?;
    columns.text(|row| Some(&row.kernel))?;
    columns.narrow(|row| Some(row.segment))?;
    columns.wide(|row| Some(row.gap))?;
    columns.narrow(|row| Some(row.part))?;
    columns.wide(|row| Some(row.start_ns))?;
    columns.wide(|row| Some(row.duration_ns))?;
    columns.wide(|row| Some(row.cause_ns))?;
    columns.wide(|row| Some(row.lost_ns))?;
    columns.text(|row| Some(&row.cause))?;
    columns.text(|row| Some(row.kind))?;
    columns.text(|row| row.name.as_deref())?;
    columns.text(|row| Some(row.certainty))?;
    columns.narrow(|row| row.pid)?;
    columns.put::<BoolType>(|row| row.preempted)?;
    columns.text(|row| Some(&*row.sender.as_ref()?.0))?;
    columns.narrow(|row| Some(row.sender.as_ref()?.1))?;
    columns.text(|row| row.function.as_deref())?;
    columns.wide(|row| row.waited_ns)?;
    columns.text(|row| row.sender_function.as_deref())?;
    columns.text(|row| row.set_by.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn rows_come_back_in_order_and_nulls_are_null() {
        let number = GAP_ROWS as u64 + 7;
        let mut out = tempfile::tempfile().unwrap();
        let mut table = GapTable::new(&mut out).unwrap();
        for gap in 0..number {
            let is_odd = gap % 2 == 1;
            let part = GapPart {
                gap,
                cpu: is_odd.then_some(3),
                name: is_odd.then(|| "make".to_owned()),
                sender: is_odd.then(|| ("task:sh".into(), 1)),
                preempted: is_odd.then_some(true),
                kernel: "mulss80".into(),
                ..GapPart::default()
            };
            table.push(part).unwrap();
        }
        table.finish().unwrap();
        let file = SerializedFileReader::new(out).unwrap();
        assert_eq!(file.num_row_groups(), 2);
        let mut gap = 0;
        for row in file.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let names: Vec<&String> = row.get_column_iter().map(|(name, _)| name).collect();
            assert_eq!(names, COLUMNS.map(|column| column.0));
            let of = |name: &str| {
                let mut columns = row.get_column_iter();
                columns.find(|column| column.0 == name).unwrap().1.clone()
            };
            assert_eq!(of("gap"), Field::Long(gap));
            let is_odd = gap % 2 == 1;
            let or_null = |field| if is_odd { field } else { Field::Null };
            assert_eq!(of("cpu"), or_null(Field::Int(3)));
            assert_eq!(of("name"), or_null(Field::Str("make".into())));
            assert_eq!(of("sender"), or_null(Field::Str("task:sh".into())));
            assert_eq!(of("preempted"), or_null(Field::Bool(true)));
            gap += 1;
        }
        assert_eq!(gap, number as i64);
    }
}
