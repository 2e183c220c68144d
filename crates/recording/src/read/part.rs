//! One part file: opened, its end checked, its row groups handed out as columns.

use crate::Error;
use crate::checksum::{self, Verdict};
use crate::columns::Storage;
use crate::files::open_regular;
use crate::manifest::SCHEMA;
use crate::read::claims;
use crate::read::column::Column;
use crate::read::guard::guarded;
use crate::text::quoted;
use parquet::basic::{Compression, Repetition};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A part whose end was read: a truncated file has none.
pub struct Part {
    path: PathBuf,
    file: SerializedFileReader<File>,
    bytes: u64,
    /// Rows that are read.
    limit: u64,
}

/// Which part is expected where.
pub struct Expected<'a> {
    /// The run of the manifest.
    pub run: &'a str,
    /// The directory that it lies in, inside the recording.
    pub directory: &'a str,
    /// Number in the file's name.
    pub number: u32,
    /// Columns that must be there; others are ignored.
    pub columns: &'a [(String, Storage)],
}

impl Part {
    /// Opens a part and checks whose it is and what it holds, without reading the rows.
    pub fn open(path: &Path, expected: &Expected<'_>) -> Result<Part, Error> {
        let (file, metadata) = open_regular(path, REGULAR)?;
        let bytes = metadata.len();
        let unread = |error| Error::io(path, "cannot read")(error);
        let pages = file.try_clone().map_err(unread)?;
        if !claims::is_end_bounded(&file, bytes).map_err(unread)? {
            return Err(not_whole(path, bytes, TOO_MUCH));
        }
        let file = guarded(|| SerializedFileReader::new(file)).map_err(|error| {
            refused(path, &error)
                .unwrap_or_else(|| not_whole(path, bytes, &format!(" ({})", told(&error))))
        })?;
        let part = Part {
            path: path.into(),
            file,
            bytes,
            limit: u64::MAX,
        };
        part.check_origin(expected)?;
        part.check_columns(expected.columns)?;
        part.check_places()?;
        match claims::are_pages_bounded(&pages, part.metadata()).map_err(unread)? {
            true => Ok(part),
            false => Err(not_whole(path, bytes, TOO_MUCH)),
        }
    }

    /// The same part, of which so many rows are read.
    pub fn limited(mut self, rows: Option<u64>) -> Part {
        self.limit = rows.unwrap_or(u64::MAX);
        self
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.metadata().file_metadata().num_rows().max(0) as u64
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.file.metadata()
    }

    fn check_origin(&self, expected: &Expected<'_>) -> Result<(), Error> {
        let number = expected.number.to_string();
        // Parts of earlier versions do not say it.
        let told = self.key("directory").map(|_| expected.directory);
        for (key, wanted, what) in [
            ("schema", SCHEMA, "a part of this version's schema"),
            (
                "run",
                expected.run,
                "a part of this run; it was copied from another recording",
            ),
            ("part", &number, "the number in its name; it was renamed"),
            (
                "directory",
                told.unwrap_or_default(),
                "where it lies; it was moved or copied",
            ),
        ] {
            let found = self.key(key).unwrap_or("");
            if found != wanted {
                return Err(self.wrong(
                    format!("{key} {}", quoted(found.as_bytes())),
                    format!("{}, {what}", quoted(wanted.as_bytes())),
                ));
            }
        }
        let rows = self.rows();
        match self.key("rows") {
            Some(told) if told == rows.to_string() => Ok(()),
            told => Err(self.wrong(
                format!("{rows} rows"),
                format!(
                    "{}, as the part itself says",
                    quoted(told.unwrap_or("").as_bytes())
                ),
            )),
        }
    }

    fn key(&self, name: &str) -> Option<&str> {
        let keys = self.metadata().file_metadata().key_value_metadata()?;
        keys.iter().find(|key| key.key == name)?.value.as_deref()
    }

    /// Whether all of these columns are there, and as they should be.
    pub fn has(&self, columns: &[(String, Storage)]) -> bool {
        self.check_columns(columns).is_ok()
    }

