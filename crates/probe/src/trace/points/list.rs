//! The tracepoints that are recorded without being asked for, as far as the kernel has them (its include/trace/events/).

use super::Functions;
use super::Tracefs;

/// The kernel lets nobody sample the end of this vector, by which perf events wake their readers
/// (arch/x86/kernel/irq.c): its beginning is all there is.
pub const ENDLESS: &str = "irq_work";

/// Subsystem and name of what is recorded where it is there.
pub fn wanted(tracefs: &Tracefs, functions: &Functions) -> Vec<(String, String)> {
    let mut wanted: Vec<(String, String)> = [
        ("irq", "irq_handler_entry"),
        ("irq", "irq_handler_exit"),
        ("irq", "softirq_entry"),
        ("irq", "softirq_exit"),
        ("sched", "sched_switch"),
        ("sched", "sched_process_exit"),
        ("exceptions", "page_fault_user"),
        ("exceptions", "page_fault_kernel"),
        ("nmi", "nmi_handler"),
    ]
    .map(|(subsystem, name)| (subsystem.to_owned(), name.to_owned()))
    .to_vec();
    let vectors = tracefs.tracepoints("irq_vectors");
    for entry in &vectors {
        let exit = entry
            .strip_suffix("_entry")
            .map(|stem| format!("{stem}_exit"));
        if let Some(exit) = exit.filter(|exit| vectors.contains(exit)) {
            wanted.push(("irq_vectors".to_owned(), entry.clone()));
            if exit.strip_suffix("_exit") != Some(ENDLESS) {
                wanted.push(("irq_vectors".to_owned(), exit));
            }
        }
    }
    if functions.tell_the_tick() {
        let timers = [
            ("timer", "hrtimer_expire_entry"),
            ("timer", "timer_expire_entry"),
            ("workqueue", "workqueue_execute_start"),
            ("csd", "csd_function_entry"),
            ("ipi", "ipi_send_cpu"),
            ("ipi", "ipi_send_cpumask"),
            ("sched", "sched_waking"),
            ("timer", "hrtimer_start"),
            ("timer", "timer_start"),
            ("irq", "softirq_raise"),
        ];
        wanted.extend(timers.map(|(subsystem, name)| (subsystem.to_owned(), name.to_owned())));
    }
    wanted
}

/// Without these a gap without an event would say nothing.
pub fn needed() -> &'static [&'static str] {
    &[
        "irq:irq_handler_entry",
        "irq:irq_handler_exit",
        "irq:softirq_entry",
        "irq:softirq_exit",
        "sched:sched_switch",
        #[cfg(target_arch = "x86_64")]
        "irq_vectors:local_timer_entry",
        #[cfg(target_arch = "x86_64")]
        "irq_vectors:local_timer_exit",
    ]
}
