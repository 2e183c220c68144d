//! How one change is put back. Whoever changed the same thing meanwhile has the last word: it stays as they set it.

use super::affinity::{self, Move};
use bandscope_recording::cpu_list;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long interrupts are waited for that are sent back. One that does not come in this time stays where it is, free to come to either CPU.
const MAX_WAIT: Duration = Duration::from_millis(300);

/// How long an affinity has to stay, more than the kernel shows an old one; and how often it may be another one.
const SETTLES: Duration = Duration::from_millis(1);
const MOST_READS: usize = 10;

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
    Affinity(Move),
    /// CPUs are taken from threads from now on: those born since have the narrower set from their parents.
    Births {
        /// Clock ticks since the boot.
        since: u64,
    },
}

impl Undo {
    /// Whether it is put back by writing a file.
    pub fn is_setting(&self) -> bool {
        matches!(self, Undo::Setting { .. })
    }
}

/// What could not be put back.
#[derive(Debug)]
pub struct Problem {
    /// In a sentence.
    pub said: String,
    /// What is left to undo; nothing where somebody else has set it meanwhile.
    pub again: Vec<Undo>,
    /// Whether a change could not be put back. Else it is told, and nothing is lost by it.
    pub is_failure: bool,
}

/// Puts all back, the last change first.
pub fn all(undos: &[Undo]) -> Vec<Problem> {
    send_back(undos);
    let mut problems: Vec<Problem> = undos.iter().rev().filter_map(setting).collect();
    let moves = undos.iter().filter_map(|undo| match undo {
        Undo::Affinity(one) => Some(one.clone()),
        _ => None,
    });
    let moves: Vec<Move> = moves.collect();
    let since = undos.iter().find_map(|undo| match undo {
        Undo::Births { since } => Some(*since),
        _ => None,
    });
    let given = affinity::give_back(&moves, since);
    problems.extend(given.others_set.then(|| Problem {
        said: "threads whose CPUs somebody else set meanwhile keep those".to_owned(),
        again: Vec::new(),
        is_failure: false,
    }));
    // Who is born of a thread that stays as it is has the same.
    let births = since.filter(|_| !given.failed.is_empty());
    problems.extend(given.failed.into_iter().map(|(one, error)| Problem {
        said: format!(
            "thread {}: cannot get CPUs {} back: {error}",
            one.thread.id, one.before
        ),
        again: vec![Undo::Affinity(one)],
        is_failure: true,
    }));
    if let (Some(since), Some(last)) = (births, problems.last_mut()) {
        last.again.push(Undo::Births { since });
    }
    problems
}

/// The contents of a setting, without the end of its line.
///
/// Of an interrupt's affinity those that stay. While the kernel moves an interrupt, the file says where it was before: up to 0.15 ms long, some
/// interrupts after the write (Linux, kernel/irq/migration.c takes the pending mask away before the new one stands). Taken for the setting, that left
/// an interrupt where it was in one of 25 trials, as if it had been elsewhere already.
pub fn read(path: &Path) -> io::Result<String> {
    let once = || Ok(fs::read_to_string(path)?.trim_end().to_owned());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.starts_with("smp_affinity") {
        true => settled(once, || std::thread::sleep(SETTLES)),
        false => once(),
    }
}

/// What is read twice in a row, with a pause between; the last of many that differ.
fn settled(once: impl Fn() -> io::Result<String>, pause: impl Fn()) -> io::Result<String> {
    let mut found = once()?;
    for _ in 0..MOST_READS {
        pause();
        let again = once()?;
        if again == found {
            break;
        }
        found = again;
    }
    Ok(found)
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

/// Puts a setting back.
fn setting(undo: &Undo) -> Option<Problem> {
    let Undo::Setting {
        path,
        before,
        during,
        through,
    } = undo
    else {
        return None;
    };
    let told = |what: String, again: bool| {
        Some(Problem {
            said: format!("{}: {what}", path.display()),
            again: again.then(|| undo.clone()).into_iter().collect(),
            is_failure: true,
        })
    };
    let now = match read(path) {
        Ok(now) => now,
        // A device that went took its settings along: there is nothing to try again.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return told(
                format!("is gone, and cannot be set back to {before:?}"),
                false,
            );
        }
        Err(error) => return told(format!("cannot be read: {error}"), true),
    };
    let is_now = |value: &str| same(path, &now, value);
    let through = through.as_deref();
    if !is_now(during) && !through.is_some_and(is_now) {
        // The change was never made, or is undone.
        return match is_now(before) {
            true => None,
            false => told(
                format!(
                    "found {now:?}, which somebody else set; it was {before:?} and stays as it is"
                ),
                false,
            ),
        };
    }
    match write(path, before) {
        Ok(()) => None,
        Err(error) => told(format!("cannot be set back to {before:?}: {error}"), true),
    }
}

/// Sends interrupts back to where they came, and waits for them together: some are moved by the next one that comes, and a second write takes the place of the first until
/// then.
fn send_back(undos: &[Undo]) {
    let mut sent = Vec::new();
    for undo in undos {
        if let Undo::Setting {
            path,
            during,
            through: Some(through),
            ..
        } = undo
            && read(path).is_ok_and(|now| same(path, &now, during))
            && write(path, through).is_ok()
        {
            sent.push((
                path.with_file_name("effective_affinity_list"),
                cpu_list::parse(through),
            ));
        }
    }
    let begun = Instant::now();
    while begun.elapsed() < MAX_WAIT {
        sent.retain(|(path, cpus)| read(path).is_ok_and(|now| cpu_list::parse(&now) != *cpus));
        if sent.is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
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
    fn what_is_shown_while_an_interrupt_moves_is_not_its_affinity() {
        let found = |all: &[&'static str]| {
            let reads = std::cell::Cell::new(0);
            let once = || {
                reads.set(reads.get() + 1);
                Ok(all[(reads.get() - 1).min(all.len() - 1)].to_owned())
            };
            settled(once, || ()).unwrap()
        };
        assert_eq!(found(&["1"]), "1");
        assert_eq!(found(&["0", "1", "1"]), "1");
        assert_eq!(found(&["1", "0", "1", "1"]), "1");
        // Somebody who writes all the time does not stop it.
        assert_eq!(found(&["0", "1"].repeat(9)).len(), 1);
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
        let problems = all(&[undo]);
        assert!(problems[0].said.contains("stat_interval: is gone"));
        assert!(problems.len() == 1 && problems[0].again.is_empty());
    }
}
