//! Joining control groups for the length of a run, and going back.
//!
//! The whole process joins: version 2 lets threads of a process be in different groups below a threaded one only, and version 1 keeps them together in
//! most uses (cgroups(7)). Membership ends with the process, so a killed run leaves nothing behind.

use super::{Hierarchy, hierarchies};
use crate::pin;
use bandscope_recording::text::shown;
use rustix::io::Errno;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The file that a process writes into to join a group; `0` is the process that writes.
const PROCESSES: &str = "cgroup.procs";

/// A group to join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its directory.
    pub directory: PathBuf,
    /// The group of the same hierarchy that this process is in now; `None` where it lies outside of what is mounted.
    before: Option<PathBuf>,
}

/// Why a process is not in a group.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// There is none of that name.
    #[error("found no such control group, expected a directory with {PROCESSES}; looked for {}", looked(.0))]
    Unknown(Vec<PathBuf>),
    /// The kernel refuses it.
    #[error("{}: {error}{}", shown(.file), advice(.error))]
    Refused {
        /// The file that was written to.
        file: PathBuf,
        /// The kernel's answer.
        error: io::Error,
    },
    /// Whoever joins it stands still.
    #[error("found a frozen control group, expected one that runs: {} is {}", shown(.file), .state)]
    Frozen {
        /// The file that says so.
        file: PathBuf,
        /// What it says.
        state: String,
    },
}

fn looked(at: &[PathBuf]) -> String {
    match at {
        [] => "none, as no control groups are mounted".to_owned(),
        [only] => shown(only),
        [first, more @ ..] => format!("{} and {} more", shown(first), more.len()),
    }
}

/// What to do about a refusal (Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/cpusets.rst).
fn advice(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::PERM) => {
            "; it takes root, or a group that was delegated to this user"
        }
        Some(Errno::BUSY) => {
            "; a group of version 2 that gives controllers to groups below it takes no process: name one of those"
        }
        Some(Errno::NOSPC) => "; its cpuset.cpus or cpuset.mems is empty",
        Some(Errno::OPNOTSUPP) => "; its cgroup.type is threaded or invalid, expected domain",
        _ => "",
    }
}

/// The groups of a name: a path below the mounts, such as `system.slice/job`, of every hierarchy that has it; or one directory.
///
/// # Errors
/// If there is none.
pub fn find(name: &Path) -> Result<Vec<Group>, GroupError> {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let groups = text("/proc/self/cgroup");
    let all = hierarchies(&groups, &text("/proc/self/mountinfo"));
    // The directory of a mount is often named by a link, as cpu is to cpu,cpuacct.
    let real = name.canonicalize().ok().filter(|_| name.is_absolute());
    let candidates = candidates(real.as_deref().unwrap_or(name), &all);
    let mut found = candidates.clone();
    let is_above = |group: &Group| {
        group
            .directory
            .components()
            .any(|part| part == Component::ParentDir)
    };
    found.retain(|group| !is_above(group) && group.directory.join(PROCESSES).exists());
    match found.is_empty() {
        true => Err(GroupError::Unknown(
            candidates
                .into_iter()
                .map(|group| group.directory)
                .collect(),
        )),
        false => Ok(found),
    }
}

/// Where a group of that name would be.
fn candidates(name: &Path, all: &[Hierarchy<'_>]) -> Vec<Group> {
    let group = |one: &Hierarchy<'_>, below: &Path| Group {
        directory: one.point.join(below),
        before: one.below.as_ref().map(|before| one.point.join(before)),
    };
    // The innermost mount, where one lies below another.
    let mounted = all.iter().filter(|one| name.starts_with(&one.point));
    if let Some(one) = mounted.max_by_key(|one| one.point.as_os_str().len()) {
        return name
            .strip_prefix(&one.point)
            .map_or_else(|_| Vec::new(), |below| vec![group(one, below)]);
    }
    // As /proc/PID/cgroup writes it, with a slash.
    let below = name.strip_prefix("/").unwrap_or(name);
    all.iter().map(|one| group(one, below)).collect()
}

