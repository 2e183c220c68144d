//! A log on disk, while the disturbance goes on: every row is there as soon as it was handed over.

use super::{Disturbance, End, Header};
use crate::Error;
use serde::Serialize;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Writes a log.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
    /// Lines on their way.
    buffer: Vec<u8>,
}

impl Writer {
    /// Makes the file, which must not exist yet, and writes its header.
    ///
    /// # Errors
    /// If something of that name is there, or the file cannot be written.
    pub fn create(path: &Path, header: &Header) -> Result<Writer, Error> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        let file = file.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Error::File {
                path: path.into(),
                found: "something of that name".into(),
                expected: "a path that does not exist yet; give another one, or remove it".into(),
            },
            _ => Error::io(path, "cannot create the log")(error),
        })?;
        let mut writer = Writer {
            path: path.into(),
            file,
            buffer: Vec::new(),
        };
        writer.line(header)?;
        writer.flush()?;
        Ok(writer)
    }

    /// Adds disturbances, in order of time.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn append(&mut self, disturbances: &[Disturbance]) -> Result<(), Error> {
        for disturbance in disturbances {
            self.line(disturbance)?;
        }
        self.flush()
    }

    /// Says how it ended, and waits for the disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self, end: &End) -> Result<(), Error> {
        self.line(end)?;
        self.flush()?;
        self.file
            .sync_all()
            .map_err(Error::io(&self.path, "cannot write"))
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(&mut self.buffer, value)
            .map_err(|error| Error::io(&self.path, "cannot write")(error.into()))?;
        self.buffer.push(b'\n');
        Ok(())
    }

    /// Hands whole lines to the kernel in one call, which a kill of this program does not undo.
    fn flush(&mut self) -> Result<(), Error> {
        let written = self.file.write_all(&self.buffer);
        self.buffer.clear();
        written.map_err(Error::io(&self.path, "cannot write"))
    }
}
