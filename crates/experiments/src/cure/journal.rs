//! What a cure changed and how it is put back, on disk before it is changed: whoever is killed leaves it to the next command.
//!
//! A file a process, named by its number and its start time, which no other process has. The first line says whose it is; each further
//! line is one [`Undo`]. Each ends with its checksum. Lines reach the disk before the change that they undo. A journal without changes is removed. While its
//! process lives, the file is locked.

use super::error::{JournalError, refused};
use super::left::{Left, dead, left};
use super::namespace;
use super::place::Locks;
use super::undo::{Problem, Undo};
use bandscope_probe::facts::{Stat, boot_id};
use bandscope_recording::checksum_of;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the first line says.
pub(super) const SCHEMA: &str = "bandscope.journal/2";
/// The same of a journal whose lines have no checksums.
pub(super) const WITHOUT_CHECKSUMS: &str = "bandscope.journal/1";
/// What stands between a line and its checksum.
pub(super) const MARK: u8 = b'#';
/// What journals are called.
pub(super) const SUFFIX: &str = ".journal";
/// The same of changes that were kept on purpose.
pub(super) const KEPT: &str = ".kept";

/// Whose journal it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) schema: String,
    pub(super) process: u32,
    /// In clock ticks since the boot.
    pub(super) started: u64,
    /// The boot, which what is written does not outlive.
    pub(super) boot: String,
    /// The PID namespace, in which threads have these numbers; 0 where it is not known, as in journals of earlier versions.
    #[serde(default)]
    pub(super) namespace: u64,
    /// What the machine is called; empty where it is not known, as in journals of earlier versions.
    #[serde(default)]
    pub(super) machine: String,
}

/// The journal of this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// The first line.
    head: Vec<u8>,
    /// What is not put back yet.
    undos: Vec<Undo>,
    /// Whether what could not be put back was told.
    is_ended: bool,
    /// Held as long as the process lives: no second one changes the machine.
    _locks: Locks,
}

/// What this machine is called.
pub(super) fn machine() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

fn started(process: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{process}/stat")).ok()?;
    Some(Stat::parse(&stat)?.started)
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
        let locks = Locks::take(directory, Duration::ZERO)?;
        // A process that died before its first change left nothing. Nobody is at work who could write there.
        for journal in dead(directory)?.filter(Left::is_empty) {
            let _ = fs::remove_file(&journal.path);
        }
        let left = left(directory)?;
        let mut left = left.iter().filter(|left| left.is_in_the_way());
        if let Some(left) = left.next() {
            return Err(left.why_not().unwrap_or(JournalError::Left));
        }
        let process = std::process::id();
        let head = Head {
            schema: SCHEMA.to_owned(),
            process,
            started: started(process).unwrap_or_default(),
            boot: boot_id().unwrap_or_default(),
            namespace: namespace::own(),
            machine: machine(),
        };
        let path = directory.join(format!("{process}-{}{SUFFIX}", head.started));
        let line = line(&head).map_err(refused(&path))?;
        let mut file = held(&path).map_err(refused(&path))?;
        let written = file.write_all(&line).and_then(|()| file.sync_all());
        written.map_err(refused(&path))?;
        Ok(Journal {
            path,
            file,
            head: line,
            undos: Vec::new(),
            is_ended: false,
            _locks: locks,
        })
    }

    /// Notes how a change is put back, before it is made.
    ///
    /// # Errors
    /// If it does not reach the disk: then the change must not be made.
    pub fn note(&mut self, undos: &[Undo]) -> io::Result<()> {
        let lines: io::Result<Vec<Vec<u8>>> = undos.iter().map(line).collect();
        let lines = lines?.concat();
        self.undos.extend_from_slice(undos);
        self.file.write_all(&lines)?;
        self.file.sync_data()
    }

    /// Puts everything back; one sentence for each change that could not be. It stays in the journal, and is tried again.
    pub fn put_back(&mut self) -> Vec<String> {
        let (mut said, again) = split(super::undo::all(&self.undos));
        self.undos = again;
        // Where it fails the lines that are done stay, too; what is put back already is found to be so.
        if let Err(error) = self.rewrite() {
            let path = self.path.display();
            said.push(format!("{path}: cannot be written anew: {error}"));
        }
        said
    }

    /// Puts back what is left to put back; if something stays for `--undo`, what and why, in sentences.
    pub fn end(mut self) -> Vec<String> {
        self.is_ended = true;
        let said = match self.undos.is_empty() {
            true => Vec::new(),
            false => self.put_back(),
        };
        match self.undos.is_empty() {
            true => Vec::new(),
            false => said,
        }
    }

    /// Writes the journal with what is left to undo, whole or not at all.
    fn rewrite(&mut self) -> io::Result<()> {
        if self.undos.is_empty() {
            return self.file.set_len(self.head.len() as u64);
        }
        let mut text = self.head.clone();
        for undo in &self.undos {
            text.extend(line(undo)?);
        }
        let anew = self.path.with_extension("anew");
        let _ = fs::remove_file(&anew);
        let mut file = held(&anew)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&anew, &self.path)?;
        self.file = file;
        Ok(())
    }

    /// Whether nothing is left to put back.
    pub fn is_empty(&self) -> bool {
        self.undos.is_empty()
    }

    /// Leaves the changes in force; [`Left::undo`](super::Left::undo) puts them back as long as the machine runs.
    ///
    /// # Errors
    /// If the system refuses; then it still holds what is to be put back.
    pub fn keep(&mut self) -> io::Result<()> {
        fs::rename(&self.path, self.path.with_extension(&KEPT[1..]))?;
        self.undos.clear();
        Ok(())
    }
}

