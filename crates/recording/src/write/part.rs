//! One part file: written under a hidden name, closed, and only then given its own. Until then a copy may stand in its place.

use crate::Error;
use crate::checksum::{self, HashedFile};
use crate::layout::{part_name, temporary_name};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::TypePtr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A part under way.
pub struct PartWriter {
    temporary: PathBuf,
    /// Where a copy is written: the hidden name of the next part, which is begun after this one.
    spare: PathBuf,
    path: PathBuf,
    file: SerializedFileWriter<HashedFile>,
    rows: u64,
}

/// One row group under way.
pub type RowGroup<'a> = SerializedRowGroupWriter<'a, HashedFile>;

impl PartWriter {
    /// Opens part `number` in `directory`, which must exist.
    pub fn create(
        directory: &Path,
        number: u32,
        schema: TypePtr,
        properties: WriterPropertiesPtr,
    ) -> Result<PartWriter, Error> {
        let temporary = directory.join(temporary_name(number));
        let file = File::create(&temporary).map_err(Error::io(&temporary, "cannot create"))?;
        let file = SerializedFileWriter::new(HashedFile::new(file), schema, properties)
            .map_err(|error| cannot_write(&temporary, error))?;
        Ok(PartWriter {
            path: directory.join(part_name(number)),
            spare: directory.join(temporary_name(number + 1)),
            temporary,
            file,
            rows: 0,
        })
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes `rows` rows as one row group.
    pub fn row_group(
        &mut self,
        rows: usize,
        encode: impl FnOnce(&mut RowGroup<'_>) -> Result<(), ParquetError>,
    ) -> Result<(), Error> {
        let written = self.file.next_row_group().and_then(|mut group| {
            encode(&mut group)?;
            group.close()
        });
        written.map_err(|error| cannot_write(&self.path, error))?;
        self.rows += rows as u64;
        Ok(())
    }

    /// Puts a copy into the part's place until the whole part replaces it: what is written, a row group of the `rows` rows that
    /// wait, and an end with `keys`.
    pub fn copy(
        &mut self,
        rows: usize,
        encode: impl FnOnce(&mut RowGroup<'_>) -> Result<(), ParquetError>,
        keys: Vec<KeyValue>,
    ) -> Result<(), ParquetError> {
        let written = self.write_copy(rows, encode, keys);
        let placed = written.and_then(|()| Ok(std::fs::rename(&self.spare, &self.path)?));
        if placed.is_err() {
            // Half a copy is of no use, and its room is wanted.
            let _ = std::fs::remove_file(&self.spare);
        }
        placed
    }

    fn write_copy(
        &mut self,
        rows: usize,
        encode: impl FnOnce(&mut RowGroup<'_>) -> Result<(), ParquetError>,
        mut keys: Vec<KeyValue>,
    ) -> Result<(), ParquetError> {
        self.file.flush()?;
        let mut copy = TrackedWrite::new(HashedFile::new(File::create(&self.spare)?));
        std::io::copy(&mut File::open(&self.temporary)?, &mut copy)?;
        let schema = Arc::new(self.file.schema_descr().clone());
        let properties = self.file.properties().clone();
        let mut groups = self.file.flushed_row_groups().to_vec();
        if rows > 0 {
            let number = groups.len() as i32;
            let mut group =
                RowGroup::new(schema.clone(), properties.clone(), &mut copy, number, None);
            encode(&mut group)?;
            groups.push(RowGroupMetaData::clone(&*group.close()?));
        }
        keys.push(KeyValue::new(checksum::KEY.into(), checksum::placeholder()));
        let about = FileMetaData::new(
            properties.writer_version().as_num(),
            groups.iter().map(RowGroupMetaData::num_rows).sum(),
            Some(properties.created_by().to_owned()),
            Some(keys),
            schema,
            None,
        );
        let mut end = Vec::new();
        ParquetMetaDataWriter::new(&mut end, &ParquetMetaData::new(about, groups)).finish()?;
        let mut copy = copy.into_inner()?;
        copy.begin_end();
        copy.write_all(&end)?;
        Ok(copy.seal()?)
    }

    /// Writes the end with `keys` and the checksum as metadata, and gives the part its name.
    pub fn close(mut self, keys: Vec<KeyValue>) -> Result<(), Error> {
        if let Err(error) = self.write_end(keys) {
            let error = cannot_write(&self.path, error);
            self.abandon();
            return Err(error);
        }
        if let Err(error) = std::fs::rename(&self.temporary, &self.path) {
            let error = Error::io(&self.path, "cannot put into place")(error);
            self.abandon();
            return Err(error);
        }
        Ok(())
    }

    fn write_end(&mut self, mut keys: Vec<KeyValue>) -> Result<(), ParquetError> {
        keys.push(KeyValue::new(checksum::KEY.into(), checksum::placeholder()));
        for key in keys {
            self.file.append_key_value_metadata(key);
        }
        self.file.flush()?;
        self.file.inner_mut().begin_end();
        self.file.finish()?;
        Ok(self.file.inner_mut().seal()?)
    }

    /// Removes what was written, which makes room on a full disk.
    pub fn abandon(self) {
        // The error that led here is the one to tell; a file left behind is told by every reader.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

/// Keeps what the operating system said, such as "No space left on device".
pub fn cannot_write(path: &Path, error: ParquetError) -> Error {
    let source = match error {
        ParquetError::External(external) => match external.downcast::<std::io::Error>() {
            Ok(error) => *error,
            Err(other) => std::io::Error::other(other),
        },
        other => std::io::Error::other(other),
    };
    Error::io(path, "cannot write")(source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{properties, quanta_columns, schema};

    #[test]
    fn a_part_that_cannot_be_put_into_place_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let columns = quanta_columns();
        let part = PartWriter::create(
            directory.path(),
            0,
            schema(&columns).unwrap(),
            properties(&columns).unwrap(),
        );
        // A file never takes the place of a directory, whoever the user is.
        std::fs::create_dir(directory.path().join(part_name(0))).unwrap();
        let message = part.unwrap().close(Vec::new()).unwrap_err().to_string();
        assert!(
            message.contains("part-000000.parquet: cannot put into place"),
            "{message}"
        );
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
