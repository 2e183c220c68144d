//! The control group that stopped its threads.

use bandscope_recording::manifest::{Manifest, Quota};

/// The group that stopped its threads for longest; `None` where no group did.
pub fn stopped_by(manifest: &Manifest) -> Option<&Quota> {
    let stopping = manifest.quotas.iter().filter(|quota| quota.throttled > 0);
    stopping.max_by_key(|quota| quota.throttled_ns)
}
