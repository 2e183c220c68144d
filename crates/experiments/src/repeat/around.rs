//! What the machine did meanwhile: interrupts and softirqs by name, stolen time, pressure; of all CPUs together, as anybody may read it.
//!
//! It is the machine's, not the command's: on a busy one most of it is others'. Linux, Documentation/filesystems/proc.rst and
//! Documentation/accounting/psi.rst.

use bandscope_probe::facts;
use std::collections::BTreeMap;

/// Clock ticks of /proc/stat in a second: USER_HZ, 100 on x86-64 and aarch64 (include/asm-generic/param.h).
const USER_HZ: f64 = 100.0;

/// Counts as they stand.
#[derive(Clone, Debug, Default)]
pub struct Around(BTreeMap<String, f64>);

impl Around {
    /// Reads them; what cannot be read is not there.
    pub fn read() -> Around {
        let mut counts = BTreeMap::new();
        for (name, number) in facts::totals() {
            *counts.entry(name).or_insert(0.0) += number as f64;
        }
        if let Some(stolen) = std::fs::read_to_string("/proc/stat")
            .ok()
            .as_deref()
            .and_then(stolen)
        {
            counts.insert("steal".to_owned(), stolen);
        }
        for what in ["cpu", "io", "memory"] {
            let text = std::fs::read_to_string(format!("/proc/pressure/{what}"));
            if let Some(seconds) = text.ok().as_deref().and_then(waited) {
                counts.insert(format!("pressure:{what}"), seconds);
            }
        }
        Around(counts)
    }

    /// How much each has grown since; what did not is left out.
    pub fn grown(&self, later: &Around) -> impl Iterator<Item = (String, f64)> {
        later.0.iter().filter_map(|(name, after)| {
            let more = after - self.0.get(name).copied().unwrap_or(0.0);
            (more > 0.0).then(|| (name.clone(), more))
        })
    }
}

/// Seconds stolen from all CPUs: the eighth figure of the first line of /proc/stat.
fn stolen(text: &str) -> Option<f64> {
    let ticks: f64 = text
        .lines()
        .next()?
        .split_whitespace()
        .nth(8)?
        .parse()
        .ok()?;
    Some(ticks / USER_HZ)
}

/// Seconds in which some task waited: the total of the first line of /proc/pressure/WHAT, in microseconds.
fn waited(text: &str) -> Option<f64> {
    let total = text.lines().next()?.rsplit_once("total=")?.1;
    Some(total.trim().parse::<f64>().ok()? / 1e6)
}

/// The load average of a minute.
pub fn load() -> Option<f64> {
    facts::text("/proc/loadavg")?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_read() {
        assert_eq!(stolen("cpu  1 2 3 4 5 6 7 250 0 0\ncpu0 1 2\n"), Some(2.5));
        assert_eq!(stolen("cpu  1 2\n"), None);
        assert_eq!(
            waited("some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull ...\n"),
            Some(1.5)
        );
        assert_eq!(waited(""), None);
    }

    #[test]
    fn only_what_has_grown_is_told() {
        let of = |pairs: &[(&str, f64)]| {
            Around(
                pairs
                    .iter()
                    .map(|(name, n)| ((*name).to_owned(), *n))
                    .collect(),
            )
        };
        let grown: Vec<_> = of(&[("tick", 5.0), ("nmi", 1.0)])
            .grown(&of(&[("tick", 9.0), ("nmi", 1.0), ("new", 2.0)]))
            .collect();
        assert_eq!(grown, [("new".to_owned(), 2.0), ("tick".to_owned(), 4.0)]);
        // Whatever this machine tells never shrinks.
        let before = Around::read();
        assert!(before.grown(&Around::read()).all(|(_, more)| more > 0.0));
    }
}
