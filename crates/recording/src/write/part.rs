//! One part file: written under a hidden name, closed, and only then given its own.

use crate::Error;
use crate::checksum::{self, HashedFile};
use crate::layout::{part_name, temporary_name};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::TypePtr;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A part under way.
pub struct PartWriter {
    temporary: PathBuf,
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
