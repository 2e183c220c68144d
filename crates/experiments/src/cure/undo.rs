//! How one change is put back. Whoever changed the same thing meanwhile has the last word: it stays as they set it.

use super::affinity::{self, Move, Thread};
use bandscope_recording::cpu_list;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One change, and how it stood before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Undo {
    /// The contents of a file that is a setting.
    Setting {
        /// Its path.
        path: PathBuf,
        /// What stood there.
        before: String,
        /// What was written.
        during: String,
        /// What is written before `before`: an interrupt returns to the CPU that it came to only if it is sent there, then set free.
        through: Option<String>,
    },
    /// The CPUs that a thread may use.
    Affinity {
        /// The thread.
        thread: Thread,
        /// As a list.
        before: String,
        /// As a list.
        during: String,
    },
    /// CPUs were taken from threads; those born since have the narrower set from their parents.
    Births {
        /// Clock ticks since the boot.
        since: u64,
        /// CPUs that were taken.
        taken: String,
    },
}

impl From<&Move> for Undo {
    fn from(one: &Move) -> Undo {
        Undo::Affinity {
            thread: one.thread,
            before: one.before.clone(),
            during: one.during.clone(),
        }
    }
}

/// Puts all back, the last change first; one sentence for each change that could not be.
pub fn all(undos: &[Undo]) -> Vec<String> {
    let mut problems = Vec::new();
    for undo in undos.iter().rev() {
        match undo {
            Undo::Setting {
                path,
                before,
                during,
                through,
            } => problems.extend(setting(path, before, during, through.as_deref())),
            Undo::Affinity { .. } => {}
            Undo::Births { since, taken } => {
                let former: Vec<(Thread, &str, &str)> = affinities(undos).collect();
                let taken = cpu_list::parse(taken);
                problems.extend(affinity::give_back(&former, *since, &taken));
            }
        }
    }
    problems
}

fn affinities(undos: &[Undo]) -> impl Iterator<Item = (Thread, &str, &str)> {
    undos.iter().filter_map(|undo| match undo {
        Undo::Affinity {
            thread,
            before,
            during,
        } => Some((*thread, &**before, &**during)),
        _ => None,
    })
}

/// The contents of a setting, without the end of its line.
pub fn read(path: &Path) -> io::Result<String> {
    Ok(fs::read_to_string(path)?.trim_end().to_owned())
}

/// Writes a setting and reads it back.
///
/// # Errors
/// If the kernel refuses, or something else stands there afterwards.
pub fn write(path: &Path, value: &str) -> io::Result<()> {
    // One write: the kernel takes each as a whole. A file of sysfs is never made.
    let mut file = fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(path)?;
    io::Write::write_all(&mut file, value.as_bytes())?;
    drop(file);
    let found = read(path)?;
    match same(path, &found, value) {
        true => Ok(()),
        false => Err(io::Error::other(format!("it reads {found:?} afterwards"))),
    }
}

fn setting(path: &Path, before: &str, during: &str, through: Option<&str>) -> Option<String> {
    let told = |what: String| Some(format!("{}: {what}", path.display()));
    let now = match read(path) {
        Ok(now) => now,
        // A device that went took its settings along.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return told(format!("cannot be read: {error}")),
    };
    let is_ours = |value: &str| same(path, &now, value);
    if !is_ours(during) && !through.is_some_and(is_ours) {
        // The change was never made, or is undone.
        return match is_ours(before) {
            true => None,
            false => told(format!(
                "found {now:?}, which somebody else set; it was {before:?} and stays as it is"
            )),
        };
    }
    let written = through.map_or(Ok(()), |through| write(path, through));
    match written.and_then(|()| write(path, before)) {
        Ok(()) => None,
        Err(error) => told(format!("cannot be set back to {before:?}: {error}")),
    }
}

/// Whether two spellings are one value: the kernel writes masks and lists of CPUs its own way.
fn same(path: &Path, one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    one == other
        || (name.ends_with("_list") && cpu_list::parse(one) == cpu_list::parse(other))
        || (name.ends_with("mask") && cpu_list::parse_mask(one) == cpu_list::parse_mask(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_value_are_the_same() {
        let same = |path: &str, one: &str, other: &str| same(Path::new(path), one, other);
        assert!(same("workqueue/cpumask", "00000003", "3"));
        assert!(same("smp_affinity_list", "0-1", "0,1\n"));
        assert!(same("governor", "powersave\n", "powersave"));
        assert!(!same("smp_affinity_list", "0,2", "2"));
        assert!(!same("workqueue/cpumask", "1", "2"));
        assert!(!same("governor", "powersave", "performance"));
    }

    #[test]
    fn what_somebody_else_set_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stat_interval");
        let undo = Undo::Setting {
            path: path.clone(),
            before: "1".into(),
            during: "10".into(),
            through: Some("7".into()),
        };
        for (found, left, problems) in [
            ("10", "1", 0),
            ("7", "1", 0),
            ("1", "1", 0),
            ("30", "30", 1),
        ] {
            fs::write(&path, found).unwrap();
            assert_eq!(all(std::slice::from_ref(&undo)).len(), problems, "{found}");
            assert_eq!(read(&path).unwrap(), left);
        }
        fs::remove_file(&path).unwrap();
        assert!(all(&[undo]).is_empty());
    }
}
