//! Directories of recordings that nobody asked for by name. One goes with its program; what a killed program left goes with the next of the same user.

use anyhow::{Context, Result};
use bandscope_probe::facts;
use rustix::fs::OFlags;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use tempfile::TempDir;

static SWEPT: Once = Once::new();
/// Those of this process.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Who is still writing may make a file while its directory is removed.
const TRIES: usize = 10;

/// Removes all of this process, which ends at once.
pub fn remove_all() {
    let made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    for path in made.iter() {
        let _ = (0..TRIES).find(|_| fs::remove_dir_all(path).is_ok() || !path.exists());
    }
}

/// A directory that is removed when dropped, and locked until then.
#[derive(Debug)]
pub struct Scratch {
    directory: TempDir,
    /// `None` where the file system has no locks: there nobody removes what a killed program left.
    _lock: Option<File>,
}

impl Scratch {
    /// Makes one; the first of a process removes those that killed programs left.
    ///
    /// # Errors
    /// If none can be made.
    pub fn new() -> Result<Scratch> {
        let place = std::env::temp_dir();
        // Nodes of a cluster may share the place, and see no locks of each other.
        let boot = facts::boot_id().unwrap_or_default();
        let prefix = format!("bandscope-scratch-{boot}-");
        SWEPT.call_once(|| remove_left(&place, &prefix));
        loop {
            // Of a name that nobody can foresee, and for nobody else to read.
            let directory = tempfile::Builder::new().prefix(&prefix).tempdir_in(&place);
            let directory = directory.context("cannot make a directory for the recordings")?;
            let _lock = match lock(directory.path()) {
                Ok(lock) => Some(lock),
                // Another program took it for one that was left.
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::NotFound => continue,
                Err(TryLockError::Error(_)) => None,
            };
            let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
            made.push(directory.path().to_owned());
            return Ok(Scratch { directory, _lock });
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|path| path != self.directory.path());
    }
}

/// Removes the directories of this user that nobody holds the lock of. What cannot be removed stays, and disturbs nobody.
fn remove_left(place: &Path, prefix: &str) {
    let user = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(prefix.as_bytes())
            // Held until it is gone.
            && let Ok(lock) = lock(&entry.path())
            && lock.metadata().is_ok_and(|locked| locked.uid() == user)
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Takes the lock of a directory, which is still there then.
fn lock(path: &Path) -> Result<File, TryLockError> {
    let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits();
    let mut options = File::options();
    let options = options.read(true).custom_flags(flags as i32);
    let directory = options.open(path).map_err(TryLockError::Error)?;
    directory.try_lock()?;
    fs::symlink_metadata(path).map_err(TryLockError::Error)?;
    Ok(directory)
}