/// Whatever ends the process in order, a panic too, puts everything back.
impl Drop for Journal {
    fn drop(&mut self) {
        if !self.undos.is_empty() && !self.is_ended {
            for said in self.put_back() {
                // Nobody may be listening, which must not end this.
                let _ = writeln!(io::stderr(), "bandscope: {said}");
            }
        }
        // Not there where the changes are kept; what could not be put back is left to `--undo`.
        if self.undos.is_empty() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A new file, which is held as long as its process lives.
fn held(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create_new(true).append(true).mode(0o600);
    let file = options.open(path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    Ok(file)
}

/// A line with its checksum.
pub(super) fn line(of: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(of)?;
    let checksum = checksum_of(&line);
    line.push(MARK);
    line.extend_from_slice(checksum.as_bytes());
    line.push(b'\n');
    Ok(line)
}

/// What is said of problems, the first change first, and what is left to undo.
pub(super) fn split(problems: Vec<Problem>) -> (Vec<String>, Vec<Undo>) {
    let problems = problems.into_iter().rev();
    let (said, again): (Vec<String>, Vec<Vec<Undo>>) =
        problems.map(|one| (one.said, one.again)).unzip();
    (said, again.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::super::left::tests::undone;
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
        let mut journal = changed(&path);
        let is_this = |process: Option<u32>| process.is_none_or(|it| it == std::process::id());
        assert!(matches!(
            Journal::begin(&directory),
            Err(JournalError::Busy(process)) if is_this(process)
        ));
        journal.keep().unwrap();
        drop(journal);
        assert_eq!(contents(), "10");
        let kept = left(&directory).unwrap();
        assert!(kept.len() == 1 && kept[0].is_kept);
        assert!(undone(&directory).problems.is_empty());
        assert_eq!(contents(), "1");
        assert!(left(&directory).unwrap().is_empty());
    }

    #[test]
    fn a_dead_process_leaves_its_journal_to_the_next() {
        let place = tempfile::tempdir().unwrap();
        let (directory, path) = (place.path().join("journals"), place.path().join("setting"));
        drop(Journal::begin(&directory).unwrap());
        let head = |boot: String, namespace| Head {
            schema: SCHEMA.into(),
            process: std::process::id(),
            // Of another process of this number.
            started: 1,
            boot,
            namespace,
            machine: machine(),
        };
        let write_as = |boot: String, namespace, cut: usize| {
            let setting = line(&setting(&path)).unwrap();
            let head = line(&head(boot, namespace)).unwrap();
            let text = [head, setting.clone(), setting].concat();
            fs::write(directory.join("7-1.journal"), &text[..text.len() - cut]).unwrap();
        };
        let write = |boot: String, cut: usize| write_as(boot, namespace::own(), cut);
        fs::write(&path, "10").unwrap();
        // Its threads have other numbers here.
        write_as(boot_id().unwrap_or_default(), 1, 0);
        let elsewhere = || left(&directory).unwrap().remove(0);
        assert!(elsewhere().why_not().is_none());
        // Settings are the machine's.
        assert_eq!(undone(&directory).failed, 0);
        assert_eq!(fs::read_to_string(&path).unwrap(), "1");
        fs::write(&path, "10").unwrap();
        let lines = [
            line(&head(boot_id().unwrap_or_default(), 1)).unwrap(),
            line(&Undo::Births { since: 1 }).unwrap(),
        ];
        fs::write(directory.join("7-1.journal"), lines.concat()).unwrap();
        // Nobody is in namespace 1. Who can tell that has nothing to put back there.
        if namespace::is_gone(1) {
            assert!(elsewhere().why_not().is_none());
            assert_eq!(undone(&directory).failed, 0);
            assert!(left(&directory).unwrap().is_empty());
        } else {
            let why = |error: JournalError| matches!(error, JournalError::Namespace(_));
            assert!(elsewhere().why_not().is_some_and(why));
            assert_eq!(undone(&directory).failed, 1);
            assert_eq!(elsewhere().changes(), 1);
        }
        // Wherever the last line was cut off.
        for (cut, changes) in [(0, 2), (1, 2), (2, 1), (40, 1)] {
            write(boot_id().unwrap_or_default(), cut);
            let left = &left(&directory).unwrap()[0];
            assert_eq!(left.changes(), changes);
            assert_eq!(left.cut_off.is_some(), changes == 1);
        }
        assert!(matches!(
            Journal::begin(&directory),
            Err(JournalError::Left)
        ));
        // Who holds it lives, in whatever namespace its number counts.
        let held = File::open(directory.join("7-1.journal")).unwrap();
        flock(&held, FlockOperation::LockExclusive).unwrap();
        assert!(left(&directory).unwrap().is_empty());
        drop(held);
        assert!(undone(&directory).problems.is_empty());
        assert_eq!(fs::read_to_string(&path).unwrap(), "1");
        // What was written before the machine booted is gone with it.
        write("another".into(), 0);
        assert!(left(&directory).unwrap().is_empty() && Journal::begin(&directory).is_ok());
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "the lock");
        // Of another machine that shares the directory nothing is known.
        let elsewhere = Head {
            machine: "another".into(),
            ..head("another".into(), 1)
        };
        fs::write(directory.join("7-1.journal"), line(&elsewhere).unwrap()).unwrap();
        assert!(left(&directory).unwrap().is_empty() && Journal::begin(&directory).is_ok());
        assert!(directory.join("7-1.journal").exists());
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
