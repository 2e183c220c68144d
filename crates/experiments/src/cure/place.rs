//! Where journals are, who may work there, and which files are believed.

use super::error::{Foreign, JournalError, refused};
use rustix::fs::{FlockOperation, OFlags, flock, major, minor};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What every user can open, and so lock.
const MACHINE: &str = "/sys/devices/system/cpu";

/// How long whoever waits for a lock sleeps before each look.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

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

/// Who has these is the only one to change the machine, for as long as they live: the lock of a directory, and that of the machine, which all users share.
/// Whoever names a directory has it to themselves.
#[derive(Debug)]
pub struct Locks(#[expect(dead_code, reason = "closing a file gives its lock back")] Vec<File>);

impl Locks {
    /// Takes them, and waits for `patience` at most: a process that was killed holds them until its last thread has ended.
    ///
    /// # Errors
    /// If another process has them for longer, or the directory is not of this user alone, or cannot be read.
    pub fn take(directory: &Path, patience: Duration) -> Result<Locks, JournalError> {
        own(directory)?;
        let own = directory.join("lock");
        let mut files = vec![(lock_of(directory, &own)?, own)];
        if directory == runtime()
            && let Ok(machine) = File::open(MACHINE)
        {
            files.push((machine, MACHINE.into()));
        }
        let end = Instant::now() + patience;
        for (file, path) in &files {
            loop {
                match flock(file, FlockOperation::NonBlockingLockExclusive) {
                    Ok(()) => break,
                    Err(Errno::WOULDBLOCK) if Instant::now() < end => {
                        std::thread::sleep(LOOK_AGAIN)
                    }
                    Err(Errno::WOULDBLOCK) => return Err(JournalError::Busy(holder(file))),
                    Err(error) => return Err(refused(path)(error.into())),
                }
            }
        }
        Ok(Locks(files.into_iter().map(|(file, _)| file).collect()))
    }
}

/// The process that holds the lock of a file, as this namespace numbers it; `None` where the kernel does not say (proc_locks(5)).
fn holder(file: &File) -> Option<u32> {
    let found = file.metadata().ok()?;
    let [major, minor] = [major(found.dev()), minor(found.dev())];
    let of_file = format!("{major:02x}:{minor:02x}:{}", found.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [_, "FLOCK", _, _, process, file, ..] if file == of_file => process.parse().ok(),
            _ => None,
        }
    })
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
