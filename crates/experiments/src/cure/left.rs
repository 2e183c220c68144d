//! Journals that nobody is at work on: what a killed process left, and what was kept on purpose.

use super::error::{Foreign, JournalError, refused};
use super::journal::{Head, KEPT, MARK, SCHEMA, SUFFIX, WITHOUT_CHECKSUMS, line, machine, split};
use super::namespace;
use super::place::{Locks, opened, own};
use super::undo::Undo;
use bandscope_probe::facts::boot_id;
use bandscope_recording::text::{quoted, shown};
use bandscope_recording::{Error, checksum_of};
use rustix::fs::{FlockOperation, flock};
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Extension of the whole journal that is kept where lines of it do not read.
const DAMAGED: &str = "damaged";
/// The largest that is read: some MiB hold the affinities of all tasks of the largest machines.
const MAX_BYTES: u64 = 256 << 20;

/// Of a checksum.
const DIGITS: usize = 16;

/// A journal that nobody is at work on.
#[derive(Debug, Default)]
pub struct Left {
    pub(super) path: PathBuf,
    /// When its process started; 0 where the first line does not read.
    started: u64,
    /// Whether its changes were to stay. Of what is no journal of this user nobody knows.
    pub is_kept: bool,
    /// What is to be undone, the first change first.
    undos: Vec<Undo>,
    /// What is wrong with lines that do not read.
    damage: Vec<Error>,
    /// Lines that stay in the journal whatever is undone: the first, and those that do not read.
    stays: Vec<Vec<u8>>,
    /// The PID namespace of its process; 0 where it is not known.
    namespace: u64,
    /// What stands there in place of a journal of this user. Nobody reads it.
    foreign: Option<Foreign>,
    /// The last line, if it was cut off: what it would undo was never done.
    pub cut_off: Option<Error>,
}

/// What came of putting changes back.
#[derive(Debug)]
pub struct Undone {
    /// What could not be put back, each line that does not read, and what somebody else set meanwhile, in sentences.
    pub problems: Vec<String>,
    /// Changes that could not be put back.
    pub failed: usize,
    /// Why the journal could not be written or removed, where it could not.
    pub stays: Option<JournalError>,
}

impl Left {
    /// How many changes it holds; what a line that does not read tells of counts as one.
    pub fn changes(&self) -> usize {
        self.undos.len() + self.damage.len()
    }

    /// Whether it is no journal of this user.
    pub fn is_foreign(&self) -> bool {
        self.foreign.is_some()
    }

    /// Whether its threads are elsewhere, where they have other numbers than here.
    fn is_of_another_namespace(&self) -> bool {
        ![0, namespace::own()].contains(&self.namespace)
    }

    /// Whether no cure is tried before it is put back: what was kept on purpose is not, but where it does not read.
    pub fn is_in_the_way(&self) -> bool {
        !self.is_kept || !self.damage.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changes() == 0 && !self.is_foreign()
    }

    /// Why `cure --undo` puts nothing back: it is no journal of this user or of this PID namespace, or nothing is left in it that can be read. Then the copy of it as it was
    /// says what is put back by hand.
    pub fn why_not(&self) -> Option<JournalError> {
        let path = self.path.clone();
        if let Some(found) = self.foreign {
            return Some(JournalError::Foreign { path, found });
        }
        let has_threads_alone = !self.undos.iter().any(Undo::is_setting);
        if has_threads_alone
            && self.is_of_another_namespace()
            && !namespace::is_gone(self.namespace)
        {
            return Some(JournalError::Namespace(path));
        }
        let files = [path, self.path.with_extension(DAMAGED)];
        (self.undos.is_empty() && files[1].exists()).then_some(JournalError::ByHand(files))
    }

