//! What can be wrong with a recording or an imported file.
//!
//! Every error names the file, the row where there is one (lines of a text file count from 1), what
//! was found and what was expected; the command line prints it as it is and exits with status 2.

use crate::text::shown;
use std::path::PathBuf;

/// An error of reading, writing or importing a recording.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {action}: {source}", shown(path))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried, as in "cannot create".
        action: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A row of a text file does not read.
    #[error("{}:{row}: found {found}, expected {expected}", shown(path))]
    Row {
        /// The file, as the user named it.
        path: PathBuf,
        /// The line, counted from 1.
        row: u64,
        /// What stands there, shortened and escaped.
        found: String,
        /// What should stand there.
        expected: String,
    },
    /// A file as a whole is not what it should be.
    #[error("{}: found {found}, expected {expected}", shown(path))]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What it is.
        found: String,
        /// What it should be, and what to do.
        expected: String,
    },
}

impl Error {
    /// Wraps an error of the operating system.
    pub fn io(
        path: impl Into<PathBuf>,
        action: &'static str,
    ) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io {
            path,
            action,
            source,
        }
    }
}
