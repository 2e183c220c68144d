//! The control groups that this process is in: each ancestor can limit it (Linux, cgroups(7)).

use std::path::{Path, PathBuf};

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

/// Directories of the groups that this process is in, outermost first, wherever they are mounted.
fn directories(controller: &str, groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let has_it = |names: &str| names.split(',').any(|name| name == controller);
        if !controllers.is_empty() && !has_it(controllers) {
            continue;
        }
        let mount = mounts.lines().find_map(|line| {
            // ID parent device ROOT POINT options [fields] - TYPE source OPTIONS (proc_pid_mountinfo(5)).
            let (left, right) = line.split_once(" - ")?;
            let mut left = left.split(' ').skip(3);
            let (root, point) = (left.next()?, left.next()?);
            let mut right = right.split(' ');
            let fits = match right.next()? {
                "cgroup2" => controllers.is_empty(),
                "cgroup" => !controllers.is_empty() && has_it(right.nth(1)?),
                _ => false,
            };
            fits.then_some((root, point))
        });
        let Some((root, point)) = mount else { continue };
        let below = path.strip_prefix(root.trim_end_matches('/')).unwrap_or("");
        let below = Path::new(below.trim_start_matches('/'));
        // Never above the mount: a path that leads out of a container's part of the tree is not below it.
        let inside = !path.contains("..");
        let mut directories: Vec<PathBuf> = below
            .ancestors()
            .filter(|part| inside || part.as_os_str().is_empty())
            .map(|part| Path::new(point).join(part))
            .collect();
        directories.reverse();
        found.extend(directories);
    }
    found
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
