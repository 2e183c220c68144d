//! Journals that nobody is at work on: what a killed process left, and what was kept on purpose.

use super::journal::{Head, JournalError, KEPT, SCHEMA, SUFFIX, boot, locks, own, refused, split};
use super::undo::Undo;
use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The largest that is read: some MiB hold the affinities of all tasks of the largest machines.
const MAX_BYTES: u64 = 256 << 20;

/// A journal that nobody is at work on.
#[derive(Debug)]
pub struct Left {
    pub(super) path: PathBuf,
    head: Head,
    /// Whether its changes were to stay.
    pub is_kept: bool,
    /// What is to be undone, the first change first.
    pub undos: Vec<Undo>,
}

impl Left {
    /// Puts everything back, the last change first; one sentence for each change that could not be, which stays in the journal.
    ///
    /// # Errors
    /// If another process is at work, or the journal cannot be removed.
    pub fn undo(self) -> Result<Vec<String>, JournalError> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let _locks = locks(directory)?;
        let (said, again) = split(super::undo::all(&self.undos));
        let done = match again.is_empty() {
            true => fs::remove_file(&self.path),
            false => self.rewrite(&again),
        };
        done.map_err(refused(&self.path))?;
        Ok(said)
    }

    /// Writes the journal with these changes alone, whole or not at all.
    fn rewrite(&self, undos: &[Undo]) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self.head)?;
        for undo in undos {
            text.push(b'\n');
            serde_json::to_writer(&mut text, undo)?;
        }
        text.push(b'\n');
        let anew = self.path.with_extension("anew");
        fs::write(&anew, text)?;
        fs::rename(&anew, &self.path)
    }
}

/// The journals in `directory` that hold changes and that nobody holds the lock of, and those of changes that were kept: in the order in which they began. One of
/// another boot holds nothing that is left.
pub fn left(directory: &Path) -> Vec<Left> {
    let mut found: Vec<Left> = dead(directory).collect();
    found.retain(|journal| !journal.undos.is_empty());
    found.sort_by_key(|journal| journal.head.started);
    found
}

pub(super) fn dead(directory: &Path) -> impl Iterator<Item = Left> {
    let entries = own(directory).is_ok().then(|| fs::read_dir(directory));
    let entries = entries.into_iter().flatten().flatten().flatten();
    entries.filter_map(|entry| {
        let path = entry.path();
        let name = path.file_name()?.to_str()?;
        let is_kept = name.ends_with(KEPT);
        if !is_kept && !name.ends_with(SUFFIX) {
            return None;
        }
        // Whatever else has such a name is waited for by nobody.
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits();
        let mut options = File::options();
        let file = options
            .read(true)
            .custom_flags(flags as i32)
            .open(&path)
            .ok()?;
        file.metadata().ok().filter(Metadata::is_file)?;
        // Not by the number of its process, which is another one where namespaces differ: in a container, say.
        let is_dead = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
        let (head, undos) = read(file)?;
        let is_of_this_boot = head.boot == boot();
        (is_kept || is_dead || !is_of_this_boot).then(|| Left {
            path,
            is_kept,
            undos: if is_of_this_boot { undos } else { Vec::new() },
            head,
        })
    })
}

/// Whose it is, and what it says. The last line may be cut off: what it would undo was never done.
fn read(file: File) -> Option<(Head, Vec<Undo>)> {
    let mut lines = BufReader::new(file.take(MAX_BYTES)).lines();
    let head: Head = serde_json::from_str(&lines.next()?.ok()?).ok()?;
    let undos = lines.map_while(|line| serde_json::from_str(&line.ok()?).ok());
    (head.schema == SCHEMA).then(|| (head, undos.collect()))
}
