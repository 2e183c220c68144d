//! Why there is no journal, or none that is believed.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process changes the machine: which, where that is known.
    #[error("another `bandscope cure` is at work{}; wait until it ends", .0.map(|process| format!(" (process {process})")).unwrap_or_default())]
    Busy(Option<u32>),
    /// A process that is dead left changes behind.
    #[error(
        "a cure that was killed left settings changed; put them back first: bandscope cure --undo"
    )]
    Left,
    /// The same, and what is left of its journal does not read.
    #[error("a cure that was killed left settings changed, and its journal does not read; put back by hand what {} says, then remove it and {}", .0[1].display(), .0[0].display())]
    ByHand([PathBuf; 2]),
    /// A directory that somebody else could write to.
    #[error("{0}: found a directory of another user, expected one of this user alone")]
    NotOwn(PathBuf),
    /// Something in the directory that is no file of this user: nothing in it is believed.
    #[error(
        "{path}: found {found}, expected a file of this user; it is neither read nor written: look at it, then remove it"
    )]
    Foreign {
        /// Which.
        path: PathBuf,
        /// What it is.
        found: Foreign,
    },
    /// Threads have other numbers here: none of them would be found, and the journal be taken for done.
    #[error(
        "{0}: found threads of another PID namespace, such as a container's; put them back there by bandscope cure --undo, or outside once that namespace is gone"
    )]
    Namespace(PathBuf),
    /// Changes are put back as far as they could be, and the journal stays as it was.
    #[error(
        "{path}: the journal stays as it was, because it cannot be written or removed: {error}"
    )]
    Stays {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// The system refused.
    #[error("{path}: cannot keep a journal of what is changed: {error}")]
    Io {
        /// Where.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
}

pub(super) fn refused(path: &Path) -> impl Fn(io::Error) -> JournalError + '_ {
    |error| JournalError::Io {
        path: path.into(),
        error,
    }
}

/// What stands in the place of a journal, or of its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// A link, a pipe, a directory.
    #[error("what is not a regular file")]
    NotAFile,
    /// A file of this user that the system does not let it read.
    #[error("a file that cannot be read ({0})")]
    Unreadable(io::ErrorKind),
    /// A file of somebody else, who may have written what he likes.
    #[error("a file of user {0}")]
    Owner(u32),
}
