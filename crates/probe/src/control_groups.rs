//! The control groups that this process is in: each ancestor can limit it (Linux, cgroups(7)).

mod membership;

pub use membership::{Group, GroupError, Membership, find, join};
use std::path::{Component, Path, PathBuf};

/// Directories of the groups of `controller`, such as `cpu`, that this process is in, outermost first. Those that a container hides
/// are left out.
pub fn own(controller: &str) -> Vec<PathBuf> {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    directories(
        controller,
        &text("/proc/self/cgroup"),
        &text("/proc/self/mountinfo"),
    )
}

/// A hierarchy of control groups: where it is mounted, and where in it this process is.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy<'a> {
    /// Its controllers, as in `cpu,cpuacct`; empty for version 2.
    controllers: &'a str,
    point: PathBuf,
    /// This process's group, below the mount; `None` where that lies outside of what is mounted, as in a container.
    below: Option<PathBuf>,
}

/// Those that this process is in, as far as they are mounted.
fn hierarchies<'a>(groups: &'a str, mounts: &str) -> Vec<Hierarchy<'a>> {
    let hierarchy = |line: &'a str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, point) = mounts.lines().find_map(|line| {
            // ID parent device ROOT POINT options [fields] - TYPE source OPTIONS (proc_pid_mountinfo(5)).
            let (left, right) = line.split_once(" - ")?;
            let mut left = left.split(' ').skip(3);
            let (root, point) = (left.next()?, left.next()?);
            let mut right = right.split(' ');
            let fits = match right.next()? {
                "cgroup2" => controllers.is_empty(),
                "cgroup" => right.nth(1)?.split(',').any(|name| has(controllers, name)),
                _ => false,
            };
            fits.then_some((root, point))
        })?;
        // Never above the mount: a path that leads out of a container's part of the tree is not below it.
        let is_inside = !Path::new(path)
            .components()
            .any(|part| part == Component::ParentDir);
        let below = Path::new(path).strip_prefix(root).ok();
        Some(Hierarchy {
            controllers,
            point: point.into(),
            below: below.filter(|_| is_inside).map(PathBuf::from),
        })
    };
    groups.lines().filter_map(hierarchy).collect()
}

/// Whether a list of controllers, or of mount options, has this one. A hierarchy without controllers has a name, as in `name=systemd`.
fn has(controllers: &str, name: &str) -> bool {
    controllers.split(',').any(|one| one == name)
}

/// Directories of the groups that this process is in, outermost first, wherever they are mounted.
fn directories(controller: &str, groups: &str, mounts: &str) -> Vec<PathBuf> {
    let all = hierarchies(groups, mounts).into_iter();
    let with_it = all.filter(|one| one.controllers.is_empty() || has(one.controllers, controller));
    with_it
        .flat_map(|one| {
            let below = one.below.unwrap_or_default();
            let mut directories: Vec<PathBuf> =
                below.ancestors().map(|part| one.point.join(part)).collect();
            directories.reverse();
            directories
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        30 20 0:25 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
        31 20 0:26 /box /sys/fs/cgroup/unified rw shared:1 - cgroup2 cgroup2 rw\n\
        32 20 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

    #[test]
    fn all_ancestors_below_the_mount_are_looked_at() {
        let groups = "4:cpuset:/a\n3:cpu,cpuacct:/user/shell\n0::/box/unit\nnonsense\n";
        let wanted = [
            "/sys/fs/cgroup/cpu/",
            "/sys/fs/cgroup/cpu/user",
            "/sys/fs/cgroup/cpu/user/shell",
            "/sys/fs/cgroup/unified/",
            "/sys/fs/cgroup/unified/unit",
        ];
        assert_eq!(
            directories("cpu", groups, MOUNTS),
            wanted.map(PathBuf::from)
        );
        assert_eq!(
            directories("cpu", "0::/../../other\n", MOUNTS),
            [PathBuf::from("/sys/fs/cgroup/unified/")]
        );
        assert!(directories("cpu", "", "").is_empty());
    }
}