    fn check_columns(&self, columns: &[(String, Storage)]) -> Result<(), Error> {
        for (name, storage) in columns {
            let Some(index) = self.column(name) else {
                return Err(self.wrong(
                    format!("no column {}", quoted(name.as_bytes())),
                    "it, as in every part of this kind".into(),
                ));
            };
            let schema = self.metadata().file_metadata().schema_descr();
            let column = schema.column(index);
            let optional = column.self_type().get_basic_info().repetition() == Repetition::OPTIONAL;
            let flat = column.max_rep_level() == 0 && (!optional || *storage == Storage::Flag);
            if column.physical_type() != storage.physical() || !flat {
                return Err(self.wrong(
                    format!(
                        "column {} of type {}",
                        quoted(name.as_bytes()),
                        column.physical_type()
                    ),
                    format!("{}, one in each row", storage.physical()),
                ));
            }
            self.check_codec(name, index)?;
        }
        Ok(())
    }

    /// Tells a codec that is not built in from damage: other programs have other defaults.
    fn check_codec(&self, name: &str, index: usize) -> Result<(), Error> {
        for group in self.metadata().row_groups() {
            // Fewer columns than the schema has is damage, which the decoder tells.
            let column = group.columns().get(index);
            match column.map(ColumnChunkMetaData::compression) {
                None | Some(Compression::UNCOMPRESSED | Compression::ZSTD(_)) => {}
                Some(other) => {
                    let codec = other.to_string();
                    let codec = codec.split('(').next().unwrap_or_default();
                    return Err(self.wrong(
                        format!("column {} compressed with {codec}", quoted(name.as_bytes())),
                        "Zstandard or no compression, the codecs that are built in: write the part \
                            again with one of them"
                            .into(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks that all columns lie within the file, and have room beside each other: the library takes that for granted.
    fn check_places(&self) -> Result<(), Error> {
        let lies_within = |column: &ColumnChunkMetaData| {
            let data = column.data_page_offset();
            let start = column.dictionary_page_offset().unwrap_or(data);
            let end = start.checked_add(column.compressed_size());
            let end = end.and_then(|end| u64::try_from(end).ok());
            start.min(data).min(column.compressed_size()) >= 0
                && end.is_some_and(|end| end <= self.bytes)
        };
        let groups = self.metadata().row_groups();
        let rows: i64 = groups
            .iter()
            .map(|group| group.num_rows().clamp(0, 1 << 40))
            .sum();
        let all_within = groups
            .iter()
            .all(|group| group.columns().iter().all(lies_within));
        let columns = groups.iter().flat_map(|group| group.columns());
        let sizes = columns.map(|column| u64::try_from(column.compressed_size()).unwrap_or(0));
        let have_room = sizes.fold(0_u64, u64::saturating_add) <= self.bytes;
        if all_within && have_room && u64::try_from(rows) == Ok(self.rows()) {
            return Ok(());
        }
        Err(self.wrong(
            "an end that describes other rows than the file holds".into(),
            AS_WRITTEN.into(),
        ))
    }

    /// Index of the column `name`.
    fn column(&self, name: &str) -> Option<usize> {
        let schema = self.metadata().file_metadata().schema_descr();
        schema
            .columns()
            .iter()
            .position(|column| column.path().parts() == [name])
    }

    /// Calls `visit` with the readers of each row group in turn, in the order of `columns`, and its rows.
    pub fn row_groups(
        &self,
        columns: &[(String, Storage)],
        mut visit: impl FnMut(Vec<Column>, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for index in 0..self.groups() {
            let (columns, rows) = self.row_group(columns, index)?;
            visit(columns, rows)?;
        }
        Ok(())
    }

    /// Number of row groups.
    pub fn groups(&self) -> usize {
        self.metadata().num_row_groups()
    }

    /// The readers of row group `index`, in the order of `columns`, and its rows.
    pub fn row_group(
        &self,
        columns: &[(String, Storage)],
        index: usize,
    ) -> Result<(Vec<Column>, usize), Error> {
        let damaged = |error| damaged(&self.path, error);
        let group = guarded(|| self.file.get_row_group(index)).map_err(damaged)?;
        let rows = |group: &RowGroupMetaData| u64::try_from(group.num_rows()).unwrap_or(0);
        let before = self.metadata().row_groups()[..index].iter().map(rows);
        let before = before.fold(0, u64::saturating_add);
        let rows = rows(group.metadata()).min(self.limit.saturating_sub(before)) as usize;
        let columns = columns
            .iter()
            .map(|(name, _)| self.open_column(&*group, name))
            .collect::<Result<Vec<_>, _>>()?;
        Ok((columns, rows))
    }

    fn open_column(&self, group: &dyn RowGroupReader, name: &str) -> Result<Column, Error> {
        let missing = || {
            damaged(
                &self.path,
                ParquetError::General("a column is missing".into()),
            )
        };
        let index = self.column(name).ok_or_else(missing)?;
        let reader = guarded(|| group.get_column_reader(index))
            .map_err(|error| damaged(&self.path, error))?;
        let schema = self.metadata().file_metadata().schema_descr();
        let description = schema.column(index);
        Ok(Column::new(&self.path, name, &description, reader))
    }

    pub(super) fn wrong(&self, found: String, expected: String) -> Error {
        Error::File {
            path: self.path.clone(),
            found,
            expected,
        }
    }
}

/// Reads the whole part and compares its checksum; whether it carries one.
///
/// To be called before [`Part::open`]: the library that decodes takes what it reads for granted.
pub fn verify(path: &Path) -> Result<bool, Error> {
    let (file, metadata) = open_regular(path, REGULAR)?;
    match checksum::verify(&file).map_err(Error::io(path, "cannot read"))? {
        Verdict::Intact => Ok(true),
        Verdict::Unchecked => Ok(false),
        Verdict::NotWhole => Err(not_whole(path, metadata.len(), "")),
        Verdict::Damaged => Err(Error::File {
            path: path.into(),
            found: "a checksum that does not fit the file".into(),
            expected: AS_WRITTEN.into(),
        }),
    }
}

/// What a part is.
const REGULAR: &str = "a regular file: copy the recording again";

/// Why it is none.
const TOO_MUCH: &str = " (it claims to hold more than its bytes)";

/// What a damaged part should be, and what to do.
const AS_WRITTEN: &str = "a part as it was written: it was damaged later; copy it again";

fn not_whole(path: &Path, bytes: u64, why: &str) -> Error {
    Error::File {
        path: path.into(),
        found: format!("{bytes} bytes that are not a whole Parquet file{why}"),
        expected: "a part as it was written: it was cut off or damaged; copy it again".into(),
    }
}

/// An error of the file library while rows are read: the end of the part was whole, the rows are not.
pub fn damaged(path: &Path, error: ParquetError) -> Error {
    refused(path, &error).unwrap_or_else(|| Error::File {
        path: path.into(),
        found: format!("rows that do not decode ({})", told(&error)),
        expected: AS_WRITTEN.into(),
    })
}

/// What the operating system refused, if it was that: then nothing is known of the file.
fn refused(path: &Path, error: &ParquetError) -> Option<Error> {
    let ParquetError::External(cause) = error else {
        return None;
    };
    let code = cause.downcast_ref::<io::Error>()?.raw_os_error()?;
    let action = match code {
        TOO_MANY_OPEN => "cannot read: raise the limit on open files (ulimit -n)",
        _ => "cannot read",
    };
    Some(Error::io(path, action)(io::Error::from_raw_os_error(code)))
}

/// EMFILE, the same number on every architecture of Linux.
const TOO_MANY_OPEN: i32 = 24;

/// What the library says, in one line; it may quote the file.
fn told(error: &ParquetError) -> String {
    let text = error.to_string();
    let line: String = text
        .chars()
        .take(120)
        .flat_map(char::escape_debug)
        .collect();
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_the_system_is_no_damage() {
        let error = |code| ParquetError::External(Box::new(io::Error::from_raw_os_error(code)));
        let text = damaged(Path::new("a"), error(TOO_MANY_OPEN)).to_string();
        let wanted =
            "a: cannot read: raise the limit on open files (ulimit -n): Too many open files";
        assert!(text.starts_with(wanted), "{text}");
        assert!(
            damaged(Path::new("a"), error(5))
                .to_string()
                .starts_with("a: cannot read: ")
        );
        let decoder = ParquetError::General("bad".into());
        assert!(
            damaged(Path::new("a"), decoder)
                .to_string()
                .contains("do not decode")
        );
    }
}
