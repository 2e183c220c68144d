//! Timer interrupts per second of a busy CPU: from the kernel's configuration, or counted.

use std::time::Instant;

/// Rates that kernels are built with; a count is rounded to one of them if it is within a tenth.
const KNOWN_HZ: [f64; 7] = [100.0, 200.0, 250.0, 300.0, 500.0, 1000.0, 1024.0];

/// Timer interrupts of one CPU up to a moment.
#[derive(Debug)]
pub struct TickCount {
    at: Instant,
    cpu: u32,
    interrupts: Option<u64>,
}

impl TickCount {
    /// Counts now.
    pub fn take(cpu: u32) -> TickCount {
        TickCount {
            at: Instant::now(),
            cpu,
            interrupts: std::fs::read_to_string("/proc/interrupts")
                .ok()
                .and_then(|text| timer_interrupts(&text, cpu)),
        }
    }

    /// The rate since then, over which the CPU must have been busy; the configuration has precedence.
    pub fn hz(&self) -> Option<f64> {
        configured().or_else(|| {
            let now = TickCount::take(self.cpu);
            let number = now.interrupts?.checked_sub(self.interrupts?)?;
            rounded(number as f64 / (now.at - self.at).as_secs_f64())
        })
    }
}

/// A rate that a kernel may have, or the count itself where none is near; `None` if nothing ticked.
fn rounded(hz: f64) -> Option<f64> {
    let known = KNOWN_HZ
        .into_iter()
        .min_by(|a, b| (a / hz).ln().abs().total_cmp(&(b / hz).ln().abs()))
        .filter(|known| (known / hz - 1.0).abs() < 0.1);
    known.or((hz > 0.0).then_some(hz))
}

/// CONFIG_HZ of the running kernel, where its configuration lies as text.
fn configured() -> Option<f64> {
    let release = rustix::system::uname();
    let release = release.release().to_str().ok()?;
    let text = std::fs::read_to_string(format!("/boot/config-{release}")).ok()?;
    config_hz(&text)
}

fn config_hz(text: &str) -> Option<f64> {
    text.lines()
        .find_map(|line| line.strip_prefix("CONFIG_HZ="))?
        .trim()
        .parse()
        .ok()
}

/// The local timer's line of /proc/interrupts: LOC on x86, arch_timer on aarch64.
fn timer_interrupts(text: &str, cpu: u32) -> Option<u64> {
    let mut lines = text.lines();
    let name = format!("CPU{cpu}");
    let column = lines
        .next()?
        .split_whitespace()
        .position(|head| head == name)?;
    lines
        .filter(|line| line.trim_start().starts_with("LOC:") || line.contains("arch_timer"))
        .map(|line| line.split_whitespace().nth(1 + column)?.parse::<u64>().ok())
        .try_fold(None, |sum: Option<u64>, number| {
            Some(Some(sum.unwrap_or(0) + number?))
        })?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_of_the_right_cpu_is_counted() {
        let text =
            "      CPU0  CPU2\n  9:  1  2  x\nLOC:   34384  32957   Local timer interrupts\n";
        assert_eq!(timer_interrupts(text, 2), Some(32957));
        assert_eq!(timer_interrupts(text, 1), None);
        assert_eq!(timer_interrupts("  CPU0\n 1: 2 x\n", 0), None);
    }

    #[test]
    fn counts_are_rounded_to_what_kernels_have() {
        assert_eq!(rounded(248.0), Some(250.0));
        assert_eq!(rounded(1030.0), Some(1024.0));
        assert_eq!(rounded(30.0), Some(30.0));
        assert_eq!(rounded(0.0), None);
    }

    #[test]
    fn the_configuration_reads() {
        assert_eq!(config_hz("CONFIG_HZ_250=y\nCONFIG_HZ=250\n"), Some(250.0));
    }
}