/// This process is in groups that it joined, until [`Membership::leave`].
#[derive(Debug)]
pub struct Membership {
    /// Those that it is to go back to.
    before: Vec<PathBuf>,
    /// The kernel widens or narrows the CPUs of threads that change their CPU set.
    _cpus: Option<pin::Restore>,
}

/// Joins groups that [`find`] found.
///
/// # Errors
/// If one is frozen, or the kernel refuses one; the process is where it was then.
pub fn join(groups: &[Group]) -> Result<Membership, GroupError> {
    let mut membership = Membership {
        before: Vec::new(),
        _cpus: pin::Restore::remember().ok(),
    };
    (groups.iter()).try_for_each(|group| refuse_frozen(&group.directory))?;
    for group in groups {
        if let Err(error) = enter(&group.directory) {
            let _ = membership.leave();
            return Err(error);
        }
        membership.before.extend(group.before.clone());
    }
    Ok(membership)
}

impl Membership {
    /// Goes back to the groups before.
    ///
    /// # Errors
    /// If the kernel refuses one: the last of them.
    pub fn leave(self) -> Result<(), GroupError> {
        self.before
            .iter()
            .map(|group| enter(group))
            .fold(Ok(()), Result::and)
    }
}

/// What the kernel writes into a file of a group or of one above it, where no task of the group may run: of version 1 and 2
/// (Linux, Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst and cgroup-v2.rst).
const FROZEN: [(&str, &[&str]); 2] = [
    ("freezer.state", &["FROZEN", "FREEZING"]),
    ("cgroup.freeze", &["1"]),
];

/// Refuses a group in which this process would stand still until somebody else thaws it.
fn refuse_frozen(directory: &Path) -> Result<(), GroupError> {
    for (file, frozen) in FROZEN {
        for file in directory.ancestors().map(|above| above.join(file)) {
            let state = std::fs::read_to_string(&file).unwrap_or_default();
            let state = state.trim().to_owned();
            if frozen.contains(&&*state) {
                return Err(GroupError::Frozen { file, state });
            }
        }
    }
    Ok(())
}

fn enter(directory: &Path) -> Result<(), GroupError> {
    let file = directory.join(PROCESSES);
    std::fs::write(&file, "0").map_err(|error| GroupError::Refused { file, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(name: &str) -> Vec<(String, Option<String>)> {
        let all = [
            ("cpu", "/sys/fs/cgroup/cpu", Some("a")),
            ("", "/sys/fs/cgroup", None),
        ];
        let all = all.map(|(controllers, point, below)| Hierarchy {
            controllers,
            point: point.into(),
            below: below.map(PathBuf::from),
        });
        let shown = |group: Group| (shown(&group.directory), group.before.as_deref().map(shown));
        candidates(Path::new(name), &all)
            .into_iter()
            .map(shown)
            .collect()
    }

    #[test]
    fn a_path_below_the_mounts_is_looked_for_in_each() {
        let before = Some("/sys/fs/cgroup/cpu/a".to_owned());
        let both = [
            ("/sys/fs/cgroup/cpu/b/c".to_owned(), before.clone()),
            ("/sys/fs/cgroup/b/c".to_owned(), None),
        ];
        assert_eq!(names("b/c"), both);
        assert_eq!(names("/b/c"), both);
        assert_eq!(
            names("/sys/fs/cgroup/cpu/b"),
            [("/sys/fs/cgroup/cpu/b".to_owned(), before)]
        );
        assert_eq!(
            names("/sys/fs/cgroup/b"),
            [("/sys/fs/cgroup/b".to_owned(), None)]
        );
    }

    #[test]
    fn what_is_refused_names_the_file_and_what_to_do() {
        let refused = |errno: Errno| {
            GroupError::Refused {
                file: "/x/cgroup.procs".into(),
                error: errno.into(),
            }
            .to_string()
        };
        assert!(
            refused(Errno::ACCESS)
                .contains("/x/cgroup.procs: Permission denied (os error 13); it takes root")
        );
        assert!(refused(Errno::NOSPC).contains("cpuset.cpus"));
        for name in ["/no/such/group", "no-such-group", "../.."] {
            let unknown = find(Path::new(name)).unwrap_err().to_string();
            assert!(unknown.contains("found no such control group"), "{unknown}");
        }
    }
}
