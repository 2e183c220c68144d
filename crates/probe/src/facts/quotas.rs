//! CPU quotas of the control groups that this process is in, and how often they stopped it.
//!
//! Linux, Documentation/admin-guide/cgroup-v2.rst ("CPU Interface Files") and scheduler/sched-bwc.rst for version 1. Every
//! ancestor can have a quota; those that a container hides cannot be read.

use crate::control_groups;
use bandscope_recording::events::escaped;
use bandscope_recording::manifest::Quota;
use std::path::Path;

/// The quotas as they stand.
#[derive(Debug)]
pub struct Quotas(Vec<Quota>);

impl Quotas {
    /// Reads those of this process, the outermost first.
    pub fn read() -> Quotas {
        let groups = control_groups::own("cpu").into_iter();
        Quotas(groups.filter_map(|path| quota(&path)).collect())
    }

    /// What they grew by; a group without a quota that never stopped it is left out.
    pub fn grown(&self, later: Quotas) -> Vec<Quota> {
        let grown = later.0.into_iter().filter_map(|now| {
            let before = self.0.iter().find(|before| before.group == now.group)?;
            let quota = Quota {
                periods: now.periods.saturating_sub(before.periods),
                throttled: now.throttled.saturating_sub(before.throttled),
                throttled_ns: now.throttled_ns.saturating_sub(before.throttled_ns),
                ..now
            };
            (quota.quota_us.is_some() || quota.throttled > 0).then_some(quota)
        });
        grown.collect()
    }
}

/// The quota of a group; `None` where it has no such file, as the root of version 2.
fn quota(group: &Path) -> Option<Quota> {
    let text = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    let stat = text("cpu.stat")?;
    let count = |key: &str| -> Option<u64> {
        let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
        lines.find(|line| line.0 == key)?.1.trim().parse().ok()
    };
    let throttled_ns =
        count("throttled_time").or_else(|| Some(count("throttled_usec")?.saturating_mul(1000)))?;
    let both = text("cpu.max");
    let version = if both.is_some() { 2 } else { 1 };
    let (quota_us, period_us) = match both {
        Some(both) => {
            let (quota, period) = both.trim().split_once(' ')?;
            (quota.parse().ok(), period.parse().ok())
        }
        // Version 1: -1 without one.
        None => {
            let number = |name| text(name)?.trim().parse().ok();
            (number("cpu.cfs_quota_us"), number("cpu.cfs_period_us"))
        }
    };
    Some(Quota {
        group: escaped(group.as_os_str().as_encoded_bytes()),
        version: Some(version),
        quota_us,
        period_us,
        periods: count("nr_periods")?,
        throttled: count("nr_throttled")?,
        throttled_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(group.path().join(name), text).unwrap();
        assert_eq!(quota(group.path()), None);
        write(
            "cpu.stat",
            "nr_periods 7\nnr_throttled 3\nthrottled_time 900\n",
        );
        write("cpu.cfs_quota_us", "-1\n");
        write("cpu.cfs_period_us", "100000\n");
        let first = quota(group.path()).unwrap();
        assert_eq!((first.quota_us, first.throttled_ns), (None, 900));
        write("cpu.max", "20000 50000\n");
        write(
            "cpu.stat",
            "usage_usec 5\nnr_periods 17\nnr_throttled 8\nthrottled_usec 2\n",
        );
        let second = quota(group.path()).unwrap();
        assert_eq!(
            (second.quota_us, second.period_us),
            (Some(20_000), Some(50_000))
        );
        assert_eq!((first.version, second.version), (Some(1), Some(2)));
        let grown = Quotas(vec![first]).grown(Quotas(vec![second]));
        assert_eq!((grown[0].periods, grown[0].throttled), (10, 5));
        assert_eq!(grown[0].throttled_ns, 1_100);
    }
}
