//! What a cure changed and how it is put back, on disk before it is changed: whoever is killed leaves it to the next command.
//!
//! A file a process, named by its number and its start time, which no other process has. The first line says whose it is; each further
//! line is one [`Undo`]. Lines reach the disk before the change that they undo. A journal without changes is removed.

use super::undo::Undo;
use bandscope_probe::facts::Stat;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What the first line says.
const SCHEMA: &str = "bandscope.journal/1";
/// What journals are called.
const SUFFIX: &str = ".journal";
/// The same of changes that were kept on purpose.
const KEPT: &str = ".kept";
/// The largest that is read: some MiB hold the affinities of all tasks of the largest machines.
const MAX_BYTES: u64 = 256 << 20;

/// Whose journal it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    schema: String,
    process: u32,
    /// In clock ticks since the boot.
    started: u64,
    /// The boot, which what is written does not outlive.
    boot: String,
}

/// The journal of this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Length of the first line.
    head: u64,
    /// What is not put back yet.
    undos: Vec<Undo>,
    /// Held as long as the process lives: no second one changes the machine.
    _lock: File,
}

/// Why there is no journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another process changes the machine.
    #[error("another `bandscope cure` is at work; wait until it ends")]
    Busy,
    /// A process that is dead left changes behind.
    #[error(
        "a cure that was killed left settings changed; put them back first: bandscope cure --undo"
    )]
    Left,
    /// A directory that somebody else could write to.
    #[error("{0}: found a directory of another user, expected one of this user alone")]
    NotOwn(PathBuf),
    /// The system refused.
    #[error("{path}: cannot keep a journal of what is changed: {error}")]
    Io {
        /// Where.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
}

fn refused(path: &Path) -> impl Fn(io::Error) -> JournalError + '_ {
    |error| JournalError::Io {
        path: path.into(),
        error,
    }
}

/// The variable that names the directory of journals in place of the runtime directory of the user.
pub const DIRECTORY: &str = "BANDSCOPE_JOURNALS";

/// Where journals are: in the runtime directory of the user.
pub fn directory() -> PathBuf {
    if let Some(named) = std::env::var_os(DIRECTORY) {
        return named.into();
    }
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

/// The identity of this boot; empty where the kernel does not tell.
fn boot() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    boot.trim().to_owned()
}

fn started(process: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
    Some(Stat::parse(&stat)?.started)
}

/// Takes the lock of a directory, for as long as the file is open.
fn lock(directory: &Path) -> Result<File, JournalError> {
    let path = directory.join("lock");
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    let file = options.open(&path).map_err(refused(&path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(JournalError::Busy),
        Err(error) => Err(refused(&path)(error.into())),
    }
}

impl Journal {
    /// Begins one in `directory`, which is made if it is not there.
    ///
    /// # Errors
    /// If another process has one, or a dead one left one, or it cannot be written.
    pub fn begin(directory: &Path) -> Result<Journal, JournalError> {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory);
        made.map_err(refused(directory))?;
        own(directory)?;
        let lock = lock(directory)?;
        if left(directory).iter().any(|left| !left.is_kept) {
            return Err(JournalError::Left);
        }
        let process = std::process::id();
        let head = Head {
            schema: SCHEMA.to_owned(),
            process,
            started: started(process).unwrap_or_default(),
            boot: boot(),
        };
        let path = directory.join(format!("{process}-{}{SUFFIX}", head.started));
        let mut line = serde_json::to_vec(&head).map_err(|error| refused(&path)(error.into()))?;
        line.push(b'\n');
        let mut options = OpenOptions::new();
        options.create_new(true).append(true).mode(0o600);
        let mut file = options.open(&path).map_err(refused(&path))?;
        let written = file.write_all(&line).and_then(|()| file.sync_all());
        written.map_err(refused(&path))?;
        Ok(Journal {
            path,
            file,
            head: line.len() as u64,
            undos: Vec::new(),
            _lock: lock,
        })
    }

    /// Notes how a change is put back, before it is made.
    ///
    /// # Errors
    /// If it does not reach the disk: then the change must not be made.
    pub fn note(&mut self, undos: &[Undo]) -> io::Result<()> {
        let mut lines = Vec::new();
        for undo in undos {
            serde_json::to_writer(&mut lines, undo)?;
            lines.push(b'\n');
        }
        self.undos.extend_from_slice(undos);
        self.file.write_all(&lines)?;
        self.file.sync_data()
    }

    /// Puts everything back; one sentence for each change that could not be.
    pub fn put_back(&mut self) -> Vec<String> {
        let mut problems = super::undo::all(&self.undos);
        self.undos.clear();
        // A line that stays is undone once more, which changes nothing.
        if let Err(error) = self
            .file
            .set_len(self.head)
            .and_then(|()| self.file.sync_data())
        {
            problems.push(format!(
                "{}: cannot be shortened: {error}",
                self.path.display()
            ));
        }
        problems
    }

    /// Leaves the changes in force; [`Left::undo`] puts them back as long as the machine runs.
    ///
    /// # Errors
    /// If the system refuses; then everything is put back.
    pub fn keep(mut self) -> io::Result<()> {
        fs::rename(&self.path, self.path.with_extension(&KEPT[1..]))?;
        self.undos.clear();
        Ok(())
    }
}

/// Whatever ends the process in order, a panic too, puts everything back.
impl Drop for Journal {
    fn drop(&mut self) {
        for problem in super::undo::all(&self.undos) {
            eprintln!("bandscope: {problem}");
        }
        // Not there where the changes are kept.
        let _ = fs::remove_file(&self.path);
    }
}

