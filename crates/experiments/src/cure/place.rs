//! Where journals are, who may work there, and which files are believed.

use super::error::{Foreign, JournalError, refused};
use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What every user can open, and so lock.
const MACHINE: &str = "/sys/devices/system/cpu";

/// The variable that names the directory of journals in place of the runtime directory of the user.
pub const DIRECTORY: &str = "BANDSCOPE_JOURNALS";

/// Where journals are: in the runtime directory of the user.
pub fn directory() -> PathBuf {
    std::env::var_os(DIRECTORY).map_or_else(runtime, PathBuf::from)
}

fn runtime() -> PathBuf {
    let user = rustix::process::geteuid();
    let runtime = match user.is_root() {
        true => Some(PathBuf::from("/run")),
        false => std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from),
    };
    match runtime.filter(|runtime| runtime.is_dir()) {
        Some(runtime) => runtime.join("bandscope"),
        // Everybody may write there; who owns it is looked at.
        None => std::env::temp_dir().join(format!("bandscope-{}", user.as_raw())),
    }
}

/// Takes the lock of a directory, and that of the machine, which all users share, for as long as the files are open. Whoever names a directory has it to themselves.
pub(super) fn locks(directory: &Path) -> Result<Vec<File>, JournalError> {
    let own = directory.join("lock");
    let mut files = vec![(lock_of(directory, &own)?, own)];
    if directory == runtime()
        && let Ok(machine) = File::open(MACHINE)
    {
        files.push((machine, MACHINE.into()));
    }
    for (file, path) in &files {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(JournalError::Busy),
            Err(error) => return Err(refused(path)(error.into())),
        }
    }
    Ok(files.into_iter().map(|(file, _)| file).collect())
}

/// The lock of a directory. Where nothing can be written, what is there is locked all the same: changes are put back from there, too.
fn lock_of(directory: &Path, lock: &Path) -> Result<File, JournalError> {
    let mut create = OpenOptions::new();
    create.create(true).truncate(false).write(true).mode(0o600);
    let error = match opened(lock, &mut create) {
        Ok(Ok(file)) => return Ok(file),
        Ok(Err(found)) => {
            let path = lock.into();
            return Err(JournalError::Foreign { path, found });
        }
        Err(error) => error,
    };
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            let file = File::open(lock).or_else(|_| File::open(directory));
            file.map_err(refused(lock))
        }
        _ => Err(refused(lock)(error)),
    }
}

/// Opens a file of this user, and waits for nobody; what else stands there is told.
pub(super) fn opened(path: &Path, options: &mut OpenOptions) -> io::Result<Result<File, Foreign>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits();
    let file = options.custom_flags(flags as i32).open(path);
    // A pipe without a reader, a link, a socket, a directory, and what another user hides, cannot be opened.
    let found = match &file {
        Ok(file) => file.metadata()?,
        Err(_) => match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(_) => return file.map(Ok),
        },
    };
    match found.is_file() {
        false => Ok(Err(Foreign::NotAFile)),
        true if found.uid() != rustix::process::geteuid().as_raw() => {
            Ok(Err(Foreign::Owner(found.uid())))
        }
        true => file.map(Ok),
    }
}

/// Nobody else may have written there, nor put a link there.
pub(super) fn own(directory: &Path) -> Result<(), JournalError> {
    let found = fs::symlink_metadata(directory).map_err(refused(directory))?;
    let is_own = found.is_dir()
        && found.uid() == rustix::process::geteuid().as_raw()
        && found.mode() & 0o022 == 0;
    match is_own {
        true => Ok(()),
        false => Err(JournalError::NotOwn(directory.into())),
    }
}
