//! Limits on CPU time (`cpu.max` of control groups, `sched_rt_runtime_us`).

use super::{Need, Purpose, Remedy, RemedyKind, quoted};
use bandscope_recording::events::unescaped;
use bandscope_recording::manifest::Quota;

/// Gives the group that stopped the program more CPU time; a container, where no group is known.
pub fn raise_quota(group: Option<&Quota>) -> Remedy {
    let (what, command, undo) = match group {
        None => (
            "give the container a higher CPU quota, or none".to_owned(),
            None,
            None,
        ),
        Some(quota) => {
            let path = directory(&quota.group);
            // Version 1 has the quota in a file of its own, and -1 for none.
            let is_first = quota.version == Some(1);
            let set = |path: &str, limit: &str, period: u64| match is_first {
                true => {
                    let file = quoted(&format!("{path}/cpu.cfs_quota_us"));
                    format!("echo {limit} | sudo tee {file}")
                }
                false => {
                    let file = quoted(&format!("{path}/cpu.max"));
                    format!("echo {limit} {period} | sudo tee {file}")
                }
            };
            let none = if is_first { "-1" } else { "max" };
            let known = path.as_deref().zip(quota.quota_us.zip(quota.period_us));
            (
                format!("take the CPU quota off {}", quota.group),
                known.map(|(path, (_, period))| set(path, none, period)),
                known.map(|(path, (limit, period))| set(path, &limit.to_string(), period)),
            )
        }
    };
    Remedy {
        kind: RemedyKind::RaiseQuota,
        purpose: Purpose::Fix,
        what,
        command,
        needs: vec![Need::Root],
        undo,
    }
}

/// The directory of a group, which a recording spells with escapes. `None` where it has bytes that no reader sees: nobody can check such a command.
fn directory(group: &str) -> Option<String> {
    let path = String::from_utf8(unescaped(group)?).ok()?;
    (path.starts_with('/') && path.replace('\\', r"\\") == group).then_some(path)
}

/// Lifts the limit on real-time tasks, which was `runtime_us` where that is known.
pub fn lift_realtime_limit(runtime_us: Option<i64>) -> Remedy {
    let set = |us: i64| format!("sudo sysctl kernel.sched_rt_runtime_us={us}");
    Remedy {
        kind: RemedyKind::LiftRealtimeLimit,
        purpose: Purpose::Fix,
        what: "lift the limit for real-time tasks".to_owned(),
        command: Some(set(-1)),
        needs: vec![Need::Root],
        // The kernel's own default.
        undo: Some(set(runtime_us.unwrap_or(950_000))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_put_back_as_it_was() {
        let quota = Quota {
            group: "/sys/fs/cgroup/job 1".to_owned(),
            quota_us: Some(60_000),
            period_us: Some(100_000),
            ..Quota::default()
        };
        let remedy = raise_quota(Some(&quota));
        assert_eq!(
            remedy.command.as_deref(),
            Some("echo max 100000 | sudo tee '/sys/fs/cgroup/job 1/cpu.max'")
        );
        assert_eq!(
            remedy.undo.as_deref(),
            Some("echo 60000 100000 | sudo tee '/sys/fs/cgroup/job 1/cpu.max'")
        );
        let first = Quota {
            version: Some(1),
            ..quota
        };
        let remedy = raise_quota(Some(&first));
        assert_eq!(
            remedy.command.as_deref(),
            Some("echo -1 | sudo tee '/sys/fs/cgroup/job 1/cpu.cfs_quota_us'")
        );
        assert_eq!(
            remedy.undo.as_deref(),
            Some("echo 60000 | sudo tee '/sys/fs/cgroup/job 1/cpu.cfs_quota_us'")
        );
        assert_eq!(raise_quota(None).command, None);
        let of = |group: &str| {
            let group = group.to_owned();
            raise_quota(Some(&Quota {
                group,
                ..first.clone()
            }))
            .command
        };
        let escaped = of(r"/sys/fs/cgroup/dev\\x2dsda").unwrap();
        assert!(
            escaped.ends_with(r"tee '/sys/fs/cgroup/dev\x2dsda/cpu.cfs_quota_us'"),
            "{escaped}"
        );
        assert_eq!(of(r"/sys/fs/cgroup/\x1b[2J"), None);
        let lifted = lift_realtime_limit(Some(900_000));
        assert_eq!(
            lifted.undo.as_deref(),
            Some("sudo sysctl kernel.sched_rt_runtime_us=900000")
        );
    }
}