    /// Puts everything back that can be read, the last change first, for whoever has the locks. What cannot be put back stays in the journal. As it was, it is
    /// kept beside it.
    pub fn undo(self, _locks: &Locks) -> Undone {
        if self.is_foreign() {
            return Undone {
                problems: self.why_not().iter().map(ToString::to_string).collect(),
                failed: 0,
                stays: None,
            };
        }
        let is_elsewhere = self.is_of_another_namespace();
        let (here, mut elsewhere): (Vec<Undo>, Vec<Undo>) =
            (self.undos.iter().cloned()).partition(|undo| !is_elsewhere || undo.is_setting());
        if is_elsewhere && namespace::is_gone(self.namespace) {
            // With its threads.
            elsewhere.clear();
        }
        let problems = super::undo::all(&here);
        let mut failed = problems.iter().filter(|one| one.is_failure).count();
        failed += elsewhere.len() + self.damage.len();
        let (mut said, mut again) = split(problems);
        if !elsewhere.is_empty() {
            said.push(JournalError::Namespace(self.path.clone()).to_string());
            again.extend(elsewhere);
        }
        let done = match again.is_empty() && self.damage.is_empty() {
            true => fs::remove_file(&self.path),
            false => self.rewrite(&again),
        };
        said.extend(self.damage.iter().map(ToString::to_string));
        if let (Some(last), false) = (said.last_mut(), self.damage.is_empty()) {
            let beside = self.path.with_extension(DAMAGED);
            // Where nothing can be written there is no copy.
            *last += &match beside.exists() {
                true => format!(
                    "; {} is the journal as it was: put back by hand what these lines say, then remove both files",
                    shown(&beside)
                ),
                false => {
                    "; put back by hand what these lines say, then remove the journal".to_owned()
                }
            };
        }
        let path = self.path;
        Undone {
            problems: said,
            failed,
            stays: done.err().map(|error| JournalError::Stays { path, error }),
        }
    }

    /// Writes the journal with these changes and the lines that stay alone, whole or not at all.
    fn rewrite(&self, undos: &[Undo]) -> io::Result<()> {
        let mut text = self.stays.concat();
        for undo in undos {
            text.extend(line(undo)?);
        }
        let as_it_was = self.path.with_extension(DAMAGED);
        if !self.damage.is_empty() && !as_it_was.exists() {
            let copy = self.path.with_extension("copy");
            fs::copy(&self.path, &copy)?;
            fs::rename(copy, as_it_was)?;
        }
        let anew = self.path.with_extension("anew");
        let _ = fs::remove_file(&anew);
        fs::write(&anew, text)?;
        fs::rename(&anew, &self.path)
    }
}

/// The journals in `directory` that hold changes and that nobody holds the lock of, and those of changes that were kept: in the order in which they began. One of
/// another boot holds nothing that is left. Where no directory is, no cure ever was.
///
/// # Errors
/// If the directory cannot be looked at, or is somebody else's.
pub fn left(directory: &Path) -> Result<Vec<Left>, JournalError> {
    let mut found: Vec<Left> = match dead(directory) {
        Err(JournalError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            Vec::new()
        }
        found => found?.collect(),
    };
    found.retain(|journal| !journal.is_empty() || journal.cut_off.is_some());
    found.sort_by_key(|journal| journal.started);
    Ok(found)
}

