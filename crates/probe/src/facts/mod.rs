//! Facts about the machine, for the manifest. Each is optional: containers hide parts of /proc and /sys.

mod busy;
mod counts;
mod cpu;
mod files;
mod frequency;
mod isolation;
mod quotas;
mod schedstat;
mod security;
mod setup;
mod stat;
mod system_management;
mod tasks;
mod tick;

use bandscope_recording::events::escaped;
use bandscope_recording::manifest::Machine;
pub use busy::Busy;
pub use counts::rows;
pub use counts::{Counts, totals};
pub use cpu::microarchitecture;
pub use files::{cpu_list, text};
pub use isolation::{isolated, nohz_full, online};
pub use quotas::Quotas;
pub use schedstat::Statistics;
pub use stat::{Stat, task_name};
pub use system_management::{SystemManagement, book as book_system_management};
pub use tasks::Scan;

/// Everything but who else is busy, which takes two looks: see [`Scan`].
pub fn gather(cpus: &[u32]) -> Machine {
    let mut machine = Machine {
        architecture: Some(std::env::consts::ARCH.to_owned()),
        host: Some(escaped(rustix::system::uname().nodename().to_bytes())),
        boot_id: boot_id(),
        ..Machine::default()
    };
    cpu::gather(&mut machine);
    frequency::gather(cpus, &mut machine);
    isolation::gather(cpus, &mut machine);
    security::gather(&mut machine);
    tasks::gather(&mut machine);
    machine.tick_hz = tick::tick_hz();
    machine.setup = setup::gather(cpus);
    machine.realtime_limit_us = realtime_limit_us();
    machine
}

/// The identity of this boot; `None` where the kernel does not tell.
pub fn boot_id() -> Option<String> {
    text("/proc/sys/kernel/random/boot_id")
}

/// Microseconds that real-time tasks may run in each period, -1 without a limit, and the period (sched(7)).
pub fn realtime_limit_us() -> Option<[i64; 2]> {
    let number = |name: &str| text(format!("/proc/sys/kernel/{name}"))?.parse().ok();
    let limit = number("sched_rt_runtime_us").zip(number("sched_rt_period_us"));
    limit.map(|(runtime, period)| [runtime, period])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathering_never_fails_and_knows_the_architecture() {
        let machine = gather(&[0, 1023]);
        println!("{machine:#?}");
        assert_eq!(
            machine.architecture.as_deref(),
            Some(std::env::consts::ARCH)
        );
    }
}
