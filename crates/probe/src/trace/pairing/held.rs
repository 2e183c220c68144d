//! What kept the measuring thread from running, where no other task was the reason.

use super::Pairing;
use crate::trace::point::Left;

impl Pairing {
    /// Why the measuring thread does not run while `next` does, where that is not the reason. A loop that asks the kernel for nothing waits only
    /// where it is made to; and an idle CPU that keeps a thread that would run from running limits its time.
    pub(super) fn held(&self, next: u32) -> Option<&'static str> {
        match self.own_left {
            Left::Runnable { realtime: false } if next == 0 => Some("throttled:quota"),
            Left::Runnable { realtime: true } if next == 0 => Some("throttled:realtime"),
            Left::Stopped => Some("stopped"),
            Left::Waits if self.left_in_a_fault() => Some("page_fault"),
            Left::Waits => Some("frozen"),
            Left::Runnable { .. } | Left::Unknown => None,
        }
    }

    /// Whether it left the CPU while a page fault of its own was dealt with: the kernel reads the page, or moves it.
    fn left_in_a_fault(&self) -> bool {
        /// From a fault to where it begins to wait: microseconds, and what interrupts them.
        const BEFORE_IT_WAITS_NS: u64 = 1_000_000;
        let faulted = self.faulted_at.filter(|at| *at <= self.left_at);
        faulted.is_some_and(|at| self.left_at - at <= BEFORE_IT_WAITS_NS)
    }
}
