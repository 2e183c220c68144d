//! The control group that stopped its threads.

use bandscope_recording::manifest::{Manifest, Quota};

/// The group that stopped its threads for longest; `None` where no group did.
pub fn stopped_by(manifest: &Manifest) -> Option<&Quota> {
    let stopping = manifest.quotas.iter().filter(|quota| quota.throttled > 0);
    stopping.max_by_key(|quota| quota.throttled_ns)
}

/// The share of their time that a quota leaves so many measured CPUs, on average, where the group used it up in most periods: no more can be had, whoever else
/// runs there. `None` of a quota that was seldom used up, or is as large as the CPUs.
pub fn allowed(group: &Quota, cpus: usize) -> Option<f64> {
    let (quota, period) = group.quota_us.zip(group.period_us)?;
    let share = quota as f64 / period as f64 / cpus.max(1) as f64;
    (2 * group.throttled > group.periods && share < 1.0).then_some(share)
}
