//! The cures: one file each, one line in [`CURES`].

mod clock;
mod housekeeping;
mod idle;
pub(super) mod interrupts;
mod priority;
mod sham;
mod sibling;
mod tasks;
mod workers;

use super::action::Action;
use super::{affinity, undo};
use bandscope_recording::cpu_list;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io;
use std::path::PathBuf;

/// What a cure is tried on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Where the files of the machine are: `/`, or a tree of files that stands for one.
    pub root: PathBuf,
    /// The CPUs that are to be quiet.
    pub cpus: Vec<u32>,
    /// The CPUs that inherit what is moved.
    pub others: Vec<u32>,
    /// The name of the tasks or of their processes, or of the interrupts, that are to be moved; `None` for all.
    pub only: Option<String>,
    /// Interrupts that came to `cpus` while the machine was watched, by number, each with the CPUs that it may come to at a time.
    pub interrupts: BTreeMap<u32, String>,
}

/// Why a cure cannot be tried: one clause, without a full stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Why(String);

impl<T: Into<String>> From<T> for Why {
    fn from(why: T) -> Why {
        Why(why.into())
    }
}

/// One cure.
#[derive(Debug)]
pub struct Cure {
    /// As the user names it.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Lines of the ledger that it acts on; `*` stands for any characters.
    pub acts_on: &'static [&'static str],
    /// The changes that it makes of this machine. None if everything is as it wants it.
    pub plan: fn(&Subject) -> Result<Vec<Action>, Why>,
    /// Whether it is tried only if it is named.
    pub on_demand: bool,
    /// What it moves that has a name, and so can be restricted to one.
    pub moves: Option<Moves>,
}

/// What a cure moves that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Tasks: threads by their names.
    Tasks,
    /// Interrupts of devices, by the names of their handlers.
    Interrupts,
}

impl Moves {
    /// The names that there are now, as the ledger writes them.
    pub fn names(self) -> BTreeSet<String> {
        match self {
            Moves::Tasks => affinity::names().into_keys().collect(),
            Moves::Interrupts => interrupts::names(),
        }
    }
}

/// All of them (docs/cure.md). Each file names what it rests on.
pub const CURES: [Cure; 9] = [
    tasks::CURE,
    interrupts::CURE,
    workers::CURE,
    housekeeping::CURE,
    clock::CURE,
    idle::CURE,
    sibling::CURE,
    priority::CURE,
    sham::CURE,
];

impl Cure {
    /// The plan before any trial: an error, too, where no task of the one name can be moved. Tasks of a name come and go: trials go on without.
    ///
    /// # Errors
    /// Why the cure cannot be tried.
    pub fn first_plan(&self, subject: &Subject) -> Result<Vec<Action>, Why> {
        let actions = (self.plan)(subject)?;
        match actions.iter().find_map(tasks::none_moves) {
            Some(why) => Err(why),
            None => Ok(actions),
        }
    }

    /// What it does, to one name if `only`.
    pub fn what(&self, only: Option<&str>) -> String {
        match only {
            Some(name) => format!("{}, only those named {name}", self.what),
            None => self.what.to_owned(),
        }
    }

    /// Lines of the ledger that it acts on. Those of all names are that of one if `only`; tasks and interrupts bring others along, which have no name.
    pub fn acts_on(&self, only: Option<&str>) -> Vec<String> {
        let of_one = |line: &str| match (line.strip_suffix(":*"), only) {
            (Some(kind), Some(name)) => format!("{kind}:{name}"),
            _ => line.to_owned(),
        };
        self.acts_on.iter().map(|line| of_one(line)).collect()
    }
}

/// The cure of a name.
pub fn named(name: &str) -> Option<&'static Cure> {
    CURES.iter().find(|cure| cure.name == name)
}

impl Subject {
    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The contents of a setting.
    fn read(&self, path: &str) -> io::Result<String> {
        undo::read(&self.path(path))
    }

    /// Writes `value` to a setting, unless it stands there. `None` where nothing is to be done.
    fn write(&self, path: &str, value: &str) -> Result<Option<Action>, Why> {
        let before = self.read(path).map_err(|error| self.told(path, &error))?;
        match before.trim() == value {
            true => Ok(None),
            false => self.write_anyway(path, before, value).map(Some),
        }
    }

    /// The same, whatever stands there.
    fn write_anyway(&self, path: &str, before: String, value: &str) -> Result<Action, Why> {
        let file = self.path(path);
        // Opened, and nothing written: whether it may be is known before anything is changed.
        let opened = OpenOptions::new().write(true).open(&file);
        opened.map_err(|error| self.told(path, &error))?;
        Ok(Action::Write {
            path: file,
            before,
            value: value.to_owned(),
            through: None,
            may_fail: false,
        })
    }

    fn told(&self, path: &str, error: &io::Error) -> Why {
        Why::from(match error.kind() {
            io::ErrorKind::NotFound => format!("this kernel has no {path}"),
            io::ErrorKind::PermissionDenied => format!("{path} is for root"),
            io::ErrorKind::ReadOnlyFilesystem => {
                format!("{path} is read-only here, as in a container")
            }
            _ => format!("{path}: {error}"),
        })
    }

    /// The CPUs that inherit what is moved, as a list.
    fn others(&self) -> Result<String, Why> {
        match self.others.is_empty() {
            true => Err("no other CPU is there to inherit the work".into()),
            false => Ok(cpu_list::written(&self.others)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// A machine of files.
    pub(super) fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Subject) {
        let root = tempfile::tempdir().unwrap();
        for (path, contents) in files {
            let path = root.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
        let subject = Subject {
            root: root.path().into(),
            cpus: vec![1],
            others: vec![0],
            only: None,
            interrupts: BTreeMap::new(),
        };
        (root, subject)
    }

    /// What a plan writes: path below the root, and value.
    pub(super) fn writes(actions: &[Action], root: &Path) -> Vec<(String, String)> {
        let writes = actions.iter().filter_map(|action| match action {
            Action::Write { path, value, .. } => {
                let path = path.strip_prefix(root).unwrap();
                Some((path.to_string_lossy().into_owned(), value.clone()))
            }
            _ => None,
        });
        writes.collect()
    }

    #[test]
    fn each_has_a_name_of_its_own() {
        for cure in &CURES {
            assert_eq!(named(cure.name).unwrap().what, cure.what);
        }
        assert!(named("together").is_none());
    }

    #[test]
    fn lines_of_all_names_become_those_of_one() {
        let lines = |cure: &str, only| named(cure).unwrap().acts_on(only);
        let tasks = lines("tasks", Some("cc1"));
        assert_eq!(tasks[..2], ["task:cc1", "preempted"]);
        assert!(tasks.contains(&"timer:cc1".to_owned()) && !tasks.contains(&"task:*".to_owned()));
        let interrupts = lines("interrupts", Some("eth0"));
        assert_eq!(interrupts[..2], ["irq:eth0", "softirq:NET_*"]);
        assert!(lines("tasks", None).contains(&"task:*".to_owned()));
    }

    #[test]
    fn a_machine_without_files_tells_why_of_each() {
        let (_root, subject) = machine(&[]);
        for cure in &CURES {
            // Tasks are those of this machine.
            if ["tasks", "sibling", "priority"].contains(&cure.name) {
                continue;
            }
            let why = (cure.plan)(&subject).unwrap_err().to_string();
            assert!(
                !why.is_empty() && !why.ends_with('.'),
                "{}: {why}",
                cure.name
            );
        }
    }
}