/// Nobody else may have written there, nor put a link there.
fn own(directory: &Path) -> Result<(), JournalError> {
    let found = fs::symlink_metadata(directory).map_err(refused(directory))?;
    let is_own = found.is_dir()
        && found.uid() == rustix::process::geteuid().as_raw()
        && found.mode() & 0o022 == 0;
    match is_own {
        true => Ok(()),
        false => Err(JournalError::NotOwn(directory.into())),
    }
}

/// A journal that nobody is at work on.
#[derive(Debug)]
pub struct Left {
    path: PathBuf,
    /// Whether its changes were to stay.
    pub is_kept: bool,
    /// What is to be undone, the first change first. Empty of another boot: nothing of it is left.
    pub undos: Vec<Undo>,
}

impl Left {
    /// Puts everything back, the last change first; one sentence for each change that could not be.
    ///
    /// # Errors
    /// If another process is at work, or the journal cannot be removed.
    pub fn undo(self) -> Result<Vec<String>, JournalError> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let _lock = lock(directory)?;
        let problems = super::undo::all(&self.undos);
        fs::remove_file(&self.path).map_err(refused(&self.path))?;
        Ok(problems)
    }
}

/// The journals in `directory` whose processes are dead, and those of changes that were kept.
pub fn left(directory: &Path) -> Vec<Left> {
    if own(directory).is_err() {
        return Vec::new();
    }
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let journals = paths.into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?;
        let is_kept = name.ends_with(KEPT);
        if !is_kept && !name.ends_with(SUFFIX) {
            return None;
        }
        let (head, undos) = read(&path)?;
        let is_dead = started(head.process) != Some(head.started);
        let is_of_this_boot = head.boot == boot();
        (is_kept || is_dead || !is_of_this_boot).then(|| Left {
            path,
            is_kept,
            undos: if is_of_this_boot { undos } else { Vec::new() },
        })
    });
    // A process that died before its first change left nothing.
    let (full, empty): (Vec<Left>, Vec<Left>) =
        journals.partition(|journal| !journal.undos.is_empty());
    for journal in empty {
        let _ = fs::remove_file(&journal.path);
    }
    full
}

/// Whose it is, and what it says. The last line may be cut off: what it would undo was never done.
fn read(path: &Path) -> Option<(Head, Vec<Undo>)> {
    use std::io::Read;
    let file = File::open(path).ok()?;
    let mut lines = BufReader::new(file.take(MAX_BYTES)).lines();
    let head: Head = serde_json::from_str(&lines.next()?.ok()?).ok()?;
    let undos = lines.map_while(|line| serde_json::from_str(&line.ok()?).ok());
    (head.schema == SCHEMA).then(|| (head, undos.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(path: &Path) -> Undo {
        Undo::Setting {
            path: path.into(),
            before: "1".into(),
            during: "10".into(),
            through: None,
        }
    }

    #[test]
    fn what_is_noted_is_put_back_whatever_ends_it() {
        let place = tempfile::tempdir().unwrap();
        let (directory, path) = (place.path().join("journals"), place.path().join("setting"));
        let contents = || fs::read_to_string(&path).unwrap();
        let changed = |path: &Path| {
            let mut journal = Journal::begin(&directory).unwrap();
            journal.note(&[setting(path)]).unwrap();
            fs::write(path, "10").unwrap();
            journal
        };
        fs::write(&path, "1").unwrap();
        let mut journal = changed(&path);
        assert!(journal.put_back().is_empty());
        assert_eq!(contents(), "1");
        drop(journal);
        drop(changed(&path));
        assert_eq!(contents(), "1");
        let panicked = std::panic::catch_unwind(|| {
            let _journal = changed(&path);
            panic!("on purpose");
        });
        assert!(panicked.is_err());
        assert_eq!(contents(), "1");
        let journal = changed(&path);
        assert!(matches!(
            Journal::begin(&directory),
            Err(JournalError::Busy)
        ));
        journal.keep().unwrap();
        assert_eq!(contents(), "10");
        let mut kept = left(&directory);
        assert!(kept.len() == 1 && kept[0].is_kept);
        assert!(kept.remove(0).undo().unwrap().is_empty());
        assert_eq!(contents(), "1");
        assert!(left(&directory).is_empty());
    }

    #[test]
    fn a_dead_process_leaves_its_journal_to_the_next() {
        let place = tempfile::tempdir().unwrap();
        let (directory, path) = (place.path().join("journals"), place.path().join("setting"));
        drop(Journal::begin(&directory).unwrap());
        let head = |boot: String| Head {
            schema: SCHEMA.into(),
            process: std::process::id(),
            // Of another process of this number.
            started: 1,
            boot,
        };
        let write = |boot: String, cut: usize| {
            let lines = [
                serde_json::to_string(&head(boot)).unwrap(),
                serde_json::to_string(&setting(&path)).unwrap(),
                serde_json::to_string(&setting(&path)).unwrap(),
            ];
            let text = lines.join("\n");
            fs::write(directory.join("7-1.journal"), &text[..text.len() - cut]).unwrap();
        };
        fs::write(&path, "10").unwrap();
        // Wherever the last line was cut off.
        for cut in [0, 1, 20] {
            write(boot(), cut);
            assert_eq!(
                left(&directory)[0].undos.len(),
                if cut == 0 { 2 } else { 1 }
            );
        }
        assert!(matches!(
            Journal::begin(&directory),
            Err(JournalError::Left)
        ));
        assert!(left(&directory).remove(0).undo().unwrap().is_empty());
        assert_eq!(fs::read_to_string(&path).unwrap(), "1");
        // What was written before the machine booted is gone with it.
        write("another".into(), 0);
        assert!(left(&directory).is_empty() && Journal::begin(&directory).is_ok());
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(
            Journal::begin(place.path()),
            Err(JournalError::NotOwn(_))
        ));
    }
}
