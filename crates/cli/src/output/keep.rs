//! Files that keep what is measured.

use super::{is_special, open_special, put, put_special, replaced, writable};
use anyhow::{Context, Result, bail};
use bandscope_recording::text::shown;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a file of metrics begins with (`view::prometheus`).
const METRICS: [u8; 7] = *b"# HELP ";

/// A file that will keep what is measured: claimed before minutes are spent on measuring it, so that a directory that is not
/// there, or one that may not be written to, is said at once.
#[derive(Debug)]
pub struct Keep {
    path: PathBuf,
    /// The empty file, locked; `None` for a device or a pipe, or where a file is replaced.
    file: Option<File>,
    /// A device or a pipe, open: its reader is there from the beginning.
    special: Option<File>,
}

impl Keep {
    /// Claims `path`, which `option` named; a device or a pipe is there already and stays. So does an empty file, which a run that was killed at once left.
    ///
    /// # Errors
    /// If a file of that name exists and holds something or is another run's, or if none can be made.
    pub fn claim(path: &Path, option: &str) -> Result<Keep> {
        writable(path)?;
        if is_special(path) && !path.is_dir() {
            let special = open_special(path);
            let special = special.with_context(|| format!("{}: cannot write", shown(path)))?;
            return Ok(Keep {
                path: path.to_owned(),
                file: None,
                special: Some(special),
            });
        }
        let is_empty = || std::fs::metadata(path).is_ok_and(|there| there.len() == 0);
        let made = OpenOptions::new().append(true).create_new(true).open(path);
        let taken = made.or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists if is_empty() => {
                OpenOptions::new().append(true).open(path)
            }
            _ => Err(error),
        });
        let is_free = |file: &File| match file.try_lock() {
            Err(TryLockError::WouldBlock) => false,
            // Where there are no locks, whoever made the file has it.
            _ => is_empty(),
        };
        match taken {
            Ok(file) if is_free(&file) => Ok(Keep {
                path: path.to_owned(),
                file: Some(file),
                special: None,
            }),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(error).with_context(|| format!("{}: cannot create", shown(path)))
            }
            _ => bail!("{}: exists already; name another {option}", shown(path)),
        }
    }

    /// Claims the file that `--output` names, if it names one.
    ///
    /// # Errors
    /// As [`Keep::claim`].
    pub fn claim_output(path: Option<&Path>) -> Result<Option<Keep>> {
        path.map(|path| Keep::claim(path, "--output")).transpose()
    }

    /// Takes a place whose metrics are to be replaced: what is there stays until then.
    ///
    /// # Errors
    /// If `path` is a directory, lies in a recording, holds something else than metrics, or no file can be made beside it.
    pub fn replace(path: &Path) -> Result<Keep> {
        writable(path)?;
        if is_special(path) {
            return Ok(Keep {
                path: path.to_owned(),
                file: None,
                special: None,
            });
        }
        let cannot = || format!("{}: cannot write", shown(path));
        let there = std::fs::metadata(path).ok();
        if there
            .as_ref()
            .is_some_and(|there| there.is_file() && there.len() > 0)
        {
            let mut begin = [0; METRICS.len()];
            let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
            if read.is_err() || begin != METRICS {
                bail!(
                    "{}: exists already and holds no metrics; name another --output",
                    shown(path)
                );
            }
        }
        tempfile::tempfile_in(replaced(path).1).with_context(cannot)?;
        Ok(Keep {
            path: path.to_owned(),
            file: None,
            special: None,
        })
    }

    /// Adds a line, whole or not at all. A device or a pipe gets nothing before the end.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&mut self, line: &str) -> Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let append = |file: &mut File| {
            let before = file.metadata()?.len();
            file.write_all(line.as_bytes()).inspect_err(|_| {
                // The error that matters is the first.
                let _ = file.set_len(before);
            })
        };
        append(file).with_context(|| format!("{}: cannot write", shown(&self.path)))
    }

    /// Writes it, whole, in the place of what is there, as far as it goes by now. A device or a pipe gets nothing before the end.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_so_far(&self, render: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        match self.file {
            Some(_) => put(Some(&self.path), render),
            None => Ok(()),
        }
    }

    /// Writes it, whole, in the place of what is there.
    ///
    /// # Errors
    /// If it cannot be written; what is there stays.
    pub fn write(mut self, render: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        match self.special.take() {
            Some(special) => put_special(&self.path, special, render),
            None => put(Some(&self.path), render),
        }
    }

    /// Removes it: there is nothing to keep.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn give_up(self) -> Result<()> {
        match self.file {
            Some(_) => Ok(std::fs::remove_file(&self.path)?),
            None => Ok(()),
        }
    }
}

impl Drop for Keep {
    /// What was claimed and never written is empty, and goes. What is not the claimed file itself, as a link or what was put in its place, stays.
    fn drop(&mut self) {
        let claimed = self.file.as_ref().and_then(|file| file.metadata().ok());
        let there = std::fs::symlink_metadata(&self.path).ok();
        let is_same = |(claimed, there): (Metadata, Metadata)| {
            (claimed.dev(), claimed.ino()) == (there.dev(), there.ino()) && there.len() == 0
        };
        if claimed.zip(there).is_some_and(is_same) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The file of a session, if one is wanted: it has each line as soon as what it tells of ends, and the whole document at the end.
#[derive(Debug)]
pub struct Lines {
    keep: Option<Keep>,
    /// The first error of writing; nothing is appended after it.
    appended: Result<()>,
}

impl Lines {
    pub fn new(keep: Option<Keep>) -> Lines {
        let appended = Ok(());
        Lines { keep, appended }
    }

    /// Adds a line. What cannot be written now is told at the end, if it cannot be written then.
    pub fn append(&mut self, line: &str) {
        if let (Some(keep), Ok(())) = (&mut self.keep, &self.appended) {
            self.appended = keep.append(line);
        }
    }

    /// Writes the whole document; without one, nothing is to be kept.
    ///
    /// # Errors
    /// If it cannot be written; the lines stay.
    pub fn finish(self, document: Option<&str>) -> Result<()> {
        match (self.keep, document) {
            (Some(keep), Some(document)) => {
                keep.write(|out| Ok(out.write_all(document.as_bytes())?))
            }
            (Some(keep), None) => keep.give_up(),
            (None, _) => Ok(()),
        }
    }
}