pub(super) fn dead(directory: &Path) -> Result<impl Iterator<Item = Left>, JournalError> {
    own(directory)?;
    let entries = fs::read_dir(directory).and_then(|all| all.collect::<io::Result<Vec<_>>>());
    let entries = entries.map_err(refused(directory))?;
    Ok(entries.into_iter().filter_map(|entry| {
        let path = entry.path();
        let name = path.file_name()?.to_str()?;
        let is_kept = name.ends_with(KEPT);
        if !is_kept && !name.ends_with(SUFFIX) {
            return None;
        }
        let is_strange = |found| {
            Some(Left {
                path: path.clone(),
                foreign: Some(found),
                ..Left::default()
            })
        };
        let file = match opened(&path, File::options().read(true)) {
            Ok(Ok(file)) => file,
            Ok(Err(found)) => return is_strange(found),
            // It was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return is_strange(Foreign::Unreadable(error.kind())),
        };
        // Not by the number of its process, which is another one where namespaces differ: in a container, say.
        let is_dead = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
        let (head, read) = match read(&path, file) {
            Ok(read) => read,
            Err(error) => return is_strange(Foreign::Unreadable(error.kind())),
        };
        let is_of_this_boot =
            (head.as_ref()).is_none_or(|head| head.boot == boot_id().unwrap_or_default());
        let is_of = |head: Head, machine: String| ["", &machine].contains(&head.machine.as_str());
        // Nodes of a cluster may share the directory.
        if !is_of_this_boot && !head.is_some_and(|head| is_of(head, machine())) {
            return None;
        }
        let left = match is_of_this_boot {
            true => read,
            false => Left::default(),
        };
        (is_kept || is_dead || !is_of_this_boot).then_some(Left {
            path,
            is_kept,
            ..left
        })
    }))
}

/// Whose it is, where that can be read, and what it says. The last line may be cut off: what it would undo was never done.
fn read(path: &Path, file: File) -> io::Result<(Option<Head>, Left)> {
    let (mut left, mut of) = (Left::default(), None);
    // Those without are named so by their first line.
    let mut has_checksums = true;
    let mut lines = BufReader::new(file.take(MAX_BYTES));
    for row in 1.. {
        let mut line = Vec::new();
        lines.read_until(b'\n', &mut line)?;
        let read = match row {
            1 => parsed(&line, false).and_then(|head: Head| {
                has_checksums = head.schema == SCHEMA;
                let is_known = has_checksums || head.schema == WITHOUT_CHECKSUMS;
                is_known.then_some(()).ok_or(Damage::Unreadable)?;
                (left.started, left.namespace) = (head.started, head.namespace);
                of = Some(head);
                left.stays.push(line.clone());
                Ok(())
            }),
            _ => parsed(&line, has_checksums).map(|undo| left.undos.push(undo)),
        };
        let expected = match (read, row) {
            (Ok(()), _) => continue,
            (Err(Damage::Checksum), _) => "a line that fits its checksum",
            (Err(Damage::Unreadable), 1) => "whose journal it is, as bandscope.journal/2",
            (Err(Damage::Unreadable), _) => "a change and how it is put back",
        };
        // What a file system lost is zeros, and may have told of changes that were made.
        let is_whole = line.ends_with(b"\n") || line.contains(&0);
        let error = |expected: &str| Error::Row {
            path: path.into(),
            row,
            found: quoted(line.trim_ascii_end()),
            expected: expected.to_owned(),
        };
        if !is_whole {
            let cut = "a whole line; it was cut off before its change was made";
            left.cut_off = (!line.is_empty()).then(|| error(cut));
            break;
        }
        left.damage.push(error(expected));
        if !line.ends_with(b"\n") {
            line.push(b'\n');
        }
        left.stays.push(line);
    }
    Ok((of, left))
}

/// What is wrong with a line.
enum Damage {
    Unreadable,
    Checksum,
}

/// What a line says, if it fits its checksum; without one only where none `must` be.
fn parsed<T: DeserializeOwned>(line: &[u8], must: bool) -> Result<T, Damage> {
    let line = line.trim_ascii_end();
    let (json, found) = match line.iter().rposition(|byte| *byte == MARK) {
        Some(at) if line.len() - at == DIGITS + 1 => (&line[..at], Some(&line[at + 1..])),
        _ => (line, None),
    };
    match found {
        Some(found) if found != checksum_of(json).as_bytes() => return Err(Damage::Checksum),
        None if must => return Err(Damage::Unreadable),
        _ => {}
    }
    serde_json::from_slice(json).map_err(|_| Damage::Unreadable)
}

#[cfg(test)]
pub(super) mod tests;
